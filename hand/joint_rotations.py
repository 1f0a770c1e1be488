"""A device's turns of joints, brought to the frames of the measured hand, and read as its angles."""

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

STEADY = np.deg2rad(12.0)
"""Turns that leave their mean by more than this (median) tell something else than the joint's frame."""


def between(hand: HandModel, targets: Targets, pose: Pose, device: Floats) -> Floats:
    """(T, 4) what a device's turns of the joints of targets are multiplied by to be the hand's own; NaN where unknown.

    pose: the hand as it was solved from the targets' places; device: (F, T, 4), NaN where not told.
    """
    joints = np.array([hand.sites[site].joint for site in targets.sites])
    own = rot.from_matrix(kinematics.joint_frames(hand, pose)[:, joints, :3, :3])
    # The last bone of a digit whose tip is not seen may have been solved to any angle.
    own[:, ~observed(hand, joints, np.any(targets.weights > 0, axis=0))[joints]] = np.nan
    return as_before(hand, joints, offsets(device, own))


def offsets(device: Floats, own: Floats) -> Floats:
    """(T, 4) what a device's turn is multiplied by to be the joint frame's; NaN where the two do not go together.

    device, own: (F, T, 4), what it told and what was solved from its positions; NaN where not told. Devices agree on
    where joints are, and not on how frames stand in them: constant over time, and up to 20 degrees.
    """
    apart = rot.multiply(rot.conjugate(device), own)
    result = np.full(apart.shape[1:], np.nan)
    for column in range(apart.shape[1]):
        known = apart[np.isfinite(apart[:, column]).all(axis=1), column]
        if len(known):
            mean = _mean(known)
            away = 2 * np.arccos(np.clip(np.abs(known @ mean), 0.0, 1.0))
            if np.median(away) < STEADY:
                result[column] = mean
    return result


def observed(hand: HandModel, joints: "NDArray[np.int64]", seen: Bools) -> Bools:
    """(J,) whether a joint's turn shows in where targets are: whether one that is seen, (T,), is beyond it.

    joints: (T,) the joint that each target is in.
    """
    beyond = np.zeros(len(hand.joints), bool)
    for joint in joints[seen].tolist():
        while (joint := hand.parents[joint]) >= 0:
            beyond[joint] = True
    return beyond


def as_before(hand: HandModel, joints: "NDArray[np.int64]", offsets: Floats) -> Floats:
    """offsets (T, 4) with those that are NaN taken from the joint before, which a device's digit has in common."""
    column = {joint: index for index, joint in enumerate(joints.tolist())}
    result = offsets.copy()
    for joint in sorted(column):
        before = column.get(hand.parents[joint])
        if before is not None and np.isnan(result[column[joint]]).any():
            result[column[joint]] = result[before]
    return result


def _mean(q: Floats) -> Floats:
    """(4,) the mean of unit quaternions (N, 4) of either sign (Markley 2007): the first eigenvector of Σ q qᵀ."""
    mean: Floats = np.linalg.eigh(q.T @ q)[1][:, -1]
    return mean


def as_told(hand: HandModel, targets: Targets, pose: Pose) -> Pose:
    """The pose with the angles that the turns of targets tell; what they do not tell is as it was solved."""
    if targets.rotations is None or targets.rotation_weights is None:
        return pose
    joints = np.array([hand.sites[site].joint for site in targets.sites])
    # Frames in which the same joints are told are read together.
    patterns, which = np.unique(targets.rotation_weights > 0, axis=0, return_inverse=True)
    result = pose.angles.copy()
    for number, told in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == number)
        turns, known = np.zeros((len(rows), len(hand.joints), 4)), np.zeros(len(hand.joints), bool)
        turns[:, joints[told]], known[joints[told]] = targets.rotations[rows][:, told], True
        if not known[0]:
            turns[:, 0], known[0] = rot.from_matrix(pose.root[rows, :3, :3]), True
        found = angles(hand, turns, known)
        result[rows] = np.where(np.isfinite(found), found, result[rows])
    return replace(pose, angles=result)


def angles(hand: HandModel, turns: Floats, known: Bools) -> Floats:
    """(F, D) rad, the angles inside its limits at which a hand's joints are turned as asked, NaN where none is.

    turns (F, J, 4) wxyz in the world, known (J,). A joint is turned against the nearest known one before it, which must
    be its digit's or the wrist's; those between are taken to stand as at rest.
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
            result[:, dofs] = _of_joint(hand, dofs, turn)
    clipped: Floats = np.clip(result, hand.limits[:, 0], hand.limits[:, 1])
    return clipped


def _of_joint(hand: HandModel, dofs: "NDArray[np.int64]", turn: Floats) -> Floats:
    """(F, K) the angles of R = Rz(abduction) · Ry(twist) · Rx(flexion), of which a joint may have some."""
    whole = {
        "abduction": np.arctan2(turn[:, 1, 0], turn[:, 0, 0]),
        "twist": np.arctan2(-turn[:, 2, 0], np.hypot(turn[:, 2, 1], turn[:, 2, 2])),
        "flexion": np.arctan2(turn[:, 2, 1], turn[:, 2, 2]),
    }
    # A joint's axis is AXES' one, or its opposite on a left hand.
    signs = [float(np.sum(hand.axes[dof])) for dof in dofs]
    return np.stack([whole[hand.movements[dof]] * sign for dof, sign in zip(dofs, signs, strict=True)], axis=1)
