"""The points of an armature's hand that can be dragged with the mouse."""

from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, KNUCKLES
from ...posing.dragging import WRIST
from ..binding import RigBinding, posed_frames
from ..mapping_corrections import is_bone_visible

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

POINTS: tuple[str, ...] = (
    *(joints[-1] for joints in CHAIN_JOINTS.values()),
    *(joints[1] for joints in CHAIN_JOINTS.values()),
    *KNUCKLES,
    WRIST,
)
"""Fingertips, the joints that bend most, knuckles, and the palm, which represents the wrist."""


def grab_points(armature: "Object", binding: RigBinding) -> dict[str, Floats]:
    """Return joint -> its point (3,) m in the world, for joints with visible bones. Hidden bones are not posed.

    The palm's point is its middle.
    """
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    frames = np.array(evaluated.matrix_world) @ posed_frames(evaluated, binding)
    positions = frames[:, :3, 3]
    visible = {joint for joint in binding.mapped if is_bone_visible(armature, str(binding.bones[joint]))}
    points = {}
    for joint in POINTS:
        if np.isfinite(positions[JOINT_INDEX[joint]]).all() and visible & _rotated(joint):
            points[joint] = positions[JOINT_INDEX[joint]]
    knuckles = [positions[JOINT_INDEX[joint]] for joint in KNUCKLES if joint in points]
    if WRIST in points and knuckles:
        points[WRIST] = (points[WRIST] + np.mean(knuckles, axis=0)) / 2
    return points


def _rotated(joint: str) -> set[int]:
    """Return the joints whose bones a drag rotates."""
    if joint == WRIST or joint in KNUCKLES:
        return {JOINT_INDEX[WRIST]}
    chain = next(joints for joints in CHAIN_JOINTS.values() if joint in joints)
    return {JOINT_INDEX[name] for name in chain[: chain.index(joint)]}
