"""Functions on plain floats and on arrays under common names, so that one formula serves one frame and many.

For a single hand, plain floats are ten times as fast as arrays of one element; for many frames, arrays are a hundred
times as fast as floats. A formula written with these functions and arithmetic operators serves both. Both branches of a
choice are evaluated: neither may divide by zero or take the root of a negative number.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
N = TypeVar("N", float, Floats)
"""A number for one frame, or an array (N,) for N frames."""
Point = tuple[N, N, N]
"""Coordinates x, y, z in m."""
Pick = Callable[[Any], Any]
"""Selects some of the frames in a number, or in all numbers of a tuple or a dataclass."""
Values = TypeVar("Values", bound=tuple[Any, ...])


@dataclass(frozen=True, slots=True)
class NumberFunctions(Generic[N]):
    """The functions for one kind of number."""

    cos_sin: Callable[[N], tuple[N, N]]
    """Cosine and sine."""
    sqrt: Callable[[N], N]
    acos: Callable[[N], N]
    atan2: Callable[[N, N], N]
    clip: Callable[[N, float, float], N]
    """Clip to a lower and an upper bound."""
    where: Callable[[Any, Any, Any], N]
    """Choose between two values by a condition."""
    any: Callable[[Any], bool]
    """Whether a condition holds anywhere."""
    recompute_where: Callable[[Any, Any, Callable[[Pick], Any]], Any]
    """Recompute values where a condition holds: recompute_where(condition, values, compute) calls compute(pick), where
    pick(x) selects the elements of x, or of all arrays in a tuple or dataclass x, in those frames."""
    compute_either: Callable[[Any, Callable[[Pick], Any], Callable[[Pick], Any]], Any]
    """Compute values in one of two ways: compute_either(condition, compute, otherwise) calls compute(pick) for the
    frames in which a condition holds, and otherwise(pick) for the others."""


def _cos_sin(x: float) -> tuple[float, float]:
    return math.cos(x), math.sin(x)


def _clip(x: float, low: float, high: float) -> float:
    return low if x < low else high if x > high else x


def _where(condition: bool, yes: float, no: float) -> float:
    return yes if condition else no


def _recompute_where(condition: bool, values: Values, compute: Callable[[Pick], Values]) -> Values:
    return compute(_identity) if condition else values


def _compute_either(condition: bool, compute: Callable[[Pick], Any], otherwise: Callable[[Pick], Any]) -> Any:
    return compute(_identity) if condition else otherwise(_identity)


def _identity(x: Any) -> Any:
    return x


def _clip_many(x: Floats, low: float, high: float) -> Floats:
    clipped: Floats = np.minimum(np.maximum(x, low), high)
    return clipped


def _cos_sin_many(x: Floats) -> tuple[Floats, Floats]:
    """Use the tangent of half the angle: NumPy's sine and cosine take eight times as long as its tangent."""
    tangent = np.tan(0.5 * x)
    square = tangent * tangent
    denominator = 1.0 + square
    return (1.0 - square) / denominator, 2.0 * tangent / denominator


def _recompute_rows(condition: NDArray[np.bool_], values: Values, compute: Callable[[Pick], Values]) -> Values:
    rows = np.flatnonzero(condition)
    if not len(rows):
        return values
    result = []
    for value, recomputed in zip(values, compute(_pick_of(rows)), strict=True):
        merged = np.broadcast_to(value, np.shape(condition)).copy()
        merged[rows] = recomputed
        result.append(merged)
    return cast(Values, tuple(result))


def _compute_either_rows(
    condition: NDArray[np.bool_], compute: Callable[[Pick], Values], otherwise: Callable[[Pick], Values]
) -> Values:
    rows, others = np.flatnonzero(condition), np.flatnonzero(~condition)
    if not len(rows):
        return otherwise(_identity)
    if not len(others):
        return compute(_identity)
    result = []
    for value, other in zip(compute(_pick_of(rows)), otherwise(_pick_of(others)), strict=True):
        merged = np.empty(np.shape(condition))
        merged[rows], merged[others] = value, other
        result.append(merged)
    return cast(Values, tuple(result))


def _pick_of(rows: NDArray[np.intp]) -> Pick:
    def pick_rows(x: Any) -> Any:
        return x[rows] if isinstance(x, np.ndarray) else x

    return lambda x: map_numbers(pick_rows, x)


def map_numbers(compute: Callable[..., Any], *arguments: Any) -> Any:
    """Apply a function to numbers, or to the corresponding numbers of tuples or dataclasses of the same structure."""
    first = arguments[0]
    if isinstance(first, tuple):
        items = (map_numbers(compute, *numbers) for numbers in zip(*arguments, strict=True))
        return type(first)._make(items) if hasattr(first, "_make") else tuple(items)
    if is_dataclass(first) and not isinstance(first, type):
        names = [field.name for field in fields(first)]
        return type(first)(
            *(map_numbers(compute, *(getattr(argument, name) for argument in arguments)) for name in names)
        )
    return compute(*arguments)


SCALAR: NumberFunctions[float] = NumberFunctions(
    _cos_sin, math.sqrt, math.acos, math.atan2, _clip, _where, bool, _recompute_where, _compute_either
)
ARRAY: NumberFunctions[Floats] = NumberFunctions(
    _cos_sin_many,
    np.sqrt,
    np.arccos,
    np.arctan2,
    _clip_many,
    np.where,
    np.any,
    _recompute_rows,
    _compute_either_rows,
)


def wrap_angle(angle: N) -> N:
    """Wrap an angle to −π..π."""
    return (angle + math.pi) % (2 * math.pi) - math.pi
