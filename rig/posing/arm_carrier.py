"""The arm that brings a rig's hand to a grasp: the one that keys move, or the one that goes along with its control."""

from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import Pose
from ...posing.grasping.arm_reach import RIGID, Carrier
from ...posing.grasping.contact_frames import length
from ...solvers import arm as arms
from ..armature_hands import FoundHand
from ..keys.arm_keys import ArmBones, arm_led
from . import following
from .channel_diff import channels_of, give_back
from .following import Follower
from .rig_hand import HandState

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

AROUND = 0.9
"""Hand lengths from an object's nearest place to where the rig is asked for its elbow."""
REACHED = 0.35, 0.95
"""Arm lengths from the shoulder: nearer or farther a wrist is not brought to ask; a stretched arm tells no side."""


def carrier(who: Follower, found: FoundHand, near: Floats) -> Carrier | None:
    """The arm that carries a hand, as it stands; None for a hand that hangs on none.

    near (3,) m: what is grasped. Of an arm in IK, whose elbow is where the rig has it, the hand is brought there to see
    where that is, and back. Raises RigError where the hand is gone.
    """
    if who.arm is None:
        led = arm_led(who.held.armature_object(), found)
        return _led(who, led, near) if led else None
    shoulder = following.shoulder(who, None)
    assert shoulder is not None, "it has an arm"
    base = arms.shoulder_frames(shoulder.base, 1)[0, :3, 3]
    return Carrier(base, shoulder.arm.upper, shoulder.arm.fore, following.elbow(who)[1], who.held.hand.side)


def _led(who: Follower, bones: ArmBones, near: Floats) -> Carrier | None:
    armature, wrist = who.held.armature_object(), who.held.binding.rest[0, :3, 3]
    world = np.array(armature.matrix_world)
    rests = np.array([armature.data.bones[name].head_local for name in (bones.upper, bones.fore)])
    upper, fore = np.linalg.norm(np.diff([*rests, wrist], axis=0) @ world[:3, :3].T, axis=1)
    base = _heads(armature, bones)[0]
    far = (near - base + AROUND * length(who.held.hand) * _directions()).reshape(-1, 3)
    size = np.maximum(np.linalg.norm(far, axis=1, keepdims=True), 1e-9)
    ways = far / size
    wrists = base + ways * np.clip(size, *((upper + fore) * np.array(REACHED)))
    out = _seen_elbows(who, bones, wrists) - base
    # Of each the side alone: how far out an elbow is, goes by how far the wrist is.
    sides = base + out - (out * ways).sum(axis=1, keepdims=True) * ways
    return Carrier(base, float(upper), float(fore), sides, who.held.hand.side, wrists, RIGID)


def _seen_elbows(who: Follower, bones: ArmBones, wrists: Floats) -> Floats:
    """(K, 3) m, where the rig has the elbow with the wrist at places (K, 3); the hand is then as it was."""
    armature, stands = who.held.armature_object(), who.held.read()
    before = channels_of(armature, [name for name, _ in following.posed_bones(who)])
    elbows, wrist = np.empty_like(wrists), who.held.only([0])
    try:
        for row, place in enumerate(wrists):
            root = stands.pose.root.copy()
            root[0, :3, 3] = place
            wrist.write(HandState(Pose(who.held.hand, root, stands.pose.angles), stands.beyond))
            bpy.context.view_layer.update()
            elbows[row] = _heads(armature, bones)[1]
    finally:
        give_back(armature, before)
        bpy.context.view_layer.update()
    return elbows


def _heads(armature: "Object", bones: ArmBones) -> Floats:
    """(2, 3) m, where shoulder and elbow are in the world as evaluated."""
    seen = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([seen.matrix_world @ seen.pose.bones[name].head for name in (bones.upper, bones.fore)])


def _directions() -> Floats:
    """(13, 3) the twelve corners of an icosahedron, and none."""
    golden = (1 + np.sqrt(5)) / 2
    corners = [np.roll([0.0, a, b * golden], k) for k in range(3) for a in (-1, 1) for b in (-1, 1)]
    return np.array([np.zeros(3), *(corner / np.linalg.norm(corner) for corner in corners)])
