"""Solve one hand to its markers, and smooth the angles."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..capture.markers import Markers
from ..hand.generators import Progress, Steps
from ..hand.joint_rotations import apply_target_rotations
from ..hand.joints import BENDING_JOINTS, CHAIN_JOINTS, DIGITS, Side
from ..hand.kinematics import Pose
from ..hand.marker_sets import Spot, on_palm
from ..hand.measured_hand import MeasuredHand
from ..hand.model import HandModel
from ..hand.targets import Targets, assign
from ..solvers import Smoothing, Solver, StateOfPose, initial_state, make, make_smoothing
from ..solvers.smoothing.observability import visible_digits
from ..solvers.unseen_fingers import estimate_unseen_fingers
from . import assignment
from .marker_smoothing import SmoothedMarkers
from .recipe import AnglesChoice, Recipe
from .take import SolvedHand

Bools = NDArray[np.bool_]

FRAMES_PER_STEP = 2000
"""Frames solved between two reports of progress."""


@dataclass(frozen=True, slots=True)
class SolveMethods:
    """Solver, smoothing and source of angles."""

    solver: Solver[Any]
    smoothing: Smoothing
    angles: AnglesChoice

    @classmethod
    def of(cls, recipe: Recipe) -> "SolveMethods":
        """Return the methods of a recipe. Raises KnuckleError for unknown names."""
        smoothing = make_smoothing(recipe.smoothing, recipe.smoothing_settings)
        return cls(make(recipe.solver, recipe.settings), smoothing, recipe.angles)


@dataclass(frozen=True, slots=True, eq=False)
class PieceContext:
    """Input to the solve of a piece of a take from the whole take and from the previous piece."""

    seen_digits: Mapping[Side, Bools] = field(default_factory=dict)
    """Side -> (G,) whether each digit is seen in the sampled frames of a long take."""
    measured_labels: frozenset[str] | None = None
    """Labels of markers that are seen in the sampled frames; None if this is the whole take."""
    states: Mapping[Side, Any] = field(default_factory=dict)
    """Side -> the solver's state before the first frame; None for a hand that starts without one."""
    hand_on_at: float = np.inf
    """s, time of the next piece's first frame; the state before it is kept."""
    handed_on: dict[Side, Any] = field(default_factory=dict)
    """Side -> the state before the next piece, set by the solve."""
    frames_per_step: int = FRAMES_PER_STEP
    """Frames solved between two reports of progress."""


WHOLE_TAKE = PieceContext()


def solve_hand(
    measured: MeasuredHand,
    markers: Markers,
    smoothed: SmoothedMarkers,
    methods: SolveMethods,
    piece: PieceContext = WHOLE_TAKE,
) -> Steps[SolvedHand]:
    """Solve one hand to its smoothed markers, piece by piece."""
    spots, solver = measured.spots, methods.solver
    positions = assignment.positions_of(smoothed.markers, spots)
    rotations = assignment.rotations_of(smoothed.markers, spots)
    hand, targets = assign(measured.model, spots, smoothed.markers.times, positions, rotations)
    state = piece.states.get(hand.side)
    if state is None:
        # The frame with the most visible targets is solved first: its state is a better start than the origin.
        fullest = int((targets.weights > 0).sum(axis=1).argmax())
        state = solver.solve(hand, targets.select(slice(fullest, fullest + 1)), initial_state(solver, measured))[1]
    pose = yield from _solve_frames(solver, hand, targets, state, piece)
    is_filled = smoothed.markers.predicted[:, [markers.names.index(label) for label in spots]]
    is_measured = (targets.weights > 0) & ~is_filled
    if measured.skin_fit is not None:
        yield Progress(1.0, f"Fitting the {hand.side} hand's pose to all markers")
        pose = _fit_all_markers(measured, markers, smoothed, methods.smoothing, pose)
    else:
        pose = methods.smoothing.smooth_pose(hand, targets, pose, smoothed.noise[hand.side])
    seen_digits = np.any(visible_digits(hand, targets), axis=0) | piece.seen_digits.get(hand.side, np.False_)
    pose, guessed = estimate_unseen_fingers(pose, seen_digits)
    pose = apply_target_rotations(hand, targets, pose) if methods.angles == "device" else pose
    _, unsmoothed = assign(measured.model, spots, markers.times, assignment.positions_of(markers, spots))
    predicted = predicted_joints(hand, targets, is_measured, measured.skin_fit is not None)
    return SolvedHand(
        hand.side,
        hand,
        measured.proportions,
        unsmoothed,
        targets,
        pose,
        predicted,
        is_measured,
        labels=tuple(spots),
        guessed_fingers=guessed,
    )


def _solve_frames(
    solver: Solver[Any], hand: HandModel, targets: Targets, state: Any, piece: PieceContext
) -> Steps[Pose]:
    """Solve all frames of the targets, starting from a state, and keep the state with which the next piece starts."""
    poses, start, state_is_pose = [], 0, isinstance(state, StateOfPose)
    hand_on = int(np.searchsorted(targets.times, piece.hand_on_at))
    while start < len(targets):
        yield Progress(start / len(targets), f"Solving the {hand.side} hand")
        if start == hand_on:
            piece.handed_on[hand.side] = state
        end = hand_on if start < hand_on and not state_is_pose else len(targets)
        stop = min(start + piece.frames_per_step, end)
        if end - stop == 1:  # a single frame is rounded differently
            stop = end
        pose, state = solver.solve(hand, targets.select(slice(start, stop)), state)
        if start < hand_on < stop:
            piece.handed_on[hand.side] = state.before(hand_on - start, pose)
        poses.append(pose)
        start = stop
    return Pose(hand, np.concatenate([p.root for p in poses]), np.concatenate([p.angles for p in poses]))


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
            is_measured = ~smoothed.markers.predicted[:, row]
            positions[is_measured, column] = markers.positions[is_measured, row]
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
