"""The plane in which a digit curls, FABRIK-CGA (3.7)-(3.9), within its limits and with its likely tilt.

Everything is in the frame of the digit's first joint at zero angles, mirrored in X for a left hand: the joint is the
origin, e2 runs along the straight digit and e3 out of the back of the hand, the paper's n̂. A plane's pole is its
normal on the side of e1, the pole at rest.

The rotor of (3.9) starts from the plane at rest; the paper's starts from the plane of the last frame. The product of
the paper's rotors from frame to frame is this one, which does not depend on earlier frames.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...hand.digit_plane import ABDUCTION_PRIOR_M, TWIST_PRIOR_M, Bounds, fit_inner_points, likely_twist
from ...hand.model import HandModel
from ...hand.scalar_math import N, NumberFunctions, Point
from ..cga import generated as g
from ..cga.generated import Plane, Sphere, Vector
from ..cga.objects import E1, E3, scaled, unit
from ..cga.scalars import choose
from ..cga.versors import rotor_between
from ..planar.curl_plane import CurlPlane as PlaneStep
from ..planar.planar_hand import PlanarDigit, digits
from .sphere_intersection import intersect_circle_plane

ORIGIN: Any = Sphere(0.0, 0.0, 0.0, 0.0)
"""The point of the digit's first joint."""
DIRECTIONS: Any = Sphere(0.0, 0.0, 0.0, -0.5)
"""The sphere of all directions."""
REST_POLE: Any = E1
DORSAL: Any = E3

Tilt = Callable[[Any, Point[Any], Bounds], Any]
"""Estimates the twist, within limits, of a digit from the position of its end."""


@dataclass(frozen=True, slots=True)
class ConformalPlane:
    """Finds the plane of one digit: a CurlPlane."""

    tilt: Tilt

    def __call__(
        self, m: NumberFunctions[N], points: list[Point[N]], weights: list[N], limits: tuple[Bounds, Bounds]
    ) -> tuple[N, N]:
        """See CurlPlane. With inner markers, which the paper does not have, the plane is fitted to all markers."""
        end_plane = self.through(m, points[0], limits)
        return fit_inner_points(m, end_plane, points, weights, limits)

    def through(self, m: NumberFunctions[N], end: Point[N], limits: tuple[Bounds, Bounds]) -> tuple[N, N]:
        """Return abduction and twist, rad, of the plane through the first joint and the end, within limits."""
        x, y, _ = end
        squared_distance = x * x + y * y
        # An end right below its joint does not determine the abduction, which fades to zero there.
        weight = squared_distance / (squared_distance + ABDUCTION_PRIOR_M * ABDUCTION_PRIOR_M)
        if limits[1] == (0.0, 0.0):
            return m.clip(weight * abduction_of(m, pole_along(Vector(*end), DORSAL)), *limits[0]), 0.0 * x
        twist = self.tilt(m, end, limits[1])
        desired = weight * abduction_of(m, pole_tilted(m, Vector(*end), twist))
        abduction = m.clip(desired, *limits[0])
        tilted = twist_of(m, end, abduction)
        deep: Any = abs(end[2]) > TWIST_PRIOR_M
        return abduction, m.where((abduction == desired) | (deep == 0), twist, m.clip(tilted, *limits[1]))


def pole_along(end: Vector[N], direction: Vector[N]) -> Vector[N]:
    """Return a vector along the pole of the plane F2 ∧ F5 ∧ direction ∧ n∞, (3.8) for n̂; 0 if the end is along it."""
    e1, e2, e3, _ = g.standard_plane(g.join_plane_along(ORIGIN, g.up(end), direction))
    side: Any = choose(e1 < 0, -1.0, 1.0)
    return Vector(side * e1, side * e2, side * e3)


def pole_tilted(m: NumberFunctions[N], end: Vector[N], twist: N) -> Vector[N]:
    """Return the pole of the plane through the first joint and the end with this twist about the straight digit.

    The directions with this twist are a circle, and those perpendicular to the end's direction a plane. Of the pair in
    which they meet, (3.6), the pole is the one nearer to the pole at rest. If they do not meet, the end is deeper below
    the joint than the twist reaches, and the pole is the direction on the circle nearest to the plane.
    """
    height = -m.cos_sin(twist)[1]
    circle = g.meet_sphere_plane(DIRECTIONS, Plane(0.0 * height, 0.0 * height, 0.0 * height + 1.0, height))
    direction = unit(end, DORSAL)
    below = scaled(direction, choose(direction.e3 * height > 0, -1.0, 1.0))
    return intersect_circle_plane(
        circle, Plane(direction.e1, direction.e2, direction.e3, 0.0 * height), REST_POLE, below
    )


def abduction_of(m: NumberFunctions[N], pole: Vector[N]) -> N:
    """Return a plane's abduction, rad: the angle about n̂ of the rotor from the pole at rest to its pole, (3.9)."""
    flat = unit(Vector(pole.e1, pole.e2, 0.0 * pole.e1), REST_POLE)
    rotor = rotor_between(REST_POLE, flat)
    return 2.0 * m.atan2(-rotor.e12, rotor.s)


def twist_of(m: NumberFunctions[N], end: Point[N], abduction: N) -> N:
    """Return the twist, rad, of the plane through the first joint and the end at an abduction, rad."""
    cos, sin = m.cos_sin(abduction)
    pole = pole_along(Vector(*end), Vector(-sin, cos, 0.0 * sin))
    return m.atan2(-pole.e3, cos * pole.e1 + sin * pole.e2)


@dataclass(frozen=True, slots=True)
class ThumbTilt:
    """The tilt of a thumb that points to the index finger's knuckle when it bends, the paper's assumption."""

    knuckle: Point[float]
    """m in the frame of the thumb's first joint."""

    def __call__(self, m: NumberFunctions[N], end: Point[N], limits: Bounds) -> N:
        """Return the tilt, rad, of the plane F5,2 ∧ F5,4 ∧ F1,2 ∧ n∞, reduced if the three are almost collinear."""
        knuckle: Any = self.knuckle
        e1, e2, e3, _ = g.standard_plane(g.join_plane(ORIGIN, g.up(Vector(*end)), g.up(Vector(*knuckle))))
        level = m.sqrt(e1 * e1 + e2 * e2)
        twist = m.atan2(m.where(e1 < 0, e3, -e3), level)
        square = (e1 * e1 + e2 * e2 + e3 * e3) / math.hypot(*self.knuckle) ** 2
        return m.clip(twist * square / (square + TWIST_PRIOR_M * TWIST_PRIOR_M), *limits)


@dataclass(frozen=True, slots=True)
class ConformalPlaneFactory:
    """Prepares the plane of each digit: see curl_plane.PlaneFactory."""

    thumb: str
    """"index" if the thumb is taken to point to the index finger's knuckle, else "own"."""

    def __call__(self, hand: HandModel, digit: PlanarDigit) -> PlaneStep:
        """Return the step for a digit of a hand."""
        if digit.name != "thumb" or self.thumb != "index":
            return ConformalPlane(likely_twist)
        index = digits(hand)[1]
        mirror = np.array([1.0 if hand.side == "right" else -1.0, 1.0, 1.0])
        to_knuckle = index.T_wrist_base[:3, 3] - digit.T_wrist_base[:3, 3]
        x, y, z = (mirror * (digit.T_wrist_base[:3, :3].T @ to_knuckle)).tolist()
        return ConformalPlane(ThumbTilt((x, y, z)))
