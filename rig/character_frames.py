"""Frames of a character's hands and forearms, to align a performer with them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ..errors import RigError
from ..hand import rotations as rot
from ..hand.joints import Side
from ..pipeline.alignment import forearm_frame, pointing
from ..pipeline.recipe import AlignChoice
from ..pipeline.rig_constraints import Frames
from ..pipeline.take import SolvedHand
from .armature_hands import FoundHand, find_hands
from .binding import RigBinding
from .bound_hand import bound_hand
from .keys.arm_keys import ArmBones, arm_of
from .pose_transfer import resting_wrist

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]


def hand_to_align(armature: "Object", side: Side, align: AlignChoice) -> FoundHand | None:
    """Return the rig's hand to align to; None if it has none. Raises RigError if there is no forearm to align by."""
    found = next((hand for hand in find_hands(armature, [side]) if hand.side == side), None)
    if found is not None and align == "forearms":
        _arm(armature, found)
    return found


def wrist_frame(armature: "Object", solved: SolvedHand, *, at_rest: bool) -> Frames:
    """Return T_scene_wrist (4, 4) of a rig's hand, at rest or as evaluated on the scene's frame."""
    frame = _resting if at_rest else _posed
    return {binding.side: frame(armature, binding) for _, binding in _bound(armature, solved)}


def forearm_frame_of(armature: "Object", solved: SolvedHand) -> Frames:
    """Return the frame (4, 4) of the forearm above it as evaluated on the scene's frame. Raises RigError."""
    frames: Frames = {}
    for found, binding in _bound(armature, solved):
        elbow = _evaluated(armature, _arm(armature, found).fore)[:3, 3]
        frames[found.side] = forearm_frame(elbow, _posed(armature, binding))
    return frames


def _arm(armature: "Object", found: FoundHand) -> ArmBones:
    arm = arm_of(armature, found)
    if arm is None:
        raise RigError(f"armature '{armature.name}' has no arm above its {found.side} wrist: align by another method")
    return arm


def between_points(hands: Sequence[SolvedHand], names: Sequence[str]) -> Frames:
    """Return the frame (4, 4) of a wrist at an object that points to another.

    names: of both objects. Raises RigError for two hands, and for objects that do not exist or have the same location.
    """
    first, last = positions_of(names, len(hands))
    (hand,) = hands
    return {hand.side: pointing(hand.pose.root[0], first, last - first)}


def positions_of(names: Sequence[str], hands: int) -> tuple[Floats, Floats]:
    """Return the positions (3,) of two objects to which a number of hands are aligned.

    Raises RigError as between_points does.
    """
    if hands > 1:
        raise RigError("two points align one hand, but two are captured: choose the hand")
    first, last = (_object_position(name) for name in names)
    if np.linalg.norm(last - first) < 1e-6:
        raise RigError(f"'{names[0]}' and '{names[1]}' are in the same place, expected two points apart")
    return first, last


def _object_position(name: str) -> Floats:
    obj: Object | None = bpy.context.scene.objects.get(name)
    if obj is None:
        raise RigError(f"there is no object '{name}' in scene '{bpy.context.scene.name}' to align to")
    return np.array(obj.matrix_world.translation)


def _bound(armature: "Object", solved: SolvedHand) -> list[tuple[FoundHand, RigBinding]]:
    found = [hand for hand in find_hands(armature, [solved.side]) if hand.side == solved.side]
    return [(hand, bound_hand(armature, hand, solved.hand, limited=False)) for hand in found]


def _resting(armature: "Object", binding: RigBinding) -> Floats:
    return resting_wrist(binding, np.array(armature.matrix_world))


def _posed(armature: "Object", binding: RigBinding) -> Floats:
    frame = _evaluated(armature, binding.carrier or str(binding.bones[0]))
    # The carrier moves as the wrist does, but has its own axes.
    rest = np.array(armature.data.bones[binding.carrier or str(binding.bones[0])].matrix_local)
    moved: Floats = frame @ np.linalg.inv(rest) @ binding.rest[0]
    moved[:3, :3] = rot.orthonormal(moved[:3, :3])
    return moved


def _evaluated(armature: "Object", bone: str) -> Floats:
    """Return T_scene_bone (4, 4)."""
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    frame: Floats = np.array(posed.matrix_world @ posed.pose.bones[bone].matrix)
    return frame
