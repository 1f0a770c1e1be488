"""Forward kinematics over all frames at once: from joint angles to rotations, joint frames and site positions."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from . import rotations as rot
from .model import HandModel

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pose:
    """The pose of a hand in F frames."""

    hand: HandModel
    root: Floats
    """(F, 4, 4) T_world_wrist, m."""
    angles: Floats
    """(F, D) rad."""

    def __len__(self) -> int:
        return len(self.root)

    @cached_property
    def rotations(self) -> Floats:
        """(F, J, 4) unit quaternions wxyz, each joint relative to its rest. Computed on first use."""
        return joint_rotations(self.hand, self.angles)


def joint_rotations(hand: HandModel, angles: Floats) -> Floats:
    """Rotation of each joint relative to its rest: R = R_1 · R_2 · R_3, one factor for each degree of freedom.

    Args:
        hand: the hand model of J joints and D degrees of freedom.
        angles: (F, D) rad.

    Returns:
        (F, J, 4) unit quaternions wxyz.
    """
    result = np.broadcast_to(rot.IDENTITY, (len(angles), len(hand.joints), 4)).copy()
    turns = rot.from_axis_angle(hand.axes, angles)
    order = np.arange(hand.dofs) - np.searchsorted(hand.axis_joint, hand.axis_joint)
    for k in range(3):
        dofs = np.flatnonzero(order == k)
        joints = hand.axis_joint[dofs]
        result[:, joints] = rot.multiply(result[:, joints], turns[:, dofs])
    return result


def joint_frames(hand: HandModel, pose: Pose) -> Floats:
    """Frame of each joint in the world.

    Returns:
        (F, J, 4, 4) T_world_joint, m.
    """
    local = np.zeros((len(pose), len(hand.joints), 4, 4))
    local[..., :3, :3] = rot.to_matrix(pose.rotations)
    local[..., 3, 3] = 1.0
    local = hand.rest @ local
    world = np.empty_like(local)
    for joint, parent in enumerate(hand.parents):
        world[:, joint] = (pose.root if parent < 0 else world[:, parent]) @ local[:, joint]
    return world


def site_positions(hand: HandModel, frames: Floats) -> Floats:
    """Position of each site of the hand.

    Args:
        hand: the hand model of S sites.
        frames: (F, J, 4, 4) T_world_joint, from `joint_frames`.

    Returns:
        (F, S, 3) m in the world.
    """
    joints = [site.joint for site in hand.sites]
    offsets = np.array([site.offset for site in hand.sites])
    at = frames[:, joints]
    moved: Floats = np.einsum("fsij,sj->fsi", at[..., :3, :3], offsets) + at[..., :3, 3]
    return moved
