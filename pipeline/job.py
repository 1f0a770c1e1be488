"""The whole solve, from a recipe to a take: read, label, clean, assign, measure, smooth, solve, retarget."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import solvers
from ..capture.cleaning import clean, resample
from ..capture.markers import Markers
from ..hand import mirror
from ..hand.generators import Progress, Steps, part_of
from ..hand.joint_rotations import apply_target_rotations
from ..hand.joints import BENDING_JOINTS, CHAIN_JOINTS, DIGITS, Side
from ..hand.kinematics import Pose
from ..hand.marker_sets import Spot, on_palm
from ..hand.measured_hand import MeasuredHand
from ..hand.model import HandModel
from ..hand.proportions import Proportions
from ..hand.targets import Targets, assign
from ..solvers import Smoothing, Solver, State, initial_state
from ..solvers.smoothing.observability import visible_digits as digits_shown
from ..solvers.unseen_fingers import estimate_unseen_fingers
from . import assignment as assigning
from .device_frames import in_own_frames
from .marker_smoothing import SmoothedMarkers, calmed
from .recipe import DriveChoice, Recipe, to_dict
from .report import doubts, hand_report
from .retarget import RetargetedHand, figures_of, seen_bones
from .rig_constraints import Rig, RigQueries

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

PIECE = 2000
"""Frames solved between two reports of progress."""


@dataclass(frozen=True, slots=True, eq=False)
class SolvedHand:
    """One solved hand of a take: F frames, J joints, T targets."""

    side: Side
    hand: HandModel
    proportions: Proportions
    targets: Targets
    """The cleaned markers, not smoothed. Errors are measured to these."""
    followed: Targets
    """What the hand was solved to: smoothed if the recipe says so."""
    pose: Pose
    predicted: Bools
    """(F, J) True where no measured marker determines the joint in that frame."""
    measured: Bools
    """(F, T) True where a target was seen: neither filled in nor rejected as an outlier."""
    companions: tuple[str, ...] = ()
    """Fingers without a marker, which follow their neighbours."""
    driven: RetargetedHand | None = None
    """The pose on the rig's hand, which has other proportions; None if Knuckle builds the hand."""


@dataclass(frozen=True, slots=True, eq=False)
class Take:
    """A solved capture."""

    recipe: Recipe
    markers: Markers
    """The cleaned markers at the rate of the solved frames. Never mirrored, even if the hands are."""
    times: Floats
    """(F,) s, times of the solved frames on the capture's clock."""
    hands: tuple[SolvedHand, ...]
    report: dict[str, Any]
    """capture, frames, rate, solver, hands{side: ...}, seconds{read, solve}: JSON-ready."""


class SolveJob:
    """Run a recipe step by step, so that a panel can show progress and cancel between two steps.

    Iterate `steps()` to the end, then read `take`. Nothing outside the job is changed.
    """

    def __init__(self, recipe: Recipe, rig: Rig | None = None, markers: Markers | None = None) -> None:
        self.recipe = recipe
        self.rig = rig
        self.markers = markers
        """Solved instead of the recipe's capture, if given."""
        self.take: Take | None = None

    def steps(self) -> Steps[None]:
        """Read, label, clean, assign, measure, smooth, solve in pieces, and retarget. Raises KnuckleError."""
        recipe, started = self.recipe, time.perf_counter()
        solver = solvers.make(recipe.solver, recipe.settings)
        smoothing = solvers.make_smoothing(recipe.smoothing, recipe.smoothing_settings)
        yield Progress(0.0, f"Reading {Path(recipe.capture).name}")
        labels = yield from part_of(0.05, 0.05, "", assigning.labelling(recipe, assigning.read(recipe, self.markers)))
        raw = labels.markers
        seconds = {"read": time.perf_counter() - started}
        yield Progress(0.1, "Cleaning")
        markers = clean(raw, recipe.cleaning)
        yield Progress(0.15, "Measuring the performer")
        person, assigned = assigning.calibrate(recipe, markers, assigning.assignment(recipe, raw))
        asked = RigQueries(recipe, self.rig)
        yield from part_of(0.17, 0.17, "", asked.ask(person))
        person = asked.performing(person)
        markers = in_own_frames(solver, person, markers)
        notes = tuple(note for allowed in asked.allowed.values() for note in allowed.notes)
        assigned = replace(assigned, warnings=assigned.warnings + notes)
        yield Progress(0.18, "Smoothing")
        samples = markers.seen & (raw.predicted | ~markers.predicted)
        # Before resampling: interpolated frames have less noise than samples, which would spoil the noise estimate.
        calm = calmed(smoothing, person, markers, samples, recipe.cleaning.gap_limit)
        if recipe.fps is not None:
            markers, calm = resample(markers, recipe.fps), replace(calm, markers=resample(calm.markers, recipe.fps))
        solved = []
        for number, measured in enumerate(person.hands.values()):
            begin, end = (0.2 + 0.8 * count / len(person.hands) for count in (number, number + 1))
            work = _solve(measured, markers, calm, SolveMethods(solver, smoothing, recipe.drive))
            solved.append((yield from part_of(begin, end, "", work)))
        if recipe.mirror:
            solved = [_mirrored(hand) for hand in reversed(solved)]
        for number, one in enumerate(solved):
            if self.rig is not None:
                yield Progress(1.0, f"Moving the rig's {one.side} hand")
            solved[number] = replace(one, driven=asked.driven(person, one.pose, one.followed))
        seconds["solve"] = time.perf_counter() - started - seconds["read"]
        report = _report(recipe, markers, assigned, solved, seconds)
        report["labels"] = labels.facts
        _note(report, asked, solved)
        self.take = Take(recipe, markers, markers.times, tuple(solved), report)


def _mirrored(solved: SolvedHand) -> SolvedHand:
    """Mirror a solved hand into one of the other side. Angles stay the same, and so do limits and errors."""
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
    """The methods that a hand is solved with."""

    solver: Solver[Any]
    smoothing: Smoothing
    drive: DriveChoice


def _solve(measured: MeasuredHand, markers: Markers, calm: SmoothedMarkers, how: SolveMethods) -> Steps[SolvedHand]:
    """Solve one hand to its smoothed markers, piece by piece."""
    proportions, spots = measured.proportions, measured.spots
    places, turns = assigning.positions_of(calm.markers, spots), assigning.turns_of(calm.markers, spots)
    hand, targets = assign(measured.model, spots, calm.markers.times, places, turns)
    state = _first_sight(how.solver, hand, targets, initial_state(how.solver, measured))
    poses = []
    for start in range(0, len(targets), PIECE):
        yield Progress(start / len(targets), f"Solving the {hand.side} hand")
        pose, state = how.solver.solve(hand, targets.select(slice(start, start + PIECE)), state)
        poses.append(pose)
    pose = Pose(hand, np.concatenate([p.root for p in poses]), np.concatenate([p.angles for p in poses]))
    filled = calm.markers.predicted[:, [markers.names.index(label) for label in spots]]
    seen = (targets.weights > 0) & ~filled
    if measured.skin_fit is not None:
        yield Progress(1.0, f"Fitting the {hand.side} hand's pose to all markers")
        pose = _fitted_to_skin(measured, markers, calm, how.smoothing, pose)
    else:
        pose = how.smoothing.smooth_pose(hand, targets, pose, calm.noise[hand.side])
    pose, companions = estimate_unseen_fingers(pose, np.any(digits_shown(hand, targets), axis=0))
    pose = apply_target_rotations(hand, targets, pose) if how.drive == "joints" else pose
    _, shown = assign(measured.model, spots, markers.times, assigning.positions_of(markers, spots))
    predicted = predicted_joints(hand, targets, seen, measured.skin_fit is not None)
    return SolvedHand(hand.side, hand, proportions, shown, targets, pose, predicted, seen, companions)


def _fitted_to_skin(
    measured: MeasuredHand, markers: Markers, smoothed: SmoothedMarkers, smoothing: Smoothing, pose: Pose
) -> Pose:
    """Fit the pose to all skin markers as they were recorded, within the limits; filled gaps do not count."""
    assert measured.skin_fit is not None
    worn = replace(measured.skin_fit, limits=measured.limits)
    positions = np.full((len(markers.times), len(worn.markers), 3), np.nan)
    for column, label in enumerate(worn.markers.labels):
        if label in measured.spots:
            row = markers.names.index(label)
            known = ~smoothed.markers.predicted[:, row]
            positions[known, column] = markers.positions[known, row]
    found = smoothing.solve_skin(worn, markers.times, positions, pose.angles)
    return Pose(pose.hand, found.root, found.angles)


def _first_sight(solver: Solver[Any], hand: HandModel, targets: Targets, state: State | None) -> State:
    """Solve the frame with the most visible targets. Its state is a better start than the origin."""
    fullest = int((targets.weights > 0).sum(axis=1).argmax())
    seen: State = solver.solve(hand, targets.select(slice(fullest, fullest + 1)), state)[1]
    return seen


def predicted_joints(hand: HandModel, targets: Targets, measured: Bools, all_place_palm: bool = False) -> Bools:
    """Return (F, J), True where no measured marker determines the joint in that frame.

    A digit's joint is determined by any marker farther along its chain; the palm's joints by three markers on the palm,
    or by any three if `all_place_palm`. measured (F, T): True where a target was seen and not filled in.
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
    """Return the report of a take, JSON-ready."""
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
    """Add to a report how many bones the rig limits, and warnings about guessed fingers and doubtful figures."""
    for side, allowed in asked.allowed.items():
        report["hands"][asked.drives(side)]["limited_bones"] = allowed.bones
    report["warnings"] += [
        f"no marker on {', '.join(one.companions)} of the {one.side} hand: guessed from the fingers beside"
        for one in solved
        if one.companions
    ]
    report["warnings"] += [doubt for side, hand in report["hands"].items() for doubt in doubts(side, hand)]


def run(recipe: Recipe) -> Take:
    """Solve a recipe all at once. Raises KnuckleError."""
    job = SolveJob(recipe)
    for _ in job.steps():
        pass
    assert job.take is not None
    return job.take
