"""Find few keys with which a spline keeps an error within 1: insert keys where it is larger, then remove keys.

Each trial is a least-squares fit of values and slopes to all samples, so that its neighbours make up for a removed key.
Keys far from each other are tried in one batch.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....hand.generators import Progress, Steps
from .spline import Spline, fit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FIRST_SPACING = 12
"""Samples between the keys with which the search begins."""
WEIGHT_STEP = (0.5, 2.0)
"""Bounds of the factor by which a weight may change in one step."""
WEIGHTS = (0.01, 100.0)
"""Range of the samples' weights, relative to that of a pinned sample."""
MIN_KEYS_BETWEEN = 3
"""Minimum number of keys between keys that are tried in one batch. A fit hardly changes with more keys."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyProblem:
    """Samples that a spline approximates, and the measure of its error."""

    frames: Floats
    """(F,)"""
    samples: Floats
    """(F, C)"""
    error: Callable[[Floats], Floats]
    """Values (F, C) -> errors (F,) relative to the tolerance."""
    kept: Bools
    """(F,) where there is always a key, on the sample itself: the first, the last, extremes, contacts."""


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """Keys on rows of the samples, and the spline through them."""

    rows: Ints
    """(K,)"""
    pinned: Bools
    """(F,) rows whose samples a key keeps"""
    spline: Spline
    errors: Floats
    """(F,)"""
    weights: Floats
    """(F,) of the samples in the fit"""


def fewest_keys(problem: KeyProblem) -> Steps[Keys]:
    """Return few keys within the error, not necessarily the fewest. Expects at least two samples."""
    keys = yield from _within(problem, _spread(problem.kept), problem.kept.copy())
    return (yield from thinned(problem, keys))


def _fitted(problem: KeyProblem, rows: Ints, pinned: Bools, weights: Floats) -> Keys:
    """Fit a spline, and if its error is too large somewhere, fit again with weights that follow the error.

    Least squares lets errors pile up where a motion bends most; weights that grow with the error spread them (Lawson's
    algorithm, one step of it).
    """
    keys = _fitted_once(problem, rows, pinned, weights)
    bad = np.flatnonzero(keys.errors > 1.0)
    if not len(bad):
        return keys
    segment = np.searchsorted(rows, bad, side="right") - 1
    near = np.zeros(len(weights) + 1, np.int64)
    np.add.at(near, rows[np.maximum(segment - 1, 0)], 1)
    np.add.at(near, rows[np.minimum(segment + 2, len(rows) - 1)] + 1, -1)
    following = np.clip(weights * np.clip(keys.errors, *WEIGHT_STEP), *WEIGHTS)
    return _fitted_once(problem, rows, pinned, np.where(np.cumsum(near[:-1]) > 0, following, weights))


def _fitted_once(problem: KeyProblem, rows: Ints, pinned: Bools, weights: Floats) -> Keys:
    spline = fit(problem.frames, problem.samples, weights, rows, pinned)
    return Keys(rows, pinned, spline, problem.error(spline.at(problem.frames)), weights)


def _spread(kept: Bools) -> Ints:
    """Return rows of keys: those that are kept, and others evenly between them."""
    at = np.flatnonzero(kept)
    counts = np.maximum(np.diff(at) // FIRST_SPACING, 1)
    between = [np.round(np.linspace(a, b, n + 1))[:-1] for a, b, n in zip(at[:-1], at[1:], counts, strict=True)]
    return np.concatenate([*between, at[-1:]]).astype(np.int64)


def _within(problem: KeyProblem, rows: Ints, pinned: Bools) -> Steps[Keys]:
    """Insert keys on the worst row of each segment whose error is too large; pin keys whose own error is too large.

    Errors that remain then, caused by bones that are already keyed, are accepted.
    """
    weights = np.ones(len(problem.frames))
    while True:
        keys = _fitted_once(problem, rows, pinned, weights)
        bad = keys.errors > 1.0
        if not bad.any():
            return keys
        yield Progress(0.3 * (1.0 - bad.mean()))
        is_key = np.zeros(len(bad), bool)
        is_key[rows] = True
        stuck = bad & is_key & ~pinned
        pinned = pinned | stuck
        worst = np.where(is_key, -np.inf, keys.errors)
        segment = np.searchsorted(rows, np.arange(len(bad)), side="right") - 1
        peak = np.maximum.reduceat(worst, rows[:-1])
        found = np.flatnonzero((worst > 1.0) & (worst == peak[np.minimum(segment, len(peak) - 1)]))
        if not (stuck.any() or len(found)):
            return keys
        _, first = np.unique(segment[found], return_index=True)
        rows = np.union1d(rows, found[first])


def thinned(problem: KeyProblem, keys: Keys) -> Steps[Keys]:
    """Return the keys without those that can be removed within the error."""
    tried: set[int] = set()
    while True:
        chosen = _candidates(problem, keys, tried)
        if not len(chosen):
            return keys
        kept = _without(problem, keys, chosen)
        removed = np.setdiff1d(keys.rows, kept.rows)
        tried |= set(chosen.tolist())
        # A removal that failed may succeed once a neighbour is gone.
        for row in removed.tolist():
            position = int(np.searchsorted(kept.rows, row))
            tried -= set(kept.rows[max(position - 2, 0) : position + 2].tolist())
        keys = kept
        yield Progress(0.3 + 0.7 * min(len(tried) / len(keys.rows), 1.0))


def _candidates(problem: KeyProblem, keys: Keys, tried: set[int]) -> Ints:
    """Return the rows of keys, far from each other, that are most likely not needed."""
    free = [k for k, row in enumerate(keys.rows.tolist()) if not problem.kept[row] and row not in tried]
    if not free:
        return np.array([], np.int64)
    cost = _costs(problem, keys)
    taken = np.zeros(len(keys.rows) + 2 * MIN_KEYS_BETWEEN, bool)
    chosen = []
    for k in sorted(free, key=cost.__getitem__):
        if not taken[k : k + 2 * MIN_KEYS_BETWEEN + 1].any():
            taken[k + MIN_KEYS_BETWEEN] = True
            chosen.append(k)
    rows: Ints = keys.rows[np.sort(chosen)]
    return rows


def _costs(problem: KeyProblem, keys: Keys) -> Floats:
    """Return an estimate (K,) of the error without each key, with all others unchanged."""
    cost = np.full(len(keys.rows), np.inf)
    for first in range(1, MIN_KEYS_BETWEEN + 1):
        out = np.arange(first, len(keys.rows) - 1, MIN_KEYS_BETWEEN)
        stay = np.setdiff1d(np.arange(len(keys.rows)), out)
        spline = keys.spline
        rest = Spline(spline.frames[stay], spline.values[stay], spline.slopes[stay])
        errors = problem.error(rest.at(problem.frames))
        for k in out.tolist():
            cost[k] = errors[keys.rows[k - 1] : keys.rows[k + 1] + 1].max()
    return cost


def _without(problem: KeyProblem, keys: Keys, chosen: Ints) -> Keys:
    """Return the keys without as many of the chosen ones as the error allows."""
    out = chosen
    while len(out):
        rows = np.setdiff1d(keys.rows, out)
        pinned = keys.pinned.copy()
        pinned[out] = False
        trial = _fitted(problem, rows, pinned, keys.weights)
        bad = np.flatnonzero(trial.errors > 1.0)
        if not len(bad):
            return trial
        # Restore the chosen key nearest to each error.
        position = np.clip(np.searchsorted(out, bad), 1, max(len(out) - 1, 1))
        left, right = out[position - 1], out[np.minimum(position, len(out) - 1)]
        back = np.where(bad - left < right - bad, left, right)
        out = np.setdiff1d(out, back)
    return keys
