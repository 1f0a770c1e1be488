"""The shape of a hand from frames of it; from what these leave, how much each marker shakes and how joints are used.

Shape and poses are found together by Levenberg and Marquardt's method, with each frame's pose eliminated by itself
first (Triggs et al. 2000, 6.1). Spreads and habits are the M step of expectation and maximisation (Dempster et al.
1977), which counts what the pose takes up of a marker's noise, and how unsure a pose is, so that neither shrinks to
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
"""m"""
POOLED = 30.0
"""Frames as good as which the spread of all markers is for that of each."""
USUAL = 30.0
"""Frames as good as which the usual habits of a hand are for a performer's."""


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A hand and its poses in the frames that it is fitted to."""

    beliefs: Beliefs
    poses: Poses


def fitted(start: Fitted, seen: Seen, prior: ShapePrior, passes: int, tolerance: float = 1e-4) -> Fitted:
    """The likeliest shape and poses, from a start."""
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
    """The bordered normal equations of poses and shape."""

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
        """The poses' (F, 6 + D) and the shape's (S,)."""
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
    """With the markers' spreads and the joints' habits as these frames have them."""
    found = normal(one.beliefs, one.poses, seen)
    open_ones = free(one.beliefs.limits, one.poses, found.down)
    unsure = inverse(cut(found.matrix, open_ones, np.zeros(len(seen))))
    unsure *= open_ones[:, :, None] & open_ones[:, None, :]
    sharpness = 1 / np.sqrt(_variances(one.beliefs, found, unsure))
    mean, precision = _habits(one.poses.angles, unsure[:, BASE:, BASE:])
    return replace(one, beliefs=replace(one.beliefs, sharpness=sharpness, mean=mean, precision=precision))


def _variances(beliefs: Beliefs, found: Normal, unsure: Floats) -> Floats:
    """(M, 3) m², of each marker along each of its bone's axes; markers that are seldom seen are like the others."""
    frames, count = found.carry.shape[:2]
    squares = found.off**2 + np.einsum("frn,frn->fr", found.slopes @ unsure, found.slopes)
    # The weights that the markers count with, from how long the carried axes are.
    counted = np.sum(np.linalg.norm(found.carry, axis=-1) ** 2 / beliefs.sharpness**2, axis=0)
    sums = squares.reshape(frames, count, 3).sum(axis=0) / beliefs.sharpness**2
    pooled = sums.sum() / counted.sum()
    variances = (sums + POOLED * pooled) / (counted + POOLED)
    held: Floats = np.clip(variances, LEAST_SPREAD**2, MOST_SPREAD**2)
    return held


def _habits(angles: Floats, unsure: Floats) -> tuple[Floats, Floats]:
    """The mean (D,) and precision (D, D) of angles (F, D), each with a covariance (F, D, D) of its own."""
    usual_mean, usual_precision = usual_poses()
    frames = len(angles)
    mean = (angles.sum(axis=0) + USUAL * usual_mean) / (frames + USUAL)
    about = angles - angles.mean(axis=0)
    covariance = about.T @ about + unsure.sum(axis=0) + USUAL * inverse(usual_precision)
    return mean, inverse(covariance / (frames + USUAL))
