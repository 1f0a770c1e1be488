"""Conversion of rotations to a bone's rotation channels: quaternion, one of six Euler orders, or axis and angle."""

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from ..hand import rotations as rot

Floats = NDArray[np.float64]

EULER_ORDERS = tuple("".join(order) for order in permutations("XYZ"))


def channel(mode: str) -> str:
    """Return the name of a pose bone's rotation property for a rotation mode."""
    return {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(mode, "rotation_euler")


def channel_values(rotations: Floats, mode: str) -> Floats:
    """Return channel values (F, 4) or (F, 3) for unit quaternions (F, 4), continuous over the frames."""
    if mode == "QUATERNION":
        return rot.make_continuous(rotations)
    if mode == "AXIS_ANGLE":
        return _axis_angles(rot.make_continuous(rotations))
    return eulers(rot.to_matrix(rotations), mode)


def rotations(values: Floats, mode: str) -> Floats:
    """Return unit quaternions (F, 4) of channel values (F, 4) or (F, 3). Zeros stand for no rotation, as in Blender."""
    if mode == "QUATERNION":
        length = np.linalg.norm(values, axis=-1, keepdims=True)
        return np.where(length > 1e-9, values / np.maximum(length, 1e-9), rot.IDENTITY)
    if mode == "AXIS_ANGLE":
        length = np.linalg.norm(values[:, 1:], axis=-1, keepdims=True)
        axes = np.where(length > 1e-9, values[:, 1:] / np.maximum(length, 1e-9), [0.0, 1.0, 0.0])
        return rot.from_axis_angle(axes, values[:, 0])
    return rot.from_matrix(from_eulers(values, mode))


def nearest_values(rotation: Floats, mode: str, current: Floats) -> Floats:
    """Return channel values (4,) or (3,) for a unit quaternion (4,): of all equivalent ones, the nearest to `now`.

    `now` is interpolated from the neighbouring keys, so a keyed pose makes no full rotations between them.
    """
    if mode == "QUATERNION":
        return rotation * (-1.0 if rotation @ current < 0 else 1.0)
    if mode == "AXIS_ANGLE":
        axis_angle: Floats = _axis_angles(rotation[None])[0]
        axis_angle *= -1.0 if axis_angle[1:] @ current[1:] < 0 else 1.0
        axis_angle[0] += 2 * np.pi * np.round((current[0] - axis_angle[0]) / (2 * np.pi))
        return axis_angle
    euler: Floats = eulers(rot.to_matrix(rotation[None]), mode, current)[0]
    return euler


def _axis_angles(q: Floats) -> Floats:
    """Return angles and axes (F, 4); Y for a rotation of zero."""
    sine = np.linalg.norm(q[:, 1:], axis=-1)
    angle = np.unwrap(2 * np.arctan2(sine, q[:, 0]))
    axis = np.where(sine[:, None] > 1e-9, q[:, 1:] / np.maximum(sine, 1e-9)[:, None], [0.0, 1.0, 0.0])
    return np.concatenate([angle[:, None], axis], axis=-1)


def eulers(matrices: Floats, order: str, before: Floats | None = None) -> Floats:
    """Return Euler angles (F, 3) rad of x, y, z for rotations (F, 3, 3); in order ABC, A is applied first.

    Of each rotation's two triples, the one nearer to the previous frame, up to full turns. before: (3,) the triple
    before the first frame, zero if None.
    """
    both = _triples(matrices, order)
    result = np.empty_like(both[:, 0])
    before = np.zeros(3) if before is None else before
    for frame, candidates in enumerate(both):
        near = candidates - 2 * np.pi * np.round((candidates - before) / (2 * np.pi))
        before = result[frame] = near[np.argmin(np.abs(near - before).sum(axis=-1))]
    return result


def smallest_eulers(matrices: Floats, order: str) -> Floats:
    """Return Euler angles (F, 3) rad in −pi..pi: of each rotation (F, 3, 3) the smaller triple, as Blender chooses."""
    both = _triples(matrices, order)
    wrapped = both - 2 * np.pi * np.round(both / (2 * np.pi))
    index = np.argmin(np.abs(wrapped).sum(axis=-1), axis=-1)
    smallest: Floats = wrapped[np.arange(len(wrapped)), index]
    return smallest


def from_eulers(angles: Floats, order: str) -> Floats:
    """Return rotations (F, 3, 3) of Euler angles x, y, z (F, 3) rad in an order of Blender's."""
    cosines, sines = np.cos(angles), np.sin(angles)
    axis_rotations = np.zeros((3, len(angles), 3, 3))
    for axis in range(3):
        following, last = (axis + 1) % 3, (axis + 2) % 3
        axis_rotations[axis, :, axis, axis] = 1.0
        axis_rotations[axis, :, following, following] = axis_rotations[axis, :, last, last] = cosines[:, axis]
        axis_rotations[axis, :, last, following] = sines[:, axis]
        axis_rotations[axis, :, following, last] = -sines[:, axis]
    a, b, c = ("XYZ".index(axis) for axis in order)
    rotations: Floats = axis_rotations[c] @ axis_rotations[b] @ axis_rotations[a]
    return rotations


def _triples(matrices: Floats, order: str) -> Floats:
    """Return both triples (F, 2, 3) rad of Euler angles of rotations (F, 3, 3).

    R = R_c · R_b · R_a, so R[c, a] = −s · sin(b), with s the sign of the permutation, and row c and column a give the
    other two angles. The same rotation has a second triple (a + pi, pi − b, c + pi).
    """
    a, b, c = ("XYZ".index(axis) for axis in order)
    sign = 1.0 if (a, b, c) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0
    m = matrices
    first = np.empty((len(m), 3))
    across = np.hypot(m[:, a, a], m[:, b, a])
    first[:, b] = np.arctan2(-sign * m[:, c, a], across)
    first[:, a] = np.arctan2(sign * m[:, c, b], m[:, c, c])
    first[:, c] = np.arctan2(sign * m[:, b, a], m[:, a, a])
    # Gimbal lock: with b a right angle only the sum or difference of a and c is determined; c is set to zero.
    locked = across < 1e-7
    first[locked, a] = np.arctan2(-sign * m[locked, b, c], m[locked, b, b])
    first[locked, c] = 0.0
    second = first + np.pi
    second[:, b] = np.pi - first[:, b]
    return np.stack([first, second], axis=1)
