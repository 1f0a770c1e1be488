"""The arm pose nearest to a wrist target that no swivel reaches within the shoulder's limits.

This has no closed form, so the arm is solved as a general chain. The wrist's distance to the target has several local
minima over the angles of shoulder and elbow, and an iterative solver converges to the one it starts in. It is therefore
started from the lowest local minima on a grid over the limits. The grid is the same for every target, and mirrored for
a mirrored arm.
"""

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ..tree import Skeleton, fixed, frames, hinge, places, solve_from, swing_twist_limits
from .arm_model import Arm

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NET = (16, 3, 7, 5)
"""Grid points: directions of the shoulder's swing, its magnitudes, twists of the shoulder, bends of the elbow."""
HOLLOWS = 8
"""Local minima that are searched. For a person's arm, or one with a wide cone, 4 came as near as 80 grid points; with a
cone closed on two sides, 8 left 7 of 117 targets up to 0.4 mm farther away."""
AT_ONCE = 250
"""Targets in a batch, which bounds the memory."""


def nearest(arm: Arm, goal: Floats) -> tuple[Floats, Floats]:
    """Return the upper arm's rotation (N, 3, 3) and elbow angle (N,) rad with the wrist nearest to goal (N, 3) m."""
    rest = np.tile(np.eye(4), (3, 1, 1))
    rest[1:, 1, 3] = arm.upper, arm.fore
    chain = Skeleton(("shoulder", "elbow", "wrist"), (-1, 0, 1), rest, (arm.shoulder, hinge(*arm.elbow), fixed()))
    pieces = [_nearest(chain, goal[k : k + AT_ONCE]) for k in range(0, len(goal), AT_ONCE)]
    turns = np.concatenate(pieces)
    return rot.to_matrix(chain.rotations(turns)[:, 0]), np.clip(turns[:, 1, 1], *arm.elbow)


def _nearest(chain: Skeleton, goal: Floats) -> Floats:
    """Solve a batch: the chain's swing and twist angles (N, 3, 3) rad."""
    net = _net(chain)
    flat = net.reshape(-1, 3, 3)
    wrists = frames(chain, np.tile(np.eye(4), (len(flat), 1, 1)), chain.rotations(flat))[:, -1, :3, 3]
    away = np.linalg.norm(wrists - goal[:, None], axis=-1)
    hollow = _hollows(away.reshape(len(goal), *NET)).reshape(away.shape)
    order = np.argsort(np.where(hollow, away, np.inf), axis=1)[:, :HOLLOWS]
    row, which = np.nonzero(np.take_along_axis(hollow, order, axis=1))
    found = solve_from(chain, places(chain, {"wrist": goal[row]}), flat[order[row, which]])
    missed = np.full(order.shape, np.inf)
    missed[row, which] = np.linalg.norm(found.positions[:, -1] - goal[row], axis=-1)
    number = np.zeros(order.shape, int)
    number[row, which] = np.arange(len(row))
    best: Floats = found.turns[number[np.arange(len(goal)), missed.argmin(1)]]
    return best


def _net(chain: Skeleton) -> Floats:
    """Swing and twist angles of the chain on a grid over its limits, (*NET, 3, 3) rad."""
    directions, parts, twists, bends = NET
    angle = np.linspace(0.0, 2 * np.pi, directions, endpoint=False)
    way = np.stack([np.cos(angle), np.sin(angle)], -1)
    edge = way * swing_twist_limits.semi_axes(chain.cone[0], way)
    net = np.zeros((*NET, 3, 3))
    net[..., 0, ::2] = (edge[:, None] * np.linspace(1 / parts, 1.0, parts)[:, None])[:, :, None, None]
    (least, most), (straightest, sharpest), _ = chain.twist.tolist()
    net[..., 0, 1] = np.linspace(least, most, twists)[:, None]
    net[..., 1, 1] = np.linspace(straightest, sharpest, bends)
    return net


def _hollows(away: Floats) -> Bools:
    """(N, *NET) whether a grid point's distance to the target is a local minimum."""
    hollow = (away <= np.roll(away, 1, axis=1)) & (away <= np.roll(away, -1, axis=1))
    for axis in range(2, away.ndim):
        low, high = np.moveaxis(hollow, axis, 0), np.moveaxis(away, axis, 0)
        low[1:] &= high[1:] <= high[:-1]
        low[:-1] &= high[:-1] <= high[1:]
    return hollow
