"""Which local rotations a bone of a rig may make, in the terms in which Blender says it, as plain numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...hand import rotations as rot
from ..rotation_channels import least_eulers, of_eulers

Floats = NDArray[np.float64]

Order = Literal["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "SWING", "QUATERNION"]
"""How a rotation is taken apart into a turn about each of the bone's axes: an Euler order; SWING, the twist about the
bone and the swing of the bone, as Blender's inverse kinematics do; QUATERNION, the parts of the quaternion, as the
locks of its components do."""

NARROW = np.deg2rad(2.0)
"""A joint's own axes are never quite those of a bone that turns about fewer: so far they may be beside them."""
TWIST = np.deg2rad(15.0)
"""More than this is no twist that comes about by itself."""
HINGE = np.deg2rad(1.0)
"""An axis about which a bone turns less than this, either way, is locked."""
ROUNDING = 1e-9
ROUNDS = 8
"""Limits are taken in turn so often: each may undo a little of the one before, and what is inside by one of the two
triples of Euler angles may be read by the other."""


@dataclass(frozen=True, slots=True, eq=False)
class AxisRanges:
    """A range of turns about each of a bone's axes, on the circle: a turn of 350 degrees is one of −10."""

    order: Order
    middle: Floats
    """(3,) rad."""
    half: Floats
    """(3,) rad, how far a turn may be from the middle; infinite where it is free."""

    @classmethod
    def between(cls, order: Order, low: ArrayLike, high: ArrayLike) -> "AxisRanges":
        """From the lowest and highest turns (3,) rad; infinite ones are free."""
        low, high = np.asarray(low, float), np.asarray(high, float)
        free = np.isinf(low) | np.isinf(high) | (high - low >= 2 * np.pi)
        middle = np.where(free, 0.0, (np.where(free, 0.0, low) + np.where(free, 0.0, high)) / 2)
        return cls(order, middle, np.where(free, np.inf, high - middle))

    def held(self, matrices: Floats) -> Floats:
        """Rotations (F, 3, 3), those outside brought to turns that are allowed.

        A bone that may not twist keeps its direction as far as it may swing there: a twist that is not wanted comes
        about by itself where a joint turns about two axes in another order than the bone does.
        """
        away = _wrapped(_taken_apart(matrices, self.order) - self.middle)
        outside = np.any(np.abs(away) > self.half + ROUNDING, axis=-1)
        if not outside.any():
            return matrices
        result = matrices.copy()
        if self.untwisted:
            away = _wrapped(_pointing(matrices[outside, :, 1], self.order) - self.middle)
        else:
            away = away[outside]
        result[outside] = _put_together(self.middle + np.clip(away, -self.half, self.half), self.order)
        return result

    def within(self, other: "AxisRanges") -> "AxisRanges | None":
        """Both at once, where they take rotations apart alike and about each axis one of them lies within the other."""
        if self.order != other.order:
            return None
        apart = np.abs(_wrapped(self.middle - other.middle))
        wide, narrow = np.maximum(self.half, other.half), np.minimum(self.half, other.half)
        if not np.all(np.isinf(wide) | (apart + narrow <= wide + ROUNDING)):
            return None
        return replace(self, middle=np.where(self.half <= other.half, self.middle, other.middle), half=narrow)

    @property
    def untwisted(self) -> bool:
        """Whether the bone does not turn about itself."""
        return bool(self.locked[1] and abs(self.middle[1]) < HINGE)

    @property
    def locked(self) -> NDArray[np.bool_]:
        """(3,) True where the bone does not turn about an axis."""
        locked: NDArray[np.bool_] = self.half < HINGE
        return locked


@dataclass(frozen=True, eq=False)
class BoneLimits:
    """All that a rig says of how a bone may turn."""

    bone: str
    parts: tuple[AxisRanges, ...]

    def held(self, matrices: Floats) -> Floats:
        """Rotations (F, 3, 3) relative to the bone's rest, those outside brought inside all limits."""
        for _ in range(ROUNDS):
            before = matrices
            for part in self.parts:
                matrices = part.held(matrices)
            if matrices is before:
                break
        return matrices

    def off(self, matrices: Floats) -> tuple[Floats, Floats, Floats]:
        """How far rotations (F, 3, 3) are beside locked axes, outside other ranges, and twisted: (F,) rad each.

        The twist of a bone that may not twist counts by itself, up to TWIST: the bone still points where it should.
        """
        along = self._along.held(matrices)
        beside, twisted = apart(along, matrices), np.zeros(len(matrices))
        if any(part.untwisted for part in self.parts):
            twisted = beside
            beside = _between(along[..., 1], matrices[..., 1]) + np.maximum(twisted - TWIST, 0.0)
        return beside, apart(self._wide.held(along), along), twisted

    @cached_property
    def _along(self) -> "BoneLimits":
        """The narrow ranges alone."""
        return self._only([part.half < NARROW for part in self.parts])

    @cached_property
    def _wide(self) -> "BoneLimits":
        """The ranges that are not narrow alone."""
        return self._only([part.half >= NARROW for part in self.parts])

    def _only(self, kept: Sequence[NDArray[np.bool_]]) -> "BoneLimits":
        halves = [np.where(keep, part.half, np.inf) for keep, part in zip(kept, self.parts, strict=True)]
        parts = (replace(part, half=half) for part, half in zip(self.parts, halves, strict=True))
        return BoneLimits(self.bone, tuple(part for part in parts if np.isfinite(part.half).any()))

    def hinge(self) -> Floats | None:
        """(3,) the only axis of the bone about which it may turn, None where there are others or none at all."""
        at_rest = [part.locked & (np.abs(_wrapped(part.middle)) < HINGE) for part in self.parts]
        free: list[int] = np.flatnonzero(~np.any(at_rest, axis=0)).tolist() if at_rest else []
        axis: Floats | None = np.eye(3)[free[0]] if len(free) == 1 else None
        return axis


def merged(parts: Sequence[AxisRanges]) -> tuple[AxisRanges, ...]:
    """The same limits in as few parts as may be: a range that lies in another says all."""
    result: list[AxisRanges] = []
    for part in parts:
        for place, other in enumerate(result):
            both = other.within(part)
            if both is not None:
                result[place] = both
                break
        else:
            result.append(part)
    return tuple(result)


def apart(first: Floats, second: Floats) -> Floats:
    """(F,) rad, the angle between rotations (F, 3, 3)."""
    between = rot.from_matrix(np.swapaxes(first, -1, -2) @ second)
    angle: Floats = 2 * np.arctan2(np.linalg.norm(between[..., 1:], axis=-1), between[..., 0])
    return angle


def _between(first: Floats, second: Floats) -> Floats:
    """(F,) rad between unit vectors (F, 3)."""
    angle: Floats = np.arctan2(np.linalg.norm(np.cross(first, second), axis=-1), (first * second).sum(axis=-1))
    return angle


def _wrapped(angles: Floats) -> Floats:
    wrapped: Floats = angles - 2 * np.pi * np.round(angles / (2 * np.pi))
    return wrapped


def _taken_apart(matrices: Floats, order: Order) -> Floats:
    """(F, 3) rad, the turns about X, Y and Z."""
    if order not in ("SWING", "QUATERNION"):
        return least_eulers(matrices, order)
    q = rot.from_matrix(matrices)
    if order == "QUATERNION":
        return _angles(q[:, 1:])
    twist = 2 * np.arctan2(q[:, 2], q[:, 0])
    swing = rot.multiply(q, rot.about([0.0, 1.0, 0.0], -twist))
    # With the twist taken away nothing of Y is left, and w is not negative.
    angles = _angles(swing[:, 1:])
    angles[:, 1] = _wrapped(twist)
    return angles


def _pointing(directions: Floats, order: Order) -> Floats:
    """(F, 3) rad, the turns about X and Z alone by which Y comes to point along unit vectors (F, 3).

    With Z applied first     d = Rx Rz y = (−sin z, cos z cos x, cos z sin x)
    with X applied first     d = Rz Rx y = (−sin z cos x, cos z cos x, sin x)
    and of the two ways to get there, a and (pi − a, the other + pi), the one that turns less. By a swing, both at once.
    """
    if order in ("SWING", "QUATERNION"):
        axis = np.cross([0.0, 1.0, 0.0], directions)
        sine = np.linalg.norm(axis, axis=-1, keepdims=True)
        half = np.arctan2(sine, directions[:, 1:2]) / 2
        axis = np.where(sine > 1e-12, axis / np.maximum(sine, 1e-12), [1.0, 0.0, 0.0])
        return _angles(np.sin(half) * axis)
    x_first = order.index("X") < order.index("Z")
    beside, around = (0, 2) if x_first else (2, 0)
    sign = np.array([-1.0, 1.0]) if x_first else np.array([1.0, -1.0])
    turns = np.zeros((2, len(directions), 3))
    turns[0, :, around] = np.arctan2(sign[0] * directions[:, beside], directions[:, 1])
    turns[0, :, beside] = np.arcsin(np.clip(sign[1] * directions[:, around], -1.0, 1.0))
    turns[1, :, around] = turns[0, :, around] + np.pi
    turns[1, :, beside] = np.pi - turns[0, :, beside]
    turns = _wrapped(turns)
    less = np.abs(turns).sum(axis=-1).argmin(axis=0)
    picked: Floats = turns[less, np.arange(len(directions))]
    return picked


def _put_together(turns: Floats, order: Order) -> Floats:
    """(F, 3, 3) rotations of turns (F, 3) rad."""
    if order not in ("SWING", "QUATERNION"):
        return of_eulers(turns, order)
    if order == "QUATERNION":
        return rot.to_matrix(_quaternions(np.sin(turns / 2)))
    swing = _quaternions(np.sin(turns / 2) * [1.0, 0.0, 1.0])
    return rot.to_matrix(rot.multiply(swing, rot.about([0.0, 1.0, 0.0], turns[:, 1])))


def _angles(parts: Floats) -> Floats:
    angles: Floats = 2 * np.arcsin(np.clip(parts, -1.0, 1.0))
    return angles


def _quaternions(parts: Floats) -> Floats:
    """(F, 4) unit, w >= 0, of their last three parts; those that are too long are shortened."""
    length = np.linalg.norm(parts, axis=-1, keepdims=True)
    parts = parts / np.maximum(length, 1.0)
    return np.concatenate([np.sqrt(np.maximum(1.0 - np.minimum(length, 1.0) ** 2, 0.0)), parts], axis=-1)


def locks(order: Order, axes: Sequence[bool]) -> AxisRanges:
    """No turn about the axes that are locked."""
    half = np.where(np.asarray(axes, bool), 0.0, np.inf)
    return AxisRanges(order, np.zeros(3), half)
