"""Joint rotations reported by a device: aligned with the model's joint frames and converted to joint angles."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from . import kinematics
from . import rotations as rot
from .kinematics import Pose
from .model import HandModel
from .targets import Targets

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

OFFSET_TOLERANCE = np.deg2rad(12.0)
"""A device's offset whose median deviation from its mean exceeds this is not a constant difference of frames."""


def device_offsets(hand: HandModel, targets: Targets, pose: Pose, device: Floats) -> Floats:
    """Offsets (T, 4) that turn a device's joint rotations into the model's; NaN where unknown.

    Args:
        hand: the hand model.
        targets: the targets; T sites.
        pose: the hand solved from the targets' positions.
        device: (F, T, 4) unit quaternions wxyz in the world, NaN where missing.

    Returns:
        Unit quaternions by which the device's rotations are multiplied from the right.
    """
    joints = np.array([hand.sites[site].joint for site in targets.sites])
    own = rot.from_matrix(kinematics.joint_frames(hand, pose)[:, joints, :3, :3])
    # If a digit's tip is not seen, its last bone may have any angle.
    own[:, ~observable_joints(hand, joints, np.any(targets.weights > 0, axis=0))[joints]] = np.nan
    return fill_from_parents(hand, joints, constant_offsets(device, own))


def constant_offsets(device: Floats, own: Floats) -> Floats:
    """Constant offsets (T, 4) from a device's rotations to the model's; NaN where they are not constant.

    Devices agree on joint positions but not on the orientation of joint frames, which differs by a constant rotation of
    up to 20 degrees.

    Args:
        device: (F, T, 4) rotations that the device reports, NaN where missing.
        own: (F, T, 4) rotations solved from its positions, NaN where unknown.
    """
    apart = rot.multiply(rot.conjugate(device), own)
    result = np.full(apart.shape[1:], np.nan)
    for column in range(apart.shape[1]):
        known = apart[np.isfinite(apart[:, column]).all(axis=1), column]
        if len(known):
            mean = _mean_quaternion(known)
            away = 2 * np.arccos(np.clip(np.abs(known @ mean), 0.0, 1.0))
            if np.median(away) < OFFSET_TOLERANCE:
                result[column] = mean
    return result


def observable_joints(hand: HandModel, joints: "NDArray[np.int64]", seen: Bools) -> Bools:
    """Whether each joint's rotation (J,) is observable: whether a target beyond it is seen.

    Args:
        hand: the hand model.
        joints: (T,) the joint of each target.
        seen: (T,) whether the target is seen.
    """
    beyond = np.zeros(len(hand.joints), bool)
    for joint in joints[seen].tolist():
        while (joint := hand.parents[joint]) >= 0:
            beyond[joint] = True
    return beyond


def fill_from_parents(hand: HandModel, joints: "NDArray[np.int64]", offsets: Floats) -> Floats:
    """Fill offsets (T, 4) that are NaN with the parent joint's: a device uses one convention along a digit."""
    column = {joint: index for index, joint in enumerate(joints.tolist())}
    result = offsets.copy()
    for joint in sorted(column):
        before = column.get(hand.parents[joint])
        if before is not None and np.isnan(result[column[joint]]).any():
            result[column[joint]] = result[before]
    return result


def _mean_quaternion(q: Floats) -> Floats:
    """Mean (4,) of unit quaternions (N, 4) of either sign (Markley 2007): the principal eigenvector of Σ q qᵀ."""
    mean: Floats = np.linalg.eigh(q.T @ q)[1][:, -1]
    return mean


def apply_target_rotations(hand: HandModel, targets: Targets, pose: Pose) -> Pose:
    """Set the angles that the targets' rotations determine, and keep the others as they were solved.

    Args:
        hand: the hand model.
        targets: targets whose rotations are in the model's joint frames.
        pose: the pose solved from positions, F frames.
    """
    if targets.rotations is None or targets.rotation_weights is None:
        return pose
    joints = np.array([hand.sites[site].joint for site in targets.sites])
    # Process together the frames that have the same joints' rotations.
    patterns, which = np.unique(targets.rotation_weights > 0, axis=0, return_inverse=True)
    result = pose.angles.copy()
    for number, told in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == number)
        turns, known = np.zeros((len(rows), len(hand.joints), 4)), np.zeros(len(hand.joints), bool)
        turns[:, joints[told]], known[joints[told]] = targets.rotations[rows][:, told], True
        if not known[0]:
            turns[:, 0], known[0] = rot.from_matrix(pose.root[rows, :3, :3]), True
        found = angles_from_rotations(hand, turns, known)
        result[rows] = np.where(np.isfinite(found), found, result[rows])
    return replace(pose, angles=result)


def angles_from_rotations(hand: HandModel, turns: Floats, known: Bools) -> Floats:
    """Joint angles (F, D) rad within the limits from joint rotations; NaN where they do not determine an angle.

    Args:
        hand: the hand model.
        turns: (F, J, 4) unit quaternions wxyz in the world.
        known: (J,) which joints have a rotation. A joint's angles are relative to its nearest known ancestor, which
            must be on its digit or the wrist; joints between them are assumed to be at rest.
    """
    frames = rot.to_matrix(np.where(known[:, None], turns, rot.IDENTITY))
    result = np.full((len(turns), hand.dofs), np.nan)
    for joint in sorted(set(hand.axis_joint.tolist())):
        before, carried = hand.parents[joint], hand.rest[joint, :3, :3]
        while before > 0 and not known[before]:
            before, carried = hand.parents[before], hand.rest[before, :3, :3] @ carried
        if known[joint] and known[before]:
            dofs = np.flatnonzero(hand.axis_joint == joint)
            turn = np.swapaxes(frames[:, before] @ carried, -1, -2) @ frames[:, joint]
            result[:, dofs] = _euler_angles(hand, dofs, turn)
    clipped: Floats = np.clip(result, hand.limits[:, 0], hand.limits[:, 1])
    return clipped


def _euler_angles(hand: HandModel, dofs: "NDArray[np.int64]", turn: Floats) -> Floats:
    """Angles (F, K) rad of a joint's K degrees of freedom in R = Rz(abduction) · Ry(twist) · Rx(flexion)."""
    whole = {
        "abduction": np.arctan2(turn[:, 1, 0], turn[:, 0, 0]),
        "twist": np.arctan2(-turn[:, 2, 0], np.hypot(turn[:, 2, 1], turn[:, 2, 2])),
        "flexion": np.arctan2(turn[:, 2, 1], turn[:, 2, 2]),
    }
    # A joint's axis is the one in AXES, negated on a left hand for abduction and twist.
    signs = [float(np.sum(hand.axes[dof])) for dof in dofs]
    return np.stack([whole[hand.movements[dof]] * sign for dof, sign in zip(dofs, signs, strict=True)], axis=1)
