"""Units of length and axes: how each file's own become metres and Z up."""

import numpy as np

from .markers import Bools, Floats

METRES = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001}
"""Metres in each unit."""

UPS = ("x", "y", "z", "-x", "-y", "-z")

_SPELLINGS = {
    "millimeter": "mm",
    "millimetre": "mm",
    "centimeter": "cm",
    "centimetre": "cm",
    "decimeter": "dm",
    "decimetre": "dm",
    "meter": "m",
    "metre": "m",
}

# Rows are where the new x, y and z come from. Each has determinant +1 and keeps x where it can.
_TO_Z_UP = {
    "x": ((0, 0, -1), (0, 1, 0), (1, 0, 0)),
    "y": ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
    "z": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "-x": ((0, 0, 1), (0, 1, 0), (-1, 0, 0)),
    "-y": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "-z": ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
}


def unit_from(text: str) -> str | None:
    """m, dm, cm or mm from a file's spelling, also a cut-off one such as `mete`; None if it is none of them."""
    word = text.strip().strip("\"'").lower()
    if word in METRES:
        return word
    if len(word) < 3:
        return None
    for spelling, unit in _SPELLINGS.items():
        if spelling.startswith(word) or word in {spelling + "s", spelling + "(s)"}:
            return unit
    return None


def to_z_up(positions: Floats, up: str) -> Floats:
    """(..., 3) turned by a proper rotation, so that the axis `up` of the input is +Z of the result."""
    turned: Floats = np.empty_like(positions)
    for new, row in enumerate(_TO_Z_UP[up]):
        old = next(index for index, sign in enumerate(row) if sign)
        np.multiply(positions[..., old], row[old], out=turned[..., new])
    return turned


def _cloud(positions: Floats, seen: Bools, nearest: float) -> tuple[Floats, Floats]:
    """(N, 3) the lowest and the highest coordinates of the points seen, in up to 200 frames that have two or more.

    Points farther than `nearest` from the middle of their frame do not count: angles and forces are stored as points.
    """
    frames = np.flatnonzero(seen.sum(axis=1) >= 2)
    frames = frames[:: max(1, len(frames) // 200)]
    shown = np.where(seen[frames][..., None], positions[frames], np.nan)
    if not len(frames):
        return np.empty((0, 3)), np.empty((0, 3))
    middle = np.nanmedian(shown, axis=1, keepdims=True)
    shown = np.where(np.abs(shown - middle) < nearest, shown, middle)
    return np.nanmin(shown, axis=1), np.nanmax(shown, axis=1)


def guess_unit(positions: Floats, seen: Bools) -> str:
    """The unit in which the cloud is as large as a hand or a body: 100 and more mm, 10 to 100 cm, else m."""
    low, high = _cloud(np.where(np.abs(positions) < 1e9, positions, 0.0), seen, np.inf)
    if not len(low):
        return "mm"
    size = float(np.median(np.linalg.norm(high - low, axis=1)))
    return "mm" if size >= 100 else "cm" if size >= 10 else "m"


def standing_axis(positions: Floats) -> str | None:
    """The axis, y or z, along which a body stands; None when the recording does not show it, as with hands alone.

    positions (F, M, 3) m. It stands along the only one of the two on which the cloud of points is over 1 m tall and
    begins at the floor, or else along the one on which it is much taller than on the others.
    """
    low, high = _cloud(positions, np.all(np.isfinite(positions), axis=-1), 3.0)
    if not len(low):
        return None
    x, y, z = np.median(high - low, axis=0).tolist()
    tall = {"y": y, "z": z}
    floor = dict(zip("xyz", np.median(low, axis=0).tolist(), strict=True))
    standing = [axis for axis, spread in tall.items() if spread > 1.0 and -0.15 < floor[axis] < 0.3]
    if len(standing) == 1 and tall[standing[0]] > 0.7 * max(x, y, z):
        return standing[0]
    taller = [axis for axis, spread in tall.items() if spread > 1.0 and spread > 1.4 * sorted((x, y, z))[1]]
    return taller[0] if taller else None
