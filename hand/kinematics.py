"""Forward kinematics over all frames at once: angles -> rotations -> joint frames -> sites."""

import numpy as np
from numpy.typing import NDArray

from . import rotations as rot
from .model import HandModel, Pose

Floats = NDArray[np.float64]


def joint_rotations(hand: HandModel, angles: Floats) -> Floats:
    """(F, J, 4) unit quaternions relative to rest, from angles (F, D) rad: R = R_1 · R_2 · R_3 of each joint."""
    result = np.broadcast_to(rot.IDENTITY, (len(angles), len(hand.joints), 4)).copy()
    turns = rot.about(hand.axes, angles)
    for d, joint in enumerate(hand.axis_joint):
        result[:, joint] = rot.multiply(result[:, joint], turns[:, d])
    return result


def pose(hand: HandModel, root: Floats, angles: Floats) -> Pose:
    """A Pose from T_world_wrist (F, 4, 4) and angles (F, D)."""
    return Pose(root, angles, joint_rotations(hand, angles))


def joint_frames(hand: HandModel, pose: Pose) -> Floats:
    """(F, J, 4, 4) T_world_joint."""
    local = np.zeros((len(pose), len(hand.joints), 4, 4))
    local[..., :3, :3] = rot.to_matrix(pose.rotations)
    local[..., 3, 3] = 1.0
    local = hand.rest @ local
    world = np.empty_like(local)
    for joint, parent in enumerate(hand.parents):
        world[:, joint] = (pose.root if parent < 0 else world[:, parent]) @ local[:, joint]
    return world


def site_positions(hand: HandModel, frames: Floats) -> Floats:
    """(F, S, 3) where the hand's sites are, from joint frames (F, J, 4, 4)."""
    joints = [site.joint for site in hand.sites]
    offsets = np.array([site.offset for site in hand.sites])
    at = frames[:, joints]
    moved: Floats = np.einsum("fsij,sj->fsi", at[..., :3, :3], offsets) + at[..., :3, 3]
    return moved
