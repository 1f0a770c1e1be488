"""The whole solve, from a recipe to a take: read, label, clean, assign, measure, smooth, solve, retarget."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..capture.cleaning import resample
from ..capture.markers import Markers
from ..hand.generators import Progress, Steps, part_of
from ..solvers import Smoothing
from . import assignment
from .alignment import align, check_align
from .capture_transform import NO_TRANSFORM
from .captured_forearm import captured_forearm
from .contacts.apply_contacts import apply_contacts
from .corrections.correction import Correction
from .corrections.correction_json import from_list
from .corrections.resolving import Resolved, SolveSource, blind_notes, resolve_ranges, restrict_to_ranges
from .device_frames import to_hand_frames
from .evidence.evidence import Evidence
from .evidence.marker_history import MarkerHistory
from .evidence.measuring import SolvedFrames, measure_hand
from .evidence.ranking import limit_notes, problems_as_json, rank
from .hand_solving import WHOLE_TAKE, PieceContext, SolveMethods, solve_hand
from .kept_solve import FoundHands, SolvedCapture, finding_key, solving_key
from .labelling import LabelledMarkers
from .marker_cleaning import CleanedMarkers, clean_markers
from .marker_smoothing import SmoothedMarkers, smooth_markers
from .performer import Performer
from .placing import mirror_hand, move_hand
from .prepared import MAX_MEASURED, Prepared, measured_frames, prepare
from .recipe import Recipe
from .report import HandReportInputs, TakeReportInputs, hand_report, take_report
from .retarget import observed_directions, retarget_figures, with_solved_directions
from .rig_constraints import Rig, RigHands
from .solved_frames import solved_frames
from .take import SolvedHand, Take


@dataclass(frozen=True, slots=True, eq=False)
class UnjudgedTake:
    """A solved take before its evidence, problems and report are computed."""

    recipe: Recipe
    """The recipe, with the transform found by aligning."""
    markers: Markers
    """The cleaned markers at the rate of the solved frames."""
    hands: tuple[SolvedHand, ...]
    frames: tuple[SolvedFrames, ...]
    """The input to each hand's evidence."""
    source: SolveSource
    labelled: LabelledMarkers
    cleaned: CleanedMarkers
    rig_hands: RigHands
    corrections: Sequence[Correction]
    waiting: Mapping[str, str]
    """Id of a correction -> why it could not take effect."""
    seconds: Mapping[str, float]
    """Step -> its time."""


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
        cached: SolvedCapture | None = None,
    ) -> None:
        self.recipe = recipe
        self.rig = rig
        self.markers = markers
        """Markers to solve instead of the recipe's capture; None reads the capture."""
        self.reader = reader
        self.prepared = prepared
        """Facts about the whole take if these markers are a piece of one; None for a whole take."""
        self.piece = piece
        self.cached = cached
        """Results of the last solve, reused where the inputs are the same; after `steps`, the results of this solve."""
        self.take: Take | None = None
        self.read_seconds = 0.0
        """s, duration of reading and labelling; 0 if the result was cached."""

    def steps(self) -> Steps[None]:
        """Solve the hands, and rate the take by its evidence. Raises KnuckleError."""
        self.take = _judge((yield from self.solve()))

    def solve(self) -> Steps[UnjudgedTake]:
        """Read, label, clean, assign, measure, smooth, solve in pieces, and retarget. Raises KnuckleError."""
        recipe, started = self.recipe, time.perf_counter()
        corrections = from_list(recipe.corrections, "the recipe")
        methods = SolveMethods.of(recipe)
        found_hands = yield from part_of(0.0, 0.17, "", self._find_hands(recipe))
        seconds = {"read": self.read_seconds}
        raw, labels, cleaned, assigned = found_hands.raw, found_hands.labels, found_hands.cleaned, found_hands.assigned
        history = MarkerHistory.of(raw, cleaned.markers, labels.swapped, labels.doubt)
        rig_hands = RigHands(recipe, self.rig)
        yield from part_of(0.17, 0.17, "", rig_hands.read(found_hands.performer))
        if recipe.align != "off":
            check_align(recipe, [rig_hands.driven_side(side) for side in found_hands.performer.hands], self.rig)
        performer = rig_hands.performer_to_solve(found_hands.performer)
        notes = tuple(note for limits in rig_hands.limits.values() for note in limits.notes)
        assigned = replace(assigned, warnings=assigned.warnings + notes)
        source = SolveSource(recipe, raw, assigned, performer, methods)
        markers, solved = yield from part_of(0.18, 0.74, "", self._solve(source, found_hands))
        resolved, waiting = yield from part_of(0.74, 0.8, "", self._resolve(source, corrections, solved))
        effective = [correction for correction in corrections if correction.id not in waiting]
        uncorrected = solved
        recipe, solved = self._place(recipe, [*resolved.hands], markers, methods.smoothing)
        plain = solved
        if resolved.effects:
            _, plain = self._place(replace(recipe, align="off"), uncorrected, markers, methods.smoothing)
        keying = self._to_keyed_hands(rig_hands, performer, [*zip(plain, solved, strict=True)], effective)
        solved = yield from part_of(0.8, 1.0, "", keying)
        seconds["solve"] = time.perf_counter() - started - seconds["read"]
        frames = tuple(
            solved_frames(hand, history, effective, self.piece.measured_labels, seen=plain_hand.measured)
            for plain_hand, hand in zip(plain, solved, strict=True)
        )
        return UnjudgedTake(
            recipe, markers, tuple(solved), frames, source, labels, cleaned, rig_hands, corrections, waiting, seconds
        )

    def _find_hands(self, recipe: Recipe) -> Steps[FoundHands]:
        """Read and label the capture, clean its markers, and measure the performer."""
        started, is_whole = time.perf_counter(), self.markers is None and self.prepared is None
        key = finding_key(recipe) if is_whole else ""
        if key and self.cached is not None and self.cached.found.key == key:
            return self.cached.found
        markers = self.markers or (yield from part_of(0.0, 0.3, "", self.reader(recipe)))
        raw = assignment.read(recipe, markers)
        labels = yield from part_of(0.3, 0.5, "", assignment.label_markers_stepwise(recipe, raw))
        raw = labels.markers
        self.read_seconds = time.perf_counter() - started
        yield Progress(0.5, "Cleaning")
        prepared = yield from part_of(0.5, 0.6, "", self._prepare(raw))
        assigned = assignment.assign_hands(recipe, raw) if prepared is None else prepared.assigned
        cleaned = yield from part_of(0.6, 0.8, "", clean_markers(recipe, raw, assigned))
        yield Progress(0.8, "Measuring the performer")
        performer, assigned = (
            assignment.measure_performer(recipe, cleaned.markers, assigned)
            if prepared is None
            else (prepared.performer, assigned)
        )
        return FoundHands(key, labels, cleaned, assigned, performer)

    def _solve(self, source: SolveSource, found_hands: FoundHands) -> Steps[tuple[Markers, list[SolvedHand]]]:
        """Smooth the markers and solve the hands; return the markers at the solved frames, and the hands."""
        recipe, methods, cached = source.recipe, source.methods, self.cached
        key = solving_key(recipe, source.performer)
        if cached is not None and cached.found is found_hands and cached.key == key:
            return cached.markers, [*cached.solved]
        markers = to_hand_frames(methods.solver, source.performer, found_hands.cleaned.markers)
        yield Progress(0.0, "Smoothing")
        samples = markers.seen & (source.raw.predicted | ~markers.predicted)
        # Smooth before resampling: interpolated frames have less noise than samples, which would bias its estimate.
        smoothed = smooth_markers(methods.smoothing, source.performer, markers, samples, recipe.cleaning.gap_limit)
        if recipe.fps is not None:
            markers = resample(markers, recipe.fps)
            smoothed = replace(smoothed, markers=resample(smoothed.markers, recipe.fps))
        solved = yield from part_of(0.03, 1.0, "", _solve_hands(source, markers, smoothed, self.piece))
        is_kept = found_hands.key and len(source.raw.times) <= MAX_MEASURED
        self.cached = SolvedCapture(found_hands, key, markers, tuple(solved)) if is_kept else None
        return markers, solved

    def _resolve(
        self, source: SolveSource, corrections: Sequence[Correction], solved: Sequence[SolvedHand]
    ) -> Steps[tuple[Resolved, dict[str, str]]]:
        """Solve the ranges of corrections again with resolve_ranges, and cache the result."""
        cached_ranges = self.cached.resolved if self.cached is not None else None
        resolved, waiting = yield from resolve_ranges(source, corrections, solved, cached_ranges)
        if self.cached is not None:
            self.cached = replace(self.cached, resolved=resolved)
        return resolved, waiting

    def _prepare(self, raw: Markers) -> Steps[Prepared | None]:
        """Return the facts about a whole take; for a long take, measure them on samples of its frames. None for a short
        take, which needs none."""
        if self.prepared is not None or len(raw.times) <= MAX_MEASURED:
            return self.prepared
        prepared = yield from prepare(self.recipe, raw.select(measured_frames(len(raw.times))))
        return prepared

    def _to_keyed_hands(
        self,
        rig_hands: RigHands,
        performer: Performer,
        solved: Sequence[tuple[SolvedHand, SolvedHand]],
        corrections: Sequence[Correction],
    ) -> Steps[list[SolvedHand]]:
        """Retarget solved hands to the rig's hands, and apply the recipe's contacts.

        solved: each hand without and with corrections; the same object if there are none.
        """
        keyed = []
        for number, (plain, hand) in enumerate(solved):
            start, end = number / len(solved), (number + 1) / len(solved)
            if self.rig is not None:
                yield Progress(start, f"Retargeting to the rig's {hand.side} hand")
            retargeted = rig_hands.retarget(performer, hand.pose, hand.smoothed_targets)
            if plain is not hand and retargeted is not None:
                plain_retargeted = rig_hands.retarget(performer, plain.pose, plain.smoothed_targets)
                assert plain_retargeted is not None
                pose = restrict_to_ranges(plain_retargeted.pose, retargeted.pose, corrections, hand.targets.times)
                retargeted = replace(retargeted, pose=pose)
            work = apply_contacts(self.recipe, replace(hand, retargeted=retargeted))
            keyed.append((yield from part_of(start, end, "", work)))
        return keyed

    def _place(
        self, recipe: Recipe, solved: list[SolvedHand], markers: Markers, smoothing: Smoothing
    ) -> tuple[Recipe, list[SolvedHand]]:
        """Mirror, align and transform solved hands.

        Returns the recipe with the transform found by aligning, and the hands. Hands that are not transformed get the
        forearms that the capture shows.
        """
        if recipe.mirror:
            solved = [mirror_hand(hand) for hand in reversed(solved)]
        if recipe.align != "off":
            recipe = replace(recipe, transform=align(recipe, solved, markers, self.rig))
        if recipe.transform != NO_TRANSFORM:
            return recipe, [move_hand(hand, recipe.transform.matrix()) for hand in solved]
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


def _judge(solved: UnjudgedTake) -> Take:
    """Return the take with its evidence, problems and report."""
    evidence = Evidence(solved.markers.times, tuple(map(measure_hand, solved.frames)))
    problems = rank(evidence)
    report = _report(solved)
    report |= {
        "problems": problems_as_json(problems),
        "labels": solved.labelled.facts,
        "dropped_fragments": solved.cleaned.fragments(),
    }
    report["warnings"] += [
        *limit_notes(problems, report["hands"]),
        *(
            f"correction '{correction.name}' waits: {solved.waiting[correction.id]}"
            for correction in solved.corrections
            if correction.id in solved.waiting
        ),
        *blind_notes(solved.source, solved.corrections),
    ]
    return Take(
        solved.recipe,
        solved.markers,
        solved.markers.times,
        solved.hands,
        evidence,
        problems,
        report,
        solved.waiting,
    )


def _report(solved: UnjudgedTake) -> dict[str, Any]:
    """Return the report of a take without its problems, JSON-ready."""
    markers, rig_hands = solved.markers, solved.rig_hands
    figures = {
        hand.side: hand_report(HandReportInputs.of(frames, hand.labels))
        for hand, frames in zip(solved.hands, solved.frames, strict=True)
    }
    for hand in solved.hands:
        if hand.retargeted is not None:
            measured = replace(hand.targets, weights=hand.targets.weights * hand.measured)
            directions = with_solved_directions(observed_directions(hand.pose, measured), hand.pose)
            figures[hand.side]["rig"] = retarget_figures(hand.retargeted, directions)
        figures[hand.side]["contacts"] = list(hand.contacts)
        figures[hand.side]["hand_length_mm"] = round(1000 * hand.proportions.size, 1)
    for side, limits in rig_hands.limits.items():
        figures[rig_hands.driven_side(side)]["limited_bones"] = limits.bones
    return take_report(
        TakeReportInputs(
            solved.recipe,
            markers.format,
            markers.unit,
            markers.rate,
            solved.source.raw.rate,
            len(markers.times),
            solved.source.assigned,
            figures,
            markers.warnings,
            {hand.side: hand.guessed_fingers for hand in solved.hands},
            [hand.proportions for hand in solved.hands],
            solved.seconds,
        )
    )


def run(recipe: Recipe) -> Take:
    """Solve a recipe and return the result. Raises KnuckleError."""
    job = SolveJob(recipe)
    for _ in job.steps():
        pass
    assert job.take is not None
    return job.take
