"""Error of a group of bones, relative to the tolerance."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....hand import rotations as rot
from .keyed_hand import (
    MeasuredPoint,
    Motion,
    SampledBone,
    SampledHand,
    Tolerance,
    moved,
    moved_bone,
    points_on,
)

Floats = NDArray[np.float64]

CARRIER_FRACTION = 0.5
"""Fraction of the allowed distance that bones which carry others may use. The digits need the rest."""


@dataclass(frozen=True, slots=True, eq=False)
class _Goal:
    """A point's original position, and its position in the frame of a bone of the group."""

    bone: int
    offsets: Floats
    """(3,), or (F, 3) if it is moved by bones outside the group"""
    positions: Floats
    """(F, 3) or (1, 3) in armature space"""
    allowed: Floats
    """(F,) m"""


class GroupError:
    """Measures the error of new channel values of one group, given the reduced motion of the bones above it."""

    def __init__(
        self, hand: SampledHand, group: str, tolerance: Tolerance, tightness: Floats, channels: Sequence[Floats]
    ) -> None:
        """tightness: (F,) divisor of the allowed distance. channels: reduced channels of all bones."""
        self._bones, self._to_world, self._angle = hand.bones, hand.to_world.T, tolerance.angle
        self._members = hand.rows(group)
        self._moving = _between(hand.bones, self._members)
        self._channels, self._motion = list(channels), moved(hand.bones, channels)
        before = moved(hand.bones, [bone.channels() for bone in hand.bones])
        self._rotations = [hand.bones[row].basis(hand.bones[row].channels())[0] for row in self._members]
        self._goals = tuple(self._goals_of(hand.points, before, tolerance.distance / tightness))

    def _goals_of(self, points: Sequence[MeasuredPoint], before: Motion, allowed: Floats) -> "Iterator[_Goal]":
        members = set(self._members)
        for point in points:
            path = list(_up(self._bones, point.bone))
            holder = next((row for row in path if row in members), -1)
            if holder < 0:
                continue
            positions = points_on(before, point.bone, point.offset)
            if holder == point.bone:
                yield _Goal(holder, point.offset, positions, allowed)
                continue
            changes = any(self._bones[row].channels().shape[1] for row in path[: path.index(holder)])
            inside = rot.rotate(rot.conjugate(before.rotations[holder]), positions - before.positions[holder])
            yield _Goal(holder, inside, positions, allowed * (CARRIER_FRACTION if changes else 1.0))

    def __call__(self, channels: Floats) -> Floats:
        """Return the errors (F,), relative to the tolerance, of values (F, C) of the channels of all bones."""
        values, start, motion = dict[int, Floats](), 0, self._motion.copy()
        for row in self._members:
            width = self._channels[row].shape[1]
            values[row] = channels[:, start : start + width]
            start += width
        worst = np.zeros(len(channels))
        for row in self._moving:
            basis = self._bones[row].basis(values.get(row, self._channels[row]))
            motion.rotations[row], motion.positions[row] = moved_bone(self._bones[row], basis, motion)
            if row in values:
                apart = rot.angles_between(basis[0], self._rotations[self._members.index(row)])
                np.maximum(worst, apart / self._angle, out=worst)
        for goal in self._goals:
            gap = (points_on(motion, goal.bone, goal.offsets) - goal.positions) @ self._to_world
            np.maximum(worst, np.sqrt(np.einsum("fi,fi->f", gap, gap)) / goal.allowed, out=worst)
        return worst


def _up(bones: Sequence[SampledBone], row: int) -> Iterator[int]:
    """Yield a bone and those above it."""
    while row >= 0:
        yield row
        row = bones[row].parent


def _between(bones: Sequence[SampledBone], members: Sequence[int]) -> list[int]:
    """Return the bones of a group and those between them, parents first."""
    found = set(members)
    for member in members:
        path = list(_up(bones, member))
        above = [number for number, row in enumerate(path) if row in found]
        found |= set(path[: above[-1]])
    return sorted(found)
