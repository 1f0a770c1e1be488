"""Align a device's joint rotations with the model's joint frames, and convert them to joint angles."""

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
"""rad: an offset whose median deviation from its mean exceeds this is not constant."""


def device_offsets(hand: HandModel, targets: Targets, pose: Pose, device: Floats) -> Floats:
    """Return offsets (T, 4) from a device's joint rotations to the model's; NaN where unknown.

    Args:
        hand: the hand model.
        targets: the targets; T sites.
        pose: the hand solved from the targets' positions.
        device: (F, T, 4) unit quaternions wxyz in the world, NaN where missing.

    Returns:
        Unit quaternions by which the device's rotations are multiplied from the right.
    """
    joints = np.array([hand.sites[site].joint for site in targets.sites])
    solved = rot.from_matrix(kinematics.joint_frames(hand, pose)[:, joints, :3, :3])
    # If a digit's tip is not seen, its last bone may have any angle.
    solved[:, ~observable_joints(hand, joints, np.any(targets.weights > 0, axis=0))[joints]] = np.nan
    return fill_from_parents(hand, joints, constant_offsets(device, solved))


def constant_offsets(device: Floats, solved: Floats) -> Floats:
    """Return constant offsets (T, 4) from a device's rotations to the model's; NaN where they are not constant.

    Devices agree on joint positions but not on the orientation of joint frames, which differs by a constant rotation of
    up to 20 degrees.

    Args:
        device: (F, T, 4) rotations that the device reports, NaN where missing.
        solved: (F, T, 4) rotations solved from its positions, NaN where unknown.
    """
    offsets = rot.multiply(rot.conjugate(device), solved)
    result = np.full(offsets.shape[1:], np.nan)
    for column in range(offsets.shape[1]):
        valid = offsets[np.isfinite(offsets[:, column]).all(axis=1), column]
        if len(valid):
            # The mean of unit quaternions of either sign (Markley 2007): the principal eigenvector of Σ q qᵀ.
            mean = np.linalg.eigh(valid.T @ valid)[1][:, -1]
            deviations = 2 * np.arccos(np.clip(np.abs(valid @ mean), 0.0, 1.0))
            if np.median(deviations) < OFFSET_TOLERANCE:
                result[column] = mean
    return result


def observable_joints(hand: HandModel, joints: "NDArray[np.int64]", visible: Bools) -> Bools:
    """Return whether each joint's rotation (J,) is observable: whether a target distal of the joint is visible.

    Args:
        hand: the hand model.
        joints: (T,) the joint of each target.
        visible: (T,) whether the target is visible.
    """
    observable = np.zeros(len(hand.joints), bool)
    for joint in joints[visible].tolist():
        while (joint := hand.parents[joint]) >= 0:
            observable[joint] = True
    return observable


def fill_from_parents(hand: HandModel, joints: "NDArray[np.int64]", offsets: Floats) -> Floats:
    """Replace NaN offsets (T, 4) by the parent joint's: a device uses one convention along a digit."""
    column = {joint: index for index, joint in enumerate(joints.tolist())}
    result = offsets.copy()
    for joint in sorted(column):
        parent = column.get(hand.parents[joint])
        if parent is not None and np.isnan(result[column[joint]]).any():
            result[column[joint]] = result[parent]
    return result


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
    # Frames in which the same joints have a rotation are processed together.
    patterns, pattern_of_frame = np.unique(targets.rotation_weights > 0, axis=0, return_inverse=True)
    result = pose.angles.copy()
    for number, columns in enumerate(patterns):
        rows = np.flatnonzero(pattern_of_frame.ravel() == number)
        rotations, has_rotation = np.zeros((len(rows), len(hand.joints), 4)), np.zeros(len(hand.joints), bool)
        rotations[:, joints[columns]], has_rotation[joints[columns]] = targets.rotations[rows][:, columns], True
        if not has_rotation[0]:
            rotations[:, 0], has_rotation[0] = rot.from_matrix(pose.root[rows, :3, :3]), True
        angles = angles_from_rotations(hand, rotations, has_rotation)
        result[rows] = np.where(np.isfinite(angles), angles, result[rows])
    return replace(pose, angles=result)


def angles_from_rotations(hand: HandModel, rotations: Floats, has_rotation: Bools) -> Floats:
    """Return joint angles (F, D) rad within the limits from joint rotations; NaN where undetermined.

    Args:
        hand: the hand model.
        rotations: (F, J, 4) unit quaternions wxyz in the world.
        has_rotation: (J,) whether each joint has a rotation. A joint's angles are relative to its nearest ancestor that
            has one, on its digit or at the wrist; joints between them are assumed to be at rest.
    """
    frames = rot.to_matrix(np.where(has_rotation[:, None], rotations, rot.IDENTITY))
    result = np.full((len(rotations), hand.dofs), np.nan)
    for joint in sorted(set(hand.axis_joint.tolist())):
        ancestor, rest = hand.parents[joint], hand.rest[joint, :3, :3]
        while ancestor > 0 and not has_rotation[ancestor]:
            ancestor, rest = hand.parents[ancestor], hand.rest[ancestor, :3, :3] @ rest
        if has_rotation[joint] and has_rotation[ancestor]:
            dofs = np.flatnonzero(hand.axis_joint == joint)
            relative = np.swapaxes(frames[:, ancestor] @ rest, -1, -2) @ frames[:, joint]
            result[:, dofs] = _euler_angles(hand, dofs, relative)
    clipped: Floats = np.clip(result, hand.limits[:, 0], hand.limits[:, 1])
    return clipped


def _euler_angles(hand: HandModel, dofs: "NDArray[np.int64]", rotations: Floats) -> Floats:
    """Return angles (F, K) rad of a joint's K degrees of freedom in R = Rz(abduction) · Ry(twist) · Rx(flexion), (F, 3,
    3)."""
    xx, yx, zx = rotations[:, 0, 0], rotations[:, 1, 0], rotations[:, 2, 0]
    zy, zz = rotations[:, 2, 1], rotations[:, 2, 2]
    angles = {
        "abduction": np.arctan2(yx, xx),
        "twist": np.arctan2(-zx, np.hypot(zy, zz)),
        "flexion": np.arctan2(zy, zz),
    }
    # A joint's axis is the one in AXES, negated on a left hand for abduction and twist.
    signs = [float(np.sum(hand.axes[dof])) for dof in dofs]
    return np.stack([angles[hand.movements[dof]] * sign for dof, sign in zip(dofs, signs, strict=True)], axis=1)
