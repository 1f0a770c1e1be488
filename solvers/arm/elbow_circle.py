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
from ..cga.objects import PairPoints, ends_of, line_of, positions, vector
from .arm_model import Arm

Floats = NDArray[np.float64]

FOLDED = 1e-6
"""Minimum distance of shoulder and wrist, as part of the arm's length, at which the elbow's circle exists."""
ASIDE = 1e-6
"""Minimum distance of a pole to the line from shoulder to wrist, as part of its distance to the shoulder."""


@dataclass(frozen=True, slots=True, eq=False)
class ArmTriangle:
    """An arm over N frames with its elbow towards the pole (swivel 0), in the shoulder's frame."""

    way: Floats
    """(N, 3) unit vectors from shoulder to wrist."""
    upper: Floats
    """(N, 3, 3) the upper arm's rotation."""
    elbow: Floats
    """(N,) rad"""
    hand: Floats
    """(N, 3, 3) the target rotation of the wrist."""

    def rows(self, rows: NDArray[np.intp]) -> "ArmTriangle":
        """Return some of the frames."""
        return ArmTriangle(self.way[rows], self.upper[rows], self.elbow[rows], self.hand[rows])

    def upper_at(self, swivel: Floats) -> Floats:
        """Return the upper arm's rotation (N, ..., 3, 3) at swivels (N, ...) rad."""
        more = (slice(None), *(None,) * (swivel.ndim - 1))
        turned: Floats = rot.to_matrix(rot.from_axis_angle(self.way[more], swivel)) @ self.upper[more]
        return turned

    def wrist_of(self, upper: Floats, elbow: Floats) -> Floats:
        """Return the wrist's rotation (N, ..., 3, 3) for an upper arm (N, ..., 3, 3) and an elbow angle (N,) rad."""
        more = (slice(None), *(None,) * (upper.ndim - 3))
        fore = upper @ rot.to_matrix(rot.from_axis_angle(np.array([1.0, 0.0, 0.0]), elbow))[more]
        turn: Floats = np.swapaxes(fore, -1, -2) @ self.hand[more]
        return turn


def triangle_of(arm: Arm, wrist: Floats, base: Floats, pole: Floats) -> tuple[ArmTriangle, Floats]:
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
    into = np.swapaxes(base[:, :3, :3], 1, 2)
    place = (into @ (wrist[:, :3, 3] - base[:, :3, 3])[..., None])[..., 0]
    hand = into @ wrist[:, :3, :3] @ rot.to_matrix(rot.conjugate(np.array(arm.hand)))
    far = np.linalg.norm(place, axis=-1, keepdims=True)
    way = np.where(far > 0, place / np.where(far > 0, far, 1.0), np.array([0.0, 1.0, 0.0]))
    middle = np.clip(far, *distances(arm)) * way
    side = towards(arm, (into @ (pole - base[:, :3, 3])[..., None])[..., 0], way)
    elbow = _elbow(arm, middle, way, side)
    along = elbow / np.linalg.norm(elbow, axis=-1, keepdims=True)
    fore = middle - elbow
    # In the swivel plane, perpendicular to the upper arm and away from the pole: the elbow bends the forearm this way.
    bend = (along * side).sum(-1, keepdims=True) * way - (along * way).sum(-1, keepdims=True) * side
    upper = np.stack([np.cross(along, bend), along, bend], -1)
    angle = np.arctan2((fore * bend).sum(-1), (fore * along).sum(-1))
    return ArmTriangle(way, upper, np.clip(angle, *arm.elbow), hand), place


def distances(arm: Arm) -> tuple[float, float]:
    """Least and greatest distance from shoulder to wrist, m, by the bone lengths and the elbow's range."""
    # With the elbow bent by θ4 the distance is √(u² + f² + 2 u f cos θ4).
    most, least = (
        math.sqrt(max(arm.upper**2 + arm.fore**2 + 2 * arm.upper * arm.fore * math.cos(x), 0.0)) for x in arm.elbow
    )
    least = max(least, FOLDED * (arm.upper + arm.fore))
    return least, max(least, most)


class Elbow(NamedTuple):
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


def elbow_of(arm: Arm, wrist: Floats, way: Floats, side: Floats) -> Elbow:
    """Construct the objects for a wrist (N, 3) m. way, side: (N, 3) unit vectors to the wrist and towards the pole."""
    nothing, size = vector(np.zeros_like(wrist)), np.ones(len(wrist))
    upper, fore = g.sphere(nothing, arm.upper * size), g.sphere(vector(wrist), arm.fore * size)
    circle = g.meet_sphere_sphere(upper, fore)
    plane = g.plane_at(vector(np.cross(way, side)), nothing)
    return Elbow(upper, fore, circle, plane, ends_of(g.meet_circle_plane(circle, plane)))


def _elbow(arm: Arm, wrist: Floats, way: Floats, side: Floats) -> Floats:
    """Position of the elbow, (N, 3) m: of the two intersections the one on `side` (N, 3)."""
    ends = elbow_of(arm, wrist, way, side).ends
    one, other = positions(ends.first), positions(ends.second)
    on_side = ((one - other) * side).sum(-1, keepdims=True) >= 0
    elbow: Floats = np.where(on_side, one, other)
    return elbow


def towards(arm: Arm, pole: Floats, way: Floats) -> Floats:
    """Unit vectors (F, 3) perpendicular to the direction `way` (F, 3) to the wrist, towards the pole.

    A pole too close to the line is replaced by arm.pole, or by a fixed direction.
    """
    line = line_of(g.join_line(g.up(vector(np.zeros_like(way))), g.up(vector(way))))
    side = np.zeros_like(way)
    for candidate in (pole, np.array(arm.pole), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])):
        place = np.broadcast_to(candidate, way.shape)
        out = place - positions(foot_on_line(line, vector(place)))
        length = np.linalg.norm(out, axis=-1, keepdims=True)
        usable = (length > ASIDE * np.linalg.norm(place, axis=-1, keepdims=True)) & ~np.any(
            side, axis=-1, keepdims=True
        )
        side = np.where(usable, out / np.where(length > 0, length, 1.0), side)
    # Orthogonalise once more: rounding is large for a pole close to the line.
    side = side - (side * way).sum(-1, keepdims=True) * way
    unit: Floats = side / np.linalg.norm(side, axis=-1, keepdims=True)
    return unit
