"""Validation of numbers from the network: finite positions, unit quaternions and plausible times."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import PacketError
from ..conventions import MAX_COORDINATE_M
from ..timestamps import MAX_TIME_S

Floats = NDArray[np.float64]


def valid_positions(values: ArrayLike, description: str) -> Floats:
    """Return positions (N, 3) in m from 3 N numbers. Raises PacketError for one that is not finite or too far away."""
    result = np.array(values, np.float64).reshape(-1, 3)
    if not (np.abs(result) < MAX_COORDINATE_M).all():
        raise PacketError(f"{description}: a coordinate is not a number below {MAX_COORDINATE_M:g} m")
    return result


def known_positions(points: Floats, description: str) -> Floats:
    """Return positions (N, 3) in m, NaN where missing. Raises PacketError as valid_positions does."""
    is_known = np.all(np.isfinite(points), axis=-1)
    return np.where(
        is_known[:, None],
        valid_positions(np.where(is_known[:, None], points, 0.0).ravel().tolist(), description),
        np.nan,
    )


def unit_quaternions(values: ArrayLike, description: str) -> Floats:
    """Return unit quaternions (N, 4) from 4 N numbers. Raises PacketError if a length is far from 1."""
    result = np.array(values, np.float64).reshape(-1, 4)
    length = np.sqrt(np.einsum("nk,nk->n", result, result))
    if not ((length > 0.5) & (length < 2.0)).all():
        worst = length[np.argmax(np.abs(length - 1))]
        raise PacketError(f"{description}: a quaternion has the length {worst:.3g}, expected 1")
    unit: Floats = result / length[:, None]
    return unit


def valid_position(values: Sequence[float], description: str) -> tuple[float, float, float]:
    """Return one position in plain floats, for devices that send each bone separately; see valid_positions."""
    x, y, z = values
    if not (abs(x) < MAX_COORDINATE_M and abs(y) < MAX_COORDINATE_M and abs(z) < MAX_COORDINATE_M):
        raise PacketError(f"{description}: a coordinate is not a number below {MAX_COORDINATE_M:g} m")
    return float(x), float(y), float(z)


def unit_quaternion(values: Sequence[float], description: str) -> tuple[float, float, float, float]:
    """Return one unit quaternion in plain floats; see unit_quaternions."""
    a, b, c, d = values
    length = math.sqrt(a * a + b * b + c * c + d * d)
    if not 0.5 < length < 2.0:
        raise PacketError(f"{description}: a quaternion has the length {length:.3g}, expected 1")
    return a / length, b / length, c / length, d / length


def seconds(value: object) -> float | None:
    """Return a time in s, None if it is not a finite number or implausibly large."""
    return value if isinstance(value, float) and abs(value) < MAX_TIME_S else None


def finite_float(text: str, description: str) -> float:
    """Parse a finite number. Raises PacketError if it is not one."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise PacketError(f"{description}: {text[:20]!r} is not a number")
    return value
