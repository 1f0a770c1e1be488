"""Smooth the targets of whole takes, without lag."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations
from ...hand.model import HandModel
from ...hand.targets import Targets
from . import path_smoother
from .motion_model import POSITION_SCALE, ROTATION_SCALE, NoiseRules
from .palm_frame import from_frames, palm_frames, palm_marker_set, to_frames

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


OUTLIERS_IN_A_ROW = 4
"""Outliers in a row that are rejected; of more, all are accepted as the target's new path."""


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedTargets:
    """Smoothed targets, and how they were obtained."""

    targets: Targets
    predicted: Bools
    """(F, T) positions without an accepted sample in their own frame."""
    refused: Bools
    """(F, T) positions rejected as outliers."""
    noise: Floats
    """(F or 1, 2, T) estimated standard deviation of a component of the positions, m, and of the rotations, rad."""


def smooth(hand: HandModel, targets: Targets, bridge: float = 0.2, calm: float = 1.0) -> SmoothedTargets:
    """Smooth targets over the whole take, reject outliers and fill gaps up to `bridge` s with lower weight.

    Targets on the palm are smoothed in the world, those on the fingers relative to the palm. `calm` divides the
    bandwidth estimated from the samples. Velocities stay as they are.
    """
    on, times = palm_marker_set(hand, targets.sites), targets.times
    place_rules, turn_rules = (
        NoiseRules(scale, bridge, calm, patience=OUTLIERS_IN_A_ROW) for scale in (POSITION_SCALE, ROTATION_SCALE)
    )
    places = _layer(targets.positions, targets.weights)
    places = _smooth_columns(places, on.places, times, place_rules)
    turns = None
    if targets.rotations is not None and targets.rotation_weights is not None:
        turns = _layer(targets.rotations, targets.rotation_weights)
        turns = _smooth_columns(turns, on.turns, times, turn_rules)
        frames = palm_frames(on, places.values, turns.values, (places.known, turns.known), np.eye(4))
    else:
        frames = palm_frames(on, places.values, None, (places.known, places.known), np.eye(4))
    beside = replace(places, values=to_frames(frames, places.values))
    places = _smooth_columns(beside, _other_columns(on.places, targets), times, place_rules)
    weights = _gap_weights(times, targets.weights, places, bridge)
    result = replace(targets, positions=from_frames(frames, places.values), weights=weights)
    if turns is not None and targets.rotation_weights is not None:
        wrist = rotations.from_matrix(frames[:, None, :3, :3])
        beside = replace(turns, values=rotations.multiply(rotations.conjugate(wrist), turns.values))
        turns = _smooth_columns(beside, _other_columns(on.turns, targets), times, turn_rules)
        weights = _gap_weights(times, targets.rotation_weights, turns, bridge)
        result = replace(result, rotations=rotations.multiply(wrist, turns.values), rotation_weights=weights)
    # A quaternion changes by half the angle.
    noise = np.stack([places.noise, np.zeros_like(places.noise) if turns is None else 2 * turns.noise])
    return SmoothedTargets(
        result, places.known & ((targets.weights == 0) | places.refused), places.refused, noise[None]
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """The positions or the rotations of all targets, some of them smoothed."""

    values: Floats
    """(F, T, D)"""
    known: Bools
    """(F, T)"""
    refused: Bools
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
    values, known = layer.values.copy(), layer.known.copy()
    refused, noise = layer.refused.copy(), layer.noise.copy()
    samples, seen = values[:, columns], known[:, columns]
    if values.shape[-1] == 4:
        samples = align_signs(samples, seen)
    done = path_smoother.smooth(times, samples, seen, rules)
    smoothed = done.values
    if values.shape[-1] == 4:
        smoothed = smoothed / np.maximum(np.linalg.norm(smoothed, axis=-1, keepdims=True), 1e-12)
    values[:, columns] = np.where(done.known[..., None], smoothed, samples)
    known[:, columns], refused[:, columns], noise[columns] = done.known, done.refused, done.deviation
    return _Layer(values, known, refused, noise)


def align_signs(turns: Floats, seen: Bools) -> Floats:
    """Flip quaternions (F, N, 4) to the hemisphere of the mean of the three seen (F, N) before them."""
    signed = turns.copy()
    signed[~seen] = 0.0
    recent = np.zeros((3, *turns.shape[1:]))
    for frame in range(len(turns)):
        away = np.einsum("nd,nd->n", signed[frame], recent.sum(0)) < 0
        signed[frame, away] *= -1.0
        now = seen[frame][:, None]
        recent = np.where(now, np.stack([signed[frame], recent[0], recent[1]]), recent)
    return np.where(seen[..., None], signed, turns)


def _other_columns(columns: Ints, targets: Targets) -> Ints:
    return np.setdiff1d(np.arange(len(targets.sites)), columns)


def _gap_weights(times: Floats, weights: Floats, layer: _Layer, bridge: float) -> Floats:
    """Return the weights (F, T): of used samples their own; in gaps, less with the distance to the nearest sample."""
    used = (weights > 0) & ~layer.refused
    row = np.arange(len(times))[:, None]
    before = np.maximum.accumulate(np.where(used, row, -1), axis=0)
    after = np.minimum.accumulate(np.where(used, row, len(times))[::-1], axis=0)[::-1]
    nearest = np.where(layer.known, before, 0)
    age = np.minimum(times[:, None] - times[nearest], times[np.minimum(after, len(times) - 1)] - times[:, None])
    lent = np.take_along_axis(weights, np.maximum(before, 0), axis=0) * (1 - age / (bridge + 1e-9))
    trusted: Floats = np.where(used, weights, np.where(layer.known, lent, 0.0))
    return trusted
