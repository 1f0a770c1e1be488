"""Shapes of the algebra in plain numbers, in the world, m."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...solvers.cga import generated as g
from ...solvers.cga.generated import Circle, Sphere, Vector
from ...solvers.cga.objects import centre, circle_parameters

Floats = NDArray[np.float64]

Kind = Literal["sphere", "circle", "plane", "line", "pair", "point", "arc", "chain"]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """An object made by a step of a solver, or one given to it."""

    kind: Kind
    name: str
    """Its symbol in the papers, such as "S₁"."""
    step: int
    """The number of its step in the trace, from 1."""
    centre: Floats
    """(3,) centre of a sphere, circle or arc; the middle of the drawn part of a plane; else the label's position."""
    radius: float = 0.0
    """Radius of a sphere, circle or arc; half the edge of the drawn part of a plane."""
    normal: Floats = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    """(3,) unit normal of a circle, plane or arc."""
    points: Floats = field(default_factory=lambda: np.empty((0, 3)))
    """(N, 3) both points of a pair, both ends of the drawn part of a line, points of an arc, joints of a chain."""
    faint: bool = False
    """Whether it is secondary, such as a plane that the limits do not allow."""


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The shapes of the solver for one part of a hand."""

    part: str
    """The name of a digit, "palm" or "arm"."""
    steps: tuple[str, ...]
    """A sentence for each step."""
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """A solver's coordinate system in the world, mirrored for a left hand."""

    matrix: Floats
    """(4, 4)"""

    def point_to_world(self, x: Any) -> Floats:
        """Map points (..., 3) to the world, m."""
        mapped: Floats = np.asarray(x, float) @ self.matrix[:3, :3].T + self.matrix[:3, 3]
        return mapped

    def vector_to_world(self, x: Any) -> Floats:
        """Map a vector (3,) to the world."""
        mapped: Floats = self.matrix[:3, :3] @ np.asarray(x, float)
        return mapped

    def sphere(self, name: str, step: int, sphere: Sphere[float], *, faint: bool = False) -> Shape:
        """Return a sphere."""
        radius = float(np.sqrt(max(g.square_sphere(sphere), 0.0)))
        return Shape("sphere", name, step, self.point_to_world(centre(sphere)), radius, faint=faint)

    def circle(self, name: str, step: int, circle: Circle[float]) -> Shape | None:
        """Return a circle; None for an imaginary one."""
        middle, normal, square, case = circle_parameters(circle)
        if not case > 0:
            return None
        return Shape(
            "circle",
            name,
            step,
            self.point_to_world(middle),
            float(np.sqrt(max(square, 0.0))),
            self.vector_to_world(normal),
        )

    def pair(self, name: str, step: int, ends: tuple[Any, Any], *, faint: bool = False) -> Shape:
        """Return a pair of points."""
        points = self.point_to_world(np.stack([np.array(end, float) for end in ends]))
        return Shape("pair", name, step, points[0], points=points, faint=faint)

    def point(self, name: str, step: int, x: Any) -> Shape:
        """Return a point."""
        position = self.point_to_world(x)
        return Shape("point", name, step, position, points=position[None])

    def line(self, name: str, step: int, ends: Any) -> Shape:
        """Return a line, drawn between two points (2, 3)."""
        points = self.point_to_world(ends)
        return Shape("line", name, step, points[-1], points=points)

    def plane(self, name: str, step: int, middle: Any, normal: Any, size: float, *, faint: bool = False) -> Shape:
        """Return a plane with a unit normal (3,), drawn around one of its points."""
        return Shape("plane", name, step, self.point_to_world(middle), size, self.vector_to_world(normal), faint=faint)


def vector_of(x: Any) -> Vector[float]:
    """Return a point (3,) in plain floats."""
    e1, e2, e3 = (float(number) for number in x)
    return Vector(e1, e2, e3)


def first_of(many: Any) -> Any:
    """Return the first of an object of N, in plain floats."""
    return type(many)._make(float(x[0]) for x in many)


def arc(name: str, step: int, middle: Floats, points: Floats, normal: Floats) -> Shape:
    """Return the range of a limit as an arc of points (N, 3) m about a joint (3,), in the plane of a normal (3,)."""
    radius = float(np.linalg.norm(points[0] - middle))
    return Shape("arc", name, step, middle, radius, normal, points)


def subscript(number: int) -> str:
    """Return a number as a subscript: "₃" for 3."""
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(number))
