"""Nails: plates on the backs of the distal phalanges, framed by a fold of the skin, that extend beyond the tips."""

import numpy as np
from numpy.typing import NDArray

from .implicit_surface import Limb
from .topology import NailPlate, grid_outline

Floats = NDArray[np.float64]

PLATE_INSET = 0.10
"""Distance from the skin's fold to the plate, relative to the nail's half-width."""
PLATE_OVERHANG_MM = 0.6
"""mm of free edge beyond the skin."""
FOLD_HEIGHT_MM = 0.28
"""mm, height of the skin's fold around the nail."""
REFERENCE_HALF_WIDTH_MM = 7.6
"""mm, half-width of the finger for which the lengths in this module are given; they scale with the digit's width."""


def place_nail(points: Floats, limb: Limb, nail: NailPlate, rows: Floats, angles: Floats) -> None:
    """Place a nail's groove and plate at `rows` (B+1,) m along the digit and `angles` (A+1,) rad in its section."""
    mm = limb.profile_at(rows[:1])[0, 0] / REFERENCE_HALF_WIDTH_MM
    u = np.linspace(-1, 1, len(angles))[:, None] * np.ones(len(rows))
    v = np.linspace(0, 1, len(rows)) * np.ones(len(angles))[:, None]

    def inset_grid(inset: float, overhang: float, height: Floats, roundness: float) -> Floats:
        """Return the window's grid (A+1, B+1, 3), inset by a fraction and raised by `height` mm."""
        across = u * (1 - inset)
        angle = np.interp(across, u[:, 0], angles)
        start = rows[0] + inset * 5.5 * mm
        y = start + (rows - rows[0]) / (rows[-1] - rows[0]) * (rows[-1] + overhang * mm - start)
        return _raised_points(limb, y + corner_offset_mm(v) * across**2 * mm, angle, height * mm, roundness)

    groove = inset_grid(PLATE_INSET / 2, -0.2, -0.5 + 0.25 * v**4, 1.0)
    points[nail.groove] = grid_outline(groove)
    points[nail.plate] = inset_grid(PLATE_INSET, PLATE_OVERHANG_MM, 0.12 + 0.2 * (1 - u * u), 0.35)
    _raise_fold(points, limb, nail, FOLD_HEIGHT_MM * mm)


def corner_offset_mm(along: Floats) -> Floats:
    """Return how far a nail's corners are beyond its middle, in mm, from the rear (0) to the free edge (1).

    It makes both ends round.
    """
    return np.asarray(1.3 - 2.7 * along)


def _raised_points(limb: Limb, y: Floats, angle: Floats, height: Floats, roundness: float) -> Floats:
    """Return points (A+1, B+1, 3) at `height` m above the digit; roundness 1 follows its tip, less is straighter."""
    flat_y, flat_angle = y.ravel(), angle.ravel()
    local = limb.section_points(flat_y, flat_angle)
    middle = limb.profile_at(flat_y)[:, 3:5]
    taper = limb.taper(flat_y)
    local[:, 0] = middle[:, 0] + (local[:, 0] - middle[:, 0]) * taper ** (0.5 + 0.5 * roundness)
    local[:, 2] = middle[:, 1] + (local[:, 2] - middle[:, 1]) * taper**roundness
    local[:, [0, 2]] += np.stack([np.cos(flat_angle), np.sin(flat_angle)], -1) * height.reshape(-1, 1)
    return limb.to_world(local).reshape(*y.shape, 3)


def _raise_fold(points: Floats, limb: Limb, nail: NailPlate, height: float) -> None:
    """Raise the skin around the nail, except under its free edge."""
    across, along = nail.plate.shape[0] - 1, nail.plate.shape[1] - 1
    sides = along - 2
    fold_ids = np.concatenate([nail.rim[: across + 1 + sides], nail.rim[-sides:]])
    local = limb.to_local(points[fold_ids])
    outward = local[:, [0, 2]] / np.linalg.norm(local[:, [0, 2]], axis=-1, keepdims=True)
    local[:, [0, 2]] += height * outward
    points[fold_ids] = limb.to_world(local)
