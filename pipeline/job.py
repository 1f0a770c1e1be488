"""The whole solve, from a recipe to a take: read, label, clean, assign, measure, smooth, solve, retarget."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import solvers
from ..capture.cleaning import resample
from ..capture.markers import Markers
from ..hand import mirror, similarity
from ..hand.generators import Progress, Steps, part_of
from ..hand.joint_rotations import apply_target_rotations
from ..hand.joints import BENDING_JOINTS, CHAIN_JOINTS, DIGITS
from ..hand.kinematics import Pose
from ..hand.marker_sets import Spot, on_palm
from ..hand.measured_hand import MeasuredHand
from ..hand.model import HandModel
from ..hand.plausibility import implausible_lengths
from ..hand.targets import Targets, assign
from ..solvers import Smoothing, Solver, initial_state
from ..solvers.smoothing.observability import visible_digits
from ..solvers.unseen_fingers import estimate_unseen_fingers
from . import assignment
from .alignment import align, check_align, elbow_path, resting_back
from .capture_transform import NO_TRANSFORM
from .contacts.touching import touch
from .device_frames import to_hand_frames
from .evidence.evidence import Evidence
from .evidence.marker_history import MarkerHistory
from .evidence.measuring import SolvedFrames, measure_hand
from .evidence.ranking import as_report, rank
from .marker_cleaning import clean_markers
from .marker_smoothing import SmoothedMarkers, smooth_markers
from .recipe import AnglesChoice, Recipe, to_dict
from .report import accuracy_warnings, hand_report, key_rate_note, rate_doubt
from .retarget import observed_directions, retarget_figures
from .rig_constraints import Rig, RigHands
from .take import SolvedHand, Take
from .versions import versions

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FRAMES_PER_STEP = 2000
"""Frames solved between two reports of progress."""


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
    ) -> None:
        self.recipe = recipe
        self.rig = rig
        self.markers = markers
        """Solved instead of the recipe's capture, if given."""
        self.reader = reader
        self.take: Take | None = None

    def steps(self) -> Steps[None]:
        """Read, label, clean, assign, measure, smooth, solve in pieces, and retarget. Raises KnuckleError."""
        recipe, started = self.recipe, time.perf_counter()
        solver = solvers.make(recipe.solver, recipe.settings)
        smoothing = solvers.make_smoothing(recipe.smoothing, recipe.smoothing_settings)
        markers = self.markers or (yield from part_of(0.0, 0.05, "", self.reader(recipe)))
        raw = assignment.read(recipe, markers)
        labels = yield from part_of(0.05, 0.05, "", assignment.label_markers_stepwise(recipe, raw))
        raw = labels.markers
        seconds = {"read": time.perf_counter() - started}
        yield Progress(0.1, "Cleaning")
        assigned = assignment.assign_hands(recipe, raw)
        cleaned = yield from part_of(0.1, 0.15, "", clean_markers(recipe, raw, assigned))
        markers = cleaned.markers
        history = MarkerHistory.of(raw, markers, labels.swapped, labels.doubt)
        yield Progress(0.15, "Measuring the performer")
        performer, assigned = assignment.measure_performer(recipe, markers, assigned)
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
        solved = []
        for number, measured in enumerate(performer.hands.values()):
            begin, end = (0.2 + 0.8 * count / len(performer.hands) for count in (number, number + 1))
            solved.append((yield from part_of(begin, end, "", _solve_hand(measured, markers, smoothed, methods))))
        recipe, solved = self._place(recipe, solved, markers)
        for number, hand in enumerate(solved):
            if self.rig is not None:
                yield Progress(1.0, f"Retargeting to the rig's {hand.side} hand")
            retargeted = rig_hands.retarget(performer, hand.pose, hand.smoothed_targets)
            keyed = replace(hand, retargeted=retargeted)
            solved[number] = yield from part_of(1.0, 0.0, "", touch(recipe, keyed))
        seconds["solve"] = time.perf_counter() - started - seconds["read"]
        frames = [_solved_frames(hand, history) for hand in solved]
        evidence = Evidence(markers.times, tuple(map(measure_hand, frames)))
        report = _report(recipe, markers, assigned, list(zip(solved, frames, strict=True)), seconds)
        problems = rank(evidence)
        report |= {"problems": as_report(problems), "labels": labels.facts, "dropped_fragments": cleaned.fragments}
        report["warnings"] += filter(None, [key_rate_note(raw.rate, recipe.fps)])
        _add_notes(report, rig_hands, solved)
        self.take = Take(recipe, markers, markers.times, tuple(solved), evidence, problems, report)

    def _place(self, recipe: Recipe, solved: list[SolvedHand], markers: Markers) -> tuple[Recipe, list[SolvedHand]]:
        """Mirror, align and transform solved hands; return them, and the recipe with the transform that was found."""
        if recipe.mirror:
            solved = [_mirror_hand(hand) for hand in reversed(solved)]
        if recipe.align != "off":
            recipe = replace(recipe, transform=align(recipe, solved, markers, self.rig))
        if recipe.transform != NO_TRANSFORM:
            return recipe, [_move_hand(hand, recipe.transform.matrix()) for hand in solved]
        return recipe, [_with_forearm(hand, recipe, markers) for hand in solved]


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


def _with_forearm(solved: SolvedHand, recipe: Recipe, markers: Markers) -> SolvedHand:
    """Add what the capture shows of the forearm."""
    elbow = elbow_path(recipe, markers, solved)
    return replace(solved, elbow=elbow, resting_back=resting_back(recipe, markers, solved))


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


@dataclass(frozen=True, slots=True)
class SolveMethods:
    """The methods that a hand is solved with."""

    solver: Solver[Any]
    smoothing: Smoothing
    angles: AnglesChoice


def _solve_hand(
    measured: MeasuredHand, markers: Markers, smoothed: SmoothedMarkers, methods: SolveMethods
) -> Steps[SolvedHand]:
    """Solve one hand to its smoothed markers, piece by piece."""
    spots, solver = measured.spots, methods.solver
    positions = assignment.positions_of(smoothed.markers, spots)
    rotations = assignment.rotations_of(smoothed.markers, spots)
    hand, targets = assign(measured.model, spots, smoothed.markers.times, positions, rotations)
    # The frame with the most visible targets is solved first: its state is a better start than the origin.
    fullest = int((targets.weights > 0).sum(axis=1).argmax())
    state = solver.solve(hand, targets.select(slice(fullest, fullest + 1)), initial_state(solver, measured))[1]
    poses = []
    for start in range(0, len(targets), FRAMES_PER_STEP):
        yield Progress(start / len(targets), f"Solving the {hand.side} hand")
        pose, state = solver.solve(hand, targets.select(slice(start, start + FRAMES_PER_STEP)), state)
        poses.append(pose)
    pose = Pose(hand, np.concatenate([p.root for p in poses]), np.concatenate([p.angles for p in poses]))
    filled = smoothed.markers.predicted[:, [markers.names.index(label) for label in spots]]
    seen = (targets.weights > 0) & ~filled
    if measured.skin_fit is not None:
        yield Progress(1.0, f"Fitting the {hand.side} hand's pose to all markers")
        pose = _fit_all_markers(measured, markers, smoothed, methods.smoothing, pose)
    else:
        pose = methods.smoothing.smooth_pose(hand, targets, pose, smoothed.noise[hand.side])
    pose, guessed = estimate_unseen_fingers(pose, np.any(visible_digits(hand, targets), axis=0))
    pose = apply_target_rotations(hand, targets, pose) if methods.angles == "device" else pose
    _, unsmoothed = assign(measured.model, spots, markers.times, assignment.positions_of(markers, spots))
    predicted = predicted_joints(hand, targets, seen, measured.skin_fit is not None)
    return SolvedHand(
        hand.side,
        hand,
        measured.proportions,
        unsmoothed,
        targets,
        pose,
        predicted,
        seen,
        labels=tuple(spots),
        guessed_fingers=guessed,
    )


def _fit_all_markers(
    measured: MeasuredHand, markers: Markers, smoothed: SmoothedMarkers, smoothing: Smoothing, pose: Pose
) -> Pose:
    """Fit the pose to all skin markers as they were recorded, within the limits; filled gaps do not count."""
    assert measured.skin_fit is not None
    skin_fit = replace(measured.skin_fit, limits=measured.limits)
    positions = np.full((len(markers.times), len(skin_fit.markers), 3), np.nan)
    for column, label in enumerate(skin_fit.markers.labels):
        if label in measured.spots:
            row = markers.names.index(label)
            known = ~smoothed.markers.predicted[:, row]
            positions[known, column] = markers.positions[known, row]
    fitted = smoothing.solve_skin(skin_fit, markers.times, positions, pose.angles)
    return Pose(pose.hand, fitted.root, fitted.angles)


def predicted_joints(hand: HandModel, targets: Targets, measured: Bools, any_marker_fixes_palm: bool = False) -> Bools:
    """Return (F, J), True where no measured marker determines the joint in that frame.

    A digit's joint is determined by a marker on it or farther along its chain, the palm's joints by three markers on
    the palm, or by any three if `any_marker_fixes_palm`. measured (F, T): True where a target was seen, not filled in.
    """
    result = np.ones((len(targets), len(hand.joints)), bool)
    sites = [hand.sites[site] for site in targets.sites]
    on_back = [on_palm(Spot(hand.joints[site.joint], site.offset)) for site in sites]
    palm = [i for i, on in enumerate(on_back) if on or any_marker_fixes_palm]
    palm_joints = [j for j, name in enumerate(hand.joints) if name not in BENDING_JOINTS]
    result[:, palm_joints] = (measured[:, palm].sum(1) < 3)[:, None]
    for digit in DIGITS:
        chain = [hand.joints.index(joint) for joint in CHAIN_JOINTS[digit]]
        for k in (1, 2, 3):
            beyond = [i for i, site in enumerate(sites) if site.joint in chain[k:]]
            result[:, chain[k]] = ~measured[:, beyond].any(1)
    return result


def _solved_frames(solved: SolvedHand, history: MarkerHistory) -> SolvedFrames:
    """Return what the evidence of a hand is computed from."""
    corrected, doubt = history.at(solved.targets.times, solved.labels)
    return SolvedFrames(
        solved.targets, solved.pose, solved.keyed, solved.measured, solved.predicted, corrected, doubt, solved.flesh
    )


def _report(
    recipe: Recipe,
    markers: Markers,
    assigned: assignment.Assignment,
    solved: list[tuple[SolvedHand, SolvedFrames]],
    seconds: dict[str, float],
) -> dict[str, Any]:
    """Return the report of a take, JSON-ready."""
    figures = {hand.side: hand_report(frames, hand.labels) for hand, frames in solved}
    for hand, _ in solved:
        if hand.retargeted is not None:
            measured = replace(hand.targets, weights=hand.targets.weights * hand.measured)
            directions = observed_directions(hand.pose, measured)
            figures[hand.side]["rig"] = retarget_figures(hand.retargeted, directions)
        figures[hand.side]["contacts"] = list(hand.contacts)
        figures[hand.side]["hand_length_mm"] = round(1000 * hand.proportions.size, 1)
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
        "versions": versions(),
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
    }


def _add_notes(report: dict[str, Any], rig_hands: RigHands, solved: list[SolvedHand]) -> None:
    """Add to a report how many bones the rig limits, and warnings about guessed fingers and doubtful figures."""
    for side, limits in rig_hands.limits.items():
        report["hands"][rig_hands.driven_side(side)]["limited_bones"] = limits.bones
    report["warnings"] += [
        f"no marker on {', '.join(hand.guessed_fingers)} of the {hand.side} hand: guessed from the fingers beside"
        for hand in solved
        if hand.guessed_fingers
    ]
    doubts = [*(implausible_lengths(hand.proportions) for hand in solved), rate_doubt(report)]
    report["warnings"] += filter(None, doubts)
    for side, figures in report["hands"].items():
        report["warnings"] += accuracy_warnings(side, figures)


def run(recipe: Recipe) -> Take:
    """Solve a recipe all at once. Raises KnuckleError."""
    job = SolveJob(recipe)
    for _ in job.steps():
        pass
    assert job.take is not None
    return job.take
