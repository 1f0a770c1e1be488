"""The palm's joints from three markers on it, p, q and r: FABRIK-CGA (3.1)-(3.6)."""

import math
from dataclasses import dataclass
from typing import Any

from ...hand.scalar_math import N, NumberFunctions, Point
from ..cga import generated as g
from ..cga.generated import Plane, Vector
from ..cga.objects import add, cross, dot, scaled, subtract, unit_plane
from ..cga.scalars import safe_inverse, safe_sqrt
from ..planar.palm_pose import Matrix, fit_points
from .sphere_intersection import joint_position

COLLINEAR_SINE = 1e-3
"""Minimum sine of the angle at p with which p, q and r define a plane; palm markers are at least 5 mm out of a line."""
MARKER_PAIRS = ((0, 1), (0, 2), (1, 2))
COINCIDENCE_TOLERANCE_M = 1e-6
"""m, distance below which a joint coincides with a marker."""
Frame = tuple[Vector[float], tuple[Vector[float], Vector[float], Vector[float]]]
"""Origin and three axes."""


@dataclass(frozen=True, slots=True)
class PalmJoint:
    """A joint of the palm that is found from two of the three markers and their plane."""

    position: Point[float]
    """m in the wrist's frame."""
    offset: Any
    """Three numbers, m from the centroid of p, q and r: along and across in their plane, and above it."""
    markers: tuple[int, int]
    """Indices of the two markers, the farther one first. They are the pair whose directions from the joint are closest
    to a right angle, where the markers' errors move the joint least."""
    lengths: tuple[float, float]
    """m, distances from these markers."""


@dataclass(frozen=True, slots=True)
class ThreeMarkerPalm:
    """Three markers on the palm and the joints that are found from them."""

    rest_points: list[Point[float]]
    """m in the wrist's frame: the markers, then the joints."""
    joints: tuple[PalmJoint, ...]
    plane_coordinates: tuple[tuple[float, float], ...]
    """m, p, q and r in their plane, along and across from their centroid."""
    joint_weight: float
    """Weight of a joint relative to a marker."""

    def fit(self, m: NumberFunctions[N], observed: list[Point[N]], weights: list[N]) -> tuple[Matrix[N], Point[N], Any]:
        """Fit the palm to the markers and to the joints found from them, by least squares.

        Returns:
            Rotation and translation of the wrist, and whether the markers determine them; they are undefined if not.
        """
        points, determined = self._points(
            _relative(observed[0], observed[0]),
            _relative(observed[0], observed[1]),
            _relative(observed[0], observed[2]),
        )
        joints = [(weights[0] + weights[1] + weights[2]) * (self.joint_weight / 3)] * len(self.joints)
        rotation, translation = fit_points(m, self.rest_points, points, weights + joints)
        return (
            rotation,
            (translation[0] + observed[0][0], translation[1] + observed[0][1], translation[2] + observed[0][2]),
            determined,
        )

    def _points(self, p: Vector[N], q: Vector[N], r: Vector[N]) -> tuple[list[Point[N]], Any]:
        """Return the markers and the joints found from them, and whether the markers define a plane."""
        plane, determined = palm_plane(p, q, r)
        points: list[Point[N]] = [p, q, r]
        points.extend(self.find_joints((p, q, r), plane))
        return points, determined

    def find_joints(self, observed: tuple[Vector[N], Vector[N], Vector[N]], plane: Plane[N]) -> list[Vector[N]]:
        """Find the joints from the markers and their plane.

        Of two candidates on the plane, a joint is at the one nearer to its rest position relative to the three markers.
        This is the paper's position in the frame before, carried along with the palm.
        """
        centroid, (along, across, up) = fit_axes(observed, self.plane_coordinates, plane)
        positions = []
        for joint in self.joints:
            a, b, h = joint.offset
            expected = add(add(add(centroid, along, a), across, b), up, h)
            level = Plane(plane.e1, plane.e2, plane.e3, plane.ei + h)
            first, second = joint.markers
            positions.append(joint_position((observed[first], observed[second]), joint.lengths, level, expected))
        return positions


def palm_plane(p: Vector[N], q: Vector[N], r: Vector[N]) -> tuple[Plane[N], Any]:
    """Return the unit plane P ∧ Q ∧ R ∧ n∞, FABRIK-CGA (3.1), (3.2), and whether it exists (p, q, r not in a line).

    Its normal is along (q − p) × (r − p).
    """
    e1, e2, e3, ei = g.standard_plane(g.join_plane(g.up(p), g.up(q), g.up(r)))
    plane = Plane(-e1, -e2, -e3, -ei)
    q, r = subtract(q, p), subtract(r, p)
    determined = g.square_plane(plane) > COLLINEAR_SINE * COLLINEAR_SINE * dot(q, q) * dot(r, r)
    return unit_plane(plane), determined


def fit_axes(
    observed: tuple[Vector[N], Vector[N], Vector[N]],
    plane_coordinates: tuple[tuple[float, float], ...],
    plane: Plane[N],
) -> tuple[Vector[N], tuple[Vector[N], Vector[N], Vector[N]]]:
    """Return the centroid of p, q and r, and the axes along, across and normal to their plane.

    The axes are fitted by least squares so that the markers have the coordinates `plane_coordinates` along and across.
    """
    up = Vector(plane.e1, plane.e2, plane.e3)
    p, q, r = observed
    (_, (a, b), (c, d)) = plane_coordinates
    to_q, to_r = subtract(q, p), subtract(r, p)
    # Each is rotated back by its angle in the plane. p can be the origin instead of the centroid, as they sum to 0.
    first_axis, second_axis = add(scaled(to_q, a), to_r, c), add(scaled(to_q, b), to_r, d)
    first_direction = subtract(first_axis, cross(up, second_axis))
    first_direction = scaled(first_direction, safe_inverse(safe_sqrt(dot(first_direction, first_direction))))
    return add(p, add(to_q, to_r, 1.0), 1 / 3), (first_direction, cross(up, first_direction), up)


def three_marker_palm(
    positions: list[Point[float]], joints: list[Point[float]], joint_weight: float
) -> ThreeMarkerPalm:
    """Prepare three markers that are not in a line.

    positions: the markers; joints: the palm's joints; both m in the wrist's frame. joint_weight: weight of a joint
    relative to a marker.
    """
    p, q, r = (Vector(*position) for position in positions)
    plane, _ = palm_plane(p, q, r)
    up = Vector(plane.e1, plane.e2, plane.e3)
    centroid = scaled(add(add(p, q, 1.0), r, 1.0), 1 / 3)
    first_direction = subtract(q, p)
    first_direction = scaled(first_direction, 1 / math.sqrt(dot(first_direction, first_direction)))
    frame = centroid, (first_direction, cross(up, first_direction), up)
    plane_coordinates = tuple(_coordinates(frame, marker)[:2] for marker in (p, q, r))
    separate = [
        joint
        for joint in joints
        if joint_weight and min(math.dist(joint, position) for position in positions) > COINCIDENCE_TOLERANCE_M
    ]
    palm_joints = tuple(_palm_joint((p, q, r), frame, Vector(*joint)) for joint in separate)
    return ThreeMarkerPalm([*positions, *separate], palm_joints, plane_coordinates, joint_weight)


def _coordinates(frame: Frame, x: Vector[float]) -> tuple[float, float, float]:
    """Return coordinates of a point in a frame, m."""
    centroid, (along, across, up) = frame
    to_q = subtract(x, centroid)
    return dot(to_q, along), dot(to_q, across), dot(to_q, up)


def _palm_joint(markers: tuple[Vector[float], ...], frame: Frame, x: Vector[float]) -> PalmJoint:
    lengths = [math.dist(x, marker) for marker in markers]

    def cosine(pair: tuple[int, int]) -> float:
        i, j = pair
        return abs(dot(subtract(x, markers[i]), subtract(x, markers[j]))) / (lengths[i] * lengths[j])

    first, second = min(MARKER_PAIRS, key=cosine)
    if lengths[first] < lengths[second]:
        first, second = second, first
    return PalmJoint((x.e1, x.e2, x.e3), _coordinates(frame, x), (first, second), (lengths[first], lengths[second]))


def _relative(origin: Point[N], point: Point[N]) -> Vector[N]:
    """Return a point relative to a marker, because squares of coordinates far from the origin lose precision."""
    return Vector(point[0] - origin[0], point[1] - origin[1], point[2] - origin[2])
