"""Shapes as polylines, filled triangles and label positions."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...hand.rotations import unit_vector
from ...solvers.cga.objects import perpendicular
from .shapes import Shape, vector_of

Floats = NDArray[np.float64]

CIRCLE_SIDES = 64
"""Sides of a circle."""
DOT_RADIUS_PX = 4.5
"""px, the radius of a drawn point."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A view of the scene."""

    eye: Floats
    """(3,) m, position of the eye; unused without perspective."""
    right: Floats
    up: Floats
    """(3,) unit vectors along the picture's edges."""
    perspective: bool
    pixel: Floats
    """(4,) the width of a pixel in m at a point is the dot product with (x, y, z, 1)."""

    def pixel_size(self, position: Floats) -> float:
        """Return the width (m) of a pixel at a point (3,)."""
        return max(float(self.pixel[:3] @ position + self.pixel[3]), 0.0)

    def towards(self, position: Floats) -> Floats:
        """Return the vector (3,) m from a point to the eye; a unit vector without perspective."""
        if self.perspective:
            to_eye: Floats = self.eye - position
            return to_eye
        return np.cross(self.right, self.up)


@dataclass(slots=True, eq=False)
class Strokes:
    """The lines and triangles that draw a shape, m in the world."""

    strong: list[Floats] = field(default_factory=list)
    """Thick polylines, (N, 3) each."""
    thin: list[Floats] = field(default_factory=list)
    """Thin polylines, (N, 3) each."""
    filled: list[Floats] = field(default_factory=list)
    """Corners of N triangles, (3 N, 3) each."""
    label: Floats = field(default_factory=lambda: np.zeros(3))
    """(3,) position of the label."""


def strokes(shape: Shape, view: View, along: Floats) -> Strokes:
    """Return the lines and triangles of a shape in a view; along: (3,) direction of the edges of planes."""
    return {
        "sphere": _sphere,
        "circle": _circle,
        "plane": _plane,
        "line": _line,
        "chain": _line,
        "pair": _points,
        "point": _points,
        "arc": _arc,
    }[shape.kind](shape, view, along)


def ring(centre: Floats, radius: float, first: Floats, second: Floats, sides: int = CIRCLE_SIDES) -> Floats:
    """Return a closed circle (sides + 1, 3) in the plane of two perpendicular unit vectors (3,)."""
    angles = np.linspace(0.0, 2 * np.pi, sides + 1)[:, None]
    circle: Floats = centre + radius * (np.cos(angles) * first + np.sin(angles) * second)
    return circle


def axes_across(normal: Floats, along: Floats) -> tuple[Floats, Floats]:
    """Return two unit vectors (3,) perpendicular to a normal and each other, the first nearest to `along`."""
    flat = along - (along @ normal) * normal
    first = unit_vector(flat) if np.linalg.norm(flat) > 1e-3 else np.array(perpendicular(vector_of(normal)))
    return first, np.cross(normal, first)


def _sphere(shape: Shape, view: View, along: Floats) -> Strokes:
    """Return a sphere's outline, and its equator and two meridians in thin lines."""
    to_eye = view.towards(shape.centre)
    distance = float(np.linalg.norm(to_eye))
    result = Strokes()
    facing = unit_vector(to_eye)
    first, second = axes_across(facing, view.right)
    middle, radius = shape.centre, shape.radius
    if view.perspective:
        if distance <= shape.radius:
            first, second, middle, radius = view.right, view.up, shape.centre, 0.0
        else:
            # The outline is where lines from the eye are tangent to the sphere.
            middle = shape.centre + shape.radius**2 / distance * facing
            radius = shape.radius * float(np.sqrt(1 - (shape.radius / distance) ** 2))
    if radius > 0:
        result.strong.append(ring(middle, radius, first, second))
    x, y = axes_across(np.array([0.0, 0.0, 1.0]), along)
    z = np.array([0.0, 0.0, 1.0])
    result.thin += [ring(shape.centre, shape.radius, *pair) for pair in ((x, y), (y, z), (z, x))]
    result.label = middle + radius * (0.71 * view.right + 0.71 * view.up)
    return result


def _circle(shape: Shape, view: View, along: Floats) -> Strokes:
    first, second = axes_across(shape.normal, view.right)
    line = ring(shape.centre, shape.radius, first, second)
    return Strokes(strong=[line], label=shape.centre + shape.radius * first)


def _plane(shape: Shape, view: View, along: Floats) -> Strokes:
    first, second = axes_across(shape.normal, along)
    corners = [shape.centre + shape.radius * (a * first + b * second) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    square = np.stack([*corners, corners[0]])
    filled = np.stack([corners[0], corners[1], corners[2], corners[0], corners[2], corners[3]])
    outermost = max(corners, key=lambda corner: float(corner @ (view.up + 0.5 * view.right)))
    return Strokes(strong=[square], filled=[filled], label=outermost)


def _line(shape: Shape, view: View, along: Floats) -> Strokes:
    return Strokes(strong=[shape.points], label=shape.points[-1])


def _points(shape: Shape, view: View, along: Floats) -> Strokes:
    """Return dots of constant size on the screen; the points of a pair are joined by a thin line."""
    dots = []
    for point in shape.points:
        rim = ring(point, DOT_RADIUS_PX * view.pixel_size(point), view.right, view.up, 12)
        middle = np.broadcast_to(point, (len(rim) - 1, 3))
        dots.append(np.stack([middle, rim[:-1], rim[1:]], axis=1).reshape(-1, 3))
    joined = [shape.points] if len(shape.points) > 1 else []
    return Strokes(thin=joined, filled=dots, label=shape.points[0])


def _arc(shape: Shape, view: View, along: Floats) -> Strokes:
    middle = np.broadcast_to(shape.centre, (len(shape.points) - 1, 3))
    fan = np.stack([middle, shape.points[:-1], shape.points[1:]], axis=1).reshape(-1, 3)
    edge = np.concatenate([shape.centre[None], shape.points, shape.centre[None]])
    return Strokes(strong=[edge], filled=[fan], label=shape.points[len(shape.points) // 2])
