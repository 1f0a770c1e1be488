"""The whole solve, from a recipe to a take: read, label, clean, assign, measure, smooth, solve, retarget."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import solvers
from ..capture.cleaning import resample
from ..capture.markers import Markers
from ..hand import mirror, similarity
from ..hand.generators import Progress, Steps, part_of
from . import assignment
from .alignment import align, check_align
from .capture_transform import NO_TRANSFORM
from .captured_forearm import captured_forearm
from .contacts.apply_contacts import apply_contacts
from .corrections.correction_json import from_list
from .corrections.resolving import SolveSource, blind_notes, resolve_ranges
from .device_frames import to_hand_frames
from .evidence.evidence import Evidence
from .evidence.marker_history import MarkerHistory
from .evidence.measuring import SolvedFrames, measure_hand
from .evidence.ranking import as_report, limit_notes, rank
from .hand_solving import WHOLE_TAKE, PieceContext, SolveMethods, solve_hand
from .labelling import LabelledMarkers
from .marker_cleaning import CleanedMarkers, clean_markers
from .marker_smoothing import SmoothedMarkers, smooth_markers
from .performer import Performer
from .prepared import MOST_MEASURED, Prepared, measured_frames, prepare
from .recipe import Recipe
from .report import HandFigures, ReportedTake, hand_report, take_report
from .retarget import observed_directions, retarget_figures
from .rig_constraints import Rig, RigHands
from .take import SolvedHand, Take

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class SolveJob:
    """Run a recipe step by step, so that a panel can show progress and cancel between two steps.

    Iterate `steps()` to the end, then read `take`. Nothing outside the job is changed.
    """

    def __init__(
        self,
        recipe: Recipe,
        rig: Rig | None = None,
        markers: Markers | None = None,
        reader: assignment.Reader = assignment.read_file,
        *,
        prepared: Prepared | None = None,
        piece: PieceContext = WHOLE_TAKE,
    ) -> None:
        self.recipe = recipe
        self.rig = rig
        self.markers = markers
        """Solved instead of the recipe's capture, if given."""
        self.reader = reader
        self.prepared = prepared
        """What was found on the whole take of which these markers are a piece; None for a whole take."""
        self.piece = piece
        self.take: Take | None = None
        self.labelled: LabelledMarkers | None = None
        self.cleaned: CleanedMarkers | None = None
        self.solved_frames: tuple[SolvedFrames, ...] = ()
        """What the evidence of each hand was computed from."""

    def steps(self) -> Steps[None]:
        """Read, label, clean, assign, measure, smooth, solve in pieces, and retarget. Raises KnuckleError."""
        recipe, started = self.recipe, time.perf_counter()
        corrections = from_list(recipe.corrections, "the recipe")
        solver = solvers.make(recipe.solver, recipe.settings)
        smoothing = solvers.make_smoothing(recipe.smoothing, recipe.smoothing_settings)
        markers = self.markers or (yield from part_of(0.0, 0.05, "", self.reader(recipe)))
        raw = assignment.read(recipe, markers)
        labels = yield from part_of(0.05, 0.05, "", assignment.label_markers_stepwise(recipe, raw))
        self.labelled, raw = labels, labels.markers
        seconds = {"read": time.perf_counter() - started}
        yield Progress(0.1, "Cleaning")
        prepared = yield from part_of(0.1, 0.1, "", self._prepared_by_stretches(raw))
        assigned = assignment.assign_hands(recipe, raw) if prepared is None else prepared.assigned
        cleaned = yield from part_of(0.1, 0.15, "", clean_markers(recipe, raw, assigned))
        self.cleaned, markers = cleaned, cleaned.markers
        history = MarkerHistory.of(raw, markers, labels.swapped, labels.doubt)
        yield Progress(0.15, "Measuring the performer")
        performer, assigned = (
            assignment.measure_performer(recipe, markers, assigned)
            if prepared is None
            else (prepared.performer, assigned)
        )
        rig_hands = RigHands(recipe, self.rig)
        yield from part_of(0.17, 0.17, "", rig_hands.read(performer))
        if recipe.align != "off":
            check_align(recipe, [rig_hands.driven_side(side) for side in performer.hands], self.rig)
        performer = rig_hands.performer_to_solve(performer)
        markers = to_hand_frames(solver, performer, markers)
        notes = tuple(note for limits in rig_hands.limits.values() for note in limits.notes)
        assigned = replace(assigned, warnings=assigned.warnings + notes)
        yield Progress(0.18, "Smoothing")
        samples = markers.seen & (raw.predicted | ~markers.predicted)
        # Before resampling: interpolated frames have less noise than samples, which would spoil the noise estimate.
        smoothed = smooth_markers(smoothing, performer, markers, samples, recipe.cleaning.gap_limit)
        if recipe.fps is not None:
            markers = resample(markers, recipe.fps)
            smoothed = replace(smoothed, markers=resample(smoothed.markers, recipe.fps))
        methods = SolveMethods(solver, smoothing, recipe.angles)
        source = SolveSource(recipe, raw, assigned, performer, methods)
        solved = yield from part_of(0.2, 0.74, "", _solve_hands(source, markers, smoothed, self.piece))
        work = resolve_ranges(source, corrections, solved)
        solved, waiting = yield from part_of(0.74, 0.8, "", work)
        recipe, solved = self._place(recipe, solved, markers, smoothing)
        solved = yield from part_of(0.8, 1.0, "", self._to_keyed_hands(rig_hands, performer, solved))
        seconds["solve"] = time.perf_counter() - started - seconds["read"]
        self.solved_frames = tuple(_solved_frames(hand, history, self.piece.measured_labels) for hand in solved)
        evidence = Evidence(markers.times, tuple(map(measure_hand, self.solved_frames)))
        by_hand = list(zip(solved, self.solved_frames, strict=True))
        report = _report(recipe, markers, assigned, by_hand, rig_hands, recorded_rate=raw.rate, seconds=seconds)
        problems = rank(evidence)
        report |= {"problems": as_report(problems), "labels": labels.facts, "dropped_fragments": cleaned.fragments()}
        report["warnings"] += [
            *limit_notes(problems, report["hands"]),
            *(f"correction '{each.name}' waits: {waiting[each.id]}" for each in corrections if each.id in waiting),
            *blind_notes(source, corrections),
        ]
        self.take = Take(recipe, markers, markers.times, tuple(solved), evidence, problems, report, waiting)

    def _prepared_by_stretches(self, raw: Markers) -> Steps[Prepared | None]:
        """Return what holds for the whole take, measured on stretches of a long one; None for a short one."""
        if self.prepared is not None or len(raw.times) <= MOST_MEASURED:
            return self.prepared
        prepared = yield from prepare(self.recipe, raw.select(measured_frames(len(raw.times))))
        return prepared

    def _to_keyed_hands(
        self, rig_hands: RigHands, performer: Performer, solved: Sequence[SolvedHand]
    ) -> Steps[list[SolvedHand]]:
        """Retarget solved hands to those of the rig, and do what the recipe asks of flesh that touches."""
        keyed = []
        for number, hand in enumerate(solved):
            begin, end = number / len(solved), (number + 1) / len(solved)
            if self.rig is not None:
                yield Progress(begin, f"Retargeting to the rig's {hand.side} hand")
            retargeted = rig_hands.retarget(performer, hand.pose, hand.smoothed_targets)
            work = apply_contacts(self.recipe, replace(hand, retargeted=retargeted))
            keyed.append((yield from part_of(begin, end, "", work)))
        return keyed

    def _place(
        self, recipe: Recipe, solved: list[SolvedHand], markers: Markers, smoothing: solvers.Smoothing
    ) -> tuple[Recipe, list[SolvedHand]]:
        """Mirror, align and transform solved hands; return them, and the recipe with the transform that was found.

        Hands that are not placed get the forearms that the capture shows.
        """
        if recipe.mirror:
            solved = [_mirror_hand(hand) for hand in reversed(solved)]
        if recipe.align != "off":
            recipe = replace(recipe, transform=align(recipe, solved, markers, self.rig))
        if recipe.transform != NO_TRANSFORM:
            return recipe, [_move_hand(hand, recipe.transform.matrix()) for hand in solved]
        return recipe, [replace(hand, forearm=captured_forearm(recipe, markers, hand, smoothing)) for hand in solved]


def _solve_hands(
    source: SolveSource, markers: Markers, smoothed: SmoothedMarkers, piece: PieceContext
) -> Steps[list[SolvedHand]]:
    """Solve all hands."""
    solved, count = [], len(source.performer.hands)
    for number, measured in enumerate(source.performer.hands.values()):
        work = solve_hand(measured, markers, smoothed, source.methods, piece)
        solved.append((yield from part_of(number / count, (number + 1) / count, "", work)))
    return solved


def _mirror_hand(solved: SolvedHand) -> SolvedHand:
    """Mirror a solved hand into one of the other side. Angles stay the same, and so do limits and errors."""
    hand = mirror.model(solved.hand)
    return replace(
        solved,
        side=hand.side,
        hand=hand,
        proportions=solved.proportions.mirrored(),
        targets=mirror.targets(solved.targets),
        smoothed_targets=mirror.targets(solved.smoothed_targets),
        pose=mirror.pose(solved.pose, hand),
    )


def _move_hand(solved: SolvedHand, matrix: Floats) -> SolvedHand:
    """Move a solved hand by a similarity (4, 4). Angles stay the same; lengths and errors are scaled."""
    factor, _ = similarity.factor_and_rotation(matrix)
    hand = similarity.model(solved.hand, factor)
    return replace(
        solved,
        hand=hand,
        proportions=solved.proportions.scaled(factor),
        targets=similarity.targets(solved.targets, matrix),
        smoothed_targets=similarity.targets(solved.smoothed_targets, matrix),
        pose=similarity.pose(solved.pose, hand, matrix),
    )


def _solved_frames(solved: SolvedHand, history: MarkerHistory, measured_labels: frozenset[str] | None) -> SolvedFrames:
    """Return what the evidence of a hand is computed from; measured_labels: see PieceContext."""
    corrected, doubt = history.at(solved.targets.times, solved.labels)
    ever_measured = None
    if measured_labels is not None:
        known = np.array([label in measured_labels for label in solved.labels], dtype=bool)
        ever_measured = known | solved.measured.any(axis=0)
    return SolvedFrames(
        solved.targets,
        solved.pose,
        solved.keyed,
        solved.measured,
        solved.predicted,
        corrected,
        doubt,
        solved.flesh,
        ever_measured,
        solved.depths,
    )


def _report(
    recipe: Recipe,
    markers: Markers,
    assigned: assignment.Assignment,
    solved: list[tuple[SolvedHand, SolvedFrames]],
    rig_hands: RigHands,
    *,
    recorded_rate: float,
    seconds: dict[str, float],
) -> dict[str, Any]:
    """Return the report of a take, JSON-ready; recorded_rate: Hz, of the capture; markers: at the solved frames."""
    figures = {hand.side: hand_report(HandFigures.of(frames, hand.labels)) for hand, frames in solved}
    for hand, _ in solved:
        if hand.retargeted is not None:
            measured = replace(hand.targets, weights=hand.targets.weights * hand.measured)
            directions = observed_directions(hand.pose, measured)
            figures[hand.side]["rig"] = retarget_figures(hand.retargeted, directions)
        figures[hand.side]["contacts"] = list(hand.contacts)
        figures[hand.side]["hand_length_mm"] = round(1000 * hand.proportions.size, 1)
    for side, limits in rig_hands.limits.items():
        figures[rig_hands.driven_side(side)]["limited_bones"] = limits.bones
    return take_report(
        ReportedTake(
            recipe,
            markers.format,
            markers.unit,
            markers.rate,
            recorded_rate,
            len(markers.times),
            assigned,
            figures,
            markers.warnings,
            {hand.side: hand.guessed_fingers for hand, _ in solved},
            [hand.proportions for hand, _ in solved],
            seconds,
        )
    )


def run(recipe: Recipe) -> Take:
    """Solve a recipe all at once. Raises KnuckleError."""
    job = SolveJob(recipe)
    for _ in job.steps():
        pass
    assert job.take is not None
    return job.take
