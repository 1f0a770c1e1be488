"""Fit a hand's shape to frames, and estimate marker noise and joint statistics from the residuals.

Shape and poses are found together by the Levenberg-Marquardt method, with each frame's pose eliminated first (Triggs et
al. 2000, 6.1). Noise and joint statistics are the M step of expectation maximisation (Dempster et al. 1977). It
accounts for the noise that the poses absorb and for the poses' uncertainty, so that neither estimate shrinks to
nothing.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .chain import BASE, by_shape
from .known import INDEPENDENT, ShapePrior, stepped, usual_poses
from .posing import Beliefs, Normal, Poses, Seen, costs, cut, free, inverse, normal, solved

Floats = NDArray[np.float64]

LEAST_SPREAD, MOST_SPREAD = 0.00015, 0.005
"""m, bounds of a marker's standard deviation."""
POOLED = 30.0
"""Weight of all markers' mean noise in each marker's estimate, in frames."""
USUAL = 30.0
"""Weight of the usual joint statistics in a performer's, in frames."""


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A hand and its poses in the frames that it is fitted to."""

    beliefs: Beliefs
    poses: Poses


def fitted(start: Fitted, seen: Seen, prior: ShapePrior, passes: int, tolerance: float = 1e-4) -> Fitted:
    """Find the most likely shape and poses by Levenberg-Marquardt.

    Args:
        start: shape and poses to start from.
        seen: the markers.
        prior: the prior of the shape.
        passes: most iterations.
        tolerance: relative decrease of the cost below which the search ends.
    """
    emphasis = max(len(seen) / INDEPENDENT, 1.0)

    def total(one: Fitted) -> float:
        off = prior.off(one.beliefs.shape)
        return float(costs(one.beliefs, one.poses, seen).sum() + emphasis * off @ off)

    now, cost, damping = start, total(start), FIRST_DAMPING
    equations: _Equations | None = None
    for _ in range(passes):
        if equations is None:
            equations = _equations(now, seen, prior, emphasis)
        by_pose, by_shape_ = equations.step(damping)
        shape = stepped(now.beliefs.shape, by_shape_)
        tried = Fitted(replace(now.beliefs, shape=shape), now.poses.moved(by_pose, now.beliefs.limits))
        there = total(tried)
        if there < cost:
            won, cost, now, equations = cost - there, there, tried, None
            damping = max(damping / 5, 1e-9)
            if won < tolerance * cost:
                break
        else:
            damping *= 10
            if damping > MOST_DAMPING:
                break
    return now


FIRST_DAMPING, MOST_DAMPING = 1e-3, 1e6


@dataclass(frozen=True, slots=True, eq=False)
class _Equations:
    """Normal equations of poses and shape, in blocks."""

    poses: Floats
    """(F, 6 + D, 6 + D)"""
    open_ones: NDArray[np.bool_]
    mixed: Floats
    """(F, 6 + D, S)"""
    shape: Floats
    """(S, S)"""
    down_poses: Floats
    down_shape: Floats

    def step(self, damping: float) -> tuple[Floats, Floats]:
        """Damped step of the poses (F, 6 + D) and of the shape (S,)."""
        inverted = inverse(cut(self.poses, self.open_ones, np.full(len(self.poses), damping)))
        taken = inverted @ self.mixed
        alone = (inverted @ self.down_poses[..., None])[..., 0]
        many = len(self.shape)
        flat = self.mixed.reshape(-1, many)
        reduced = self.shape + np.diag(damping * np.diag(self.shape)) - flat.T @ taken.reshape(-1, many)
        by_shape_ = solved(reduced, (self.down_shape - flat.T @ alone.ravel())[:, None])[:, 0]
        return alone - taken @ by_shape_, by_shape_


def _equations(one: Fitted, seen: Seen, prior: ShapePrior, emphasis: float) -> _Equations:
    found = normal(one.beliefs, one.poses, seen)
    open_ones = free(one.beliefs.limits, one.poses, found.down)
    frames = len(seen)
    slopes = (found.carry @ by_shape(one.beliefs.shape, found.now)).reshape(frames, found.slopes.shape[1], -1)
    flat = slopes.reshape(-1, slopes.shape[-1])
    off = prior.off(one.beliefs.shape)
    return _Equations(
        poses=found.matrix,
        open_ones=open_ones,
        mixed=(found.slopes.swapaxes(1, 2) @ slopes) * open_ones[..., None],
        shape=flat.T @ flat + emphasis * prior.matrix.T @ prior.matrix,
        down_poses=found.down * open_ones,
        down_shape=flat.T @ found.off.ravel() - emphasis * prior.matrix.T @ off,
    )


def learnt(one: Fitted, seen: Seen) -> Fitted:
    """Update the markers' noise and the joint statistics from these frames."""
    found = normal(one.beliefs, one.poses, seen)
    open_ones = free(one.beliefs.limits, one.poses, found.down)
    unsure = inverse(cut(found.matrix, open_ones, np.zeros(len(seen))))
    unsure *= open_ones[:, :, None] & open_ones[:, None, :]
    sharpness = 1 / np.sqrt(_variances(one.beliefs, found, unsure))
    mean, precision = _habits(one.poses.angles, unsure[:, BASE:, BASE:])
    return replace(one, beliefs=replace(one.beliefs, sharpness=sharpness, mean=mean, precision=precision))


def _variances(beliefs: Beliefs, found: Normal, unsure: Floats) -> Floats:
    """Noise variances (M, 3) m² along the axes of each marker's bone; rarely seen markers tend to the mean of all."""
    frames, count = found.carry.shape[:2]
    squares = found.off**2 + np.einsum("frn,frn->fr", found.slopes @ unsure, found.slopes)
    # The markers' robust weights, recovered from the lengths of the weighted axes.
    counted = np.sum(np.linalg.norm(found.carry, axis=-1) ** 2 / beliefs.sharpness**2, axis=0)
    sums = squares.reshape(frames, count, 3).sum(axis=0) / beliefs.sharpness**2
    pooled = sums.sum() / counted.sum()
    variances = (sums + POOLED * pooled) / (counted + POOLED)
    held: Floats = np.clip(variances, LEAST_SPREAD**2, MOST_SPREAD**2)
    return held


def _habits(angles: Floats, unsure: Floats) -> tuple[Floats, Floats]:
    """Mean (D,) and precision (D, D) of angles (F, D) with covariances (F, D, D)."""
    usual_mean, usual_precision = usual_poses()
    frames = len(angles)
    mean = (angles.sum(axis=0) + USUAL * usual_mean) / (frames + USUAL)
    about = angles - angles.mean(axis=0)
    covariance = about.T @ about + unsure.sum(axis=0) + USUAL * inverse(usual_precision)
    return mean, inverse(covariance / (frames + USUAL))
