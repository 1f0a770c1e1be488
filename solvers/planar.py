"""Planar FABRIK with limits: three bones of a digit, bending in its plane, over N frames at once.

In the plane u runs along the straight digit and v towards the palm. A bone's heading is the sum of the flexions up
to it, so that its direction is (cos, sin) of the heading. All angles in rad, lengths in m.

FABRIK keeps close to the pose it begins with (FABRIK-CGA section 3.5), so the beginning decides what the targets
leave open: it is the pose whose joints bend as their coupling says and whose reach is the target's distance.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Three bones in a plane with hinge limits and a coupling of the last joint to the middle one."""

    lengths: Floats
    """(3,) m."""
    limits: Floats
    """(3, 2) rad, lowest and highest flexion of each joint."""
    ratio: float
    """The last joint bends ratio · the middle one's bend + lead."""
    lead: float


@dataclass(frozen=True, slots=True)
class Stopping:
    """When to stop: near enough, no longer nearer, or often enough."""

    tolerance: float = 1e-5
    """m from the end to its target at which a row is done."""
    stall: float = 1e-7
    """m by which a pass must come nearer, else the row is stuck."""
    passes: int = 60
    """Most forward and backward passes from one beginning."""


def points(chain: Chain, flexions: Floats) -> Floats:
    """(N, 3, 2) the ends of the bones, from flexions (N, 3)."""
    heading = np.cumsum(flexions, axis=-1)
    steps = chain.lengths[:, None] * np.stack([np.cos(heading), np.sin(heading)], -1)
    return np.cumsum(steps, axis=-2)


def solve(chain: Chain, targets: Floats, weights: Floats, end: int, stopping: Stopping) -> Floats:
    """(N, 3) flexions within the limits that bring joint `end` to its target and the joints before it near theirs.

    targets (N, 3, 2) m with weights (N, 3), 0 = not known. `end` is 1, 2 or 3: which of the bones' ends must be
    reached; joints beyond it follow by the coupling.
    """
    goal = targets[:, end - 1]
    flexions = begin(chain, targets, weights, end)
    best = np.clip(flexions, *chain.limits.T)
    error = _miss(chain, best, goal, end)
    for lead in (0.0, -0.3, 0.3, -0.6, 0.6, -0.9, 0.9):
        rows = np.flatnonzero(error > stopping.tolerance)
        if not len(rows) or (end < 2 and lead):
            break
        start = best[rows] if lead == 0.0 else begin_bent(chain, goal[rows], end, chain.lead + lead)
        tried = _iterate(chain, np.clip(start, *chain.limits.T), goal[rows], end, stopping)
        missed = _miss(chain, tried, goal[rows], end)
        better = missed < error[rows] - stopping.stall
        best[rows[better]] = tried[better]
        error[rows[better]] = missed[better]
    return best


def begin(chain: Chain, targets: Floats, weights: Floats, end: int) -> Floats:
    """(N, 3) the flexions to begin with: those of the coupling, bent as far as the target is near.

    Where joints before the end are known too, the last joint leads or lags its coupling by as much as brings them
    nearest, at a price, so that noise in them does not shake the last joint.
    """
    goal = targets[:, end - 1]
    coupled = begin_bent(chain, goal, end, chain.lead)
    inner = weights[:, : end - 1].any(axis=1) if end > 1 else np.zeros(len(goal), bool)
    if end < 3 or not inner.any():
        return coupled
    leads = chain.lead + np.deg2rad(np.arange(-45.0, 46.0, 7.5))
    rows = np.flatnonzero(inner)
    tried = np.stack([_begin_near(chain, goal[rows], lead) for lead in leads], 1)
    excess = np.maximum(chain.limits[:, 0] - tried, 0) + np.maximum(tried - chain.limits[:, 1], 0)
    price = (LEAD_PRICE * (leads - chain.lead)) ** 2 + (LIMIT_PRICE**2 * excess**2).sum(-1)
    at = points(chain, tried.reshape(-1, 3)).reshape(len(rows), len(leads), 3, 2)
    apart = ((at - targets[rows, None]) ** 2).sum(-1)
    price = price + np.where(weights[rows, None, :2] > 0, apart[:, :, :2], 0.0).sum(-1)
    result = coupled.copy()
    result[rows] = begin_bent(chain, goal[rows], end, _lowest(leads, price))
    return result


LEAD_PRICE = 0.010
"""m of misplaced inner joints that one radian away from the coupling is worth."""
LIMIT_PRICE = 0.1
"""m per rad beyond a limit."""


def _lowest(xs: Floats, prices: Floats) -> Floats:
    """(N,) where a parabola through the lowest of prices (N, K) and its neighbours is lowest; xs (K,) are even."""
    k = np.clip(prices.argmin(1), 1, len(xs) - 2)
    rows = np.arange(len(prices))
    before, at, after = prices[rows, k - 1], prices[rows, k], prices[rows, k + 1]
    curve = np.maximum(before - 2 * at + after, 1e-18)
    shift = np.clip((before - after) / (2 * curve), -1.0, 1.0)
    lowest: Floats = xs[k] + shift * (xs[1] - xs[0])
    return lowest


def _begin_near(chain: Chain, goal: Floats, lead: float) -> Floats:
    """begin_bent for the tip to a tenth of a degree, by interpolation: many leads are compared with it."""
    bends = np.linspace(max(0.0, chain.limits[1, 0]), chain.limits[1, 1], 128)[::-1]
    reach = np.maximum.accumulate(_reach(chain, bends, np.full(len(bends), lead), 3))
    bend = np.interp(np.hypot(goal[:, 0], goal[:, 1]), reach, bends)
    return _aim(chain, bend, np.full(len(goal), lead), goal, 3)


def begin_bent(chain: Chain, goal: Floats, end: int, lead: float | Floats) -> Floats:
    """(N, 3) flexions, limits of the first joint aside, whose joint `end` lies at the distance of goal (N, 2).

    Joints beyond `end` have NaN where nothing tells how far they bend.

    With the last joint tied to the middle one the distance falls as the middle one bends, so one bend has the
    goal's distance; halving finds it between the middle joint's straight and its limit. A goal out of reach is
    pointed at.
    """
    lead = np.broadcast_to(np.asarray(lead, float), len(goal))
    distance = np.hypot(goal[:, 0], goal[:, 1])
    low = np.full(len(goal), max(0.0, chain.limits[1, 0]))
    high = np.full(len(goal), chain.limits[1, 1])
    if end > 1:
        for _ in range(HALVINGS):
            bend = (low + high) / 2
            far = _reach(chain, bend, lead, end) > distance
            low, high = np.where(far, bend, low), np.where(far, high, bend)
    bend = (low + high) / 2 if end > 1 else np.full(len(goal), np.nan)
    return _aim(chain, bend, lead, goal, end)


def _aim(chain: Chain, bend: Floats, lead: Floats, goal: Floats, end: int) -> Floats:
    """(N, 3) flexions with this bend of the middle joint, the first joint turned so that `end` heads for the goal."""
    flexions = np.stack([np.zeros(len(goal)), bend, _last(chain, bend, lead)], -1)
    at = points(chain, flexions)[:, end - 1]
    flexions[:, 0] = wrapped(np.arctan2(goal[:, 1], goal[:, 0]) - np.arctan2(at[:, 1], at[:, 0]))
    return flexions


HALVINGS = 30
"""100 degrees halved 30 times are 1e-7 degrees."""


def _last(chain: Chain, bend: Floats, lead: Floats) -> Floats:
    return np.clip(chain.ratio * bend + lead, *chain.limits[2])


def _reach(chain: Chain, bend: Floats, lead: Floats, end: int) -> Floats:
    """(N,) m from the base to joint `end` when the middle joint is bent so."""
    a, b, c = chain.lengths
    u, v = a + b * np.cos(bend), b * np.sin(bend)
    if end == 3:
        heading = bend + _last(chain, bend, lead)
        u, v = u + c * np.cos(heading), v + c * np.sin(heading)
    return np.hypot(u, v)


def _miss(chain: Chain, flexions: Floats, goal: Floats, end: int) -> Floats:
    return np.linalg.norm(points(chain, flexions)[:, end - 1] - goal, axis=-1)


def _iterate(chain: Chain, flexions: Floats, goal: Floats, end: int, stopping: Stopping) -> Floats:
    """Forward and backward passes (FABRIK-CGA Algorithm 1) from flexions (N, 3); the best of each row.

    Rows that are near enough or stuck freeze; the others go on alone.
    """
    best = flexions.copy()
    error = _miss(chain, best, goal, end)
    rows = np.flatnonzero(error > stopping.tolerance)
    current = best[rows]
    for _ in range(stopping.passes):
        if not len(rows):
            break
        joints = _forward(chain, points(chain, current), goal[rows], end)
        current = _backward(chain, joints, current, goal[rows], end)
        missed = _miss(chain, current, goal[rows], end)
        gained = missed < error[rows] - stopping.stall
        best[rows[gained]] = current[gained]
        error[rows[gained]] = missed[gained]
        on = gained & (missed > stopping.tolerance)
        rows, current = rows[on], current[on]
    return best


def _forward(chain: Chain, joints: Floats, goal: Floats, end: int) -> Floats:
    """Stage 1: the end on its target, each joint before it the nearest point at its bone's length (line 1.21)."""
    moved = joints.copy()
    moved[:, end - 1] = goal
    for k in range(end - 2, -1, -1):
        moved[:, k] = _nearest(moved[:, k + 1], chain.lengths[k + 1], joints[:, k])
    return moved


def _backward(chain: Chain, joints: Floats, flexions: Floats, goal: Floats, end: int) -> Floats:
    """Stage 2: from the base outwards each bone heads for its joint as far as the joint's limits let it (1.28)."""
    result = flexions.copy()
    heading = np.zeros(len(joints))
    at = np.zeros((len(joints), 2))
    for k in range(end):
        towards = (goal if k == end - 1 else joints[:, k]) - at
        bend = wrapped(np.arctan2(towards[:, 1], towards[:, 0]) - heading)
        result[:, k] = np.clip(bend, *chain.limits[k])
        heading = heading + result[:, k]
        at = at + chain.lengths[k] * np.stack([np.cos(heading), np.sin(heading)], -1)
    return result


def _nearest(centre: Floats, radius: float, point: Floats) -> Floats:
    """The point at `radius` from the centre that is nearest to `point`: FABRIK-CGA 3.4.2.1 in the plane."""
    apart = point - centre
    distance = np.linalg.norm(apart, axis=-1, keepdims=True)
    # A joint that sits on its neighbour has no nearest point: any will do, and the limits choose.
    direction = np.where(distance > 1e-12, apart / np.maximum(distance, 1e-12), np.array([-1.0, 0.0]))
    return centre + radius * direction


def wrapped(angle: Floats) -> Floats:
    """The same angle in −π..π."""
    return (angle + np.pi) % (2 * np.pi) - np.pi
