"""Nails: a plate on the back of each last phalanx, in a fold of the skin and over the fingertip."""

import numpy as np
from numpy.typing import NDArray

from .surface_anatomy import Anatomy, tip_profile
from .surface_topology import Nail, Tube

Floats = NDArray[np.float64]

INSET = 0.10
"""Of the nail's half-width, from the skin's fold to the plate."""
OVERHANG = 0.5
"""mm of free edge beyond the skin."""


def place_nail(points: Floats, anatomy: Anatomy, digit: int, tube: Tube, rows: Floats, angles: Floats) -> None:
    """Puts a digit's groove and plate where `rows` (B+1,) m along it and `angles` (A+1,) rad in its section say."""
    nail = tube.nail
    mm = anatomy.scale / 1000 * anatomy.digits[digit].read(rows[:1])[0, 0] / (0.0076 * anatomy.scale)
    u = np.linspace(-1, 1, len(angles))[:, None] * np.ones(len(rows))
    v = np.linspace(0, 1, len(rows)) * np.ones(len(angles))[:, None]

    def at(inset: float, overhang: float, height: Floats, softer: float) -> Floats:
        """(A+1, B+1, 3): the window's grid drawn in by a share, lifted, its end less rounded than the skin's."""
        across = u * (1 - inset)
        angle = np.interp(across, u[:, 0], angles)
        start = rows[0] + inset * 5.5 * mm
        y = start + (rows - rows[0]) / (rows[-1] - rows[0]) * (rows[-1] + overhang * mm - start)
        y = y + bow(v) * across**2 * mm
        return _lifted(anatomy, digit, y, angle, height * mm, softer)

    skin = at(INSET / 2, -0.3, np.full_like(u, -0.55), 1.0)
    plate = at(INSET, OVERHANG, 0.12 + 0.2 * (1 - u * u), 0.3)
    points[nail.plate] = plate
    points[nail.groove] = np.concatenate([skin[:, 0], skin[-1, 1:], skin[-2::-1, -1], skin[0, -2:0:-1]])
    _raise_fold(points, anatomy, digit, nail, 0.28 * mm)


def bow(along: Floats) -> Floats:
    """mm that a nail's corners lie beyond its middle, from its rear (0) to its free edge (1): both ends are round."""
    return np.asarray(1.3 - 2.7 * along)


def _lifted(anatomy: Anatomy, digit: int, y: Floats, angle: Floats, height: Floats, softer: float) -> Floats:
    limb = anatomy.digits[digit]
    flat = limb.section(y.ravel(), angle.ravel())
    drawn = tip_profile(anatomy, digit, y.ravel())
    middle = limb.read(y.ravel())[:, 3:5]
    x, z = (flat[:, [0, 2]] - middle).T
    out = np.stack([np.cos(angle.ravel()), np.sin(angle.ravel())], -1) * height.ravel()[:, None]
    shape = np.stack([x * drawn ** (0.5 + 0.5 * softer), z * drawn**softer], -1) + out + middle
    local = np.stack([shape[:, 0], y.ravel(), shape[:, 1]], -1)
    return limb.world(local).reshape(*y.shape, 3)


def _raise_fold(points: Floats, anatomy: Anatomy, digit: int, nail: Nail, height: float) -> None:
    """The skin stands up a little around the nail, but not under its free edge."""
    limb = anatomy.digits[digit]
    a, b = nail.plate.shape[0] - 1, nail.plate.shape[1] - 1
    sides = b - 2
    fold = np.concatenate([nail.rim[: a + 1 + sides], nail.rim[-sides:]])
    local = limb.local(points[fold])
    out = local[:, [0, 2]] / np.linalg.norm(local[:, [0, 2]], axis=-1, keepdims=True)
    local[:, [0, 2]] += height * out
    points[fold] = limb.world(local)
