"""Fit the hand that wore the markers of one or several takes."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....errors import HandError
from ... import rotations as rot
from ...joints import CHAIN_JOINTS, DIGITS, Side, digit_of
from ...marker_sets import Spot
from ...mirror import POINT_SIGNS
from ...proportions import FIRST_JOINT_ROWS, Proportions
from .chain import ShapeParameters
from .fitted_limits import fitted_limits, search_limits
from .own_dips import dip_shares, independent_dips
from .pose_fit import PoseModel, VisibleMarkers, costs, fit_poses, invert, without_prior
from .pose_search import search_poses
from .pose_starts import best_start
from .priors import (
    MEAN,
    ON_PALM,
    START_ANGLES,
    ShapePrior,
    mean_shape,
    parameter_digits,
    prior_weight,
    shape_prior,
    usual_pose_prior,
)
from .shape_fit import FittedShape, fit_shape, update_statistics
from .skin_fit import COLUMNS, DOFS, HAS, PALM, PosePrior, SkinFit, SkinMarkers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MAX_FRAMES, SHAPE_FRAMES, FIRST_FRAMES, TRIAL_FRAMES = 300, 240, 60, 40
"""Frames in the last rounds of a fit, in the middle rounds, in the first rounds, and in the choice of the markers'
bones."""
CANDIDATES = 1500
"""Frames among which these are chosen."""
MIN_FRAMES = 20
INITIAL_SPREAD = 0.003
"""m, initial standard deviation of every marker."""
CHANGE_LAG = 6
"""Frames apart at which poses are compared, to separate the joints' motion from the markers' noise."""
TIP = 3
"""Index of a digit's tip in its chain; only the last bone carries a marker there."""


def fit(takes: Floats | Sequence[Floats], rate: float, spots: dict[str, Spot], side: Side) -> SkinFit:
    """Fit a hand with its markers to one or several takes.

    Each marker's digit follows from its label. Which of the bones at the labelled joint carries it, and where, is
    fitted.

    Args:
        takes: (F, M, 3) m each, NaN where a marker is not seen.
        rate: frames per second.
        spots: label -> where the marker sits by its label, for M markers.
        side: 'left' or 'right'.

    Raises:
        HandError: too few frames show half of the markers.
    """
    takes = [takes] if isinstance(takes, np.ndarray) else list(takes)
    if side == "left":
        takes = [take * POINT_SIGNS for take in takes]
    positions = np.concatenate(takes)
    frames = informative_frames(positions, MAX_FRAMES)
    if len(frames) < MIN_FRAMES:
        raise HandError(
            f"{side} hand: {len(frames)} frames show half of its markers, a hand is fitted to {MIN_FRAMES} or more"
        )
    seen = VisibleMarkers.from_positions(positions[frames])
    digits, options, tips = _bone_options(spots)
    trial_markers = _subsample(seen, TRIAL_FRAMES)
    bones = _choose_bones(digits, options, tips, trial_markers)
    prior = shape_prior(digits, bones, tips)
    first_markers, middle_markers = _subsample(seen, FIRST_FRAMES), _subsample(seen, SHAPE_FRAMES)
    state = _initial_fit(digits, bones, tips, first_markers)
    state = _refine(state, first_markers, prior)
    state = _refine(_fit_poses(state.pose_model, middle_markers), middle_markers, prior)
    state = update_statistics(_fit_poses(state.pose_model, seen), seen)
    change = _motion_covariance(state.pose_model, takes, rate)
    return _result(state, change, spots, side)


MAX_ROUNDS, ITERATIONS = 8, 8
CONVERGED = 0.05
"""Relative decrease of the markers' median noise below which a fit's rounds end."""
USUAL_SHARE = 0.1
"""Weight of the usual joint statistics while the shape is fitted, relative to their weight in the result. Statistics
that are wider than the poses of a take would favour short bones, which need larger angles."""


def _refine(state: FittedShape, seen: VisibleMarkers, prior: ShapePrior) -> FittedShape:
    """Fit the shape and the statistics alternately until the markers' noise converges."""
    for _ in range(MAX_ROUNDS):
        before = np.median(state.pose_model.sharpness)
        state = fit_shape(state, seen, prior, ITERATIONS, 5e-4, uncertain=True)
        state = update_statistics(state, seen, USUAL_SHARE)
        if np.median(state.pose_model.sharpness) < (1 + CONVERGED) * before:
            break
    return state


def informative_frames(positions: Floats, count: int) -> Ints:
    """Select frames (N,) of positions (F, M, 3) that show many markers and differ most in the distances between them.

    Farthest-point sampling (Gonzalez 1985).
    """
    share_seen = np.isfinite(positions).all(axis=-1).mean(axis=1)
    candidates = np.flatnonzero((share_seen >= np.median(share_seen)) & (share_seen >= 0.5))
    if len(candidates) > CANDIDATES:
        candidates = candidates[np.linspace(0, len(candidates) - 1, CANDIDATES).astype(int)]
    if len(candidates) <= count:
        return candidates
    first, second = np.triu_indices(positions.shape[1], 1)
    distances = np.linalg.norm(positions[candidates][:, first] - positions[candidates][:, second], axis=-1)
    known = np.isfinite(distances)
    mean = np.where(known, distances, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    distances = np.where(known, distances - mean, 0.0)
    picked = [int(np.argmin(np.einsum("fp,fp->f", distances, distances)))]
    nearest = np.full(len(candidates), np.inf)
    for _ in range(count - 1):
        differences = distances - distances[picked[-1]]
        nearest = np.minimum(nearest, np.einsum("fp,fp->f", differences, differences))
        picked.append(int(nearest.argmax()))
    frames: Ints = candidates[np.sort(picked)]
    return frames


def _subsample(markers: VisibleMarkers, count: int) -> VisibleMarkers:
    """Select so many frames, evenly spaced."""
    return markers.select(np.unique(np.linspace(0, len(markers) - 1, min(count, len(markers))).astype(int)))


def _bone_options(spots: dict[str, Spot]) -> tuple[Ints, list[tuple[int, ...]], Bools]:
    """Return each marker's digit (M,), the bones that may carry it (or PALM), and whether it is on a nail (M,)."""
    digits: list[int] = []
    options: list[tuple[int, ...]] = []
    tips: list[bool] = []
    for spot in spots.values():
        digit = digit_of(spot.joint)
        chain = CHAIN_JOINTS[digit] if digit else ()
        if digit is None or spot.joint not in chain:
            digits.append(PALM)
            options.append((PALM,))
            tips.append(False)
            continue
        joint = chain.index(spot.joint)
        digits.append(DIGITS.index(digit))
        tips.append(joint == TIP)
        if joint == TIP:
            options.append((TIP - 1,))
        else:
            options.append((joint,) if any(spot.offset) else (joint - 1, joint))
    return np.array(digits, np.int64), options, np.array(tips, bool)


def _choose_bones(digits: Ints, options: list[tuple[int, ...]], tips: Bools, visible: VisibleMarkers) -> Ints:
    """Choose the bones (M,) with which each digit fits its markers best.

    Markers that turn out to be on the palm get PALM in `digits`. Digits share only the palm, so they are tried in
    parallel: the k-th trial has the k-th option of each.
    """
    outwards = [sorted(np.flatnonzero(digits == digit), key=lambda m: options[m]) for digit in range(len(DIGITS))]
    combinations = [
        [
            combination
            for combination in itertools.product(*(options[m] for m in markers))
            if list(combination) == sorted(combination)
        ]
        for markers in outwards
    ]
    trials = max(map(len, combinations))
    best, least = np.zeros(len(digits), int), np.full(len(DIGITS), np.inf)
    original = digits.copy()
    for trial in range(trials):
        tried_digits, bones = original.copy(), np.zeros(len(digits), int)
        for digit, own in enumerate(combinations):
            markers, combination = outwards[digit], np.array(own[min(trial, len(own) - 1)], int)
            bones[markers] = np.maximum(combination, 0)
            tried_digits[markers] = np.where(combination == PALM, PALM, digit)
        cost = _digit_costs(original, tried_digits, bones, tips, visible)
        for digit, own in enumerate(combinations):
            if trial < len(own) and cost[digit] < least[digit]:
                markers = outwards[digit]
                least[digit], best[markers] = cost[digit], bones[markers]
                digits[markers] = tried_digits[markers]
    return best


def _digit_costs(owner_digits: Ints, digits: Ints, bones: Ints, tips: Bools, visible: VisibleMarkers) -> Floats:
    """Cost (5,) of each digit's markers with these bones, after a short fit."""
    prior = shape_prior(digits, bones, tips)
    state = fit_shape(_initial_fit(digits, bones, tips, visible), visible, prior, TRIAL_ITERATIONS)
    expected = prior.residuals(state.pose_model.shape) ** 2
    owner = parameter_digits(owner_digits)
    deviation = state.poses.angles - state.pose_model.mean
    prior_cost = (deviation @ state.pose_model.precision) * deviation
    result = np.zeros(len(DIGITS))
    for digit in range(len(DIGITS)):
        restricted = replace(state.pose_model, sharpness=state.pose_model.sharpness * (owner_digits == digit)[:, None])
        result[digit] = costs(without_prior(restricted), state.poses, visible).sum()
        result[digit] += prior_cost[:, COLUMNS[digit][HAS[digit]]].sum()
        result[digit] += prior_weight(len(visible)) * expected[owner == digit].sum()
    return result


TRIAL_ITERATIONS = 8


def _initial_fit(digits: Ints, bones: Ints, tips: Bools, seen: VisibleMarkers) -> FittedShape:
    """Start from a mean hand with markers on these bones, placed on its markers.

    Palm markers get the positions at which they are then seen.
    """
    shape = mean_shape(digits, bones, tips)
    mean, precision = usual_pose_prior()
    on_palm = digits == PALM
    sharpness = np.full((len(digits), 3), 1 / INITIAL_SPREAD)
    # Without the palm's markers, those of bent fingers could not distinguish the back of the hand from the palm.
    expected_sharpness = np.where(on_palm[:, None], 1 / ON_PALM[1], sharpness)
    pose_model = PoseModel(shape, expected_sharpness, mean, precision, search_limits())
    start = best_start(pose_model, START_ANGLES, seen, np.ones_like(on_palm))
    poses, _ = fit_poses(pose_model, start, seen, INITIAL_ITERATIONS)
    local = (seen.positions - poses.positions[:, None]) @ poses.rotations
    offsets = shape.offsets.copy()
    for m in np.flatnonzero(on_palm & seen.visible.any(axis=0)):
        offsets[m] = np.median(local[seen.visible[:, m], m], axis=0)
    shape = replace(shape, offsets=offsets)
    return FittedShape(replace(pose_model, shape=shape, sharpness=sharpness), poses)


INITIAL_ITERATIONS = 6


def _fit_poses(pose_model: PoseModel, seen: VisibleMarkers, passes: int = 10) -> FittedShape:
    return FittedShape(pose_model, search_poses(pose_model, [pose_model.mean, *START_ANGLES], seen, passes))


def _motion_covariance(pose_model: PoseModel, takes: list[Floats], rate: float) -> Floats:
    """Covariance of the joints' motion (D, D) rad²/s, from pose differences.

    It is the covariance of differences over CHANGE_LAG frames less that of differences between neighbouring frames,
    which contain the same noise of the markers.
    """
    distant_sum, adjacent_sum = np.zeros((2, DOFS, DOFS))
    count = 0
    for take in sorted(takes, key=len, reverse=True):
        if len(take) <= CHANGE_LAG + 1 or count > CHANGE_FRAMES:
            continue
        part = take[:CHANGE_FRAMES]
        angles = _fit_poses(pose_model, VisibleMarkers.from_positions(part)).poses.angles
        distant = angles[CHANGE_LAG:] - angles[:-CHANGE_LAG]
        adjacent = angles[1 : 1 - CHANGE_LAG] - angles[:-CHANGE_LAG]
        distant_sum += distant.T @ distant
        adjacent_sum += adjacent.T @ adjacent
        count += len(angles) - CHANGE_LAG
    change = (distant_sum - adjacent_sum) / max(count, 1) / (CHANGE_LAG - 1) * rate
    values, vectors = np.linalg.eigh((change + change.T) / 2)
    bounded: Floats = (vectors * np.maximum(values, MIN_CHANGE**2 * rate)) @ vectors.T
    return bounded


CHANGE_FRAMES = 1200
MIN_CHANGE = np.deg2rad(0.1)
"""rad per frame, a lower bound of every joint's motion."""


def _result(state: FittedShape, change: Floats, spots: dict[str, Spot], side: Side) -> SkinFit:
    model = state.pose_model
    right = proportions(model.shape)
    covariance = invert(model.precision)
    poses = PosePrior(model.mean, covariance, independent_dips(change, dip_shares(covariance)))
    shape = model.shape
    markers = SkinMarkers(tuple(spots), shape.digits, shape.bones, shape.offsets, shape.slides, 1 / model.sharpness)
    return SkinFit(right if side == "right" else right.mirrored(), markers, poses, fitted_limits(state.poses.angles))


def proportions(shape: ShapeParameters) -> Proportions:
    """Proportions of a right hand; the metacarpal bases are those of a mean hand of the same size."""
    palm = MEAN.palm * shape.size
    palm[FIRST_JOINT_ROWS] = shape.first_joints
    return Proportions("right", palm, shape.lengths, rot.from_matrix(shape.digit_rotations))
