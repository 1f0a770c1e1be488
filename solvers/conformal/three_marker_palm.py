"""The palm's joints from three markers on it, p, q and r: FABRIK-CGA (3.1)-(3.6)."""

import math
from dataclasses import dataclass
from typing import Any

from ...hand.scalar_math import N, NumberFunctions, Point
from ..cga import generated as g
from ..cga.generated import Plane, Vector
from ..cga.objects import add, cross, dot, scaled, subtract, unit_plane
from ..cga.scalars import inverse, root
from ..planar.palm_pose import Rows, laid_on
from .sphere_intersection import from_two

FLAT = 1e-3
"""The sine at p of the least triangle p q r that tells a plane; a palm's markers are 5 mm out of a line at least."""
PAIRS = ((0, 1), (0, 2), (1, 2))
ON = 1e-6
"""m. A joint this near to a marker is where the marker is."""
Frame = tuple[Vector[float], tuple[Vector[float], Vector[float], Vector[float]]]
"""A middle and three axes."""


@dataclass(frozen=True, slots=True)
class PalmJoint:
    """A joint on the palm, found from two of the three markers and their plane."""

    place: Point[float]
    """m in the wrist's frame."""
    rest: Any
    """Three numbers, m from the middle of p, q and r: along and across in their plane, and above it."""
    markers: tuple[int, int]
    """Which of the three it is found from, the farther first: of all pairs the one that sees it most nearly at a right
    angle, where their errors move it least."""
    lengths: tuple[float, float]
    """m from these."""


@dataclass(frozen=True, slots=True)
class ThreeMarkerPalm:
    """Three places on the palm and the joints that are found from them."""

    places: list[Point[float]]
    """m in the wrist's frame: the markers', then the joints'."""
    joints: tuple[PalmJoint, ...]
    flat: tuple[tuple[float, float], ...]
    """m, where p, q and r are in their plane, along and across from their middle."""
    share: float
    """How much a joint counts beside a marker."""

    def laid(self, m: NumberFunctions[N], seen: list[Point[N]], weights: list[N]) -> tuple[Rows[N], Point[N], Any]:
        """Turn and move of the wrist, and whether the markers tell them; where they do not the numbers mean nothing.

        The palm is flat and rigid: it is laid by least squares on the markers and on the joints found from them.
        """
        points, told = self._points(_near(seen[0], seen[0]), _near(seen[0], seen[1]), _near(seen[0], seen[2]))
        joints = [(weights[0] + weights[1] + weights[2]) * (self.share / 3)] * len(self.joints)
        turn, move = laid_on(m, self.places, points, weights + joints)
        return turn, (move[0] + seen[0][0], move[1] + seen[0][1], move[2] + seen[0][2]), told

    def _points(self, p: Vector[N], q: Vector[N], r: Vector[N]) -> tuple[list[Point[N]], Any]:
        """The markers and the joints found from them, and whether they tell a plane."""
        plane, told = palm_plane(p, q, r)
        points: list[Point[N]] = [p, q, r]
        points.extend(self.found((p, q, r), plane))
        return points, told

    def found(self, seen: tuple[Vector[N], Vector[N], Vector[N]], plane: Plane[N]) -> list[Vector[N]]:
        """The joints. Of two places on the plane a joint is at the one nearer to where it was the frame before.

        That is where it was carried along with the palm by the turn in the plane that is best for all three, and so
        where it is at rest beside them.
        """
        middle, (along, across, up) = axes(seen, self.flat, plane)
        places = []
        for joint in self.joints:
            a, b, h = joint.rest
            before = add(add(add(middle, along, a), across, b), up, h)
            level = Plane(plane.e1, plane.e2, plane.e3, plane.ei + h)
            one, other = joint.markers
            places.append(from_two((seen[one], seen[other]), joint.lengths, level, before))
        return places


def palm_plane(p: Vector[N], q: Vector[N], r: Vector[N]) -> tuple[Plane[N], Any]:
    """The unit plane P ∧ Q ∧ R ∧ n∞, FABRIK-CGA (3.1), (3.2), its normal along (q − p) × (r − p), and whether there is
    one: not where they are in a line or two coincide."""
    e1, e2, e3, ei = g.standard_plane(g.join_plane(g.up(p), g.up(q), g.up(r)))
    plane = Plane(-e1, -e2, -e3, -ei)
    q, r = subtract(q, p), subtract(r, p)
    told = g.square_plane(plane) > FLAT * FLAT * dot(q, q) * dot(r, r)
    return unit_plane(plane), told


def axes(
    seen: tuple[Vector[N], Vector[N], Vector[N]], flat: tuple[tuple[float, float], ...], plane: Plane[N]
) -> tuple[Vector[N], tuple[Vector[N], Vector[N], Vector[N]]]:
    """The middle of p, q and r, and by least squares the directions in which they are along and across from it as
    `flat` has them, with the plane's normal."""
    up = Vector(plane.e1, plane.e2, plane.e3)
    p, q, r = seen
    (_, (a, b), (c, d)) = flat
    out, beyond = subtract(q, p), subtract(r, p)
    # Each is turned back by its angle in the plane. From p they are as good as from the middle, where `flat` sums to 0.
    straight, square = add(scaled(out, a), beyond, c), add(scaled(out, b), beyond, d)
    along = subtract(straight, cross(up, square))
    along = scaled(along, inverse(root(dot(along, along))))
    return add(p, add(out, beyond, 1.0), 1 / 3), (along, cross(up, along), up)


def trio_of(places: list[Point[float]], joints: list[Point[float]], share: float) -> ThreeMarkerPalm:
    """For three markers at places on the palm, not in a line, and the palm's joints, all m in the wrist's frame."""
    p, q, r = (Vector(*place) for place in places)
    plane, _ = palm_plane(p, q, r)
    up = Vector(plane.e1, plane.e2, plane.e3)
    middle = scaled(add(add(p, q, 1.0), r, 1.0), 1 / 3)
    along = subtract(q, p)
    along = scaled(along, 1 / math.sqrt(dot(along, along)))
    frame = middle, (along, cross(up, along), up)
    flat = tuple(_beside(frame, marker)[:2] for marker in (p, q, r))
    away = [joint for joint in joints if share and min(math.dist(joint, place) for place in places) > ON]
    found = tuple(_joint((p, q, r), frame, Vector(*joint)) for joint in away)
    return ThreeMarkerPalm([*places, *away], found, flat, share)


def _beside(frame: Frame, x: Vector[float]) -> tuple[float, float, float]:
    """m, a place as seen from a middle, along its axes."""
    middle, (along, across, up) = frame
    out = subtract(x, middle)
    return dot(out, along), dot(out, across), dot(out, up)


def _joint(markers: tuple[Vector[float], ...], frame: Frame, x: Vector[float]) -> PalmJoint:
    lengths = [math.dist(x, marker) for marker in markers]

    def slant(pair: tuple[int, int]) -> float:
        i, j = pair
        return abs(dot(subtract(x, markers[i]), subtract(x, markers[j]))) / (lengths[i] * lengths[j])

    one, other = min(PAIRS, key=slant)
    if lengths[one] < lengths[other]:
        one, other = other, one
    return PalmJoint((x.e1, x.e2, x.e3), _beside(frame, x), (one, other), (lengths[one], lengths[other]))


def _near(origin: Point[N], point: Point[N]) -> Vector[N]:
    """A place counted from a marker: in the world it may be far from the origin, where squares lose what is small."""
    return Vector(point[0] - origin[0], point[1] - origin[1], point[2] - origin[2])
