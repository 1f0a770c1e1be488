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
"""Grid points of the shoulder's swing direction, swing magnitude and twist, and of the elbow's flexion."""
MAX_MINIMA = 8
"""Number of local minima from which the search is started. With human limits or a wide swing cone, 4 gave the same
distances as 80 grid points; with a swing cone that is narrow on two sides, 8 were up to 0.4 mm worse for 7 of 117
targets."""
BATCH = 250
"""Number of targets in a batch, to limit memory."""


def nearest_arm(arm: Arm, goal: Floats) -> tuple[Floats, Floats]:
    """Return the upper arm's rotation (N, 3, 3) and elbow angle (N,) rad with the wrist nearest to `goal` (N, 3) m."""
    rest_transforms = np.tile(np.eye(4), (3, 1, 1))
    rest_transforms[1:, 1, 3] = arm.upper, arm.fore
    chain = Skeleton(
        ("shoulder", "elbow", "wrist"), (-1, 0, 1), rest_transforms, (arm.shoulder, hinge(*arm.elbow), fixed())
    )
    batches = [_solve_batch(chain, goal[k : k + BATCH]) for k in range(0, len(goal), BATCH)]
    angles = np.concatenate(batches)
    return rot.to_matrix(chain.rotations(angles)[:, 0]), np.clip(angles[:, 1, 1], *arm.elbow)


def _solve_batch(chain: Skeleton, goal: Floats) -> Floats:
    """Return the chain's swing and twist angles (N, 3, 3) rad for a batch of N targets."""
    grid = _grid(chain)
    starts = grid.reshape(-1, 3, 3)
    wrists = frames(chain, np.tile(np.eye(4), (len(starts), 1, 1)), chain.rotations(starts))[:, -1, :3, 3]
    distances = np.linalg.norm(wrists - goal[:, None], axis=-1)
    minima = _local_minima(distances.reshape(len(goal), *GRID)).reshape(distances.shape)
    lowest = np.argsort(np.where(minima, distances, np.inf), axis=1)[:, :MAX_MINIMA]
    target, rank = np.nonzero(np.take_along_axis(minima, lowest, axis=1))
    solved = solve_from(chain, goals_by_name(chain, {"wrist": goal[target]}), starts[lowest[target, rank]])
    errors = np.full(lowest.shape, np.inf)
    errors[target, rank] = np.linalg.norm(solved.positions[:, -1] - goal[target], axis=-1)
    index = np.zeros(lowest.shape, int)
    index[target, rank] = np.arange(len(target))
    nearest_angles: Floats = solved.angles[index[np.arange(len(goal)), errors.argmin(1)]]
    return nearest_angles


def _grid(chain: Skeleton) -> Floats:
    """Return swing and twist angles (*GRID, 3, 3) rad of the chain on a grid over its limits."""
    directions, magnitudes, twists, flexions = GRID
    angle = np.linspace(0.0, 2 * np.pi, directions, endpoint=False)
    direction = np.stack([np.cos(angle), np.sin(angle)], -1)
    edge = direction * swing_twist_limits.semi_axes(chain.cone[0], direction)
    grid = np.zeros((*GRID, 3, 3))
    grid[..., 0, ::2] = (edge[:, None] * np.linspace(1 / magnitudes, 1.0, magnitudes)[:, None])[:, :, None, None]
    (min_twist, max_twist), (min_flexion, max_flexion), _ = chain.twist.tolist()
    grid[..., 0, 1] = np.linspace(min_twist, max_twist, twists)[:, None]
    grid[..., 1, 1] = np.linspace(min_flexion, max_flexion, flexions)
    return grid


def _local_minima(distances: Floats) -> Bools:
    """Return (N, *GRID) whether the distance to the target has a local minimum at a grid point."""
    minima = (distances <= np.roll(distances, 1, axis=1)) & (distances <= np.roll(distances, -1, axis=1))
    for axis in range(2, distances.ndim):
        low, high = np.moveaxis(minima, axis, 0), np.moveaxis(distances, axis, 0)
        low[1:] &= high[1:] <= high[:-1]
        low[:-1] &= high[:-1] <= high[1:]
    return minima
