"""Scores of a hand's joints against the truth. Independent of the fit: points in, figures out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_CALM_ROTATION, MIN_LEAP_ROTATION = 5.0, 25.0
"""Degrees: a leap is a bone that rotates by more than MIN_LEAP_ROTATION in a frame in which the true one rotates by
less than MAX_CALM_ROTATION."""


@dataclass(frozen=True, slots=True)
class Score:
    """Errors of one hand in one take; 21 joints in MediaPipe's order."""

    pa_mpjpe: float
    """mm, mean distance of the joints after alignment by translation, rotation and scale (Procrustes)."""
    pa_p95: float
    """mm"""
    mpjpe: float
    """mm, mean distance of the joints relative to the wrist."""
    jitter: float
    """m/s², mean size of the second difference of the joints relative to the wrist, times the true one's inverse."""
    bone_spread: float
    """Mean of the bones' standard deviations over time, as a fraction of their lengths, in %."""
    wrist: float
    """Mean distance of the wrist from the true one, in % of its distance from the camera; NaN if there is none."""
    bend: float
    """Degrees, mean error of the angles between neighbouring bones."""
    leaps: int
    """Bones that leap, over all frames."""


PARENTS = np.array([0, *(parent for digit in range(5) for parent in (0, *range(1 + 4 * digit, 4 + 4 * digit)))])
"""(21,) each joint's parent in MediaPipe's order; the wrist's is itself."""


def score(found: Floats, true: Floats, *, placed: bool) -> Score:
    """Score joints (F, 21, 3) m in the camera's space against the true ones; NaN frames are left out.

    placed: whether `found` says where the wrist is.
    """
    known = np.isfinite(found).all(axis=(1, 2))
    ours, theirs = found[known], true[known]
    aligned = np.linalg.norm(procrustes(ours, theirs) - theirs, axis=-1)
    local, true_local = ours - ours[:, :1], theirs - theirs[:, :1]
    lengths = np.linalg.norm(ours - ours[:, PARENTS], axis=-1)[:, 1:]
    wrist = np.linalg.norm(ours[:, 0] - theirs[:, 0], axis=-1) / np.linalg.norm(theirs[:, 0], axis=-1)
    return Score(
        1000 * float(aligned.mean()),
        1000 * float(np.percentile(aligned, 95)),
        1000 * float(np.linalg.norm(local - true_local, axis=-1).mean()),
        shake(local) / shake(true_local),
        100 * float((lengths.std(axis=0) / lengths.mean(axis=0)).mean()),
        100 * float(wrist.mean()) if placed else np.nan,
        float(np.rad2deg(np.abs(bends(ours) - bends(theirs)).mean())),
        leaps(local, true_local),
    )


def procrustes(points: Floats, onto: Floats) -> Floats:
    """Return points (F, N, 3) moved, turned and scaled onto others by least squares, without reflection."""
    middle, target = points.mean(axis=1, keepdims=True), onto.mean(axis=1, keepdims=True)
    a, b = points - middle, onto - target
    left, sizes, right = np.linalg.svd(a.swapaxes(1, 2) @ b)
    sign = np.ones_like(sizes)
    sign[:, 2] = np.sign(np.linalg.det(left @ right))
    rotation = (left * sign[:, None]) @ right
    scale = (sizes * sign).sum(axis=1) / (a**2).sum(axis=(1, 2))
    return np.asarray(scale[:, None, None] * a @ rotation + target)


def shake(points: Floats) -> float:
    """Return the mean size of second differences of points (F, N, 3)."""
    return float(np.linalg.norm(np.diff(points, 2, axis=0), axis=-1).mean())


def _bones(points: Floats) -> Floats:
    """Return (F, 20, 3) unit vectors from each joint's parent to it."""
    bones = (points - points[:, PARENTS])[:, 1:]
    return np.asarray(bones / np.linalg.norm(bones, axis=-1, keepdims=True))


def bends(points: Floats) -> Floats:
    """Return the angles (F, 15) rad between each digit's neighbouring bones."""
    bones = _bones(points).reshape(len(points), 5, 4, 3)
    cosine = (bones[:, :, 1:] * bones[:, :, :-1]).sum(axis=-1)
    return np.asarray(np.arccos(np.clip(cosine, -1, 1)).reshape(len(points), 15))


def leaps(points: Floats, true: Floats) -> int:
    """Return how often a bone rotates by more than MIN_LEAP_ROTATION in a frame in which the true one rotates by less
    than MAX_CALM_ROTATION."""
    rotations = []
    for each in (points, true):
        bones = _bones(each)
        rotations.append(np.rad2deg(np.arccos(np.clip((bones[1:] * bones[:-1]).sum(axis=-1), -1, 1))))
    return int(((rotations[0] > MIN_LEAP_ROTATION) & (rotations[1] < MAX_CALM_ROTATION)).sum())
