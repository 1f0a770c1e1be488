"""Numbers from strangers: what is not finite, or absurdly large, is no number."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ..timestamps import LATEST

Floats = NDArray[np.float64]

FARTHEST = 1e4
"""m: a place farther out than this is damaged."""


def places(values: Sequence[float], what: str) -> Floats:
    """(N, 3) m. Raises PacketError for a place that is not finite or too far away."""
    result = np.array(values, np.float64).reshape(-1, 3)
    if not (np.abs(result) < FARTHEST).all():
        raise PacketError(f"{what}: a coordinate is not a number below {FARTHEST:g} m")
    return result


def known_places(points: Floats, what: str) -> Floats:
    """(N, 3) m, of points of which some may be NaN: not told. Raises PacketError as places does."""
    told = np.all(np.isfinite(points), axis=-1)
    return np.where(told[:, None], places(np.where(told[:, None], points, 0.0).ravel().tolist(), what), np.nan)


def turns(values: Sequence[float], what: str) -> Floats:
    """(N, 4) of length one, in the order in which they came. Raises PacketError for a quaternion that is none."""
    result = np.array(values, np.float64).reshape(-1, 4)
    length = np.sqrt(np.einsum("nk,nk->n", result, result))
    if not ((length > 0.5) & (length < 2.0)).all():
        worst = length[np.argmax(np.abs(length - 1))]
        raise PacketError(f"{what}: a quaternion has the length {worst:.3g}, expected 1")
    unit: Floats = result / length[:, None]
    return unit


def place(values: Sequence[float], what: str) -> tuple[float, float, float]:
    """One of `places`, in plain floats: for devices that send each bone by itself."""
    x, y, z = values
    if not (abs(x) < FARTHEST and abs(y) < FARTHEST and abs(z) < FARTHEST):
        raise PacketError(f"{what}: a coordinate is not a number below {FARTHEST:g} m")
    return float(x), float(y), float(z)


def turn(values: Sequence[float], what: str) -> tuple[float, float, float, float]:
    """One of `turns`, in plain floats."""
    a, b, c, d = values
    length = math.sqrt(a * a + b * b + c * c + d * d)
    if not 0.5 < length < 2.0:
        raise PacketError(f"{what}: a quaternion has the length {length:.3g}, expected 1")
    return a / length, b / length, c / length, d / length


def seconds(value: object) -> float | None:
    """s of a clock, None for what is no number, not finite, or later than any clock counts."""
    return value if isinstance(value, float) and abs(value) < LATEST else None


def real(text: str, what: str) -> float:
    """A number that is spelled. Raises PacketError for what is none, or not finite."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise PacketError(f"{what}: {text[:20]!r} is not a number")
    return value
