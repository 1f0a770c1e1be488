"""The hand of a rig as a model that is bent as its bones are."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...hand import kinematics
from ...hand import rotations as rot
from ...hand.joints import JOINTS
from ...hand.kinematics import Pose
from ..pose_transfer import RigHierarchy, points_to_armature
from .rig_hand import HandState, RigHand

Floats = NDArray[np.float64]


def bent_as_seen(rig_hand: RigHand, state: HandState) -> tuple[RigHand, HandState]:
    """The hand with a model whose rest frames are such that, at the same angles, each joint is exactly where it is
    seen, whatever a person posed on top. Raises RigError where it is gone.

    With A a joint's frame as seen, P its parent's and R the rotation of its angles, A = P · rest · R, so
    rest = P^-1 · A · R^-1.
    """
    hand, pose, seen = rig_hand.hand, state.pose, rig_hand.seen_frames()
    model = kinematics.joint_frames(hand, pose)[0]
    frames, rest = model.copy(), np.array(hand.rest)
    turned = np.tile(np.eye(4), (len(JOINTS), 1, 1))
    turned[:, :3, :3] = rot.to_matrix(pose.rotations[0])
    for joint, parent in enumerate(hand.parents):
        if np.isfinite(seen[joint]).all():
            frames[joint] = seen[joint]
        elif parent >= 0:
            frames[joint] = frames[parent] @ np.linalg.inv(model[parent]) @ model[joint]
        if parent >= 0:
            rest[joint] = np.linalg.inv(frames[parent]) @ frames[joint] @ np.linalg.inv(turned[joint])
    own = replace(hand, rest=rest)
    taken = replace(rig_hand, hand=own, wiring=_wired_as(rig_hand, frames))
    posed = Pose(own, pose.root, pose.angles)
    return taken, HandState(posed, taken.beyond(posed))


def _wired_as(rig_hand: RigHand, frames: Floats) -> RigHierarchy:
    """The wiring of a hand whose joints keep the offsets that they have in frames (J, 4, 4) in the world."""
    wiring, world = rig_hand.wiring, np.array(rig_hand.armature_object().matrix_world)
    turned = rot.transformed(np.linalg.inv(world[:3, :3]), frames[:, :3, :3])
    points = points_to_armature(world, frames[:, :3, 3])
    offsets = wiring.offsets.copy()
    for joint in rig_hand.binding.mapped:
        before = wiring.hand_parents[joint]
        if before >= 0:
            offsets[joint] = turned[before].T @ (points[joint] - points[before])
    still = tuple((joint, before, turned[before].T @ turned[joint]) for joint, before, _ in wiring.fixed_rotations)
    return replace(wiring, offsets=offsets, fixed_rotations=still, static=np.zeros_like(wiring.static))
