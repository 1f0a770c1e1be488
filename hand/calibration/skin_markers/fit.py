"""Fit the hands that wore the markers of one or several takes.

The two hands of a person are fitted together: each is evidence for the other (other_hand.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ....errors import HandError
from ... import rotations as rot
from ...joints import Side
from ...marker_sets import Spot
from ...mirror import POINT_SIGNS
from ...proportions import FIRST_JOINT_ROWS, Proportions
from .bone_choice import BoneOptions, MarkerBones, bone_options, choose_bones
from .chain import ShapeParameters
from .fitted_limits import fitted_limits
from .initial_fit import initial_fit
from .other_hand import ShapeEstimate, informed_priors
from .own_dips import dip_shares, independent_dips
from .pose_fit import PoseModel, VisibleMarkers, fit_poses, invert
from .pose_search import search_poses
from .pose_shares import PoseShares, pose_shares
from .priors import MEAN, START_ANGLES, ShapePrior, shape_prior
from .shape_fit import FittedShape, fit_shape, shape_covariance, update_statistics
from .skin_fit import DOFS, PosePrior, SkinFit, SkinMarkers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_FRAMES, SHAPE_FRAMES, FIRST_FRAMES, TRIAL_FRAMES = 300, 240, 60, 40
"""Frames in the last rounds of a fit, in the middle rounds, in the first rounds, and in the choice of the markers'
bones."""
CANDIDATES = 1500
"""Number of frames from which the frames of a fit are chosen."""
MIN_FRAMES = 20
CHANGE_LAG = 6
"""Frames apart at which poses are compared, to separate the joints' motion from the markers' noise."""


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Takes of one hand's M markers."""

    takes: Sequence[Floats]
    """(F, M, 3) m each, NaN where a marker is not seen."""
    rate: float
    """Frames per second."""
    spots: dict[str, Spot]
    """Label -> where the marker sits by its label, for M markers."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedHands:
    """The fits of a person's hands."""

    fits: dict[Side, SkinFit] = field(default_factory=dict)
    problems: dict[Side, HandError] = field(default_factory=dict)
    """Side -> why its hand was not fitted."""
    notes: tuple[str, ...] = ()
    """Sentences about hands that do not seem to be one person's."""


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
    fitted = fit_hands({side: Recording([takes] if isinstance(takes, np.ndarray) else takes, rate, spots)})
    if side in fitted.problems:
        raise fitted.problems[side]
    return fitted.fits[side]


def fit_hands(recordings: Mapping[Side, Recording]) -> FittedHands:
    """Fit one hand of a person, or both with what each says about the other, with their markers to their takes.

    A hand that cannot be fitted is among the problems, and the other is fitted alone.
    """
    hands: list[_Hand] = []
    problems: dict[Side, HandError] = {}
    for side, recording in recordings.items():
        try:
            hands.append(_hand(side, recording))
        except HandError as error:
            problems[side] = error
    marker_bones = choose_bones(
        [hand.options for hand in hands], [_subsample(hand.seen, TRIAL_FRAMES) for hand in hands]
    )
    separate_fits = [_fit_alone(hand, bones) for hand, bones in zip(hands, marker_bones, strict=True)]
    states, notes = (
        _fit_together(hands, separate_fits) if len(hands) == 2 else ([state for state, _ in separate_fits], ())
    )
    return FittedHands(
        {hand.side: _result(hand, state) for hand, state in zip(hands, states, strict=True)}, problems, notes
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Hand:
    """A hand that is fitted, mirrored if it is a left one."""

    side: Side
    recording: Recording
    takes: list[Floats]
    """(F, M, 3) m each"""
    seen: VisibleMarkers
    """The markers in the frames that show the most of them."""
    options: BoneOptions


def _hand(side: Side, recording: Recording) -> _Hand:
    takes = [take * POINT_SIGNS if side == "left" else take for take in recording.takes]
    positions = np.concatenate(takes)
    frames = informative_frames(positions, MAX_FRAMES)
    if len(frames) < MIN_FRAMES:
        raise HandError(
            f"{side} hand: {len(frames)} frames show half of its markers, a hand is fitted to {MIN_FRAMES} or more"
        )
    seen = VisibleMarkers.from_positions(positions[frames])
    return _Hand(side, recording, takes, seen, bone_options(tuple(recording.spots.values())))


def _fit_alone(hand: _Hand, carried: MarkerBones) -> tuple[FittedShape, ShapePrior]:
    """Fit a hand to its own markers, with the prior of all hands."""
    digits, bones, tips = carried.digits, carried.bones, hand.options.tips
    prior = shape_prior(digits, bones, tips)
    first_markers, markers = _subsample(hand.seen, FIRST_FRAMES), _subsample(hand.seen, SHAPE_FRAMES)
    state = _refine(initial_fit(digits, bones, tips, first_markers), first_markers, prior)
    return _refine(_fit_poses(state.pose_model, markers), markers, prior), prior


def _fit_together(
    hands: list[_Hand], separate_fits: list[tuple[FittedShape, ShapePrior]]
) -> tuple[list[FittedShape], tuple[str, ...]]:
    """Fit two hands on, each with what the other's own markers say about it; also return a note if that is nothing."""
    markers = [_subsample(hand.seen, SHAPE_FRAMES) for hand in hands]
    first, second = (
        ShapeEstimate(
            state.pose_model.shape, shape_covariance(state, seen, prior, _shares(state)), prior, hand.options.spots
        )
        for hand, seen, (state, prior) in zip(hands, markers, separate_fits, strict=True)
    )
    priors = informed_priors((first, second))
    if isinstance(priors, str):
        return [state for state, _ in separate_fits], (priors,) if priors else ()
    return [
        _refine(state, seen, prior) for (state, _), seen, prior in zip(separate_fits, markers, priors, strict=True)
    ], ()


MAX_ROUNDS, ITERATIONS, POSE_ITERATIONS = 8, 8, 5
CONVERGED = 0.05
"""Relative decrease of the markers' median noise below which a fit's rounds end."""
USUAL_SHARE = 0.1
"""Weight of the usual joint statistics while the shape is fitted, relative to their weight in the result. Statistics
that are wider than the poses of a take would favour short bones, which need larger angles."""


def _refine(state: FittedShape, seen: VisibleMarkers, prior: ShapePrior) -> FittedShape:
    """Fit the shape and the statistics alternately until the markers' noise converges."""
    for _ in range(MAX_ROUNDS):
        before = np.median(state.pose_model.sharpness)
        shares = _shares(state)
        state = fit_shape(state, seen, prior, ITERATIONS, 5e-4, shares=shares)
        # The statistics are those of poses of which all of the prior counts.
        poses = fit_poses(state.pose_model, state.poses, seen, POSE_ITERATIONS)[0]
        state = update_statistics(replace(state, poses=poses), seen, USUAL_SHARE)
        if np.median(state.pose_model.sharpness) < (1 + CONVERGED) * before:
            break
    return state


def _shares(state: FittedShape) -> PoseShares:
    """Return the shares of the prior of the angles and of the poses' covariance for the next fit of the shape."""
    model = state.pose_model
    return pose_shares(state.poses.angles, model.shape.digits, 1 / float(np.median(model.sharpness)))


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
    is_measured = np.isfinite(distances)
    mean = np.where(is_measured, distances, 0.0).sum(axis=0) / np.maximum(is_measured.sum(axis=0), 1)
    distances = np.where(is_measured, distances - mean, 0.0)
    selected_frames = [int(np.argmin(np.einsum("fp,fp->f", distances, distances)))]
    nearest = np.full(len(candidates), np.inf)
    for _ in range(count - 1):
        differences = distances - distances[selected_frames[-1]]
        nearest = np.minimum(nearest, np.einsum("fp,fp->f", differences, differences))
        selected_frames.append(int(nearest.argmax()))
    frames: Ints = candidates[np.sort(selected_frames)]
    return frames


def _subsample(markers: VisibleMarkers, count: int) -> VisibleMarkers:
    """Select `count` evenly spaced frames."""
    return markers.select(np.unique(np.linspace(0, len(markers) - 1, min(count, len(markers))).astype(int)))


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
        clip = take[:CHANGE_FRAMES]
        angles = _fit_poses(pose_model, VisibleMarkers.from_positions(clip)).poses.angles
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


def _result(hand: _Hand, state: FittedShape) -> SkinFit:
    """Fit the noise and the joint statistics to all selected frames."""
    state = update_statistics(_fit_poses(state.pose_model, hand.seen), hand.seen)
    change = _motion_covariance(state.pose_model, hand.takes, hand.recording.rate)
    model = state.pose_model
    right = proportions(model.shape)
    covariance = invert(model.precision)
    poses = PosePrior(model.mean, covariance, independent_dips(change, dip_shares(covariance)))
    shape = model.shape
    markers = SkinMarkers(
        tuple(hand.recording.spots), shape.digits, shape.bones, shape.offsets, shape.slides, 1 / model.sharpness
    )
    return SkinFit(
        right if hand.side == "right" else right.mirrored(), markers, poses, fitted_limits(state.poses.angles)
    )


def proportions(shape: ShapeParameters) -> Proportions:
    """Proportions of a right hand; the metacarpal bases are those of a mean hand of the same size."""
    palm = MEAN.palm * shape.size
    palm[FIRST_JOINT_ROWS] = shape.first_joints
    return Proportions("right", palm, shape.lengths, rot.from_matrix(shape.digit_rotations))
