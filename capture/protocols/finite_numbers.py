"""Validation of numbers from the network: finite positions, unit quaternions and plausible times."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ..timestamps import LATEST

Floats = NDArray[np.float64]

FARTHEST = 1e4
"""m: a coordinate beyond it is damaged."""


def places(values: Sequence[float], what: str) -> Floats:
    """Positions (N, 3) in m from 3 N numbers. Raises PacketError for one that is not finite or too far away."""
    result = np.array(values, np.float64).reshape(-1, 3)
    if not (np.abs(result) < FARTHEST).all():
        raise PacketError(f"{what}: a coordinate is not a number below {FARTHEST:g} m")
    return result


def known_places(points: Floats, what: str) -> Floats:
    """Positions (N, 3) in m, of which some may be missing (NaN). Raises PacketError as `places` does."""
    told = np.all(np.isfinite(points), axis=-1)
    return np.where(told[:, None], places(np.where(told[:, None], points, 0.0).ravel().tolist(), what), np.nan)


def turns(values: Sequence[float], what: str) -> Floats:
    """Unit quaternions (N, 4) from 4 N numbers, in their order. Raises PacketError if a length is far from 1."""
    result = np.array(values, np.float64).reshape(-1, 4)
    length = np.sqrt(np.einsum("nk,nk->n", result, result))
    if not ((length > 0.5) & (length < 2.0)).all():
        worst = length[np.argmax(np.abs(length - 1))]
        raise PacketError(f"{what}: a quaternion has the length {worst:.3g}, expected 1")
    unit: Floats = result / length[:, None]
    return unit


def place(values: Sequence[float], what: str) -> tuple[float, float, float]:
    """One position in plain floats, for devices that send each bone separately; see `places`."""
    x, y, z = values
    if not (abs(x) < FARTHEST and abs(y) < FARTHEST and abs(z) < FARTHEST):
        raise PacketError(f"{what}: a coordinate is not a number below {FARTHEST:g} m")
    return float(x), float(y), float(z)


def turn(values: Sequence[float], what: str) -> tuple[float, float, float, float]:
    """One unit quaternion in plain floats; see `turns`."""
    a, b, c, d = values
    length = math.sqrt(a * a + b * b + c * c + d * d)
    if not 0.5 < length < 2.0:
        raise PacketError(f"{what}: a quaternion has the length {length:.3g}, expected 1")
    return a / length, b / length, c / length, d / length


def seconds(value: object) -> float | None:
    """A time in s, None if it is not a finite number or implausibly large."""
    return value if isinstance(value, float) and abs(value) < LATEST else None


def real(text: str, what: str) -> float:
    """Parse a finite number. Raises PacketError if it is not one."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise PacketError(f"{what}: {text[:20]!r} is not a number")
    return value
