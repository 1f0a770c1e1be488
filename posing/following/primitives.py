"""Primitives to follow: a line in which two planes meet, a line between two points, a sphere. CGA-arm 5.2 and 5.3.

A path gives the positions of the hand's end, and the desired poses of the wrist.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import SolverError
from ...hand import rotations as rot
from ...solvers.cga import generated as g
from ...solvers.cga.generated import Line, Plane, Rotor, Sphere, Vector
from ...solvers.cga.nearest_points import foot_on_line, nearest_on_sphere
from ...solvers.cga.objects import (
    E3,
    centre,
    normalised,
    perpendicular,
    plane_through,
    positions,
    sphere_of,
    subtract,
    unit,
    unit_line,
    vector,
)
from ...solvers.cga.versors import dilator, quaternion, rotor, rotor_between, translator

Floats = NDArray[np.float64]

PARALLEL_SINE = 1e-6
"""Sine of the angle below which two directions are parallel."""
FLAT_VOLUME = 1e-5
"""Volume of four points, as a fraction of the cube of their extent, below which they are coplanar."""
_ORIGIN = vector(np.zeros((1, 3)))


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A hand's wrist and end at the start of a path."""

    wrist: Floats
    """(4, 4)"""
    end: Floats
    """(3,) m in the wrist's frame: a fingertip, or 0 for the wrist itself."""

    @property
    def pointing(self) -> Floats:
        """Vector (3,) m from the wrist to the end."""
        vector: Floats = self.wrist[:3, :3] @ self.end
        return vector

    @property
    def position(self) -> Floats:
        """(3,) m, position of the end."""
        where: Floats = self.wrist[:3, 3] + self.pointing
        return where


@dataclass(frozen=True, slots=True, eq=False)
class HandPath:
    """N steps of the path of a hand's end."""

    ends: Floats
    """(N, 3) m, p_t."""
    wrists: Floats
    """(N, 4, 4) desired poses of the wrist, with the end on p_t, possibly after a rotation about the wrist."""

    def __len__(self) -> int:
        return len(self.ends)


def point_of(x: Floats) -> Vector[float]:
    """Return a point (3,) in plain floats."""
    e1, e2, e3 = (float(number) for number in x)
    return Vector(e1, e2, e3)


def plane_of(points: Floats) -> Plane[float]:
    """Return the plane π* = x_1 ∧ x_2 ∧ x_3 ∧ n∞ through points (3, 3) m, with unit normal.

    Raises SolverError for collinear points.
    """
    p, q, r = (point_of(point) for point in points)
    plane = plane_through(p, q, r)
    if g.square_plane(plane) < 0.5:
        raise SolverError("the three points of a plane are in a line, expected points that span it")
    return plane


def plane_intersection(first: Plane[float], second: Plane[float]) -> Line[float]:
    """Return the line l = π ∩ π' of two planes with unit normals, with unit direction.

    Raises SolverError for parallel planes.
    """
    line = g.meet_plane_plane(first, second)
    if abs(g.square_line(line)) < PARALLEL_SINE**2:
        raise SolverError("the two planes are parallel and do not meet in a line, rotate one of them")
    return unit_line(line)


def line_direction(line: Line[float]) -> Floats:
    """Return the unit direction (3,) of a line."""
    return np.array(unit(g.line_direction(line), E3))


def nearest_on_line(line: Line[float], point: Floats) -> Floats:
    """Return the point (3,) of a line nearest to `point` (3,)."""
    return np.array(foot_on_line(line, point_of(point)))


def along_line(tool: Tool, start: Floats, displacement: Floats, fractions: Floats) -> HandPath:
    """Return the path of a hand whose end moves from start (3,) by `displacement` (3,) m, at fractions (N,) of it.

    T_L = 1 - ½ Δ l n∞ translates p_t and p_2. The paper moves the joint before the gripper on a second line
    l'' = T_2 l T_2^-1 at the gripper's length; here that joint is the wrist, which keeps its rotation.
    """
    translators = translator(vector(fractions[:, None] * displacement))
    ends = g.translator_sphere(translators, g.up(vector(start[None])))
    wrists = np.tile(tool.wrist, (len(fractions), 1, 1))
    joints = g.translator_sphere(translators, g.up(vector((start - tool.pointing)[None])))
    wrists[:, :3, 3] = positions(centre(joints))
    return HandPath(positions(centre(ends)), wrists)


def along_points(tool: Tool, points: Floats, fractions: Floats) -> HandPath:
    """Return the path of a hand whose end moves through points (P, 3) m, at fractions (N,) of the path's length.

    The wrist keeps its rotation. Raises SolverError for fewer than two different points.
    """
    steps = np.linalg.norm(np.diff(points, axis=0), axis=-1)
    if not steps.sum() > 0:
        raise SolverError("the curve has no length, expected at least two different points")
    travelled = np.concatenate([[0.0], np.cumsum(steps)])
    ends = np.stack([np.interp(fractions * travelled[-1], travelled, column) for column in points.T], axis=-1)
    wrists = np.tile(tool.wrist, (len(fractions), 1, 1))
    wrists[:, :3, 3] = ends - tool.pointing
    return HandPath(ends, wrists)


@dataclass(frozen=True, slots=True)
class GuideSphere:
    """A sphere around which a hand moves. Raises SolverError unless its radius is positive and finite."""

    centre: tuple[float, float, float]
    radius: float
    """m"""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.centre).all() and 0 < self.radius < np.inf):
            raise SolverError(f"the sphere has a radius of {self.radius:g} m, expected more than 0")


def sphere_through(points: Floats) -> GuideSphere:
    """Return the sphere S* = x_1 ∧ x_2 ∧ x_3 ∧ x_4 through points (4, 3) m. Raises SolverError for coplanar points."""
    origin, edges = points[0], points[1:] - points[0]
    # Coordinates of Blender's meshes have 24 bits, so that points in a plane span a little.
    if not abs(np.linalg.det(edges)) > FLAT_VOLUME * np.abs(edges).max() ** 3:
        raise SolverError("the four points of a sphere are in a plane, expected points that are not")
    a, b, c, d = (g.up(point_of(point - origin)) for point in points)
    sphere = sphere_of(g.join_sphere(a, b, c, d))
    x, y, z = origin + np.array(sphere[:3])
    return GuideSphere((float(x), float(y), float(z)), float(np.sqrt(g.square_sphere(sphere))))


def expanded(radius: float, by: float) -> Sphere[float]:
    """Return S_1 = D S D^-1 for a sphere S about the origin, D = exp(-½ ln((by + ρ)/ρ) E): CGA-arm (5.1)-(5.4).

    radius ρ and by: m. Raises SolverError if the radius would not stay positive.
    """
    if not radius + by > 0:
        raise SolverError(f"the path goes {-1000 * by:.1f} mm into a sphere of {1000 * radius:.1f} mm, expected less")
    sphere = g.sphere(Vector(0.0, 0.0, 0.0), radius)
    return normalised(g.dilator_sphere(dilator((radius + by) / radius), sphere))


def around_sphere(
    tool: Tool, sphere: GuideSphere, rotation_vector: Floats, fractions: Floats, *, gap: float = 0.0, aim: bool = True
) -> HandPath:
    """Return the path of a hand whose end moves around a sphere: CGA-arm (5.5), (5.6), p = M p_s M^-1.

    rotation_vector: (3,) rad, about an axis through the sphere's centre. fractions: (N,) of it. gap: m between
    the end and the sphere, on S_1. aim: the hand points at the centre and the wrist moves on S_2, further out by the
    end's distance from the wrist, as in the paper; otherwise the hand keeps its rotation. The path starts at the point
    nearest to the hand's end. If that is on the axis, where a rotation would not move it, a perpendicular axis is used.
    """
    middle = np.array(sphere.centre)
    current = vector((tool.position - middle)[None])
    start = nearest_on_sphere(_ORIGIN, radius_of(expanded(sphere.radius, gap)), current)
    first_wrist = tool.wrist.copy()
    if aim and np.any(tool.end):
        second = radius_of(expanded(sphere.radius, gap + float(np.linalg.norm(tool.end))))
        inwards = subtract(start, nearest_on_sphere(_ORIGIN, second, start))
        aim_rotor = rotor_between(unit(vector(tool.pointing[None]), E3), unit(inwards, E3))
        first_wrist[:3, :3] = rot.to_matrix(quaternion(aim_rotor))[0] @ tool.wrist[:3, :3]
    first_wrist[:3, 3] = positions(start)[0] - first_wrist[:3, :3] @ tool.end
    axis = rot.unit_vector(rotation_vector)
    if np.linalg.norm(np.cross(axis, positions(unit(start, E3))[0])) < PARALLEL_SINE:
        axis = positions(perpendicular(vector(axis[None])))[0]
    rotors = rotor(rot.from_axis_angle(axis, fractions * float(np.linalg.norm(rotation_vector))))
    ends, wrists = _rotated(rotors, start) + middle, np.tile(first_wrist, (len(fractions), 1, 1))
    if not aim:
        wrists[:, :3, 3] = ends - tool.pointing
        return HandPath(ends, wrists)
    wrists[:, :3, :3] = rot.to_matrix(quaternion(rotors)) @ first_wrist[:3, :3]
    wrists[:, :3, 3] = _rotated(rotors, vector(first_wrist[None, :3, 3])) + middle
    return HandPath(ends, wrists)


def radius_of(sphere: Sphere[float]) -> Floats:
    """Return the radius (1,) m of a sphere."""
    return np.sqrt(np.maximum([g.square_sphere(sphere)], 0.0))


def _rotated(rotors: Rotor[Floats], point: Vector[Floats]) -> Floats:
    """Return a point rotated by N rotors about the origin, (N, 3)."""
    return positions(centre(g.rotor_sphere(rotors, g.up(point))))
