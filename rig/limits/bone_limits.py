"""Limits on a bone's local rotation in Blender's terms, as plain numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...hand import rotations as rot
from ..rotation_channels import from_eulers, smallest_eulers

Floats = NDArray[np.float64]

Order = Literal["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "SWING", "QUATERNION"]
"""Decomposition of a rotation into an angle about each of the bone's axes: by an Euler order; SWING, into swing of the
bone and twist about it, as in Blender's inverse kinematics; QUATERNION, into the components that Blender's locks of a
quaternion apply to."""

AXIS_TOLERANCE = np.deg2rad(2.0)
"""rad, the tolerated deviation of a joint's axes from those of a bone with fewer free axes."""
SIDE_EFFECT_TWIST = np.deg2rad(15.0)
"""rad, the maximum twist that is considered a side effect of other rotations."""
LOCKED_RANGE = np.deg2rad(1.0)
"""rad: an axis about which a bone rotates less than this in either direction is locked."""
ROUNDING = 1e-9
ROUNDS = 8
"""Number of times that all limits are applied in sequence. Each may partly undo the previous one, and a limit may read
the second triple of Euler angles where another wrote the first."""


@dataclass(frozen=True, slots=True, eq=False)
class AxisRanges:
    """An angle range about each of a bone's axes. Angles are on the circle: 350 degrees equal −10."""

    order: Order
    middle: Floats
    """(3,) rad."""
    half: Floats
    """(3,) rad, maximum distance of an angle from the middle; infinite for a free axis."""

    @classmethod
    def between(cls, order: Order, low: ArrayLike, high: ArrayLike) -> "AxisRanges":
        """Return ranges between minimum and maximum angles (3,) rad. Axes with an infinite angle are free."""
        low, high = np.asarray(low, float), np.asarray(high, float)
        is_free = np.isinf(low) | np.isinf(high) | (high - low >= 2 * np.pi)
        middle = np.where(is_free, 0.0, (np.where(is_free, 0.0, low) + np.where(is_free, 0.0, high)) / 2)
        return cls(order, middle, np.where(is_free, np.inf, high - middle))

    def clipped(self, matrices: Floats) -> Floats:
        """Return rotations (F, 3, 3), clipped to the ranges.

        A bone that must not twist keeps its direction as far as its swing allows, as an unwanted twist arises if a
        joint rotates about two axes in another order than the bone.
        """
        deviations = _wrapped(_decomposed(matrices, self.order) - self.middle)
        outside = np.any(np.abs(deviations) > self.half + ROUNDING, axis=-1)
        if not outside.any():
            return matrices
        result = matrices.copy()
        if self.is_twist_locked:
            deviations = _wrapped(_swing_angles(matrices[outside, :, 1], self.order) - self.middle)
        else:
            deviations = deviations[outside]
        result[outside] = _composed(self.middle + np.clip(deviations, -self.half, self.half), self.order)
        return result

    def intersection(self, other_ranges: "AxisRanges") -> "AxisRanges | None":
        """Return the intersection; None unless orders are equal and on each axis one range is within the other."""
        if self.order != other_ranges.order:
            return None
        distances = np.abs(_wrapped(self.middle - other_ranges.middle))
        wide, narrow = np.maximum(self.half, other_ranges.half), np.minimum(self.half, other_ranges.half)
        if not np.all(np.isinf(wide) | (distances + narrow <= wide + ROUNDING)):
            return None
        return replace(
            self, middle=np.where(self.half <= other_ranges.half, self.middle, other_ranges.middle), half=narrow
        )

    @property
    def is_twist_locked(self) -> bool:
        """Whether the bone must not twist."""
        return bool(self.locked[1] and abs(self.middle[1]) < LOCKED_RANGE)

    @property
    def locked(self) -> NDArray[np.bool_]:
        """(3,) whether each axis is locked."""
        locked: NDArray[np.bool_] = self.half < LOCKED_RANGE
        return locked


@dataclass(frozen=True, eq=False)
class BoneLimits:
    """All limits of a rig on a bone's rotation."""

    bone: str
    parts: tuple[AxisRanges, ...]

    def clipped(self, matrices: Floats) -> Floats:
        """Return rotations (F, 3, 3) relative to the bone's rest, clipped to all limits."""
        for _ in range(ROUNDS):
            before = matrices
            for part in self.parts:
                matrices = part.clipped(matrices)
            if matrices is before:
                break
        return matrices

    def violations(self, matrices: Floats) -> tuple[Floats, Floats, Floats]:
        """Return violations of narrow ranges, other ranges and a locked twist by rotations (F, 3, 3): (F,) rad each.

        The twist of a bone that must not twist is returned separately, up to SIDE_EFFECT_TWIST, because the bone's
        direction is correct despite it.
        """
        clipped = self._narrow.clipped(matrices)
        off_axis, twist = angles_between(clipped, matrices), np.zeros(len(matrices))
        if any(part.is_twist_locked for part in self.parts):
            twist = off_axis
            off_axis = _vector_angles(clipped[..., 1], matrices[..., 1]) + np.maximum(twist - SIDE_EFFECT_TWIST, 0.0)
        return off_axis, angles_between(self._not_narrow.clipped(clipped), clipped), twist

    @cached_property
    def _narrow(self) -> "BoneLimits":
        """These limits reduced to the ranges whose half-width is below AXIS_TOLERANCE."""
        return self._reduced([part.half < AXIS_TOLERANCE for part in self.parts])

    @cached_property
    def _not_narrow(self) -> "BoneLimits":
        """These limits reduced to the ranges that are not narrow."""
        return self._reduced([part.half >= AXIS_TOLERANCE for part in self.parts])

    def _reduced(self, masks: Sequence[NDArray[np.bool_]]) -> "BoneLimits":
        halves = [np.where(mask, part.half, np.inf) for mask, part in zip(masks, self.parts, strict=True)]
        parts = (replace(part, half=half) for part, half in zip(self.parts, halves, strict=True))
        return BoneLimits(self.bone, tuple(part for part in parts if np.isfinite(part.half).any()))

    def hinge(self) -> Floats | None:
        """Return the bone's only free axis (3,); None if it has several or none."""
        at_rest = [part.locked & (np.abs(_wrapped(part.middle)) < LOCKED_RANGE) for part in self.parts]
        free: list[int] = np.flatnonzero(~np.any(at_rest, axis=0)).tolist() if at_rest else []
        axis: Floats | None = np.eye(3)[free[0]] if len(free) == 1 else None
        return axis


def merged(parts: Sequence[AxisRanges]) -> tuple[AxisRanges, ...]:
    """Return the same limits in as few parts as possible, by merging ranges that contain each other."""
    result: list[AxisRanges] = []
    for part in parts:
        for index, existing in enumerate(result):
            intersection = existing.intersection(part)
            if intersection is not None:
                result[index] = intersection
                break
        else:
            result.append(part)
    return tuple(result)


def angles_between(first: Floats, second: Floats) -> Floats:
    """Return the angles (F,) rad between rotations (F, 3, 3)."""
    between = rot.from_matrix(np.swapaxes(first, -1, -2) @ second)
    angle: Floats = 2 * np.arctan2(np.linalg.norm(between[..., 1:], axis=-1), between[..., 0])
    return angle


def _vector_angles(first: Floats, second: Floats) -> Floats:
    """Return the angles (F,) rad between unit vectors (F, 3)."""
    angle: Floats = np.arctan2(np.linalg.norm(np.cross(first, second), axis=-1), (first * second).sum(axis=-1))
    return angle


def _wrapped(angles: Floats) -> Floats:
    wrapped: Floats = angles - 2 * np.pi * np.round(angles / (2 * np.pi))
    return wrapped


def _decomposed(matrices: Floats, order: Order) -> Floats:
    """Return the angles (F, 3) rad about X, Y and Z of rotations (F, 3, 3)."""
    if order not in ("SWING", "QUATERNION"):
        return smallest_eulers(matrices, order)
    q = rot.from_matrix(matrices)
    if order == "QUATERNION":
        return _angles(q[:, 1:])
    twist = 2 * np.arctan2(q[:, 2], q[:, 0])
    swing = rot.multiply(q, rot.from_axis_angle([0.0, 1.0, 0.0], -twist))
    # Without the twist, Y is zero and w is not negative.
    angles = _angles(swing[:, 1:])
    angles[:, 1] = _wrapped(twist)
    return angles


def _swing_angles(directions: Floats, order: Order) -> Floats:
    """Return the angles (F, 3) rad about X and Z alone that rotate Y onto unit vectors (F, 3).

    With Z applied first     d = Rx Rz y = (−sin z, cos z cos x, cos z sin x)
    with X applied first     d = Rz Rx y = (−sin z cos x, cos z cos x, sin x)
    Of the two solutions, which are a and (pi − a, the other + pi), the one with smaller angles is returned. A swing is
    about both axes at once.
    """
    if order in ("SWING", "QUATERNION"):
        axis = np.cross([0.0, 1.0, 0.0], directions)
        sine = np.linalg.norm(axis, axis=-1, keepdims=True)
        half = np.arctan2(sine, directions[:, 1:2]) / 2
        axis = np.where(sine > 1e-12, axis / np.maximum(sine, 1e-12), [1.0, 0.0, 0.0])
        return _angles(np.sin(half) * axis)
    x_first = order.index("X") < order.index("Z")
    second, first = (0, 2) if x_first else (2, 0)
    sign = np.array([-1.0, 1.0]) if x_first else np.array([1.0, -1.0])
    angles = np.zeros((2, len(directions), 3))
    angles[0, :, first] = np.arctan2(sign[0] * directions[:, second], directions[:, 1])
    angles[0, :, second] = np.arcsin(np.clip(sign[1] * directions[:, first], -1.0, 1.0))
    angles[1, :, first] = angles[0, :, first] + np.pi
    angles[1, :, second] = np.pi - angles[0, :, second]
    angles = _wrapped(angles)
    smaller = np.abs(angles).sum(axis=-1).argmin(axis=0)
    smallest: Floats = angles[smaller, np.arange(len(directions))]
    return smallest


def _composed(angles: Floats, order: Order) -> Floats:
    """Return the rotations (F, 3, 3) of angles (F, 3) rad about X, Y and Z."""
    if order not in ("SWING", "QUATERNION"):
        return from_eulers(angles, order)
    if order == "QUATERNION":
        return rot.to_matrix(_quaternions(np.sin(angles / 2)))
    swing = _quaternions(np.sin(angles / 2) * [1.0, 0.0, 1.0])
    return rot.to_matrix(rot.multiply(swing, rot.from_axis_angle([0.0, 1.0, 0.0], angles[:, 1])))


def _angles(parts: Floats) -> Floats:
    angles: Floats = 2 * np.arcsin(np.clip(parts, -1.0, 1.0))
    return angles


def _quaternions(parts: Floats) -> Floats:
    """Return unit quaternions (F, 4) with w >= 0 from vector parts (F, 3). Parts longer than 1 are shortened."""
    length = np.linalg.norm(parts, axis=-1, keepdims=True)
    parts = parts / np.maximum(length, 1.0)
    return np.concatenate([np.sqrt(np.maximum(1.0 - np.minimum(length, 1.0) ** 2, 0.0)), parts], axis=-1)


def locked_ranges(order: Order, axes: Sequence[bool]) -> AxisRanges:
    """Return ranges that allow no rotation about the locked axes."""
    half = np.where(np.asarray(axes, bool), 0.0, np.inf)
    return AxisRanges(order, np.zeros(3), half)
