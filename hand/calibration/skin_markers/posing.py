"""Find the most likely pose of a right hand in each frame separately, given its markers and a prior of the angles.

It minimises

    Σ_m ρ(|S_m⁻¹ R_m^T (x_m − p_m(q))|²) + (q − μ)^T C⁻¹ (q − μ)        within the limits,

where a marker's residual is taken in its bone's frame and divided by its standard deviations there. ρ is Cauchy's, so
that a marker that slipped has little weight. The Levenberg-Marquardt method runs on all frames in batches.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .chain import BASE, Carried, Shape, by_pose, carried
from .model import DOFS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SLIPPED = 8.0**2
"""Squared residual, in standard deviations, at which a marker has half its weight."""
FIRST_DAMPING = 1e-3
BATCH = 512
"""Frames per batch, so that the arrays fit the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Poses:
    """Poses of a right hand over F frames."""

    turns: Floats
    """(F, 3, 3) R_world_wrist."""
    places: Floats
    """(F, 3) m, positions of the wrist."""
    angles: Floats
    """(F, D) rad"""

    def __len__(self) -> int:
        return len(self.angles)

    def select(self, frames: NDArray[np.intp] | slice) -> "Poses":
        """Return the poses of some frames."""
        return Poses(self.turns[frames], self.places[frames], self.angles[frames])

    def put(self, frames: NDArray[np.intp], others: "Poses") -> None:
        """Replace the poses of some frames."""
        self.turns[frames], self.places[frames] = others.turns, others.places
        self.angles[frames] = others.angles

    def copy(self) -> "Poses":
        """Return a copy with its own arrays."""
        return Poses(self.turns.copy(), self.places.copy(), self.angles.copy())

    def moved(self, step: Floats, limits: Floats) -> "Poses":
        """Return the poses after a step (F, 6 + D), clipped to limits (D, 2)."""
        return Poses(
            self.turns @ rotation(step[:, 3:BASE]),
            self.places + np.einsum("fij,fj->fi", self.turns, step[:, :3]),
            np.clip(self.angles + step[:, BASE:], *limits.T),
        )


def rotation(vectors: Floats) -> Floats:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3) rad."""
    angle = np.linalg.norm(vectors, axis=-1)[..., None, None]
    x, y, z = np.moveaxis(vectors, -1, 0)
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*vectors.shape, 3)
    turned: Floats = (
        np.eye(3) + np.sinc(angle / np.pi) * cross + 0.5 * np.sinc(angle / (2 * np.pi)) ** 2 * (cross @ cross)
    )
    return turned


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Marker positions over F frames, and where they are seen."""

    positions: Floats
    """(F, M, 3) m, zero where not seen."""
    known: Bools
    """(F, M)"""

    @classmethod
    def of(cls, positions: Floats) -> "Seen":
        """Build from positions that are NaN where not seen."""
        known: Bools = np.all(np.isfinite(positions), axis=-1)
        return cls(np.where(known[..., None], positions, 0.0), known)

    def __len__(self) -> int:
        return len(self.positions)

    def select(self, frames: NDArray[np.intp] | slice) -> "Seen":
        """Return some of the frames."""
        return Seen(self.positions[frames], self.known[frames])


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """A hand's shape, its markers' noise, and the prior of its angles."""

    shape: Shape
    sharpness: Floats
    """(M, 3) 1/m, the inverse of the markers' standard deviations; zero for a marker to ignore."""
    mean: Floats
    """(D,) rad"""
    precision: Floats
    """(D, D) 1/rad², the inverse of the angles' covariance."""
    limits: Floats
    """(D, 2) rad"""


@dataclass(frozen=True, slots=True, eq=False)
class Normal:
    """Normal equations of F poses."""

    now: Carried
    carry: Floats
    """(F, M, 3, 3) maps a difference in the wrist's frame to weighted standard deviations in the marker's."""
    slopes: Floats
    """(F, 3 M, 6 + D) Jacobian of the markers in standard deviations."""
    off: Floats
    """(F, 3 M) seen minus modelled positions, in standard deviations."""
    matrix: Floats
    """(F, 6 + D, 6 + D)"""
    down: Floats
    """(F, 6 + D) negative gradient."""


def _off(beliefs: Beliefs, poses: Poses, seen: Seen) -> tuple[Carried, Floats, Floats]:
    """The markers, the map from differences to standard deviations (F, M, 3, 3), and these residuals (F, M, 3)."""
    now = carried(beliefs.shape, poses.angles)
    local = (seen.positions - poses.places[:, None]) @ poses.turns
    differences = np.where(seen.known[..., None], local - now.places.transpose(2, 1, 0), 0.0)
    carry = now.turned.transpose(3, 2, 0, 1) * beliefs.sharpness[None, :, :, None]
    return now, carry, (carry @ differences[..., None])[..., 0]


def costs(beliefs: Beliefs, poses: Poses, seen: Seen) -> Floats:
    """Cost (F,) of each frame."""
    return _costs(beliefs, poses, _off(beliefs, poses, seen)[2])


def _costs(beliefs: Beliefs, poses: Poses, off: Floats) -> Floats:
    squares = np.einsum("fmk,fmk->fm", off, off)
    unusual = poses.angles - beliefs.mean
    total: Floats = SLIPPED * np.log1p(squares / SLIPPED).sum(axis=1)
    total += np.einsum("fd,fd->f", unusual @ beliefs.precision, unusual)
    return total


def normal(beliefs: Beliefs, poses: Poses, seen: Seen) -> Normal:
    """Build the normal equations at some poses, including the prior."""
    now, carry, off = _off(beliefs, poses, seen)
    weights = np.sqrt(1 / (1 + np.einsum("fmk,fmk->fm", off, off) / SLIPPED)) * seen.known
    carry = carry * weights[..., None, None]
    frames, count = weights.shape
    slopes = (carry @ by_pose(beliefs.shape, now)).reshape(frames, 3 * count, -1)
    off = (off * weights[..., None]).reshape(frames, -1)
    up = slopes.swapaxes(1, 2)
    matrix, down = up @ slopes, (up @ off[..., None])[..., 0]
    matrix[:, BASE:, BASE:] += beliefs.precision
    down[:, BASE:] -= (poses.angles - beliefs.mean) @ beliefs.precision
    return Normal(now, carry, slopes, off, matrix, down)


def free(limits: Floats, poses: Poses, down: Floats) -> Bools:
    """Mask (F, 6 + D) of variables that are not at a limit which the step would cross."""
    low, high = limits.T
    result = np.ones(down.shape, bool)
    ahead = down[:, BASE:]
    result[:, BASE:] = ~(((poses.angles <= low) & (ahead <= 0)) | ((poses.angles >= high) & (ahead >= 0)))
    return result


def cut(matrix: Floats, open_ones: Bools, damping: Floats) -> Floats:
    """Damp matrices (F, N, N) by (F,), and fix the variables that are not free."""
    result: Floats = matrix * (open_ones[:, :, None] & open_ones[:, None, :])
    rows = np.arange(matrix.shape[-1])
    result[:, rows, rows] = result[:, rows, rows] * (1 + damping[:, None]) + np.where(open_ones, 1e-6, 1.0)
    return result


def solved(matrix: Floats, right: Floats) -> Floats:
    """Solve matrix · X = right (..., N, K)."""
    found: Floats = np.linalg.solve(matrix, right).astype(float, copy=False)
    return found


def inverse(matrix: Floats) -> Floats:
    """Invert matrices (..., N, N)."""
    found: Floats = np.linalg.inv(matrix).astype(float, copy=False)
    return found


def settled(beliefs: Beliefs, poses: Poses, seen: Seen, passes: int, tolerance: float = 1e-4) -> tuple[Poses, Floats]:
    """Minimise the cost of each frame separately, from the given poses.

    Args:
        beliefs: the hand, its noise and prior.
        poses: where the search starts.
        seen: the markers.
        passes: most iterations.
        tolerance: relative decrease of a frame's cost below which its search ends.

    Returns:
        The poses and their cost (F,).
    """
    result = poses.copy()
    cost = np.empty(len(poses))
    for start in range(0, len(poses), BATCH):
        part = slice(start, start + BATCH)
        found, cost[part] = _settled(beliefs, poses.select(part), seen.select(part), passes, tolerance)
        result.put(np.arange(len(poses))[part], found)
    return result, cost


def _settled(beliefs: Beliefs, poses: Poses, seen: Seen, passes: int, tolerance: float) -> tuple[Poses, Floats]:
    poses, cost = poses.copy(), costs(beliefs, poses, seen)
    damping = np.full(len(poses), FIRST_DAMPING)
    active = np.arange(len(poses))
    for _ in range(passes):
        there, mine = poses.select(active), seen.select(active)
        equations = normal(beliefs, there, mine)
        open_ones = free(beliefs.limits, there, equations.down)
        matrix = cut(equations.matrix, open_ones, damping[active])
        step = solved(matrix, (equations.down * open_ones)[..., None])[..., 0]
        tried = there.moved(step, beliefs.limits)
        after = costs(beliefs, tried, mine)
        better = after < cost[active]
        won = np.where(better, cost[active] - after, 0.0)
        poses.put(active[better], tried.select(np.flatnonzero(better)))
        cost[active] -= won
        damping[active] = np.where(better, np.maximum(damping[active] / 5, 1e-9), damping[active] * 10)
        going = (won > tolerance * np.maximum(cost[active], 1.0)) | (~better & (damping[active] < 1.0))
        active = active[going]
        if not len(active):
            break
    return poses, cost


def laid(beliefs: Beliefs, angles: Floats, seen: Seen, counting: Bools) -> Poses:
    """Fit a hand at angles (F, D) rigidly to its markers in each frame (Kabsch).

    Those in `counting` (M,) have equal weights, the others none.
    """
    places = carried(beliefs.shape, angles).places.transpose(2, 1, 0)
    weights = (seen.known & counting)[..., None].astype(float)
    total = np.maximum(weights.sum(axis=1), 1.0)
    middle, there = (places * weights).sum(axis=1) / total, (seen.positions * weights).sum(axis=1) / total
    spread = ((seen.positions - there[:, None]) * weights).swapaxes(1, 2) @ (places - middle[:, None])
    left, _, right = np.linalg.svd(spread)
    left[..., 2] *= np.linalg.det(left @ right)[:, None]
    turns = left @ right
    return Poses(turns, there - np.einsum("fij,fj->fi", turns, middle), angles)


def begun(beliefs: Beliefs, starts: Iterable[Floats], seen: Seen, counting: Bools) -> Poses:
    """Choose for each frame the best of several starts, fitted rigidly to the markers.

    Args:
        beliefs: the hand, its noise and prior.
        starts: angles rad, (D,) or (F, D) each.
        seen: the markers.
        counting: (M,) the markers to fit.
    """
    best: Poses | None = None
    least = np.full(len(seen), np.inf)
    for start in starts:
        angles = np.broadcast_to(np.clip(start, *beliefs.limits.T), (len(seen), DOFS)).copy()
        tried = laid(beliefs, angles, seen, counting)
        cost = costs(beliefs, tried, seen)
        if best is None:
            best, least = tried, cost
            continue
        better = np.flatnonzero(cost < least)
        best.put(better, tried.select(better))
        least = np.minimum(least, cost)
    assert best is not None
    return best


def without_prior(beliefs: Beliefs) -> Beliefs:
    """Return the same without a prior of the angles."""
    return replace(beliefs, mean=np.zeros(DOFS), precision=np.zeros((DOFS, DOFS)))
