"""Fit the model of a rig's hand to its evaluated bones."""

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


def fitted_to_evaluated(rig_hand: RigHand, state: HandState) -> tuple[RigHand, HandState]:
    """Return a hand whose model puts each joint exactly where Blender evaluated it, whatever was posed on top.

    The angles stay; the rest frames of the model change. Raises RigError if the hand no longer exists.

    With A a joint's evaluated frame, P that of its parent and R the rotation of its angles, A = P · rest · R, so
    rest = P^-1 · A · R^-1.
    """
    hand, pose, evaluated = rig_hand.hand, state.pose, rig_hand.evaluated_frames()
    model = kinematics.joint_frames(hand, pose)[0]
    frames, rest = model.copy(), np.array(hand.rest)
    rotations = np.tile(np.eye(4), (len(JOINTS), 1, 1))
    rotations[:, :3, :3] = rot.to_matrix(pose.rotations[0])
    for joint, parent in enumerate(hand.parents):
        if np.isfinite(evaluated[joint]).all():
            frames[joint] = evaluated[joint]
        elif parent >= 0:
            frames[joint] = frames[parent] @ np.linalg.inv(model[parent]) @ model[joint]
        if parent >= 0:
            rest[joint] = np.linalg.inv(frames[parent]) @ frames[joint] @ np.linalg.inv(rotations[joint])
    fitted_model = replace(hand, rest=rest)
    fitted_hand = replace(rig_hand, hand=fitted_model, hierarchy=_hierarchy_of_frames(rig_hand, frames))
    fitted_pose = Pose(fitted_model, pose.root, pose.angles)
    return fitted_hand, HandState(fitted_pose, fitted_hand.beyond(fitted_pose))


def _hierarchy_of_frames(rig_hand: RigHand, frames: Floats) -> RigHierarchy:
    """Return the hierarchy of a hand whose joints keep the offsets that they have in frames (J, 4, 4) in the world."""
    hierarchy, world = rig_hand.hierarchy, np.array(rig_hand.armature_object().matrix_world)
    rotations = rot.transform_frames(np.linalg.inv(world[:3, :3]), frames[:, :3, :3])
    points = points_to_armature(world, frames[:, :3, 3])
    offsets = hierarchy.offsets.copy()
    for joint in rig_hand.binding.mapped:
        before = hierarchy.hand_parents[joint]
        if before >= 0:
            offsets[joint] = rotations[before].T @ (points[joint] - points[before])
    fixed = tuple(
        (joint, before, rotations[before].T @ rotations[joint]) for joint, before, _ in hierarchy.fixed_rotations
    )
    return replace(hierarchy, offsets=offsets, fixed_rotations=fixed, static=np.zeros_like(hierarchy.static))
