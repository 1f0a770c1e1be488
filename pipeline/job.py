"""From a recipe to solved hands: read, clean, assign, measure, smooth, solve. The path of the data in one place."""

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import solvers
from ..capture.cleaning import clean, resample
from ..capture.markers import Markers
from ..hand import mirror
from ..hand.joint_rotations import as_told
from ..hand.joints import BENDING_JOINTS, CHAIN_JOINTS, DIGITS, Side
from ..hand.kinematics import Pose
from ..hand.marker_sets import Spot, on_palm
from ..hand.measured_hand import MeasuredHand
from ..hand.model import HandModel
from ..hand.proportions import Proportions
from ..hand.targets import Targets, assign
from ..solvers import Smoothing, Solver, State, beginning
from ..solvers.skin_markers import SkinSolver
from ..solvers.smoothing.observability import shown as digits_shown
from ..solvers.unseen_fingers import accompanied
from . import assignment as assigning
from .device_frames import in_own_frames
from .marker_smoothing import SmoothedMarkers, calmed
from .recipe import DriveChoice, Recipe, to_dict
from .report import doubts, hand_report
from .retarget import RetargetedHand, figures_of, seen_bones
from .rig_constraints import Rig, RigQueries

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Result = TypeVar("Result")

PIECE = 2000
"""Frames solved between two steps of progress."""


@dataclass(frozen=True, slots=True, eq=False)
class SolvedHand:
    """One hand of a take, solved over F frames."""

    side: Side
    hand: HandModel
    proportions: Proportions
    targets: Targets
    """As they were measured and cleaned, not as smoothed: what errors are counted to."""
    followed: Targets
    """As the hand was solved to them: smoothed, where that is asked for."""
    pose: Pose
    predicted: Bools
    """(F, J) True where a joint was not held by a measured marker in that frame."""
    measured: Bools
    """(F, T) True where a target was seen, not filled in and not left out as an outlier."""
    companions: tuple[str, ...] = ()
    """Fingers without a marker, which go with the others."""
    driven: RetargetedHand | None = None
    """What the hand of the rig does, which is of other proportions; None where Knuckle builds the hand."""


@dataclass(frozen=True, slots=True, eq=False)
class Take:
    """A capture, solved."""

    recipe: Recipe
    markers: Markers
    """Cleaned, at the rate of the solved frames; as the capture has them, whether or not the hands are mirrored."""
    times: Floats
    """(F,) s of the solved frames, as the capture counts them."""
    hands: tuple[SolvedHand, ...]
    report: dict[str, Any]
    """capture, frames, rate, solver, hands{side: ...}, seconds{read, solve}: JSON-ready."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is: a fraction 0..1 and what it is doing, in words."""

    fraction: float
    doing: str


def telling(fraction: float, work: Generator[str, None, Result]) -> Generator[Progress, None, Result]:
    """A work whose words are told as progress."""
    while True:
        try:
            doing = next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
        yield Progress(fraction, doing)


class SolveJob:
    """Runs a recipe step by step, so that a panel can show progress and cancel between the steps.

    Iterate `steps()` to the end, then read `take`. Nothing outside the job is changed by it.
    """

    def __init__(self, recipe: Recipe, rig: Rig | None = None, markers: Markers | None = None) -> None:
        self.recipe = recipe
        self.rig = rig
        self.markers = markers
        """Solved instead of the recipe's capture, where given."""
        self.take: Take | None = None

    def steps(self) -> Iterator[Progress]:
        """Reads, cleans, assigns, measures, smooths and solves in pieces. Raises KnuckleError."""
        recipe, begin = self.recipe, time.perf_counter()
        solver = solvers.make(recipe.solver, recipe.settings)
        smoothing = solvers.make_smoothing(recipe.smoothing, recipe.smoothing_settings)
        yield Progress(0.0, f"Reading {Path(recipe.capture).name}")
        labels = yield from telling(0.05, assigning.labelling(recipe, assigning.read(recipe, self.markers)))
        raw = labels.markers
        seconds = {"read": time.perf_counter() - begin}
        yield Progress(0.1, "Cleaning")
        markers = clean(raw, recipe.cleaning)
        yield Progress(0.15, "Measuring the performer")
        person, assigned = assigning.calibrate(recipe, markers, assigning.assignment(recipe, raw))
        asked = RigQueries(recipe, self.rig)
        yield from telling(0.17, asked.ask(person))
        person = asked.performing(person)
        markers = in_own_frames(solver, person, markers)
        notes = tuple(note for allowed in asked.allowed.values() for note in allowed.notes)
        assigned = replace(assigned, warnings=assigned.warnings + notes)
        yield Progress(0.18, "Smoothing")
        samples = markers.seen & (raw.predicted | ~markers.predicted)
        # Before resampling: what is put between samples has less noise than they.
        calm = calmed(smoothing, person, markers, samples, recipe.cleaning.gap_limit)
        if recipe.fps is not None:
            markers, calm = resample(markers, recipe.fps), replace(calm, markers=resample(calm.markers, recipe.fps))
        solved = []
        for number, measured in enumerate(person.hands.values()):
            span = (0.2 + 0.8 * number / len(person.hands), 0.2 + 0.8 * (number + 1) / len(person.hands))
            solved.append(
                (yield from _solve(measured, markers, calm, SolveMethods(solver, smoothing, recipe.drive), span))
            )
        if recipe.mirror:
            solved = [_mirrored(hand) for hand in reversed(solved)]
        for number, one in enumerate(solved):
            if self.rig is not None:
                yield Progress(1.0, f"Moving the rig's {one.side} hand")
            solved[number] = replace(one, driven=asked.driven(person, one.pose, one.followed))
        seconds["solve"] = time.perf_counter() - begin - seconds["read"]
        report = _report(recipe, markers, assigned, solved, seconds)
        report["labels"] = labels.facts
        _note(report, asked, solved)
        self.take = Take(recipe, markers, markers.times, tuple(solved), report)


def _mirrored(solved: SolvedHand) -> SolvedHand:
    """The other hand that moves alike. Angles stay, so that limits hold and errors are as large as they were."""
    hand = mirror.model(solved.hand)
    return replace(
        solved,
        side=hand.side,
        hand=hand,
        proportions=solved.proportions.mirrored(),
        targets=mirror.targets(solved.targets),
        followed=mirror.targets(solved.followed),
        pose=mirror.pose(solved.pose, hand),
    )


@dataclass(frozen=True, slots=True)
class SolveMethods:
    """How a hand is solved."""

    solver: Solver[Any]
    smoothing: Smoothing
    drive: DriveChoice


def _solve(
    measured: MeasuredHand, markers: Markers, calm: SmoothedMarkers, how: SolveMethods, span: tuple[float, float]
) -> Generator[Progress, None, SolvedHand]:
    """One hand by its calm markers, piece by piece; the progress goes from the first to the second of `span`."""
    proportions, spots = measured.proportions, measured.spots
    places, turns = assigning.positions_of(calm.markers, spots), assigning.turns_of(calm.markers, spots)
    hand, targets = assign(measured.model, spots, calm.markers.times, places, turns)
    state = _first_sight(how.solver, hand, targets, beginning(how.solver, measured))
    poses = []
    for start in range(0, len(targets), PIECE):
        yield Progress(span[0] + (span[1] - span[0]) * start / len(targets), f"Solving the {hand.side} hand")
        pose, state = how.solver.solve(hand, targets.select(slice(start, start + PIECE)), state)
        poses.append(pose)
    pose = Pose(hand, np.concatenate([p.root for p in poses]), np.concatenate([p.angles for p in poses]))
    filled = calm.markers.predicted[:, [markers.names.index(label) for label in spots]]
    seen = (targets.weights > 0) & ~filled
    if measured.worn is not None:
        yield Progress(span[1], f"Fitting the {hand.side} hand's pose to all markers")
        pose = _finished(measured, targets, pose)
    pose = how.smoothing.steadied(hand, targets, pose, calm.noise[hand.side])
    pose, companions = accompanied(pose, np.any(digits_shown(hand, targets), axis=0))
    pose = as_told(hand, targets, pose) if how.drive == "joints" else pose
    _, shown = assign(measured.model, spots, markers.times, assigning.positions_of(markers, spots))
    predicted = predicted_joints(hand, targets, seen, measured.worn is not None)
    return SolvedHand(hand.side, hand, proportions, shown, targets, pose, predicted, seen, companions)


def _finished(measured: MeasuredHand, targets: Targets, pose: Pose) -> Pose:
    """The pose after a least-squares finish over all markers that the hand wore, within its own limits."""
    assert measured.worn is not None
    worn, labels = replace(measured.worn, limits=measured.limits), list(measured.spots)
    positions = np.full((len(targets), len(worn.markers), 3), np.nan)
    for column, label in enumerate(worn.markers.labels):
        if label in labels:
            row = labels.index(label)
            positions[:, column] = np.where(targets.weights[:, row, None] > 0, targets.positions[:, row], np.nan)
    found, _ = SkinSolver().solve(worn, targets.times, positions, beginning=pose.angles)
    return Pose(pose.hand, found.root, found.angles)


def _first_sight(solver: Solver[Any], hand: HandModel, targets: Targets, state: State | None) -> State:
    """The state in the frame that shows most of the hand, so that frames before it do not begin at the origin."""
    fullest = int((targets.weights > 0).sum(axis=1).argmax())
    seen: State = solver.solve(hand, targets.select(slice(fullest, fullest + 1)), state)[1]
    return seen


def predicted_joints(hand: HandModel, targets: Targets, measured: Bools, all_place_palm: bool = False) -> Bools:
    """(F, J) True where no marker measured in that frame holds the joint.

    A joint of a digit is held by a marker on it or beyond it, the palm's joints by three markers on the palm, or by any
    three where all markers place the palm. measured (F, T): True where a target was seen and not filled in.
    """
    result = np.ones((len(targets), len(hand.joints)), bool)
    sites = [hand.sites[site] for site in targets.sites]
    on_back = [on_palm(Spot(hand.joints[site.joint], site.offset)) for site in sites]
    palm = [i for i, on in enumerate(on_back) if on or all_place_palm]
    still = [j for j, name in enumerate(hand.joints) if name not in BENDING_JOINTS]
    result[:, still] = (measured[:, palm].sum(1) < 3)[:, None]
    for digit in DIGITS:
        chain = [hand.joints.index(joint) for joint in CHAIN_JOINTS[digit]]
        for k in (1, 2, 3):
            holders = [i for i, site in enumerate(sites) if site.joint in chain[k:]]
            result[:, chain[k]] = ~measured[:, holders].any(1)
    return result


def _report(
    recipe: Recipe,
    markers: Markers,
    assigned: assigning.Assignment,
    solved: list[SolvedHand],
    seconds: dict[str, float],
) -> dict[str, Any]:
    """The take in figures, JSON-ready."""
    figures = {s.side: hand_report(s.hand, s.targets, s.pose, s.predicted, s.measured) for s in solved}
    for one in solved:
        if one.driven is not None:
            measured = replace(one.targets, weights=one.targets.weights * one.measured)
            figures[one.side]["rig"] = figures_of(one.driven, seen_bones(one.pose, measured))
    return {
        "capture": recipe.capture,
        "format": markers.format,
        "frames": len(markers.times),
        "rate": markers.rate,
        "solver": recipe.solver,
        "smoothing": recipe.smoothing,
        "marker_set": {"name": assigned.set_name, "confidence": round(assigned.confidence, 3)},
        "hands": figures,
        "warnings": [*markers.warnings, *assigned.warnings],
        "recipe": to_dict(recipe),
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
    }


def _note(report: dict[str, Any], asked: RigQueries, solved: list[SolvedHand]) -> None:
    """Puts into a report what the rig limits, and warns of fingers that are guessed and of what is in doubt."""
    for side, allowed in asked.allowed.items():
        report["hands"][asked.drives(side)]["limited_bones"] = allowed.bones
    report["warnings"] += [
        f"no marker on {', '.join(one.companions)} of the {one.side} hand: guessed from the fingers beside"
        for one in solved
        if one.companions
    ]
    report["warnings"] += [doubt for side, hand in report["hands"].items() for doubt in doubts(side, hand)]


def run(recipe: Recipe) -> Take:
    """A recipe, run to its end. Raises KnuckleError."""
    job = SolveJob(recipe)
    for _ in job.steps():
        pass
    assert job.take is not None
    return job.take
