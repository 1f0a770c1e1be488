"""Conversion of lengths to metres, and of axes to Z up."""

import numpy as np

from .markers import Bools, Floats

METRES = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "inch": 0.0254}
"""Metres in each unit."""

MAX_COORDINATE_M = 1e5
"""m, maximum coordinate; a larger one is a damaged number."""

UPS = ("x", "y", "z", "-x", "-y", "-z")

_ABBREVIATIONS = {**{unit: unit for unit in METRES}, "in": "inch"}
_SPELLINGS = {
    "millimeter": "mm",
    "millimetre": "mm",
    "centimeter": "cm",
    "centimetre": "cm",
    "decimeter": "dm",
    "decimetre": "dm",
    "meter": "m",
    "metre": "m",
    "inches": "inch",
}

# Rotation matrices, row by row. Each has determinant +1 and keeps x where it can.
_TO_Z_UP = {
    "x": ((0, 0, -1), (0, 1, 0), (1, 0, 0)),
    "y": ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
    "z": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "-x": ((0, 0, 1), (0, 1, 0), (-1, 0, 0)),
    "-y": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "-z": ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
}


def unit_from(text: str) -> str | None:
    """Return the unit m, dm, cm, mm or inch for a file's spelling, even truncated as in `mete`; None if unknown."""
    word = text.strip().strip("\"'").lower()
    if word in _ABBREVIATIONS:
        return _ABBREVIATIONS[word]
    if len(word) < 3:
        return None
    for spelling, unit in _SPELLINGS.items():
        if spelling.startswith(word) or word in {spelling + "s", spelling + "(s)"}:
            return unit
    return None


def to_z_up(positions: Floats, up: str) -> Floats:
    """Return positions (..., 3) rotated so that the axis `up` of the input becomes +Z."""
    rotated: Floats = np.empty_like(positions)
    for target_axis, row in enumerate(_TO_Z_UP[up]):
        source_axis = next(index for index, sign in enumerate(row) if sign)
        np.multiply(positions[..., source_axis], row[source_axis], out=rotated[..., target_axis])
    return rotated


def _bounds(positions: Floats, seen: Bools, max_distance: float) -> tuple[Floats, Floats]:
    """Return the lowest and highest coordinates (N, 3) of the visible points in up to 400 frames with two or more.

    Points farther than `max_distance` from their frame's median are excluded: some files store angles as points.
    """
    frames = np.flatnonzero(seen.sum(axis=1) >= 2)
    frames = frames[:: max(1, len(frames) // 200)]
    visible = np.where(seen[frames][..., None], positions[frames], np.nan)
    if not len(frames):
        return np.empty((0, 3)), np.empty((0, 3))
    middle = np.nanmedian(visible, axis=1, keepdims=True)
    visible = np.where(np.abs(visible - middle) < max_distance, visible, middle)
    return np.nanmin(visible, axis=1), np.nanmax(visible, axis=1)


def guess_unit(positions: Floats, seen: Bools) -> str:
    """Return the unit in which the points span a hand or a body: mm from 100 on, cm from 10 to 100, else m.

    positions (F, M, 3), seen (F, M).
    """
    low, high = _bounds(np.where(np.abs(positions) < 1e9, positions, 0.0), seen, np.inf)
    if not len(low):
        return "mm"
    size = float(np.median(np.linalg.norm(high - low, axis=1)))
    return "mm" if size >= 100 else "cm" if size >= 10 else "m"


def standing_axis(positions: Floats) -> str | None:
    """Return the up axis, y or z, of a standing body; None if it cannot be determined, as with hands alone.

    It is the only one of the two axes along which the points span over 1 m and start at the floor, or else the one
    along which they span much more than along the others. positions: (F, M, 3) in m.
    """
    low, high = _bounds(positions, np.all(np.isfinite(positions), axis=-1), 3.0)
    if not len(low):
        return None
    x, y, z = np.median(high - low, axis=0).tolist()
    extents = {"y": y, "z": z}
    floor = dict(zip("xyz", np.median(low, axis=0).tolist(), strict=True))
    candidates = [axis for axis, spread in extents.items() if spread > 1.0 and -0.15 < floor[axis] < 0.3]
    if len(candidates) == 1 and extents[candidates[0]] > 0.7 * max(x, y, z):
        return candidates[0]
    tallest = [axis for axis, spread in extents.items() if spread > 1.0 and spread > 1.4 * sorted((x, y, z))[1]]
    return tallest[0] if tallest else None


HAND_EXTENT_M = 0.17
"""m, diagonal of the bounding box of an adult's half-open hand."""


def guess_hand_unit(positions: Floats, on_hand: list[int]) -> str:
    """Return the unit, m, cm or mm, in which the markers of a hand have its usual size.

    With fewer than three markers on a hand, the result is that of `guess_unit`.

    positions: (F, M, 3). on_hand: columns of the markers of one hand.
    """
    visible = np.all(np.isfinite(positions), axis=-1)
    if len(on_hand) < 3:
        return guess_unit(positions, visible)
    low, high = _bounds(positions[:, on_hand], visible[:, on_hand], np.inf)
    size = float(np.median(np.linalg.norm(high - low, axis=1))) if len(low) else 0.0
    if not size > 0:
        return guess_unit(positions, visible)
    return min(("m", "cm", "mm"), key=lambda unit: abs(np.log10(size * METRES[unit] / HAND_EXTENT_M)))
