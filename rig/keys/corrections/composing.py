"""Compose the channels of a corrected take on the frames that corrections change: the rotations of a hand's bones,
and the location of the wrist or the arm's rotations if a palm is moved."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....capture.cleaning import runs
from ....errors import RigError
from ....hand import rotations as rot
from ....hand.generators import Steps, part_of, run_to_end
from ....hand.joints import JOINT_INDEX, JOINTS
from ....pipeline.corrections.correction import (
    PALM,
    ContactChange,
    Correction,
    HeldOnObject,
    PoseChange,
    PoseDifference,
    PoseToHold,
    TakenMotion,
)
from .hand_of_take import HandOfTake
from .hand_to_correct import HandToCorrect
from .held_on_object import held_on_object
from .held_shorter import held_shorter
from .held_touch import HeldBones, held_touch
from .keyed_channels import KeyedBone, KeyedLocation
from .keyed_wrist import HandKeys
from .matched_motion import matched
from .object_motion import PlayedFrames
from .reached_wrist import LaidWrist
from .take_clock import TakeClock

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

WRIST_COLUMN = len(JOINTS)
"""Column of the wrist's location, after those of the bones."""


@dataclass(frozen=True, slots=True, eq=False)
class ComposedChannels:
    """Corrected values of a bone's rotation or location on the F frames of a take."""

    keyed: KeyedBone | KeyedLocation
    values: Floats
    """(F, C) unit quaternions or locations, valid where `changed`."""
    changed: Bools
    """(F,) whether a correction has weight."""
    in_range: Bools
    """(F,) whether the frame is in the range of a correction that moves the bone."""


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """The corrected channels of a hand."""

    rows: Bools
    """(F,) whether a frame of the take is in the range of a correction."""
    keys: HandKeys
    """Keys of these R frames."""
    changed: Bools
    """(R, J + 1) whether a correction has weight: for each bone, and for the wrist's location."""
    in_range: Bools
    """(R, J + 1) whether the frame is in the range of a correction that moves it."""
    waiting: Mapping[str, str]
    """Id of a contact that the hand cannot hold -> the reason."""
    shortened: Mapping[str, str]
    """Id of a contact that is held shorter than its range -> a clause that says so."""
    laid: Mapping[str, LaidWrist]
    """Id -> the wrist's position, for palms that rest on objects at full weight."""

    def channels(self, take_hand: HandOfTake) -> "Iterator[ComposedChannels]":
        """Yield the corrected channels of a hand."""
        known: list[tuple[KeyedBone | KeyedLocation, Floats, int]] = [
            (bone, self.keys.rotations[:, joint], joint) for joint, bone in take_hand.bones.items()
        ]
        wrist_keys = self.keys.wrist
        if wrist_keys is not None:
            known += (
                [(take_hand.wrist.location, wrist_keys.locations, WRIST_COLUMN)] if take_hand.wrist.location else []
            )
            known += [
                (bone, wrist_keys.arm[:, number], WRIST_COLUMN) for number, bone in enumerate(take_hand.wrist.arm)
            ]
        for keyed, values, column in known:
            yield ComposedChannels(
                keyed,
                self._on_frames(values),
                self._on_frames(self.changed[:, column]),
                self._on_frames(self.in_range[:, column]),
            )

    def _on_frames(self, values: NDArray[Any]) -> NDArray[Any]:
        """Expand values (R, ...) to all F frames, with zeros elsewhere."""
        spread = np.zeros((len(self.rows), *values.shape[1:]), values.dtype)
        spread[self.rows] = values
        return spread


def compose(
    take_hand: HandOfTake,
    corrections: Sequence[Correction],
    clock: TakeClock,
    only: Bools | None = None,
    played: PlayedFrames | None = None,
) -> Composed:
    """Run `composing` to its end and return its result."""
    return run_to_end(composing(take_hand, corrections, clock, only, played))


def composing(
    take_hand: HandOfTake,
    corrections: Sequence[Correction],
    clock: TakeClock,
    only: Bools | None = None,
    played: PlayedFrames | None = None,
) -> Steps[Composed]:
    """Return the channels of a hand with its corrections, each applied to the result of those before it.

    only: (F,) the frames to compose, and with them those that they depend on; None for all frames in a range. played:
    frames that Blender has already evaluated with objects; None for none.
    """
    played = played or PlayedFrames()
    ranges = [take_hand.rows(correction, clock) for correction in corrections]
    around = [_around(rows, correction) for rows, correction in zip(ranges, corrections, strict=True)]
    rows = np.any(around, axis=0) if around else np.zeros(len(take_hand.frames), bool)
    if only is not None:
        rows &= _with_whole_ranges(only, around, corrections)
    frames = take_hand.frames[rows]
    keys, waiting, shortened, laid = (
        take_hand.keys(frames),
        dict[str, str](),
        dict[str, str](),
        dict[str, LaidWrist](),
    )
    changed, in_range = np.zeros((2, len(frames), len(JOINTS) + 1), bool)
    for number, (correction, inside, evaluated) in enumerate(zip(corrections, ranges, around, strict=True)):
        at, moved = evaluated[rows], moved_joints(take_hand, correction)
        if not at.any() or not moved:
            continue
        times = clock.times(frames[at])
        if isinstance(correction.change, ContactChange):
            # The blends of a contact are part of its motion, since the approach may need longer ones.
            weights, continues = correction.factors(times), (not inside[0], not inside[-1])
            try:
                holding = _held(
                    take_hand,
                    correction,
                    keys.select(at),
                    frames[at],
                    times,
                    moved=moved,
                    continues=continues,
                    played=played,
                )
                holding_keys = yield from part_of(
                    number / len(corrections), (number + 1) / len(corrections), "", holding
                )
            except RigError as error:
                waiting[correction.id] = str(error)
                continue
            target = holding_keys.keys
            shorter = held_shorter(correction.range, take_hand.frames, frames[at], holding_keys.rows, clock)
            shortened |= {correction.id: shorter} if shorter else {}
            counts = np.flatnonzero(holding_keys.rows.mask(len(weights)) & (weights == 1.0))
            if holding_keys.wrist is not None and len(counts):
                laid[correction.id] = LaidWrist(frames[at][counts], holding_keys.wrist[counts, :3, 3])
        else:
            weights, current = correction.weights(times), keys.rotations[at]
            target = HandKeys(_target(take_hand.hand, correction, current, moved, times))
        keys = keys.mixed(at, target, moved, weights)
        columns = np.array(moved if target.wrist is None else [*moved, WRIST_COLUMN])
        changed[np.ix_(np.flatnonzero(at)[weights > 0], columns)] = True
        in_range[np.ix_(np.flatnonzero(inside[rows]), columns)] = True
    waiting |= _hindered(corrections, waiting)
    laid = {correction_id: wrist for correction_id, wrist in laid.items() if correction_id not in waiting}
    return Composed(rows, keys, changed, in_range, waiting, shortened, laid)


def _held(
    take_hand: HandOfTake,
    correction: Correction,
    keys: HandKeys,
    frames: Floats,
    times: Floats,
    *,
    moved: list[int],
    continues: tuple[bool, bool],
    played: PlayedFrames,
) -> Steps[HeldBones]:
    """Return the bones that hold a contact. Raises RigError with the reason if they cannot; see held_on_object."""
    if isinstance(correction.change, HeldOnObject):
        return (
            yield from held_on_object(
                take_hand, correction, keys, frames, times, moved=moved, continues=continues, played=played
            )
        )
    return (yield from held_touch(take_hand.hand, correction, keys.rotations, times, moved=moved, continues=continues))


def _hindered(corrections: Sequence[Correction], waiting: Mapping[str, str]) -> dict[str, str]:
    """Return id -> why a contact does not hold, for contacts whose digit a later contact moves away.

    A later palm contact moves all digits. waiting: ids of contacts that cannot hold anyway, and move nothing.
    """
    contacts = [
        first_correction
        for first_correction in corrections
        if isinstance(first_correction.change, ContactChange)
        and not first_correction.muted
        and first_correction.id not in waiting
    ]
    return {
        first.id: f"'{later_correction.name}' moves the {'palm' if shared == {PALM} else 'same digit'} in its frames"
        for number, first in enumerate(contacts)
        for later_correction in contacts[number + 1 :]
        if (shared := _held_parts(first) & {*later_correction.digits, *_held_parts(later_correction)})
        and first.range.full_start <= later_correction.range.full_end
        and later_correction.range.full_start <= first.range.full_end
    }


def of_hand(corrections: Sequence[Correction], take_hand: HandOfTake) -> list[Correction]:
    """Return the corrections that change the keys of a hand."""
    return [
        correction
        for correction in corrections
        if correction.hand == take_hand.hand.side and not correction.muted and not correction.is_before_solving
    ]


def _held_parts(contact: Correction) -> set[str]:
    """Return the parts of the hand that are held by a contact."""
    change = contact.change
    assert isinstance(change, ContactChange)
    return {*change.digits} | ({PALM} if isinstance(change, HeldOnObject) and change.palm is not None else set())


def corrected_keys(
    take_hand: HandOfTake,
    corrections: Sequence[Correction],
    clock: TakeClock,
    wanted: Bools,
    played: PlayedFrames | None = None,
) -> HandKeys:
    """Return the channels of a hand with its corrections, in the R wanted ones of frames (F,).

    played: see composing.
    """
    composed, keys = compose(take_hand, corrections, clock, wanted, played), take_hand.keys(take_hand.frames[wanted])
    return keys.with_rows(composed.rows[wanted], composed.keys.select(wanted[composed.rows]))


def _around(rows: Bools, correction: Correction) -> Bools:
    """Return the frames (F,) that a correction of these depends on.

    A motion depends on two more, because its ends are matched.
    """
    around = rows.copy()
    if isinstance(correction.change, TakenMotion):
        around[:-1] |= rows[1:]
        around[1:] |= rows[:-1]
    return around


def _with_whole_ranges(only: Bools, around: Sequence[Bools], corrections: Sequence[Correction]) -> Bools:
    """Extend frames (F,) by the whole ranges of motions and contacts among them, whose frames depend on each other."""
    selected, before = only.copy(), -1
    while selected.sum() != before:
        before = selected.sum()
        for rows, correction in zip(around, corrections, strict=True):
            if isinstance(correction.change, TakenMotion | ContactChange) and (rows & selected).any():
                selected |= rows
    return selected


def moved_joints(take_hand: HandOfTake, correction: Correction) -> list[int]:
    """Return those joints keyed by the take whose bones a correction rotates."""
    if not isinstance(correction.change, PoseChange):
        return []
    joints = {JOINT_INDEX[joint] for joint in correction.change.joints}
    if isinstance(correction.change, PoseToHold):
        joints &= take_hand.hand.posable
    return [joint for joint in take_hand.hand.joints if joint in joints and joint in take_hand.bones]


def _target(hand: HandToCorrect, correction: Correction, rotations: Floats, moved: list[int], times: Floats) -> Floats:
    """Return rotations (F, J, 4) after a correction at full weight."""
    target, change = rotations.copy(), correction.change
    if isinstance(change, PoseDifference):
        for joint in moved:
            target[:, joint] = hand.with_rotation(rotations[:, joint], joint, change.rotations[JOINTS[joint]])
    elif isinstance(change, TakenMotion):
        relative = hand.relative_to_wrist(rotations)
        for joint in moved:
            taken = sampled(change.times, change.rotations[JOINTS[joint]], times)
            relative[:, joint] = matched(taken, relative[:, joint], times, correction.range)
        target = hand.with_joints(rotations, moved, relative)
    elif isinstance(change, PoseToHold):
        target[:, moved] = hand.pose(change.pose)[moved]
    return target


def sampled(times: Floats, rotations: Floats, at: Floats) -> Floats:
    """Interpolate rotations (F, 4) at times (F,) from samples (N, 4) at times (N,); the end samples hold beyond."""
    after = np.clip(np.searchsorted(times, at), min(1, len(times) - 1), len(times) - 1)
    before = np.maximum(after - 1, 0)
    span = np.maximum(times[after] - times[before], 1e-12)
    part = np.clip((at - times[before]) / span, 0.0, 1.0)
    return rot.slerp(rotations[before], rotations[after], part[:, None])


def runs_with_ends(in_range: Bools, keyed: Bools) -> Iterator[tuple[int, int]]:
    """Yield the first and last row of each run of frames to key, for a curve with keys where `keyed` (F,) is set.

    A run includes the frame before and after it if the curve has no key there, so that a step at the range's end has
    one.
    """
    rows = in_range.copy()
    rows[:-1] |= in_range[1:] & ~keyed[:-1]
    rows[1:] |= in_range[:-1] & ~keyed[1:]
    _, starts, stops = runs(rows[:, None])
    yield from zip(starts.tolist(), (stops - 1).tolist(), strict=True)
