"""Shapes of the algebra in plain numbers, in the world, m."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...solvers.cga import generated as g
from ...solvers.cga.generated import Circle, Sphere, Vector
from ...solvers.cga.objects import centre, round_of

Floats = NDArray[np.float64]

Kind = Literal["sphere", "circle", "plane", "line", "pair", "point", "arc", "chain"]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """One object that a step made, or one that it was given."""

    kind: Kind
    name: str
    """As the papers call it: "S₁"."""
    step: int
    """Which of the trace's steps, from 1 on."""
    centre: Floats
    """(3,) of spheres, circles and arcs; of a plane the middle of what is drawn of it, of others where its name is."""
    radius: float = 0.0
    """Of spheres, circles and arcs; of a plane half of what is drawn of it."""
    normal: Floats = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    """(3,) of length 1, of circles, planes and arcs."""
    points: Floats = field(default_factory=lambda: np.empty((0, 3)))
    """(N, 3) both of a pair, both ends of what is drawn of a line, an arc from end to end, the joints of a chain."""
    faint: bool = False
    """Beside what the step is about: what limits did not let, the other of a pair."""


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What one part of a hand made its solver make."""

    part: str
    """A digit, "palm" or "arm"."""
    steps: tuple[str, ...]
    """A sentence each."""
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """A solver's own coordinates in the world: turned, moved and, for a left hand, mirrored."""

    matrix: Floats
    """(4, 4)"""

    def place(self, x: Any) -> Floats:
        """(..., 3) m in the world of (..., 3)."""
        placed: Floats = np.asarray(x, float) @ self.matrix[:3, :3].T + self.matrix[:3, 3]
        return placed

    def way(self, x: Any) -> Floats:
        """(3,) in the world of a way (3,)."""
        turned: Floats = self.matrix[:3, :3] @ np.asarray(x, float)
        return turned

    def sphere(self, name: str, step: int, sphere: Sphere[float], *, faint: bool = False) -> Shape:
        """A sphere, by its square."""
        radius = float(np.sqrt(max(g.square_sphere(sphere), 0.0)))
        return Shape("sphere", name, step, self.place(centre(sphere)), radius, faint=faint)

    def circle(self, name: str, step: int, circle: Circle[float]) -> Shape | None:
        """A circle; None for one that is imaginary."""
        middle, normal, square, case = round_of(circle)
        if not case > 0:
            return None
        return Shape("circle", name, step, self.place(middle), float(np.sqrt(max(square, 0.0))), self.way(normal))

    def pair(self, name: str, step: int, ends: tuple[Any, Any], *, faint: bool = False) -> Shape:
        """Both points of a pair."""
        points = self.place(np.stack([np.array(end, float) for end in ends]))
        return Shape("pair", name, step, points[0], points=points, faint=faint)

    def point(self, name: str, step: int, x: Any) -> Shape:
        """One point."""
        place = self.place(x)
        return Shape("point", name, step, place, points=place[None])

    def line(self, name: str, step: int, ends: Any) -> Shape:
        """A line, drawn between two places (2, 3)."""
        points = self.place(ends)
        return Shape("line", name, step, points[-1], points=points)

    def plane(self, name: str, step: int, middle: Any, normal: Any, size: float, *, faint: bool = False) -> Shape:
        """A plane of a normal (3,) of length 1, drawn about a place on it."""
        return Shape("plane", name, step, self.place(middle), size, self.way(normal), faint=faint)


def vector_of(x: Any) -> Vector[float]:
    """A place (3,) in plain floats."""
    one, two, three = (float(number) for number in x)
    return Vector(one, two, three)


def first_of(many: Any) -> Any:
    """The first of an object of N, in plain floats."""
    return type(many)._make(float(x[0]) for x in many)


def arc(name: str, step: int, middle: Floats, points: Floats, normal: Floats) -> Shape:
    """What a limit lets of a bone's way: from end to end (N, 3) m about a joint (3,), in the plane of a normal (3,)."""
    radius = float(np.linalg.norm(points[0] - middle))
    return Shape("arc", name, step, middle, radius, normal, points)


def low(number: int) -> str:
    """A number as an index: 3 is "₃"."""
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(number))
