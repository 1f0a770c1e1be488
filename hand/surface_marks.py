"""What is drawn into the skin after it is laid: creases, tendons, hollows. Each moves it along its normals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX
from .surface_anatomy import Anatomy
from .surface_shape import Limb

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """A line on the skin and what it does to it."""

    line: Floats
    """(K, 3) m, its corners."""
    height: float
    """m, raised above zero, sunk below."""
    radius: float
    """m, at which exp(−1) of the height is left."""
    facing: float = 0.0
    """1 marks the back of the hand only, −1 the palm only, however high the skin is there; 0 what the line is near."""


# Joint station, angles in the section from and to, height and radius in mm.
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


def mark(anatomy: Anatomy, points: Floats, quads: Ints) -> None:
    """Moves the vertices (V, 3) under every mark, in place."""
    moves = np.zeros(len(points))
    out = normals(points, quads)
    flat = points * [1.0, 1.0, 0.0]
    for line in marks(anatomy):
        if line.facing:
            away = distance_to_line(flat, line.line * [1.0, 1.0, 0.0])
            share = np.clip(1.6 * out[:, 2] * line.facing, 0, 1)
        else:
            away, share = distance_to_line(points, line.line), np.ones(len(points))
        moves += line.height * share * np.exp(-((away / line.radius) ** 2))
    points += moves[:, None] * out


def normals(points: Floats, quads: Ints) -> Floats:
    """(V, 3) unit, each the mean of its quads' by area."""
    a, b, c, d = (points[quads[:, i]] for i in range(4))
    face = np.cross(c - a, d - b)
    result = np.zeros_like(points)
    for i in range(4):
        for axis in range(3):
            result[:, axis] += np.bincount(quads[:, i], face[:, axis], len(points))
    return np.asarray(result / np.maximum(np.linalg.norm(result, axis=-1, keepdims=True), 1e-30))


def distance_to_line(points: Floats, line: Floats) -> Floats:
    """(N,) m from points (N, 3) to the nearest of a line's segments (K, 3)."""
    best = np.full(len(points), np.inf)
    for a, b in zip(line[:-1], line[1:], strict=True):
        along = np.clip((points - a) @ (b - a) / max(float((b - a) @ (b - a)), 1e-18), 0, 1)
        best = np.minimum(best, ((points - a - along[:, None] * (b - a)) ** 2).sum(-1))
    return np.sqrt(best)


def marks(anatomy: Anatomy) -> list[Mark]:
    """The lines of a right hand."""
    return [*_digit_marks(anatomy), *_palm_marks(anatomy)]


def _digit_marks(anatomy: Anatomy) -> list[Mark]:
    mm = anatomy.scale / 1000
    result = []
    for digit, limb in enumerate(anatomy.digits):
        for station, first, last, height, radius in _FINGER_LINES if digit else _THUMB_LINES:
            y = float(np.interp(station, range(4), anatomy.reach[digit]))
            result.append(Mark(_across(limb, y, first, last), height * mm, radius * mm))
    return result


def _across(limb: Limb, y: float, first: float, last: float) -> Floats:
    """A line on a digit's skin at y m along it, from the first to the last angle in degrees."""
    angles = np.deg2rad(np.linspace(first, last, 7))
    return limb.world(limb.section(np.full(7, y), angles))


def _palm_marks(anatomy: Anatomy) -> list[Mark]:
    mm = anatomy.scale / 1000
    joints = anatomy.joints[:, :3, 3]
    at = {name: joints[index] for name, index in JOINT_INDEX.items()}
    knuckles = [at[CHAIN_JOINTS[digit][0]] for digit in DIGITS[1:]]
    bases = [at[DIGIT_JOINTS[digit][0]] for digit in DIGITS[1:]]
    result = []
    for knuckle, base in zip(knuckles, bases, strict=True):
        end = base * [0.55, 1, 1]
        result.append(Mark(np.stack([knuckle - [0, 3 * mm, 0], end]), 0.7 * mm, 3.0 * mm, 1))
        result.append(Mark(np.stack([knuckle - [0, 1 * mm, 0], knuckle + [0, 1 * mm, 0]]), 0.9 * mm, 6.0 * mm, 1))
    for a, b in zip(knuckles[:-1], knuckles[1:], strict=True):
        middle = (a + b) / 2
        result.append(Mark(np.stack([middle + [0, 3 * mm, 0], middle - [0, 12 * mm, 0]]), -1.2 * mm, 4.5 * mm, 1))
    middle = (bases[1] + knuckles[1]) / 2
    hollow = np.stack([middle + [4 * mm, -14 * mm, 0], middle + [-3 * mm, 12 * mm, 0]])
    result.append(Mark(hollow, -1.2 * mm, 14 * mm, -1))
    return [*result, *_palm_creases(knuckles, bases, mm)]


def _palm_creases(knuckles: list[Floats], bases: list[Floats], mm: float) -> list[Mark]:
    """The three long lines of the palm: round the thumb's eminence, and the two across."""
    i, m, r, p = knuckles
    round_thumb = [
        i + [-11 * mm, -20 * mm, 0],
        (i + m) / 2 + [-1 * mm, -28 * mm, 0],
        (m + bases[1]) / 2 + [0, -4 * mm, 0],
        bases[2] + [-7 * mm, 4 * mm, 0],
        bases[2] + [-8 * mm, -12 * mm, 0],
    ]
    near = [i + [-11 * mm, -18 * mm, 0], (i + m) / 2 + [0, -20 * mm, 0], (m + r) / 2 + [0, -27 * mm, 0], r + [8 * mm, -34 * mm, 0]]
    far = [p + [10 * mm, -9 * mm, 0], r + [2 * mm, -9 * mm, 0], m + [2 * mm, -7 * mm, 0], (i + m) / 2 + [0, 4 * mm, 0]]
    lines = [(round_thumb, -1.0, 2.8), (near, -0.8, 2.4), (far, -0.8, 2.4)]
    return [Mark(np.array(line), height * mm, radius * mm, -1) for line, height, radius in lines]
