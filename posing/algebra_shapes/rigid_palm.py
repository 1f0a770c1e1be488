"""A hand with its palm made rigid, as the traced solver requires."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...hand import kinematics
from ...hand import rotations as rot
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX
from ...hand.kinematics import Pose
from ...hand.model import Coupling, HandModel

Floats = NDArray[np.float64]

DIGIT_JOINTS = frozenset(JOINT_INDEX[joint] for joints in CHAIN_JOINTS.values() for joint in joints)
OUTER_JOINTS = frozenset(JOINT_INDEX[joint] for joints in CHAIN_JOINTS.values() for joint in joints[1:])


def with_rigid_palm(pose: Pose, seen: Floats) -> Pose:
    """Return a pose (one frame) on a hand whose metacarpals are fixed in their current position.

    seen: (J, 3) m, where the joints are visible; NaN for joints at the pose's position. With A a joint's frame, P its
    parent's, and R its rotation: rest = P^-1 · A · R^-1 at the base of a digit, and P^-1 · A in the palm.
    """
    hand = pose.hand
    frames, rotations = kinematics.joint_frames(hand, pose)[0], np.tile(np.eye(4), (len(hand.joints), 1, 1))
    visible = np.isfinite(seen).all(axis=1)
    frames[visible, :3, 3] = seen[visible]
    moving = list(DIGIT_JOINTS)
    rotations[moving, :3, :3] = rot.to_matrix(pose.rotations[0, moving])
    rest = np.array(hand.rest)
    for joint, parent in enumerate(hand.parents):
        if parent >= 0 and joint not in OUTER_JOINTS:
            rest[joint] = np.linalg.inv(frames[parent]) @ frames[joint] @ np.linalg.inv(rotations[joint])
    moving_axes = np.isin(hand.axis_joint, moving)
    return Pose(
        _with_axes(replace(hand, rest=rest), moving_axes, pose.angles[0]), pose.root, pose.angles[:, moving_axes]
    )


def _with_axes(hand: HandModel, free: NDArray[np.bool_], angles: Floats) -> HandModel:
    """Return the hand with only its free axes (D,); the others stay at angles (D,) rad."""
    if free.all():
        return hand
    couplings = []
    for row in hand.couplings:
        fixed_part = float(row.coefficients[~free] @ angles[~free])
        if np.any(row.coefficients[free]):
            couplings.append(Coupling(row.coefficients[free], row.lower - fixed_part, row.upper - fixed_part, row.soft))
    return replace(
        hand,
        movements=tuple(name for name, keep in zip(hand.movements, free, strict=True) if keep),
        axes=hand.axes[free],
        axis_joint=hand.axis_joint[free],
        limits=hand.limits[free],
        neutral=hand.neutral[free],
        couplings=tuple(couplings),
    )
