"""The arm that carries a rig's hand to a grasp. Keys pose it, or inverse kinematics with the hand's control."""

from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import Pose
from ...posing.grasping.arm_reach import NO_SWIVEL, CarryingArm
from ...posing.grasping.contact_frames import hand_length
from ...solvers import arm as arms
from ..armature_hands import FoundHand
from ..keys.arm_keys import ArmBones, arm_following
from . import following
from .channel_diff import channels_of, restore_channels
from .following import HandArm
from .rig_hand import HandState

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

SAMPLE_DISTANCE = 0.9
"""Hand lengths from the object's nearest point to the wrists with which the rig's elbow is sampled."""
SAMPLE_REACH = 0.35, 0.95
"""Arm lengths from the shoulder between which these wrists are; a stretched arm bends to no side."""


def carrier(hand_arm: HandArm, found: FoundHand, near_point: Floats) -> CarryingArm | None:
    """Return the arm that carries a hand; None if there is none.

    near_point: (3,) m, the nearest point of the object. The rig decides where the elbow of an arm in IK is, so the hand
    is moved around this point to sample the elbow, and then moved back. Raises RigError if the hand no longer exists.
    """
    if hand_arm.arm is None:
        bones = arm_following(hand_arm.rig_hand.armature_object(), found)
        return _sampled(hand_arm, bones, near_point) if bones else None
    shoulder = following.shoulder(hand_arm, None)
    assert shoulder is not None, "it has an arm"
    base = arms.shoulder_frames(shoulder.base, 1)[0, :3, 3]
    return CarryingArm(
        base, shoulder.arm.upper, shoulder.arm.fore, following.elbow(hand_arm)[1], hand_arm.rig_hand.hand.side
    )


def _sampled(hand_arm: HandArm, bones: ArmBones, near_point: Floats) -> CarryingArm | None:
    armature, wrist = hand_arm.rig_hand.armature_object(), hand_arm.rig_hand.binding.rest[0, :3, 3]
    world = np.array(armature.matrix_world)
    rests = np.array([armature.data.bones[name].head_local for name in (bones.upper, bones.fore)])
    upper, fore = np.linalg.norm(np.diff([*rests, wrist], axis=0) @ world[:3, :3].T, axis=1)
    base = _heads(armature, bones)[0]
    around = near_point + SAMPLE_DISTANCE * hand_length(hand_arm.rig_hand.hand) * _directions()
    from_shoulder = (around - base).reshape(-1, 3)
    distances = np.maximum(np.linalg.norm(from_shoulder, axis=1, keepdims=True), 1e-9)
    directions = from_shoulder / distances
    wrists = base + directions * np.clip(distances, *((upper + fore) * np.array(SAMPLE_REACH)))
    to_elbows = _evaluated_elbows(hand_arm, bones, wrists) - base
    # Only the direction of each elbow: its distance follows from that of the wrist.
    sides = base + to_elbows - (to_elbows * directions).sum(axis=1, keepdims=True) * directions
    return CarryingArm(base, float(upper), float(fore), sides, hand_arm.rig_hand.hand.side, wrists, NO_SWIVEL)


def _evaluated_elbows(hand_arm: HandArm, bones: ArmBones, wrists: Floats) -> Floats:
    """Return the rig's elbow (K, 3) m for wrist positions (K, 3) m. The hand's pose is restored."""
    armature, state = hand_arm.rig_hand.armature_object(), hand_arm.rig_hand.read()
    before = channels_of(armature, [name for name, _ in following.posed_bones(hand_arm)])
    elbows, wrist = np.empty_like(wrists), hand_arm.rig_hand.only([0])
    try:
        for row, position in enumerate(wrists):
            root = state.pose.root.copy()
            root[0, :3, 3] = position
            wrist.write(HandState(Pose(hand_arm.rig_hand.hand, root, state.pose.angles), state.beyond))
            bpy.context.view_layer.update()
            elbows[row] = _heads(armature, bones)[1]
    finally:
        restore_channels(armature, before)
        bpy.context.view_layer.update()
    return elbows


def _heads(armature: "Object", bones: ArmBones) -> Floats:
    """Return the evaluated shoulder and elbow (2, 3) m in the world."""
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    bone_heads = (evaluated.pose.bones[name].head for name in (bones.upper, bones.fore))
    return np.array([evaluated.matrix_world @ head for head in bone_heads])


def _directions() -> Floats:
    """Return zero and the twelve corners (13, 3) of an icosahedron."""
    golden = (1 + np.sqrt(5)) / 2
    corners = [np.roll([0.0, a, b * golden], k) for k in range(3) for a in (-1, 1) for b in (-1, 1)]
    return np.array([np.zeros(3), *(corner / np.linalg.norm(corner) for corner in corners)])
