"""Smooth the targets of whole takes, without lag."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations
from ...hand.model import HandModel
from ...hand.targets import Targets
from . import path_smoother
from .motion_model import MAX_STEP, POSITION_SCALE, ROTATION_SCALE, NoiseRules
from .palm_frame import from_frames, palm_frames, palm_marker_set, to_frames

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


OUTLIERS_IN_A_ROW = 4
"""Maximum number of consecutive outliers that are rejected; more are accepted as the target's new path."""


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedTargets:
    """Smoothed targets, and how they were obtained."""

    targets: Targets
    predicted: Bools
    """(F, T) whether a position has no accepted sample in its frame."""
    rejected: Bools
    """(F, T) whether a position was rejected as an outlier."""
    noise: Floats
    """(F or 1, 2, T) estimated standard deviation of a component of the positions, m, and of the rotations, rad."""


def smooth(hand: HandModel, targets: Targets, bridge: float = 0.2, calm: float = 1.0) -> SmoothedTargets:
    """Smooth targets over the whole take, reject outliers and fill gaps up to `bridge` s with lower weight.

    Targets on the palm are smoothed in the world, those on the fingers relative to the palm. `calm` divides the
    bandwidth estimated from the samples. Velocities stay as they are.
    """
    palm, times = palm_marker_set(hand, targets.sites), targets.times
    position_rules, rotation_rules = (
        NoiseRules(scale, bridge, calm, patience=OUTLIERS_IN_A_ROW) for scale in (POSITION_SCALE, ROTATION_SCALE)
    )
    position_layer = _layer(targets.positions, targets.weights)
    position_layer = _smooth_columns(position_layer, palm.position_columns, times, position_rules)
    rotation_layer = None
    if targets.rotations is not None and targets.rotation_weights is not None:
        rotation_layer = _layer(targets.rotations, targets.rotation_weights)
        rotation_layer = _smooth_columns(rotation_layer, palm.rotation_columns, times, rotation_rules)
        frames = palm_frames(
            palm, position_layer.values, rotation_layer.values, (position_layer.known, rotation_layer.known), np.eye(4)
        )
    else:
        frames = palm_frames(palm, position_layer.values, None, (position_layer.known, position_layer.known), np.eye(4))
    relative = replace(position_layer, values=to_frames(frames, position_layer.values))
    position_layer = _smooth_columns(relative, _other_columns(palm.position_columns, targets), times, position_rules)
    weights = _gap_weights(times, targets.weights, position_layer, bridge)
    result = replace(targets, positions=from_frames(frames, position_layer.values), weights=weights)
    if rotation_layer is not None and targets.rotation_weights is not None:
        wrist = rotations.from_matrix(frames[:, None, :3, :3])
        relative = replace(rotation_layer, values=rotations.multiply(rotations.conjugate(wrist), rotation_layer.values))
        rotation_layer = _smooth_columns(
            relative, _other_columns(palm.rotation_columns, targets), times, rotation_rules
        )
        weights = _gap_weights(times, targets.rotation_weights, rotation_layer, bridge)
        result = replace(result, rotations=rotations.multiply(wrist, rotation_layer.values), rotation_weights=weights)
    # A quaternion changes by half the angle.
    noise = np.stack(
        [
            position_layer.noise,
            np.zeros_like(position_layer.noise) if rotation_layer is None else 2 * rotation_layer.noise,
        ]
    )
    return SmoothedTargets(
        result,
        position_layer.known & ((targets.weights == 0) | position_layer.rejected),
        position_layer.rejected,
        noise[None],
    )


def smooth_whole_paths(times: Floats, positions: Floats, calm: float = 1.0) -> Floats:
    """Smooth positions (F, P, 3), all known, in the same way as targets."""
    rules = NoiseRules(POSITION_SCALE, MAX_STEP, calm, patience=OUTLIERS_IN_A_ROW)
    return path_smoother.smooth(times, positions, np.ones(positions.shape[:2], bool), rules).values


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """The positions or the rotations of all targets, during smoothing."""

    values: Floats
    """(F, T, D)"""
    known: Bools
    """(F, T)"""
    rejected: Bools
    """(F, T)"""
    noise: Floats
    """(T,) standard deviation of a component; 0 before it is estimated."""


def _layer(values: Floats, weights: Floats) -> _Layer:
    """Return the layer before smoothing."""
    return _Layer(values, weights > 0, np.zeros(weights.shape, bool), np.zeros(weights.shape[1]))


def _smooth_columns(layer: _Layer, columns: Ints, times: Floats, rules: NoiseRules) -> _Layer:
    """Smooth some columns of a layer."""
    if not len(columns) or not len(times):
        return layer
    values, is_known = layer.values.copy(), layer.known.copy()
    rejected, noise = layer.rejected.copy(), layer.noise.copy()
    samples, seen = values[:, columns], is_known[:, columns]
    if values.shape[-1] == 4:
        samples = align_signs(samples, seen)
    paths = path_smoother.smooth(times, samples, seen, rules)
    smoothed = paths.values
    if values.shape[-1] == 4:
        smoothed = smoothed / np.maximum(np.linalg.norm(smoothed, axis=-1, keepdims=True), 1e-12)
    values[:, columns] = np.where(paths.known[..., None], smoothed, samples)
    is_known[:, columns], rejected[:, columns], noise[columns] = paths.known, paths.rejected, paths.deviation
    return _Layer(values, is_known, rejected, noise)


def align_signs(quaternions: Floats, seen: Bools) -> Floats:
    """Flip quaternions (F, N, 4) to the hemisphere of the mean of the three seen (F, N) before them."""
    signed = quaternions.copy()
    signed[~seen] = 0.0
    recent = np.zeros((3, *quaternions.shape[1:]))
    for frame in range(len(quaternions)):
        flipped = np.einsum("nd,nd->n", signed[frame], recent.sum(0)) < 0
        signed[frame, flipped] *= -1.0
        is_seen = seen[frame][:, None]
        recent = np.where(is_seen, np.stack([signed[frame], recent[0], recent[1]]), recent)
    return np.where(seen[..., None], signed, quaternions)


def _other_columns(columns: Ints, targets: Targets) -> Ints:
    return np.setdiff1d(np.arange(len(targets.sites)), columns)


def _gap_weights(times: Floats, weights: Floats, layer: _Layer, bridge: float) -> Floats:
    """Return the weights (F, T): unchanged where a sample is used, decaying in gaps with the time to the nearest
    one."""
    accepted = (weights > 0) & ~layer.rejected
    row = np.arange(len(times))[:, None]
    last_accepted = np.maximum.accumulate(np.where(accepted, row, -1), axis=0)
    next_accepted = np.minimum.accumulate(np.where(accepted, row, len(times))[::-1], axis=0)[::-1]
    nearest = np.where(layer.known, last_accepted, 0)
    age = np.minimum(times[:, None] - times[nearest], times[np.minimum(next_accepted, len(times) - 1)] - times[:, None])
    faded = np.take_along_axis(weights, np.maximum(last_accepted, 0), axis=0) * (1 - age / (bridge + 1e-9))
    result: Floats = np.where(accepted, weights, np.where(layer.known, faded, 0.0))
    return result
