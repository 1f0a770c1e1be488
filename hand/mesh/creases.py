"""Details of the skin: creases, tendons and hollows, which displace vertices along their normals."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX
from .anatomy import FleshVolume

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CreaseLine:
    """A line on the skin, and the displacement around it."""

    line: Floats
    """(K, 3) m, its corners."""
    height: float
    """m, displacement on the line, positive outwards."""
    radius: float
    """m, distance at which the displacement drops to exp(−1)."""
    facing: float = 0.0
    """1 or −1: displace only the back of the hand, or the palm, by the distance in the palm's plane. 0: displace the
    skin near the line, by the distance in space."""


# Station in joints, start and end angle in the section in degrees, height and radius in mm.
_FINGER_LINES = (
    (0.50, 205, 335, -0.6, 2.0),
    (0.965, 210, 330, -0.35, 0.9),
    (1.045, 210, 330, -0.55, 1.0),
    (2.00, 210, 330, -0.55, 1.1),
    (0.93, 65, 115, -0.22, 1.1),
    (1.00, 60, 120, 0.22, 1.3),
    (1.045, 65, 115, -0.18, 1.0),
    (1.97, 65, 115, -0.15, 1.0),
)
_THUMB_LINES = (
    (1.06, 205, 335, -0.5, 2.0),
    (2.00, 210, 330, -0.6, 1.3),
    (1.945, 60, 120, -0.25, 1.1),
    (2.05, 60, 120, -0.2, 1.1),
)


def displace_creases(flesh: FleshVolume, points: Floats, quads: Ints) -> None:
    """Displace the vertices (V, 3) by every line, in place."""
    displacement = np.zeros(len(points))
    vertex_normal = vertex_normals(points, quads)
    in_palm_plane = points * [1.0, 1.0, 0.0]
    for line in crease_lines(flesh):
        if line.facing:
            distance = distance_to_polyline(in_palm_plane, line.line * [1.0, 1.0, 0.0])
            strength = np.clip(1.6 * vertex_normal[:, 2] * line.facing, 0, 1)
        else:
            distance, strength = distance_to_polyline(points, line.line), np.ones(len(points))
        displacement += line.height * strength * np.exp(-((distance / line.radius) ** 2))
    points += displacement[:, None] * vertex_normal


def vertex_normals(points: Floats, quads: Ints) -> Floats:
    """Return the unit normals (V, 3) of vertices, the area-weighted means of the adjacent quads' normals."""
    a, b, c, d = (points[quads[:, i]] for i in range(4))
    face = np.cross(c - a, d - b)
    result = np.zeros_like(points)
    for i in range(4):
        for axis in range(3):
            result[:, axis] += np.bincount(quads[:, i], face[:, axis], len(points))
    return np.asarray(result / np.maximum(np.linalg.norm(result, axis=-1, keepdims=True), 1e-30))


def distance_to_polyline(points: Floats, line: Floats) -> Floats:
    """Return the distance (N,) m from points (N, 3) to a polyline (K, 3)."""
    squared = np.full(len(points), np.inf)
    for a, b in pairwise(line):
        fraction = np.clip((points - a) @ (b - a) / max(float((b - a) @ (b - a)), 1e-18), 0, 1)
        squared = np.minimum(squared, ((points - a - fraction[:, None] * (b - a)) ** 2).sum(-1))
    return np.asarray(np.sqrt(squared))


def crease_lines(flesh: FleshVolume) -> list[CreaseLine]:
    """Return the lines on a right hand."""
    return [*_digit_lines(flesh), *_palm_lines(flesh)]


def _digit_lines(flesh: FleshVolume) -> list[CreaseLine]:
    mm = flesh.scale / 1000
    result = []
    for digit, limb in enumerate(flesh.digits):
        for station, first, last, height, radius in _FINGER_LINES if digit else _THUMB_LINES:
            y = float(np.interp(station, range(4), flesh.joint_y[digit]))
            points = limb.section_points(np.full(7, y), np.deg2rad(np.linspace(first, last, 7)))
            result.append(CreaseLine(limb.to_world(points), height * mm, radius * mm))
    return result


def _palm_lines(flesh: FleshVolume) -> list[CreaseLine]:
    mm = flesh.scale / 1000
    joint_mm = {name: flesh.joints[index, :3, 3] / mm for name, index in JOINT_INDEX.items()}
    knuckles = [joint_mm[CHAIN_JOINTS[digit][0]] for digit in DIGITS[1:]]
    bases = [joint_mm[DIGIT_JOINTS[digit][0]] for digit in DIGITS[1:]]
    lines: list[tuple[list[Floats], float, float, float]] = []
    for knuckle, base in zip(knuckles, bases, strict=True):
        lines.append(([_shift(knuckle, 0, -3), base * [0.55, 1, 1]], 0.7, 3.0, 1))
        lines.append(([_shift(knuckle, 0, -1), _shift(knuckle, 0, 1)], 0.9, 6.0, 1))
    for a, b in pairwise(knuckles):
        lines.append(([_shift((a + b) / 2, 0, 3), _shift((a + b) / 2, 0, -12)], -1.2, 4.5, 1))
    middle = (bases[1] + knuckles[1]) / 2
    lines.append(([_shift(middle, 4, -14), _shift(middle, -3, 12)], -1.2, 14.0, -1))
    lines += _palm_creases(knuckles, bases)
    return [CreaseLine(np.array(line) * mm, height * mm, radius * mm, facing) for line, height, radius, facing in lines]


def _shift(point: Floats, x: float, y: float) -> Floats:
    """Return a point (3,) moved in the palm's plane."""
    return np.asarray(point + np.array([x, y, 0.0]))


def _palm_creases(knuckles: list[Floats], bases: list[Floats]) -> list[tuple[list[Floats], float, float, float]]:
    """Return the palm's three long creases, around the thumb's ball and two across: line, height, radius, facing.

    All lengths are in mm.
    """
    index, middle, ring, little = knuckles
    thumb_crease = [
        _shift(index, -11, -20),
        _shift((index + middle) / 2, -1, -28),
        _shift((middle + bases[1]) / 2, 0, -4),
        _shift(bases[2], -7, 4),
        _shift(bases[2], -8, -12),
    ]
    proximal_crease = [
        _shift(index, -11, -18),
        _shift((index + middle) / 2, 0, -20),
        _shift((middle + ring) / 2, 0, -27),
        _shift(ring, 8, -34),
    ]
    distal_crease = [
        _shift(little, 10, -9),
        _shift(ring, 2, -9),
        _shift(middle, 2, -7),
        _shift((index + middle) / 2, 0, 4),
    ]
    return [(thumb_crease, -1.0, 2.8, -1), (proximal_crease, -0.8, 2.4, -1), (distal_crease, -0.8, 2.4, -1)]
