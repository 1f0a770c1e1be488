"""Solve one digit: its plane, its bend in the plane, and the closest pose if limits keep it from its goal.

The same code takes one frame in plain floats or many in arrays (see hand.scalar_math).
"""

from collections.abc import Callable
from functools import partial
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
"""m, distance of a goal from the digit's plane above which the digit bends sideways."""


class DigitMarkers(NamedTuple, Generic[N]):
    """The visible markers of a digit."""

    indices: list[int]
    """(T,) indices of the digit's markers, its end (the outermost) first."""
    points: list[Point[N]]
    """(T,) m in the frame of the digit's base, mirrored in X for a left hand."""
    weights: list[N]
    """(T,) above zero for the end."""

    def pick(self, pick: Pick) -> "DigitMarkers[N]":
        """Return some of the frames."""
        points = [(pick(x), pick(y), pick(z)) for x, y, z in self.points]
        return DigitMarkers(self.indices, points, [pick(weight) for weight in self.weights])


class BendGoal(NamedTuple, Generic[N]):
    """The goal of a bend."""

    u: N
    v: N
    out_of_plane: N
    """m, the end's goal: u along the straight digit, v towards the palm, and the distance along the plane's normal."""
    hints: list[MarkerHint[N]]


def _pick_goal(goal: BendGoal[N], pick: Pick) -> BendGoal[N]:
    """Return some of the frames."""
    hints = [MarkerHint(hint.marker, pick(hint.u), pick(hint.v), pick(hint.weight)) for hint in goal.hints]
    return BendGoal(pick(goal.u), pick(goal.v), pick(goal.out_of_plane), hints)


class DigitInPlane(NamedTuple, Generic[N]):
    """A digit whose plane is known."""

    marked: MarkedDigit
    end: OutermostMarker
    lateral: float
    """m, offset of its end from the plane."""
    goal: Point[N]
    """m in the frame of the digit's base."""
    abduction: N
    twist: N
    """rad, of the plane."""
    bend_goal: BendGoal[N]


Bend = Callable[[NumberFunctions[N], OutermostMarker, N, N, list[MarkerHint[N]]], BendResult[N]]
"""Bends a digit in its plane: a digit's end, its goal (u, v) in m, and the inner markers."""


def bend_from_targets(
    m: NumberFunctions[N], end: OutermostMarker, u: N, v: N, hints: list[MarkerHint[N]]
) -> BendResult[N]:
    """Bend by the targets of the frame alone: the solver's bend, for one frame or many."""
    bend: Any = end.bend.bend_frame if m is SCALAR else end.bend.bend_frames
    return bend(u, v, hints)  # type: ignore[no-any-return]


def solve_digit(
    m: NumberFunctions[N],
    marked: MarkedDigit,
    visible: DigitMarkers[N],
    sweeps: int,
    bend: Bend[N] = bend_from_targets,
) -> list[N]:
    """Return the angles of marked.dofs, rad; NaN for joints beyond the end that no marker determines.

    sweeps: maximum sweeps of cyclic coordinate descent if limits keep the end from its goal.
    """
    in_plane = find_plane(m, marked, visible)
    u, v, _, hints = in_plane.bend_goal
    solved, missed = digit_angles(m, in_plane, bend(m, in_plane.end, u, v, hints), bend)
    if not m.any(missed):
        return solved
    current, dofs = dict(zip(marked.dofs, solved, strict=True)), in_plane.end.dofs
    improved = coordinate_descent(m, dofs, tuple(current[joint.dof] for joint in dofs), in_plane.goal, sweeps)
    current.update(zip((joint.dof for joint in dofs), improved, strict=True))
    return list(current.values())


def find_plane(m: NumberFunctions[N], marked: MarkedDigit, visible: DigitMarkers[N]) -> DigitInPlane[N]:
    """Find the plane of a digit, and its markers' coordinates in the plane."""
    abduction, twist = marked.plane(m, visible.points, visible.weights, (marked.abduction_limits, marked.twist_limits))
    goal = visible.points[0]
    if marked.has_offsets:
        # A marker's offset from the plane is along the plane's normal, and hardly changes the plane.
        visible = _project(m, visible, [marked.offsets[index] for index in visible.indices], (abduction, twist))
        abduction, twist = marked.plane(
            m, visible.points, visible.weights, (marked.abduction_limits, marked.twist_limits)
        )
    coordinates = _plane_coordinates(m, marked, visible, (abduction, twist))
    index = visible.indices[0]
    hints = _hints(marked, visible, coordinates) if len(coordinates) > 1 else []
    bend_goal = BendGoal(*coordinates[0], hints)
    return DigitInPlane(marked, marked.ends[index], marked.offsets[index], goal, abduction, twist, bend_goal)


def digit_angles(
    m: NumberFunctions[N], in_plane: DigitInPlane[N], result: BendResult[N], bend: Bend[N]
) -> tuple[list[N], Any]:
    """Return the angles of marked.dofs in rad, and in which frames limits keep the end from its goal.

    result: flexions in the plane, for in_plane.bend_goal. bend: used again if the second joint moves sideways.
    """
    marked, end, lateral, (x, y, z), abduction, twist, bend_goal = in_plane
    (first, middle, last, error), out_of_plane = result, bend_goal.out_of_plane
    low, high = marked.side_limits
    side: Any = min(max(0.0, low), high)
    if end.sideways:
        # A second joint whose abduction cannot be zero always bends sideways.
        outside: Any = abs(out_of_plane) > (PLANE_TOLERANCE_M if side == 0 else -1.0)
        if m.any(outside):
            bend_end = partial(bend, m, end)
            flexed: Any = (0.0 * bend_goal.u, out_of_plane, first, middle, last, error)
            flexed = m.recompute_where(
                outside,
                flexed,
                lambda pick: _bend_sideways(m, marked, bend_end, _pick_goal(bend_goal, pick), pick(first)),
            )
            side, out_of_plane, first, middle, last, error = flexed
    all_angles = (abduction, twist, side, first, middle, last)
    solved = [all_angles[number] for number in marked.present]
    missed: Any = error + abs(out_of_plane) > END_TOLERANCE_M
    if lateral:
        # The sideways bend also rotates the marker's offset from the plane.
        current = dict(zip(marked.dofs, solved, strict=True))
        end_at = end_position(m, end.dofs, tuple(current[joint.dof] for joint in end.dofs), 0.0 * x)
        missed = m.sqrt((end_at[0] - x) ** 2 + (end_at[1] - y) ** 2 + (end_at[2] - z) ** 2) > END_TOLERANCE_M
    return solved, missed


def _hints(marked: MarkedDigit, visible: DigitMarkers[N], coordinates: list[Point[N]]) -> list[MarkerHint[N]]:
    """Return the positions of the inner markers in the plane."""
    inner = zip(visible.indices[1:], coordinates[1:], visible.weights[1:], strict=True)
    return [MarkerHint(marked.ends[index].marker, u, v, weight) for index, (u, v, _), weight in inner]


def _project(
    m: NumberFunctions[N], visible: DigitMarkers[N], offsets: list[float], plane: tuple[N, N]
) -> DigitMarkers[N]:
    """Project the markers onto the plane by their known offsets along its normal."""
    (ca, sa), (ct, st) = m.cos_sin(plane[0]), m.cos_sin(plane[1])
    points = [
        (x - offset * ca * ct, y - offset * sa * ct, z + offset * st)
        for (x, y, z), offset in zip(visible.points, offsets, strict=True)
    ]
    return DigitMarkers(visible.indices, points, visible.weights)


def _plane_coordinates(
    m: NumberFunctions[N], marked: MarkedDigit, visible: DigitMarkers[N], plane: tuple[N, N]
) -> list[Point[N]]:
    """Return coordinates of the markers in the plane: along the straight digit, towards the palm, along the normal."""
    ca, sa = m.cos_sin(plane[0])
    if not marked.has[1]:
        return [(y * ca - x * sa, -z, x * ca + y * sa) for x, y, z in visible.points]
    ct, st = m.cos_sin(plane[1])
    coordinates = []
    for x, y, z in visible.points:
        offset = x * ca + y * sa
        coordinates.append((y * ca - x * sa, -offset * st - z * ct, offset * ct - z * st))
    return coordinates


def _bend_sideways(
    m: NumberFunctions[N],
    marked: MarkedDigit,
    bend_end: Callable[[N, N, list[MarkerHint[N]]], BendResult[N]],
    bend_goal: BendGoal[N],
    first: N,
) -> tuple[N, ...]:
    """Bend sideways to a goal outside the plane.

    The second joint's abduction rotates the outer bones out of the plane. Rotated back, the goal lies in the plane at a
    slightly greater distance, which the digit then bends to. The two steps alternate.

    Returns:
        The second joint's abduction, the goal's remaining distance from the plane, three flexions and their error.
    """
    side, remaining = 0.0 * first, bend_goal.out_of_plane
    flexed: BendResult[N] = first, first, first, first
    for _ in range(SIDEWAYS_ITERATIONS):
        cos, sin = m.cos_sin(first)
        distance = bend_goal.u * cos + bend_goal.v * sin - marked.first_length
        distance = m.where(distance > 1e-3, distance, 1e-3)
        side = m.clip(m.atan2(-bend_goal.out_of_plane, distance), *marked.side_limits)
        ca, sa = m.cos_sin(side)
        extension, remaining = (
            distance * ca - bend_goal.out_of_plane * sa - distance,
            distance * sa + bend_goal.out_of_plane * ca,
        )
        flexed = bend_end(bend_goal.u + extension * cos, bend_goal.v + extension * sin, bend_goal.hints)
        first = flexed[0]
    return side, remaining, flexed[0], flexed[1], flexed[2], flexed[3]
