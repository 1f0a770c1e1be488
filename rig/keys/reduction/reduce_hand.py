"""Reduce the keys of all bones of a hand, group by group, starting with the bones that carry others."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ....errors import RigError
from ....hand import rotations as rot
from ....hand.generators import Steps, part_of
from .fewest_keys import KeyProblem, Keys, fewest_keys, thinned
from .group_error import GroupError
from .keyed_hand import Motion, SampledHand, Tolerance, moved, points_on
from .salient import PROMINENCE, contacts, extremes
from .spline import Spline

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MAX_DISTANCE = 1e6
"""Distance from the origin, in the armature's units, beyond which rounding exceeds any tolerance."""
CONTACT_TIGHTNESS = 2.0
"""Divisor of the tolerance of tips in contact, so that the gap between two tips stays within the whole tolerance. It
cannot be larger, since the wrist may use up to half."""


@dataclass(frozen=True, slots=True, eq=False)
class ReducedHand:
    """The reduced keys of a hand's bones, and their deviation from the original motion."""

    splines: Mapping[int, Spline]
    """Bone -> the keys of its channels. Bones without fewer keys than before are left out."""
    distance: float
    """m, maximum deviation of a fingertip on any frame."""
    angle: float
    """rad, maximum deviation of a joint on any frame."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """Settings of key reduction."""

    tolerance: Tolerance = field(default_factory=Tolerance)
    shared: bool = False
    """Whether all bones of a digit have keys on each of its frames. If not, each has only those that it needs."""


def reduce_hand(hand: SampledHand, reduction: Reduction) -> Steps[ReducedHand]:
    """Return the reduced keys of a hand of at least two frames. Raises RigError for a bone that is too far away."""
    channels = [bone.channels() for bone in hand.bones]
    dense = moved(hand.bones, channels)
    _check_positions(hand, dense)
    touching, kept = salient_frames(hand, dense, reduction.tolerance)
    splines = dict[int, Spline]()
    groups = [group for group in hand.groups if hand.rows(group)]
    for number, group in enumerate(groups):
        tightness = np.where(touching[group], CONTACT_TIGHTNESS, 1.0)
        error = GroupError(hand, group, reduction.tolerance, tightness, channels)
        work = _reduce_group(hand, group, error, kept[group] | hand.kept[group], shared=reduction.shared)
        found = yield from part_of(number / len(groups), (number + 1) / len(groups), "Reducing keys", work)
        for bone, spline in found.items():
            channels[bone], splines[bone] = spline.at(hand.frames), spline
    distances, angles = hand.errors({bone: channels[bone] for bone in splines})
    return ReducedHand(splines, float(distances.max(initial=0.0)), float(angles.max(initial=0.0)))


def _check_positions(hand: SampledHand, dense: Motion) -> None:
    """Raise RigError if a bone is so far from the origin on a frame that rounding exceeds any tolerance."""
    for bone, positions in zip(hand.bones, dense.positions, strict=True):
        rows = np.flatnonzero(~(np.abs(positions).max(axis=1) < MAX_DISTANCE))
        if len(rows):
            raise RigError(
                f"bone '{bone.name}' is over a million units away on frame {hand.frames[rows[0]]:g}: bring it back to "
                "reduce the keys of its hand"
            )


def _reduce_group(
    hand: SampledHand, group: str, error: GroupError, kept: Bools, *, shared: bool
) -> "Steps[dict[int, Spline]]":
    """Return the keys of a group's bones; empty if they would not be fewer."""
    members = hand.rows(group)
    samples = np.concatenate([hand.bones[row].channels() for row in members], axis=1)
    ends = np.cumsum([hand.bones[row].channels().shape[1] for row in members])
    columns = [slice(end - hand.bones[row].channels().shape[1], end) for row, end in zip(members, ends, strict=True)]
    problem = KeyProblem(hand.frames, samples, error, kept)
    keys = yield from part_of(0.0, 1.0 if shared else 0.5, "", fewest_keys(problem))
    of_bones = {row: _columns(keys, part) for row, part in zip(members, columns, strict=True)}
    if not shared:
        values = keys.spline.at(hand.frames)
        for number, (row, part) in enumerate(zip(members, columns, strict=True)):
            own = KeyProblem(hand.frames, samples[:, part], _OfBone(error, values, part), kept)
            start = 0.5 + 0.5 * number / len(members)
            of_bone = yield from part_of(start, start + 0.5 / len(members), "", thinned(own, of_bones[row]))
            of_bones[row], values[:, part] = of_bone, of_bone.spline.at(hand.frames)
    before = sum(hand.key_counts[row] * hand.bones[row].channels().shape[1] for row in members)
    after = sum(keys.spline.values.size for keys in of_bones.values())
    return {row: of_bone.spline for row, of_bone in of_bones.items()} if after < before else {}


def _columns(keys: Keys, part: slice) -> Keys:
    spline = Spline(keys.spline.frames, keys.spline.values[:, part], keys.spline.slopes[:, part])
    return Keys(keys.rows, keys.pinned, spline, keys.errors, keys.weights)


@dataclass(frozen=True, slots=True, eq=False)
class _OfBone:
    """The error of a group as a function of the values of one of its bones."""

    error: GroupError
    values: Floats
    """(F, C) of all its bones"""
    part: slice

    def __call__(self, channels: Floats) -> Floats:
        values = self.values.copy()
        values[:, self.part] = channels
        return self.error(values)


def salient_frames(hand: SampledHand, dense: Motion, tolerance: Tolerance) -> tuple[dict[str, Bools], dict[str, Bools]]:
    """Return for each group the frames (F,) on which its digit is in contact, and those (F,) on which it always has
    keys."""
    count = len(hand.frames)
    touching = {group: np.zeros(count, bool) for group in hand.groups}
    kept = {group: np.zeros(count, bool) for group in hand.groups}
    tips = {point.digit: points_on(dense, point.bone, point.offset) @ hand.to_world.T for point in hand.points}
    if "thumb" in tips:
        for digit in tips.keys() - {"", "thumb"}:
            near, rows = contacts(tips["thumb"], tips[digit])
            for group in {"thumb", digit} & touching.keys():
                touching[group] |= near
                kept[group][rows] = True
    for group in hand.groups:
        kept[group][[0, -1]] = True
        kept[group][extremes(_path(hand, dense, group), PROMINENCE * tolerance.distance)] = True
    return touching, kept


def _path(hand: SampledHand, dense: Motion, group: str) -> Floats:
    """Return the path (F, 3) m of a group's end: a digit's tip relative to the wrist, or else the wrist."""
    count = len(hand.frames)
    tip = next((point for point in hand.points if point.digit == group), None)
    rotation, position = dense.rotations[hand.wrist], dense.positions[hand.wrist]
    if tip is None:
        carried = [points_on(dense, point.bone, point.offset) for point in hand.points if point.digit]
        inside = [rot.rotate(rot.conjugate(rotation), path - position).mean(axis=0) for path in carried]
        path = position + rot.rotate(rotation, np.mean(inside, axis=0) if inside else np.zeros(3))
    else:
        path = rot.rotate(rot.conjugate(rotation), points_on(dense, tip.bone, tip.offset) - position)
    return np.broadcast_to(path @ hand.to_world.T, (count, 3))
