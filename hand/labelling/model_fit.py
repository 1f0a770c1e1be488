"""Fit an articulated hand to a take's trajectories, and assign the trajectories to the markers of that hand.

Fit and assignment alternate until the assignment does not change, as in iterative closest point (Besl & McKay 1992).
Whole trajectories are assigned by the Hungarian method, instead of the closest point in each frame.
"""

from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..calibration.skin_markers.chain import (
    FIRST_JOINTS,
    LENGTHS,
    MARKERS,
    ROTATIONS,
    SIZE,
    ShapeParameters,
    marker_positions,
    parameter_count,
)
from ..calibration.skin_markers.pose_fit import PoseModel, VisibleMarkers, fit_poses
from ..calibration.skin_markers.pose_fit import costs as costs_of_frames
from ..calibration.skin_markers.pose_starts import best_start
from ..calibration.skin_markers.priors import (
    BONE_SPREAD,
    LIMIT_MARGIN,
    MEAN,
    MEAN_ROTATIONS,
    PALM_SPREAD,
    ROTATION_SPREAD,
    SIZE_SPREAD,
    SLIDE_SPREAD,
    START_ANGLES,
    ShapePrior,
    parameters_of,
    usual_pose_prior,
)
from ..calibration.skin_markers.shape_fit import FittedShape, fit_shape
from ..calibration.skin_markers.skin_fit import PALM
from ..joints import CHAIN_JOINTS, DIGITS, Side, digit_of
from ..marker_sets import Spot
from ..mirror import POINT_SIGNS
from ..proportions import build, site_positions
from .hungarian import IMPOSSIBLE_COST, assign_without_pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POSTERIOR_SPREAD_M, POSTERIOR_ROUNDS = 0.002, 3
"""Standard deviation in m of a marker, and number of rounds, in the fit that compares left and right hands."""
FITTED_FRAMES = 20
"""Number of frames to which the hand is fitted."""
MARKER_SPREAD_M = 0.004
"""m, standard deviation of a marker from its position on the fitted hand."""
OFFSET_SPREAD_M = 0.004
"""m, standard deviation between people of a marker's offset from its bone."""
ROBUST_COST = 25.0
"""Cost above which the robust loss grows only with the logarithm of the squared distance."""
EMPTY_COST, FIRST_EMPTY_COST = 8.0, 60.0
"""Cost of a spot without a marker: in later rounds, and in the first FIRST_ROUNDS, which are to fill all spots."""
POSE_PASSES, POSE_TOLERANCE = 5, 1e-3
"""Maximum iterations of the poses in a round, and the relative decrease of the cost below which they end."""
FIRST_ROUNDS, ROUNDS = 2, 6
"""Rounds of assignment and fit: number with FIRST_EMPTY_COST, and maximum in total."""
SHAPE_PRIOR_WEIGHT = 0.1
"""Weight of the shape's prior in the cost of a fit."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelFit:
    """A hand fitted to a sample of T trajectories, with C markers."""

    side: Side
    labels: Ints
    """(C,) the trajectory at each spot, T for none."""
    cost: float
    """Half the squared deviations of markers, angles and shape, averaged over frames, plus EMPTY_COST for each empty
    spot."""
    filled_cost: float
    """The cost without empty spots, divided by the number of markers."""
    hand: ShapeParameters
    """The fitted hand, as a right hand."""


def shape_of_spots(spots: tuple[Spot, ...]) -> ShapeParameters:
    """Return the mean right hand with markers at C spots."""
    on_digit = [_digit_and_joint(spot) for spot in spots]
    digits = np.array([digit for digit, _ in on_digit])
    bones = np.array([min(joint, 2) for _, joint in on_digit])
    offsets = np.array([spot.offset for spot in spots], float).reshape(-1, 3)
    at_tip = np.array([joint == 3 for _, joint in on_digit])
    offsets[at_tip, 1] += MEAN.phalanges[digits[at_tip], 2]
    offsets[digits == PALM] = site_positions(MEAN, spots)[digits == PALM]
    slides = np.zeros((len(spots), 2, 3))
    return ShapeParameters(1.0, MEAN.first_joints, MEAN_ROTATIONS, MEAN.phalanges, digits, bones, offsets, slides)


def _digit_and_joint(spot: Spot) -> tuple[int, int]:
    """Return the index of a spot's digit and of its joint in the digit's chain; PALM and 0 for a spot on the palm."""
    digit = digit_of(spot.joint)
    if digit is None or spot.joint not in CHAIN_JOINTS[digit]:
        return PALM, 0
    return DIGITS.index(digit), CHAIN_JOINTS[digit].index(spot.joint)


def fit_model(
    shape: ShapeParameters,
    side: Side,
    positions: Floats,
    labels: Ints,
    *,
    limit: float = np.inf,
    known: Container[bytes] = (),
) -> ModelFit:
    """Fit a hand to trajectories, starting from an initial assignment.

    Args:
        shape: the expected hand, as a right hand, with its C markers.
        side: the side of the hand to fit.
        positions: (F, T, 3) m, NaN where not seen.
        labels: (C,) the trajectory at each spot, T for none.
        limit: the cost above which the fit is abandoned after the first rounds.
        known: labels that were fitted before, as bytes. The fit ends as soon as it reaches any of them.
    """
    if side == "left":
        positions = positions * POINT_SIGNS
    prior = _shape_prior(shape)
    visible = _visible(positions, labels)
    state = first_poses(shape, 2 * MARKER_SPREAD_M, visible)
    fitted = _all_but_slides(labels)
    tried: set[bytes] = set()
    for round_number in range(ROUNDS):
        is_filling = round_number < FIRST_ROUNDS
        state = fit_shape(state, visible, prior, 3, 1e-2, fitted=fitted)
        state = _refit_poses(state, MARKER_SPREAD_M, visible)
        costs = _spot_costs(state, positions)
        empty = np.full(len(labels), FIRST_EMPTY_COST if is_filling else EMPTY_COST)
        assigned = assign_without_pairs(np.c_[costs, empty])
        is_repeated = np.array_equal(assigned, labels) or assigned.tobytes() in tried
        labels = assigned
        fit = _model_fit(side, labels, costs, state, prior)
        if labels.tobytes() in known or (not is_filling and (is_repeated or fit.cost > limit)):
            break
        tried.add(labels.tobytes())
        visible = _visible(positions, labels)
    return fit


def _model_fit(side: Side, labels: Ints, costs: Floats, state: FittedShape, prior: ShapePrior) -> ModelFit:
    """Return the fit with labels (C,). costs: (C, T) of each trajectory at each spot."""
    spots = np.flatnonzero(labels < costs.shape[1])
    filled = float(costs[spots, labels[spots]].sum()) + _prior_cost(state, prior)
    cost = filled + EMPTY_COST * (len(labels) - len(spots))
    return ModelFit(side, labels, cost, filled / max(len(spots), 1), state.pose_model.shape)


def posterior_cost(shape: ShapeParameters, positions: Floats, fit: ModelFit) -> float:
    """Return the negative log posterior of a fit, up to a constant, by which left and right hands are compared.

    The shape's prior has its full weight here: with an implausible shape, a hand that is bent backwards or has its
    thumb on the wrong side could follow the markers closely. The cost is half the squared deviations of markers and
    angles, averaged over frames, and of the shape.
    """
    if fit.side == "left":
        positions = positions * POINT_SIGNS
    prior, visible = _shape_prior(shape), _visible(positions, fit.labels)
    state = first_poses(fit.hand, MARKER_SPREAD_M, visible)
    for _ in range(POSTERIOR_ROUNDS):
        state = _refit_poses(state, POSTERIOR_SPREAD_M, visible)
        state = fit_shape(state, visible, prior, 4, 1e-3, fitted=_all_but_slides(fit.labels))
    residuals = prior.residuals(state.pose_model.shape)
    empty = np.count_nonzero(fit.labels == positions.shape[1])
    deviations = costs_of_frames(state.pose_model, state.poses, visible).mean() + residuals @ residuals
    return float(deviations) / 2 + EMPTY_COST * empty


def _shape_prior(shape: ShapeParameters) -> ShapePrior:
    """Return a prior with this hand as its mean, scaled by an unknown size."""
    count = len(shape.digits)
    parameters, total = parameters_of(shape), parameter_count(count)
    by_size, expected, spreads = np.zeros(total), parameters.copy(), np.empty(total)
    offsets = slice(MARKERS, MARKERS + 3 * count)
    for scaled in (slice(FIRST_JOINTS, ROTATIONS), slice(LENGTHS, offsets.stop)):
        by_size[scaled], expected[scaled] = parameters[scaled], 0.0
    expected[SIZE], spreads[SIZE] = 1.0, SIZE_SPREAD
    spreads[FIRST_JOINTS:ROTATIONS] = np.repeat(PALM_SPREAD, 3)
    spreads[ROTATIONS:LENGTHS] = np.repeat(ROTATION_SPREAD, 3)
    spreads[LENGTHS:MARKERS] = BONE_SPREAD * shape.lengths.ravel()
    spreads[offsets] = OFFSET_SPREAD_M
    spreads[offsets.stop :] = np.tile(SLIDE_SPREAD, 2 * count)
    matrix = np.eye(total)
    matrix[:, SIZE] -= by_size
    return ShapePrior(matrix / spreads[:, None], expected / spreads)


def first_poses(shape: ShapeParameters, spread: float, seen: VisibleMarkers, passes: int = POSE_PASSES) -> FittedShape:
    """Fit the poses of a hand to markers, starting from the best of several typical poses.

    Args:
        shape: the hand.
        spread: m, standard deviation of the markers.
        seen: the markers.
        passes: maximum iterations.
    """
    model = _pose_model(shape, spread)
    start = best_start(model, START_ANGLES, seen, np.any(seen.visible, axis=0))
    return FittedShape(model, fit_poses(model, start, seen, passes, POSE_TOLERANCE)[0])


def _refit_poses(state: FittedShape, spread: float, seen: VisibleMarkers) -> FittedShape:
    """Fit the poses of the same hand with another standard deviation of the markers, in m."""
    model = _pose_model(state.pose_model.shape, spread)
    return FittedShape(model, fit_poses(model, state.poses, seen, POSE_PASSES, POSE_TOLERANCE)[0])


def _all_but_slides(labels: Ints) -> slice:
    """Return the slice of a shape's parameters without those by which its markers (C,) slide over the skin."""
    return slice(MARKERS + 3 * len(labels))


def _pose_model(shape: ShapeParameters, spread: float) -> PoseModel:
    """Return a hand whose markers have the standard deviation `spread` in m, with the usual prior of angles."""
    return PoseModel(shape, np.full((len(shape.digits), 3), 1 / spread), *_usual_angles())


@lru_cache(maxsize=1)
def _usual_angles() -> tuple[Floats, Floats, Floats]:
    """Return the mean (D,), the precision (D, D) and extended limits (D, 2) of a hand's angles, in rad."""
    return *usual_pose_prior(), build(MEAN).limits + LIMIT_MARGIN * np.array([-1.0, 1.0])


def _visible(positions: Floats, labels: Ints) -> VisibleMarkers:
    """Return the markers (F, C) of an assignment."""
    padded = np.concatenate([positions, np.full((len(positions), 1, 3), np.nan)], axis=1)
    return VisibleMarkers.from_positions(padded[:, labels])


def markers_of(state: FittedShape) -> Floats:
    """Return the positions (F, C, 3) m of a hand's markers in its poses."""
    local = marker_positions(state.pose_model.shape, state.poses.angles).positions.transpose(2, 1, 0)
    world: Floats = np.einsum("fij,fcj->fci", state.poses.rotations, local) + state.poses.positions[:, None]
    return world


def _spot_costs(state: FittedShape, positions: Floats) -> Floats:
    """Return the mean cost (C, T) of each trajectory at each spot; IMPOSSIBLE_COST for trajectories never seen."""
    squares = ((markers_of(state)[:, :, None] - positions[:, None]) ** 2).sum(axis=-1) / MARKER_SPREAD_M**2 / 2
    is_known = np.isfinite(squares)
    costs = ROBUST_COST * np.log1p(np.where(is_known, squares, 0.0) / ROBUST_COST)
    count = is_known.sum(axis=0)
    mean: Floats = np.where(count > 0, costs.sum(axis=0) / np.maximum(count, 1), IMPOSSIBLE_COST)
    return mean


def _prior_cost(state: FittedShape, prior: ShapePrior) -> float:
    """Return half the squared deviations of the angles, averaged over frames, and of the shape, weighted."""
    deviation = state.poses.angles - state.pose_model.mean
    angles = np.einsum("fd,fd->f", deviation @ state.pose_model.precision, deviation).mean()
    residuals = prior.residuals(state.pose_model.shape)
    return float(angles + SHAPE_PRIOR_WEIGHT * residuals @ residuals) / 2
