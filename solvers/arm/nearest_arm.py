"""The arm pose nearest to a wrist target that no swivel reaches within the shoulder's limits.

This has no closed form, so the arm is solved as a general chain. The wrist's distance to the target has several local
minima over the angles of shoulder and elbow, and an iterative solver converges to the one it starts in. It is therefore
started from the lowest local minima on a grid over the limits. The grid is the same for every target, and mirrored for
a mirrored arm.
"""

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ..tree import Skeleton, fixed, frames, goals_by_name, hinge, solve_from, swing_twist_limits
from .arm_model import Arm

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

GRID = (16, 3, 7, 5)
"""Grid points: directions of the shoulder's swing, its magnitudes, twists of the shoulder, bends of the elbow."""
MINIMA = 8
"""Local minima that are searched. For a person's arm, or one with a wide cone, 4 came as near as 80 grid points; with a
cone closed on two sides, 8 left 7 of 117 targets up to 0.4 mm farther away."""
BATCH = 250
"""Targets in a batch, which bounds the memory."""


def nearest_arm(arm: Arm, goal: Floats) -> tuple[Floats, Floats]:
    """Return the upper arm's rotation (N, 3, 3) and elbow angle (N,) rad with the wrist nearest to goal (N, 3) m."""
    rest = np.tile(np.eye(4), (3, 1, 1))
    rest[1:, 1, 3] = arm.upper, arm.fore
    chain = Skeleton(("shoulder", "elbow", "wrist"), (-1, 0, 1), rest, (arm.shoulder, hinge(*arm.elbow), fixed()))
    batches = [_solve_batch(chain, goal[k : k + BATCH]) for k in range(0, len(goal), BATCH)]
    angles = np.concatenate(batches)
    return rot.to_matrix(chain.rotations(angles)[:, 0]), np.clip(angles[:, 1, 1], *arm.elbow)


def _solve_batch(chain: Skeleton, goal: Floats) -> Floats:
    """Solve a batch: the chain's swing and twist angles (N, 3, 3) rad."""
    grid = _grid(chain)
    starts = grid.reshape(-1, 3, 3)
    wrists = frames(chain, np.tile(np.eye(4), (len(starts), 1, 1)), chain.rotations(starts))[:, -1, :3, 3]
    distances = np.linalg.norm(wrists - goal[:, None], axis=-1)
    minima = _local_minima(distances.reshape(len(goal), *GRID)).reshape(distances.shape)
    lowest = np.argsort(np.where(minima, distances, np.inf), axis=1)[:, :MINIMA]
    target, rank = np.nonzero(np.take_along_axis(minima, lowest, axis=1))
    solved = solve_from(chain, goals_by_name(chain, {"wrist": goal[target]}), starts[lowest[target, rank]])
    errors = np.full(lowest.shape, np.inf)
    errors[target, rank] = np.linalg.norm(solved.positions[:, -1] - goal[target], axis=-1)
    index = np.zeros(lowest.shape, int)
    index[target, rank] = np.arange(len(target))
    best: Floats = solved.angles[index[np.arange(len(goal)), errors.argmin(1)]]
    return best


def _grid(chain: Skeleton) -> Floats:
    """Swing and twist angles of the chain on a grid over its limits, (*GRID, 3, 3) rad."""
    directions, magnitudes, twists, bends = GRID
    angle = np.linspace(0.0, 2 * np.pi, directions, endpoint=False)
    direction = np.stack([np.cos(angle), np.sin(angle)], -1)
    edge = direction * swing_twist_limits.semi_axes(chain.cone[0], direction)
    grid = np.zeros((*GRID, 3, 3))
    grid[..., 0, ::2] = (edge[:, None] * np.linspace(1 / magnitudes, 1.0, magnitudes)[:, None])[:, :, None, None]
    (least, most), (straightest, sharpest), _ = chain.twist.tolist()
    grid[..., 0, 1] = np.linspace(least, most, twists)[:, None]
    grid[..., 1, 1] = np.linspace(straightest, sharpest, bends)
    return grid


def _local_minima(distances: Floats) -> Bools:
    """(N, *GRID) whether a grid point's distance to the target is a local minimum."""
    minima = (distances <= np.roll(distances, 1, axis=1)) & (distances <= np.roll(distances, -1, axis=1))
    for axis in range(2, distances.ndim):
        low, high = np.moveaxis(minima, axis, 0), np.moveaxis(distances, axis, 0)
        low[1:] &= high[1:] <= high[:-1]
        low[:-1] &= high[:-1] <= high[1:]
    return minima
