"""Corrections that take effect in the solve: their ranges are solved again, and blended into the whole solve.

The whole capture is first solved and measured without corrections. Frames outside the ranges of corrections keep that
result exactly.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import solvers
from ...capture.cleaning import resample
from ...capture.markers import Markers
from ...hand import rotations as rot
from ...hand.generators import Progress, Steps, part_of
from ...hand.joints import Side
from ...hand.kinematics import Pose
from ...hand.targets import ARRAYS, Targets
from ..assignment import Assignment
from ..device_frames import to_hand_frames
from ..hand_solving import SolveMethods, solve_hand
from ..marker_cleaning import clean_markers
from ..marker_smoothing import smooth_markers
from ..performer import Performer
from ..recipe import Recipe
from ..take import SolvedHand
from .correction import Correction, HiddenMarkers, OtherMethods, SwappedLabels, TimeRange
from .correction_json import effect_of

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

CONTEXT_S = 1.0
"""s before and after a range that are solved with it, to fill gaps at its ends and to let smoothing settle."""
SAME_INSTANT = 1e-9
"""s, maximum difference of the times of one frame."""


@dataclass(frozen=True, slots=True, eq=False)
class SolveSource:
    """The inputs of a solve."""

    recipe: Recipe
    raw: Markers
    """Labelled, not cleaned."""
    assigned: Assignment
    performer: Performer
    """The performer that is solved, with the rig's limits."""
    methods: SolveMethods

    def side(self, correction: Correction) -> Side:
        """Return the performer's hand that a correction changes.

        In a mirrored take it is not on the side of the keyed hand.
        """
        mirrored: Side = "left" if correction.hand == "right" else "right"
        return mirrored if self.recipe.mirror else correction.hand

    def waiting(self, correction: Correction) -> str:
        """Return why a correction cannot take effect, as the start of a sentence; empty if it can."""
        change, times = correction.change, self.raw.times
        if self.side(correction) not in self.performer.hands:
            return f"there is no {correction.hand} hand in the take"
        if not correction.range.contains(times).any():
            return (
                f"its range from {correction.range.start:.2f} to {correction.range.end:.2f} s is not in the capture, "
                f"which has {times[0]:.2f} to {times[-1]:.2f} s"
            )
        labels = change.labels if isinstance(change, HiddenMarkers | SwappedLabels) else ()
        missing_labels = [label for label in labels if label not in self.raw.names]
        return f"there is no marker '{missing_labels[0]}' in the capture" if missing_labels else ""


@dataclass(frozen=True, slots=True, eq=False)
class Resolved:
    """Hands with the ranges of corrections solved again."""

    effects: tuple[str, ...]
    """Effects of the corrections, in their order, as JSON."""
    hands: tuple[SolvedHand, ...]


def resolve_ranges(
    source: SolveSource, corrections: Sequence[Correction], solved: Sequence[SolvedHand], cached: Resolved | None = None
) -> Steps[tuple[Resolved, dict[str, str]]]:
    """Solve the ranges of corrections again, in their order, and blend them into the solved hands.

    Each range is solved with the markers as changed by its correction and earlier ones, and with the correction's own
    solver and smoothing if it has any. cached: the result of the last corrections; reused if the new list begins with
    them. Returns the hands, and id -> reason for each correction without effect.
    """
    solve_corrections = [correction for correction in corrections if correction.is_before_solving and correction.counts]
    reasons = {correction.id: source.waiting(correction) for correction in solve_corrections}
    usable = [correction for correction in solve_corrections if not reasons[correction.id]]
    effects = tuple(json.dumps(effect_of(correction)) for correction in usable)
    resolved, hands = 0, list(solved)
    if cached is not None and effects[: len(cached.effects)] == cached.effects:
        resolved, hands = len(cached.effects), list(cached.hands)
    for number, correction in enumerate(usable[resolved:], resolved):
        raw = corrected_markers(source.raw, usable[: number + 1])
        index = next(row for row, hand in enumerate(hands) if hand.side == source.side(correction))
        progress_range = number / len(usable), (number + 1) / len(usable)
        new_solve = yield from part_of(
            *progress_range, f"Solving '{correction.name}' again", _solve_range(source, raw, correction)
        )
        hands[index] = blend_hands(hands[index], new_solve, correction)
    return Resolved(effects, tuple(hands)), {of_id: reason for of_id, reason in reasons.items() if reason}


def blind_notes(source: SolveSource, corrections: Sequence[Correction]) -> list[str]:
    """Return a sentence about each correction that hides all markers of the hand in its range."""
    usable = [
        correction
        for correction in corrections
        if correction.is_before_solving and correction.counts and not source.waiting(correction)
    ]
    seen_before, seen_after = source.raw.seen, corrected_markers(source.raw, usable).seen
    notes = []
    for correction in usable:
        if not isinstance(correction.change, HiddenMarkers):
            continue
        columns = [source.raw.names.index(label) for label in source.assigned.hands[source.side(correction)]]
        blind = (
            correction.range.contains(source.raw.times)
            & seen_before[:, columns].any(axis=1)
            & ~seen_after[:, columns].any(axis=1)
        )
        if blind.any():
            times = source.raw.times[blind]
            notes.append(
                f"correction '{correction.name}' leaves no marker of the {correction.hand} hand in "
                f"{blind.sum()} frames of the "
                f"capture from {times[0]:.2f} to {times[-1]:.2f} s: the hand is guessed there"
            )
    return notes


def corrected_markers(raw: Markers, corrections: Iterable[Correction]) -> Markers:
    """Return markers, some hidden and some with swapped labels in the ranges of corrections."""
    positions, predicted = raw.positions.copy(), raw.predicted.copy()
    rotations = None if raw.rotations is None else raw.rotations.copy()
    for correction in corrections:
        if not isinstance(correction.change, HiddenMarkers | SwappedLabels):
            continue
        columns = np.array([raw.names.index(label) for label in correction.change.labels])
        rows = np.flatnonzero(correction.range.contains(raw.times))[:, None]
        if isinstance(correction.change, HiddenMarkers):
            positions[rows, columns] = np.nan
            predicted[rows, columns] = False
            if rotations is not None:
                rotations[rows, columns] = np.nan
        else:
            for array in (positions, predicted, rotations):
                if array is not None:
                    array[rows, columns] = array[rows, columns[::-1]]
    return replace(raw, positions=positions, predicted=predicted, rotations=rotations)


def labels_changed(
    kind: type[HiddenMarkers | SwappedLabels], corrections: Iterable[Correction], solved_hand: SolvedHand
) -> Bools:
    """Return (F, T) whether corrections of a kind hide or swap the markers of a keyed hand."""
    is_changed = np.zeros((len(solved_hand.targets), len(solved_hand.labels)), bool)
    for correction in corrections:
        if isinstance(correction.change, kind) and correction.hand == solved_hand.side and correction.counts:
            columns = [label in correction.change.labels for label in solved_hand.labels]
            is_changed |= correction.range.contains(solved_hand.targets.times)[:, None] & np.array(columns, bool)
    return is_changed


def _solve_range(source: SolveSource, raw: Markers, correction: Correction) -> Steps[SolvedHand]:
    """Solve the range of a correction and frames around it."""
    recipe, methods = source.recipe, _methods(source.methods, correction)
    around = TimeRange(correction.range.start - CONTEXT_S, correction.range.end + CONTEXT_S)
    rows = np.flatnonzero(around.contains(raw.times))
    part = raw.select(slice(int(rows[0]), int(rows[-1]) + 1))
    cleaned = yield from part_of(0.0, 0.2, "", clean_markers(recipe, part, source.assigned))
    markers = to_hand_frames(methods.solver, source.performer, cleaned.markers)
    yield Progress(0.2, "Smoothing")
    samples = markers.seen & (part.predicted | ~markers.predicted)
    smoothed = smooth_markers(methods.smoothing, source.performer, markers, samples, recipe.cleaning.gap_limit)
    if recipe.fps is not None:
        markers = resample(markers, recipe.fps)
        smoothed = replace(smoothed, markers=resample(smoothed.markers, recipe.fps))
    measured = source.performer.hands[source.side(correction)]
    return (yield from part_of(0.3, 1.0, "", solve_hand(measured, markers, smoothed, methods)))


def has_other_methods(correction: Correction, recipe: Recipe) -> bool:
    """Return whether a correction solves its range with a solver or smoothing other than the recipe's."""
    methods = SolveMethods.of(recipe)
    return _methods(methods, correction) != methods


def _methods(methods: SolveMethods, correction: Correction) -> SolveMethods:
    change = correction.change
    if not isinstance(change, OtherMethods):
        return methods
    solver = solvers.make(change.solver, dict(change.settings))
    smoothing = solvers.make_smoothing(change.smoothing, dict(change.smoothing_settings))
    return replace(methods, solver=solver, smoothing=smoothing)


def restrict_to_ranges(plain: Pose, corrected: Pose, corrections: Iterable[Correction], times: Floats) -> Pose:
    """Return the corrected poses in the ranges of corrections, and the poses without corrections elsewhere.

    Retargeting depends on neighbouring frames, so it also changes frames near a range. The corrections' own weights are
    already part of the solve.
    """
    solve_corrections = [
        correction
        for correction in corrections
        if correction.is_before_solving and correction.hand == plain.hand.side and correction.counts
    ]
    weights = np.max(
        [np.zeros(len(times)), *(correction.range.weights(times) for correction in solve_corrections)], axis=0
    )
    angles = plain.angles + weights[:, None] * (corrected.angles - plain.angles)
    return Pose(corrected.hand, corrected.root, np.where((weights >= 1)[:, None], corrected.angles, angles))


def blend_hands(solved: SolvedHand, new_solve: SolvedHand, correction: Correction) -> SolvedHand:
    """Blend a new solve of a hand into its old one by the weights of a correction.

    Errors refer to the markers of the solve with the larger weight.
    """
    times, new_times = solved.targets.times, new_solve.targets.times
    nearest = np.clip(np.searchsorted(new_times, times - SAME_INSTANT), 0, len(new_times) - 1)
    weights = np.where(np.abs(new_times[nearest] - times) < SAME_INSTANT, correction.weights(times), 0.0)
    rows = np.flatnonzero(weights > 0)
    if not len(rows):
        return solved
    theirs, part = nearest[rows], weights[rows]
    root, angles = solved.pose.root.copy(), solved.pose.angles.copy()
    angles[rows] += part[:, None] * (new_solve.pose.angles[theirs] - angles[rows])
    root[rows] = _between(root[rows], new_solve.pose.root[theirs], part)
    measured, predicted = solved.measured.copy(), solved.predicted.copy()
    replaced_rows, new_rows = rows[part >= 0.5], theirs[part >= 0.5]
    measured[replaced_rows], predicted[replaced_rows] = new_solve.measured[new_rows], new_solve.predicted[new_rows]
    return replace(
        solved,
        pose=Pose(solved.pose.hand, root, angles),
        targets=_with_rows(solved.targets, replaced_rows, new_solve.targets.select(new_rows)),
        smoothed_targets=_with_rows(solved.smoothed_targets, rows, new_solve.smoothed_targets.select(theirs)),
        measured=measured,
        predicted=predicted,
    )


def _between(first: Floats, second: Floats, part: Floats) -> Floats:
    """Interpolate frames (R, 4, 4) by fractions (R,); a fraction of 1 returns the second frame exactly."""
    mixed = second.copy()
    rotations = rot.slerp(rot.from_matrix(first[:, :3, :3]), rot.from_matrix(second[:, :3, :3]), part[:, None])
    mixed[:, :3, :3] = rot.to_matrix(rotations)
    mixed[:, :3, 3] = first[:, :3, 3] + part[:, None] * (second[:, :3, 3] - first[:, :3, 3])
    return np.where((part >= 1)[:, None, None], second, mixed)


def _with_rows(targets: Targets, rows: NDArray[np.int64], new_targets: Targets) -> Targets:
    """Return targets with rows replaced by those of `new_targets`; sites that these lack get a weight of 0."""
    arrays: dict[str, Any] = {}
    for name, _, _ in ARRAYS:
        array, theirs = getattr(targets, name), getattr(new_targets, name)
        if array is not None:
            arrays[name] = array.copy()
            arrays[name][rows] = 0.0 if theirs is None else theirs
    if targets.rotations is not None and new_targets.rotations is None:
        arrays["rotations"][rows] = rot.IDENTITY
    return replace(targets, **arrays)
