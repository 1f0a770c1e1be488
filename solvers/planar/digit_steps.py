"""Solve one digit: its plane, its bend in the plane, and the closest pose if limits keep it from its goal.

The same code takes one frame in plain floats or many in arrays (see hand.scalar_math).
"""

from typing import Any, Generic, NamedTuple

from ...hand.scalar_math import SCALAR, N, NumberFunctions, Pick, Point
from .closest_pose import coordinate_descent, end_position
from .planar_chain import BendResult, MarkerHint
from .planar_plan import MarkedDigit, OutermostMarker

SIDEWAYS_ITERATIONS = 4
"""Alternations between the sideways bend and the bends in the plane; each reduces the error to about a fifth."""
END_TOLERANCE_M = 1e-4
"""m, distance from its target at which a digit's end has reached it."""
PLANE_TOLERANCE_M = 1e-5
"""m, distance of the end's goal from the plane above which the digit bends sideways."""


class VisibleMarkers(NamedTuple, Generic[N]):
    """The visible markers of a digit."""

    marks: list[int]
    """(T,) indices of the digit's markers, its end (the outermost) first."""
    points: list[Point[N]]
    """(T,) m in the frame of the digit's base, mirrored in X for a left hand."""
    weights: list[N]
    """(T,) above zero for the end."""

    def pick(self, pick: Pick) -> "VisibleMarkers[N]":
        """Return some of the frames."""
        points = [(pick(x), pick(y), pick(z)) for x, y, z in self.points]
        return VisibleMarkers(self.marks, points, [pick(weight) for weight in self.weights])


def solve_digit(m: NumberFunctions[N], marked: MarkedDigit, seen: VisibleMarkers[N], sweeps: int) -> list[N]:
    """Return the angles of marked.dofs, rad; NaN for joints beyond the end that no marker determines.

    sweeps: most sweeps of cyclic coordinate descent if limits keep the end from its goal.
    """
    abduction, twist = marked.plane(m, seen.points, seen.weights, (marked.abduction_limits, marked.twist_limits))
    goal = seen.points[0]
    if marked.beside:
        # A marker's offset from the plane is along the plane's normal, and hardly changes the plane.
        seen = _project(m, seen, [marked.asides[mark] for mark in seen.marks], (abduction, twist))
        abduction, twist = marked.plane(m, seen.points, seen.weights, (marked.abduction_limits, marked.twist_limits))
    places = _plane_coordinates(m, marked, seen, (abduction, twist))
    end = marked.ends[seen.marks[0]]
    u, v, beyond = places[0]
    hints = _hints(marked, seen, places) if len(places) > 1 else []
    first, middle, last, missed = bend(m, end, u, v, hints)
    low, high = marked.side_limits
    side: Any = min(max(0.0, low), high)
    if end.sideways:
        # A second joint whose abduction cannot be zero always bends sideways.
        outside: Any = abs(beyond) > (PLANE_TOLERANCE_M if side == 0 else -1.0)
        if m.any(outside):
            reach = BendGoal(u, v, beyond, hints)
            flexed: Any = (0.0 * u, beyond, first, middle, last, missed)
            flexed = m.recompute_where(
                outside, flexed, lambda pick: _bend_sideways(m, marked, end, _picked(reach, pick), pick(first))
            )
            side, beyond, first, middle, last, missed = flexed
    whole = (abduction, twist, side, first, middle, last)
    solved = [whole[each] for each in marked.own]
    x, y, z = goal
    off: Any = missed + abs(beyond) > END_TOLERANCE_M
    if marked.asides[seen.marks[0]]:
        # The sideways bend also rotates the marker's offset from the plane.
        now = dict(zip(marked.dofs, solved, strict=True))
        at = end_position(m, end.turns, tuple(now[turn.dof] for turn in end.turns), 0.0 * x)
        off = m.sqrt((at[0] - x) ** 2 + (at[1] - y) ** 2 + (at[2] - z) ** 2) > END_TOLERANCE_M
    if not m.any(off):
        return solved

    def nearer(pick: Pick) -> tuple[N, ...]:
        now = dict(zip(marked.dofs, map(pick, solved), strict=True))
        angles = tuple(now[turn.dof] for turn in end.turns)
        found = coordinate_descent(m, end.turns, angles, (pick(x), pick(y), pick(z)), sweeps)
        now.update(zip((turn.dof for turn in end.turns), found, strict=True))
        return tuple(now.values())

    return list(m.recompute_where(off, tuple(solved), nearer))


def _hints(marked: MarkedDigit, seen: VisibleMarkers[N], places: list[Point[N]]) -> list[MarkerHint[N]]:
    """Return the positions of the inner markers in the plane."""
    inner = zip(seen.marks[1:], places[1:], seen.weights[1:], strict=True)
    return [MarkerHint(marked.ends[mark].rider, u, v, weight) for mark, (u, v, _), weight in inner]


class BendGoal(NamedTuple, Generic[N]):
    """Input of a bend."""

    u: N
    v: N
    beyond: N
    """m, the end's goal: along the straight digit, towards the palm, and along the plane's normal."""
    hints: list[MarkerHint[N]]


def _picked(reach: BendGoal[N], pick: Pick) -> BendGoal[N]:
    """Return some of the frames."""
    hints = [MarkerHint(hint.rider, pick(hint.u), pick(hint.v), pick(hint.weight)) for hint in reach.hints]
    return BendGoal(pick(reach.u), pick(reach.v), pick(reach.beyond), hints)


def bend(m: NumberFunctions[N], end: OutermostMarker, u: N, v: N, hints: list[MarkerHint[N]]) -> BendResult[N]:
    """Call the solver's bend for one frame or many."""
    how: Any = end.bend.one if m is SCALAR else end.bend.many
    return how(u, v, hints)  # type: ignore[no-any-return]


def _project(
    m: NumberFunctions[N], seen: VisibleMarkers[N], asides: list[float], plane: tuple[N, N]
) -> VisibleMarkers[N]:
    """Project the markers onto the plane by their known offsets along its normal."""
    ca, sa, ct, st = m.cos(plane[0]), m.sin(plane[0]), m.cos(plane[1]), m.sin(plane[1])
    points = [
        (x - aside * ca * ct, y - aside * sa * ct, z + aside * st)
        for (x, y, z), aside in zip(seen.points, asides, strict=True)
    ]
    return VisibleMarkers(seen.marks, points, seen.weights)


def _plane_coordinates(
    m: NumberFunctions[N], marked: MarkedDigit, seen: VisibleMarkers[N], plane: tuple[N, N]
) -> list[Point[N]]:
    """Coordinates of the markers in the plane: along the straight digit, towards the palm, along the normal."""
    ca, sa = m.cos(plane[0]), m.sin(plane[0])
    if not marked.has[1]:
        return [(y * ca - x * sa, -z, x * ca + y * sa) for x, y, z in seen.points]
    ct, st = m.cos(plane[1]), m.sin(plane[1])
    placed = []
    for x, y, z in seen.points:
        aside = x * ca + y * sa
        placed.append((y * ca - x * sa, -aside * st - z * ct, aside * ct - z * st))
    return placed


def _bend_sideways(
    m: NumberFunctions[N], marked: MarkedDigit, end: OutermostMarker, reach: BendGoal[N], first: N
) -> tuple[N, ...]:
    """Bend sideways to a goal outside the plane.

    The second joint's abduction rotates the outer bones out of the plane. Rotated back, the goal lies in the plane at a
    slightly greater distance, which the digit then bends to. The two steps alternate.

    Returns:
        The second joint's abduction, the goal's remaining distance from the plane, three flexions and their error.
    """
    side, left = 0.0 * first, reach.beyond
    flexed: BendResult[N] = first, first, first, first
    for _ in range(SIDEWAYS_ITERATIONS):
        cos, sin = m.cos(first), m.sin(first)
        along = reach.u * cos + reach.v * sin - marked.first
        along = m.where(along > 1e-3, along, 1e-3)
        side = m.clip(m.atan2(-reach.beyond, along), *marked.side_limits)
        ca, sa = m.cos(side), m.sin(side)
        longer, left = along * ca - reach.beyond * sa - along, along * sa + reach.beyond * ca
        flexed = bend(m, end, reach.u + longer * cos, reach.v + longer * sin, reach.hints)
        first = flexed[0]
    return side, left, flexed[0], flexed[1], flexed[2], flexed[3]
