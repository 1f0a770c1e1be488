"""The elbow's position: the circle in which two spheres meet, intersected with the swivel plane. CGA-arm 4.1, 5.1."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ..cga import generated as g
from ..cga.generated import Circle, Plane, Sphere
from ..cga.nearest_points import foot_on_line
from ..cga.objects import PairPoints, line_of, pair_points, positions, vector
from .arm_model import Arm

Floats = NDArray[np.float64]

MIN_DISTANCE_FRACTION = 1e-6
"""Minimum distance of shoulder and wrist, as a fraction of the arm's length, at which the elbow's circle exists."""
POLE_TOLERANCE = 1e-6
"""Minimum distance of a pole to the line from shoulder to wrist, as a fraction of its distance to the shoulder."""


@dataclass(frozen=True, slots=True, eq=False)
class ArmTriangle:
    """An arm over N frames with its elbow towards the pole (swivel 0), in the shoulder's frame."""

    direction: Floats
    """(N, 3) unit vectors from shoulder to wrist."""
    upper: Floats
    """(N, 3, 3) the upper arm's rotation."""
    elbow: Floats
    """(N,) rad"""
    hand: Floats
    """(N, 3, 3) the target rotation of the wrist."""

    def select(self, frames: NDArray[np.intp]) -> "ArmTriangle":
        """Return some of the frames."""
        return ArmTriangle(self.direction[frames], self.upper[frames], self.elbow[frames], self.hand[frames])

    def upper_rotation(self, swivel: Floats) -> Floats:
        """Return the upper arm's rotation (N, ..., 3, 3) at swivels (N, ...) rad."""
        broadcast = (slice(None), *(None,) * (swivel.ndim - 1))
        rotations: Floats = (
            rot.to_matrix(rot.from_axis_angle(self.direction[broadcast], swivel)) @ self.upper[broadcast]
        )
        return rotations

    def wrist_rotation(self, upper: Floats, elbow: Floats) -> Floats:
        """Return the wrist's rotation (N, ..., 3, 3) for an upper arm (N, ..., 3, 3) and an elbow angle (N,) rad."""
        broadcast = (slice(None), *(None,) * (upper.ndim - 3))
        fore = upper @ rot.to_matrix(rot.from_axis_angle(np.array([1.0, 0.0, 0.0]), elbow))[broadcast]
        rotations: Floats = np.swapaxes(fore, -1, -2) @ self.hand[broadcast]
        return rotations


def arm_triangle(arm: Arm, wrist: Floats, base: Floats, pole: Floats) -> tuple[ArmTriangle, Floats]:
    """Place the elbow towards the pole.

    A wrist target out of the elbow's range is moved along the line from the shoulder into it.

    Args:
        arm: lengths and limits.
        wrist: (N, 4, 4) T_world_wrist, the target.
        base: (N, 4, 4) T_world_shoulder.
        pole: (N, 3) m in the world.

    Returns:
        The triangle of shoulder, elbow and wrist, and the wrist's target (N, 3) m, in the shoulder's frame.
    """
    to_shoulder = np.swapaxes(base[:, :3, :3], 1, 2)
    goal = (to_shoulder @ (wrist[:, :3, 3] - base[:, :3, 3])[..., None])[..., 0]
    hand = to_shoulder @ wrist[:, :3, :3] @ rot.to_matrix(rot.conjugate(np.array(arm.hand)))
    distance = np.linalg.norm(goal, axis=-1, keepdims=True)
    direction = np.where(distance > 0, goal / np.where(distance > 0, distance, 1.0), np.array([0.0, 1.0, 0.0]))
    wrist_position = np.clip(distance, *reach_range(arm)) * direction
    side = elbow_direction(arm, (to_shoulder @ (pole - base[:, :3, 3])[..., None])[..., 0], direction)
    elbow = _elbow_position(arm, wrist_position, direction, side)
    upper_axis = elbow / np.linalg.norm(elbow, axis=-1, keepdims=True)
    fore = wrist_position - elbow
    # In the swivel plane, perpendicular to the upper arm and away from the pole: the forearm bends in this direction.
    bend = (upper_axis * side).sum(-1, keepdims=True) * direction - (upper_axis * direction).sum(
        -1, keepdims=True
    ) * side
    upper = np.stack([np.cross(upper_axis, bend), upper_axis, bend], -1)
    angle = np.arctan2((fore * bend).sum(-1), (fore * upper_axis).sum(-1))
    return ArmTriangle(direction, upper, np.clip(angle, *arm.elbow), hand), goal


def reach_range(arm: Arm) -> tuple[float, float]:
    """Return the least and the greatest distance from shoulder to wrist, m, that the elbow's range allows."""
    # With the elbow bent by θ4 the distance is √(u² + f² + 2 u f cos θ4).
    longest, shortest = (
        math.sqrt(max(arm.upper**2 + arm.fore**2 + 2 * arm.upper * arm.fore * math.cos(x), 0.0)) for x in arm.elbow
    )
    shortest = max(shortest, MIN_DISTANCE_FRACTION * (arm.upper + arm.fore))
    return shortest, max(shortest, longest)


class ElbowObjects(NamedTuple):
    """The objects that locate the elbow over N frames, the shoulder at the origin. CGA-arm 4.1."""

    upper: Sphere[Floats]
    """About the shoulder, with the upper arm's length as radius."""
    fore: Sphere[Floats]
    """About the wrist, with the forearm's length as radius."""
    circle: Circle[Floats]
    """The intersection of the spheres."""
    plane: Plane[Floats]
    """The swivel plane."""
    ends: PairPoints[Floats]
    """The two intersections of circle and plane."""


def elbow_objects(arm: Arm, wrist: Floats, direction: Floats, side: Floats) -> ElbowObjects:
    """Construct the objects for a wrist (N, 3) m. direction, side: (N, 3) unit, to the wrist and to the pole."""
    origin, size = vector(np.zeros_like(wrist)), np.ones(len(wrist))
    upper, fore = g.sphere(origin, arm.upper * size), g.sphere(vector(wrist), arm.fore * size)
    circle = g.meet_sphere_sphere(upper, fore)
    plane = g.plane_at(vector(np.cross(direction, side)), origin)
    return ElbowObjects(upper, fore, circle, plane, pair_points(g.meet_circle_plane(circle, plane)))


def _elbow_position(arm: Arm, wrist: Floats, direction: Floats, side: Floats) -> Floats:
    """Return the position of the elbow, (N, 3) m: the intersection on `side` (N, 3) of the two."""
    ends = elbow_objects(arm, wrist, direction, side).ends
    first, second = positions(ends.first), positions(ends.second)
    on_side = ((first - second) * side).sum(-1, keepdims=True) >= 0
    elbow: Floats = np.where(on_side, first, second)
    return elbow


def elbow_direction(arm: Arm, pole: Floats, direction: Floats) -> Floats:
    """Return unit vectors (F, 3) perpendicular to the direction (F, 3) to the wrist, towards the pole.

    A pole too close to the line is replaced by arm.pole, or by a fixed direction.
    """
    line = line_of(g.join_line(g.up(vector(np.zeros_like(direction))), g.up(vector(direction))))
    side = np.zeros_like(direction)
    for candidate in (pole, np.array(arm.pole), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])):
        point = np.broadcast_to(candidate, direction.shape)
        out = point - positions(foot_on_line(line, vector(point)))
        length = np.linalg.norm(out, axis=-1, keepdims=True)
        usable = (length > POLE_TOLERANCE * np.linalg.norm(point, axis=-1, keepdims=True)) & ~np.any(
            side, axis=-1, keepdims=True
        )
        side = np.where(usable, out / np.where(length > 0, length, 1.0), side)
    # Orthogonalise once more: rounding is large for a pole close to the line.
    side = side - (side * direction).sum(-1, keepdims=True) * direction
    unit: Floats = side / np.linalg.norm(side, axis=-1, keepdims=True)
    return unit
