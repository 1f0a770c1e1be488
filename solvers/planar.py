"""Planar FABRIK with limits: three bones of a digit, bending in its plane, over N frames at once.

In the plane u runs along the straight digit and v towards the palm. A bone's heading is the sum of the flexions up
to it, so that its direction is (cos, sin) of the heading. All angles in rad, lengths in m.

FABRIK keeps close to the pose it begins with (FABRIK-CGA section 3.5), so the beginning decides what the targets
leave open: it is the pose whose joints bend as their coupling says and whose reach is the target's distance.
"""

from dataclasses import dataclass, replace

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
class Rider:
    """A point that rides on a bone: a marker, or the bone's own end."""

    bone: int
    """0, 1 or 2."""
    along: float
    """m from the bone's beginning along it."""
    dorsal: float = 0.0
    """m out of its back."""


@dataclass(frozen=True, slots=True, eq=False)
class Hint:
    """Where a rider short of the end was seen."""

    rider: Rider
    positions: Floats
    """(N, 2) m in the plane."""
    weights: Floats
    """(N,), 0 = not seen."""


@dataclass(frozen=True, slots=True)
class Stopping:
    """When to stop: near enough, no longer nearer, or often enough."""

    tolerance: float
    """m from the end to its target at which a row is done."""
    stall: float
    """m by which a pass must come nearer, else the row is stuck."""
    passes: int
    """Most forward and backward passes from one beginning."""


def points(chain: Chain, flexions: Floats) -> Floats:
    """(N, 3, 2) the ends of the bones, from flexions (N, 3)."""
    heading = np.cumsum(flexions, axis=-1)
    steps = chain.lengths[:, None] * np.stack([np.cos(heading), np.sin(heading)], -1)
    return np.cumsum(steps, axis=-2)


def place(chain: Chain, flexions: Floats, rider: Rider) -> Floats:
    """(N, 2) where a rider is, from flexions (N, 3)."""
    heading = flexions[:, : rider.bone + 1].sum(-1)
    ahead = np.stack([np.cos(heading), np.sin(heading)], -1)
    up = np.stack([np.sin(heading), -np.cos(heading)], -1)
    begin = points(chain, flexions)[:, rider.bone - 1] if rider.bone else 0.0
    there: Floats = begin + rider.along * ahead + rider.dorsal * up
    return there


def solve(chain: Chain, end: Rider, goal: Floats, hints: list[Hint], stopping: Stopping) -> Floats:
    """(N, 3) flexions within the limits that bring the rider `end` to its goal (N, 2) and the others near their hints.

    Joints beyond the end's bone follow by the coupling, or are NaN where nothing tells how far they bend.
    """
    bones = end.bone + 1
    aimed, shift = _aimed(chain, end)
    coupled = begin_bent(aimed, goal, bones, aimed.lead)
    flexions = coupled if bones < 3 else _hinted(chain, end, goal, coupled=coupled, hints=hints)
    best = np.clip(flexions, *aimed.limits.T)
    error = _miss(aimed, best, goal, bones)
    for lead in (0.0, *LEADS_TRIED) if bones > 1 else (0.0,):
        rows = np.flatnonzero(error > stopping.tolerance)
        if not len(rows):
            break
        start = begin_bent(aimed, goal[rows], bones, aimed.lead + lead) if lead else best[rows]
        tried = _iterate(aimed, np.clip(start, *aimed.limits.T), goal[rows], bones, stopping)
        missed = _miss(aimed, tried, goal[rows], bones)
        better = missed < error[rows] - stopping.stall
        best[rows[better]] = tried[better]
        error[rows[better]] = missed[better]
    return best + shift


LEADS_TRIED = (-0.3, 0.3, -0.6, 0.6, -0.9, 0.9)
"""rad: the bent poses from which a row that is stuck begins again."""


def _aimed(chain: Chain, end: Rider) -> tuple[Chain, Floats]:
    """The chain with its last bone replaced by the straight way to the rider, and (3,) what its flexions lack.

    A marker on the back of a bone is the end of a bone that is a little longer and raised by a fixed angle.
    """
    raised = np.arctan2(end.dorsal, end.along)
    shift = np.zeros(3)
    shift[end.bone] = raised
    lengths = chain.lengths.copy()
    lengths[end.bone] = np.hypot(end.dorsal, end.along)
    lead = chain.lead + (chain.ratio * raised if end.bone == 1 else -raised if end.bone == 2 else 0.0)
    return replace(chain, lengths=lengths, limits=chain.limits - shift[:, None], lead=lead), shift


def _hinted(chain: Chain, end: Rider, goal: Floats, *, coupled: Floats, hints: list[Hint]) -> Floats:
    """(N, 3) the beginning that also heeds the hints.

    The end's place leaves one freedom: how far the last joint leads or lags its coupling. Where both joints before it
    are seen they tell the lead; where less is seen it is the lead that brings the riders nearest, at a price.
    """
    aimed, shift = _aimed(chain, end)
    leads = np.full(len(goal), np.nan)
    searched = np.flatnonzero(np.sum([hint.weights for hint in hints], axis=0)) if hints else np.zeros(0, int)
    ends = [next((h for h in hints if h.rider == Rider(k, float(chain.lengths[k]))), None) for k in (0, 1)]
    if ends[0] is not None and ends[1] is not None:
        both = np.flatnonzero((ends[0].weights > 0) & (ends[1].weights > 0))
        leads[both] = _told_lead(aimed, ends[0].positions[both], ends[1].positions[both], goal[both])
        searched = np.setdiff1d(searched, both)
    if len(searched):
        leads[searched] = _nearest_lead(chain, aimed, shift, goal, searched, hints=hints)
    known = np.isfinite(leads)
    result = coupled.copy()
    result[known] = begin_bent(aimed, goal[known], 3, leads[known])
    return result


def _told_lead(aimed: Chain, first: Floats, second: Floats, goal: Floats) -> Floats:
    """(N,) the lead that the ends of the first two bones and the goal (N, 2) tell."""
    heading = np.stack([np.arctan2(v[:, 1], v[:, 0]) for v in (first, second - first, goal - second)])
    middle, last = wrapped(np.diff(heading, axis=0))
    lead: Floats = last - aimed.ratio * middle
    return lead


def _nearest_lead(
    chain: Chain, aimed: Chain, shift: Floats, goal: Floats, rows: NDArray[np.intp], *, hints: list[Hint]
) -> Floats:
    """(R,) for these rows, the lead that brings the riders nearest to where they were seen, at a price."""
    leads = np.deg2rad(np.arange(-75.0, 76.0, 7.5))
    prices = np.empty((len(rows), len(leads)))
    for k, lead in enumerate(leads):
        tried = _begin_near(aimed, goal[rows], aimed.lead + lead)
        excess = np.maximum(aimed.limits[:, 0] - tried, 0) + np.maximum(tried - aimed.limits[:, 1], 0)
        prices[:, k] = (LEAD_PRICE * lead) ** 2 + (LIMIT_PRICE**2 * excess**2).sum(-1)
        for hint in hints:
            apart = ((place(chain, tried + shift, hint.rider) - hint.positions[rows]) ** 2).sum(-1)
            prices[:, k] += np.where(hint.weights[rows] > 0, apart, 0.0)
    return aimed.lead + _lowest(leads, prices)


LEAD_PRICE = 0.06
"""m of misplaced riders that one radian away from the coupling is worth. A finger can often reach its tip in two ways
that fit one inner marker alike: with a low price noise would choose between them, another in each frame."""
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
    """begin_bent for three bones to a tenth of a degree, by interpolation: many leads are compared with it."""
    bends = np.linspace(_straightest(chain), chain.limits[1, 1], 128)
    reach = _reach(chain, bends, np.full(len(bends), lead), 3)
    farthest = reach.argmax()
    bend = np.interp(np.hypot(goal[:, 0], goal[:, 1]), reach[farthest:][::-1], bends[farthest:][::-1])
    return _aim(chain, bend, np.full(len(goal), lead), goal, 3)


def begin_bent(chain: Chain, goal: Floats, bones: int, lead: float | Floats) -> Floats:
    """(N, 3) flexions, limits of the first joint aside, whose first `bones` bones reach as far as goal (N, 2).

    With the last joint tied to the middle one the distance falls as the middle one bends, so one bend has the
    goal's distance; halving finds it between the farthest reach and the limit. A goal out of reach is pointed at.
    Joints beyond have NaN where nothing tells how far they bend.
    """
    lead = np.broadcast_to(np.asarray(lead, float), len(goal))
    if bones == 1:
        return _aim(chain, np.full(len(goal), np.nan), lead, goal, 1)
    distance = np.hypot(goal[:, 0], goal[:, 1])
    low, high = _farthest(chain, lead, bones), np.full(len(goal), chain.limits[1, 1])
    for _ in range(HALVINGS):
        bend = (low + high) / 2
        far = _reach(chain, bend, lead, bones) > distance
        low, high = np.where(far, bend, low), np.where(far, high, bend)
    return _aim(chain, (low + high) / 2, lead, goal, bones)


HALVINGS = 30
"""100 degrees halved 30 times are 1e-7 degrees."""


def _straightest(chain: Chain) -> float:
    """rad, the middle joint's least bend: fingers are taken to bend forwards."""
    return float(min(max(0.0, chain.limits[1, 0]), chain.limits[1, 1]))


def _farthest(chain: Chain, lead: Floats, bones: int) -> Floats:
    """(N,) the middle joint's bend at which the chain reaches farthest: straight, unless the last bone is raised."""
    bends = np.linspace(_straightest(chain), chain.limits[1, 1], 24)
    reach = np.stack([_reach(chain, np.full(len(lead), bend), lead, bones) for bend in bends])
    farthest: Floats = bends[reach.argmax(0)]
    return farthest


def _aim(chain: Chain, bend: Floats, lead: Floats, goal: Floats, bones: int) -> Floats:
    """(N, 3) flexions with this bend of the middle joint, the first joint turned so that the end heads for the goal."""
    flexions = np.stack([np.zeros(len(goal)), bend, _last(chain, bend, lead)], -1)
    at = points(chain, flexions)[:, bones - 1]
    flexions[:, 0] = wrapped(np.arctan2(goal[:, 1], goal[:, 0]) - np.arctan2(at[:, 1], at[:, 0]))
    return flexions


def _last(chain: Chain, bend: Floats, lead: Floats) -> Floats:
    bend_of_last: Floats = np.clip(chain.ratio * bend + lead, *chain.limits[2])
    return bend_of_last


def _reach(chain: Chain, bend: Floats, lead: Floats, bones: int) -> Floats:
    """(N,) m from the base to the end of the chain's first `bones` bones when the middle joint is bent so."""
    a, b, c = chain.lengths
    u, v = a + b * np.cos(bend), b * np.sin(bend)
    if bones == 3:
        heading = bend + _last(chain, bend, lead)
        u, v = u + c * np.cos(heading), v + c * np.sin(heading)
    far: Floats = np.hypot(u, v)
    return far


def _miss(chain: Chain, flexions: Floats, goal: Floats, bones: int) -> Floats:
    apart: Floats = np.linalg.norm(points(chain, flexions)[:, bones - 1] - goal, axis=-1)
    return apart


def _iterate(chain: Chain, flexions: Floats, goal: Floats, bones: int, stopping: Stopping) -> Floats:
    """Forward and backward passes (FABRIK-CGA Algorithm 1) from flexions (N, 3); the best of each row.

    Rows that are near enough or stuck freeze; the others go on alone.
    """
    best = flexions.copy()
    error = _miss(chain, best, goal, bones)
    rows = np.flatnonzero(error > stopping.tolerance)
    current = best[rows]
    for _ in range(stopping.passes):
        if not len(rows):
            break
        joints = _forward(chain, points(chain, current), goal[rows], bones)
        current = _backward(chain, joints, current, goal[rows], bones)
        missed = _miss(chain, current, goal[rows], bones)
        gained = missed < error[rows] - stopping.stall
        best[rows[gained]] = current[gained]
        error[rows[gained]] = missed[gained]
        on = gained & (missed > stopping.tolerance)
        rows, current = rows[on], current[on]
    return best


def _forward(chain: Chain, joints: Floats, goal: Floats, bones: int) -> Floats:
    """Stage 1: the end on its target, each joint before it the nearest point at its bone's length (line 1.21)."""
    moved = joints.copy()
    moved[:, bones - 1] = goal
    for k in range(bones - 2, -1, -1):
        moved[:, k] = _nearest(moved[:, k + 1], chain.lengths[k + 1], joints[:, k])
    return moved


def _backward(chain: Chain, joints: Floats, flexions: Floats, goal: Floats, bones: int) -> Floats:
    """Stage 2: from the base outwards each bone heads for its joint as far as the joint's limits let it (1.28)."""
    result = flexions.copy()
    heading = np.zeros(len(joints))
    at = np.zeros((len(joints), 2))
    for k in range(bones):
        towards = (goal if k == bones - 1 else joints[:, k]) - at
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
