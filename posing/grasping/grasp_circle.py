"""The grasping circle of an object, its plane, and the point of contact: CGA-arm section 7."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ...solvers.cga import generated as g
from ...solvers.cga import objects, versors
from ...solvers.cga.generated import Circle, Vector
from ...solvers.cga.nearest_points import nearest_on_circle

Floats = NDArray[np.float64]

BASE_HEIGHTS = (0.04, 0.3, 0.5)
"""Fractions of an object's height within which its base is searched. The next one is used if the points span no area.
"""
MIN_BASE_AREA = 1e-7
"""A base with an area up to this fraction of the squared height is a line."""
DIRECTIONS = 256
"""Number of directions in which the outermost vertices are searched."""


@dataclass(frozen=True, slots=True, eq=False)
class FourPoints:
    """The four points that identify an object, assigned to base and apex. CGA-arm 7.2."""

    base: Floats
    """(3, 3) m, x_b1, x_b2 and x_b3."""
    apex: Floats
    """(3,) m, x_a."""

    @property
    def normal(self) -> Floats:
        """(3,) unit normal of the base plane, towards the apex."""
        normal = np.cross(self.base[1] - self.base[0], self.base[2] - self.base[0])
        unit_normal: Floats = normal / np.linalg.norm(normal)
        return unit_normal if unit_normal @ (self.apex - self.base[0]) >= 0 else -unit_normal

    @property
    def distance(self) -> float:
        """m, d_a: the distance of the apex from the base plane."""
        return float(self.normal @ (self.apex - self.base[0]))


@dataclass(frozen=True, slots=True, eq=False)
class GraspPlane:
    """The circle and plane in which to grasp an object."""

    circle: Circle[float]
    """z_t"""
    centre: Floats
    """(3,) m"""
    normal: Floats
    """(3,) unit normal of the grasping plane π_t."""
    radius: float
    """m"""

    def contact(self, position: Floats) -> Floats:
        """Return the point of contact p_t (3,) m: the circle's nearest point to a hand at `position` (3,). CGA-arm 7.4.

        The paper intersects the circle with the plane through its centre and the axis of its robot, (7.5)-(7.8), and
        takes the nearer point of the pair. A hand has no such axis, so the plane through the circle's axis and the hand
        is used.
        """
        return np.array(nearest_on_circle(self.circle, Vector(*position.tolist())))


def assign_points(points: Floats) -> FourPoints:
    """Assign four points (4, 3): the apex is the one furthest from the plane of the others. CGA-arm 7.2.

    Raises HandError for coplanar points.
    """
    best: FourPoints | None = None
    for apex in range(4):
        base = points[[row for row in range(4) if row != apex]]
        if np.linalg.norm(np.cross(base[1] - base[0], base[2] - base[0])) == 0:
            continue
        four = FourPoints(base, points[apex])
        if best is None or four.distance > best.distance:
            best = four
    size = float(np.ptp(points, axis=0).max())
    if best is None or best.distance <= 1e-9 * size:
        raise HandError("the four points of an object lie in one plane, expected an object with a volume")
    return best


def four_points(vertices: Floats, axis: Floats) -> Floats:
    """Return the points (4, 3) that identify an object of vertices (V, 3) m along an axis (3,). CGA-arm 7.1.

    Three are at the wider end, as far apart as possible, and one is at the other end. Raises HandError for coplanar or
    collinear vertices.
    """
    hull = hull_vertices(vertices)
    height = hull @ axis
    low, high = float(height.min()), float(height.max())
    ends = [(height - low, high), (high - height, low)]
    for cap in BASE_HEIGHTS:
        found = [(*_widest(hull[from_end <= cap * (high - low)]), end) for from_end, end in ends]
        area, base, end = max(found, key=lambda item: item[0])
        if area > MIN_BASE_AREA * (high - low) ** 2 and high > low:
            apex = hull[np.abs(height - end).argmin()]
            return np.concatenate([base, apex[None]])
    raise HandError("the object has no volume to grasp, expected a mesh that does not lie in one plane")


def hull_vertices(vertices: Floats) -> Floats:
    """Return vertices (P, 3) of the convex hull: the outermost ones in many directions."""
    azimuths = np.pi * (3 - np.sqrt(5)) * np.arange(DIRECTIONS)
    z = 1 - (2 * np.arange(DIRECTIONS) + 1) / DIRECTIONS
    radii = np.sqrt(1 - z * z)
    directions = np.stack([radii * np.cos(azimuths), radii * np.sin(azimuths), z], -1)
    centred = vertices - vertices.mean(axis=0)
    hull: Floats = vertices[np.unique([int((centred @ direction).argmax()) for direction in directions])]
    return hull


def _widest(points: Floats) -> tuple[float, Floats]:
    """Return twice the area (m²) and the corners (3, 3) of a large triangle among points (P, 3); 0 if there is none."""
    if len(points) < 3:
        return 0.0, np.zeros((3, 3))
    first = points[np.linalg.norm(points - points.mean(axis=0), axis=1).argmax()]
    second = points[np.linalg.norm(points - first, axis=1).argmax()]
    areas = np.linalg.norm(np.cross(points - first, second - first), axis=1)
    return float(areas.max()), np.stack([first, second, points[areas.argmax()]])


def grasp_plane(four: FourPoints) -> GraspPlane:
    """Return the base circle, translated halfway towards the apex. CGA-arm 7.3."""
    b1, b2, b3 = (g.up(Vector(*point)) for point in four.base.tolist())
    base = g.standard_circle(g.join_circle(b1, b2, b3))  # (7.1)
    # (7.2), with the direction n that the paper omits: T = 1 + d_a n e∞ / 4; its sign follows from the position of e∞.
    half_way = versors.translator(Vector(*(0.5 * four.distance * four.normal).tolist()))
    circle = g.translator_circle(half_way, base)  # (7.3)
    middle, normal, square, _ = objects.circle_parameters(circle)  # (7.4) and (7.6)
    return GraspPlane(circle, np.array(middle), np.array(normal), float(np.sqrt(max(square, 0.0))))
