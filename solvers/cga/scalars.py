"""Operations that are written differently for floats and arrays, so that one formula serves both."""

import math
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
T = TypeVar("T", float, Floats)


def safe_sqrt(x: T) -> T:
    """Return the square root of x, 0 for x < 0 (rounding)."""
    if isinstance(x, np.ndarray):
        return np.sqrt(np.maximum(x, 0.0))
    return 0.0 if x <= 0 else math.sqrt(x)


@overload
def choose(condition: bool, yes: float, no: float) -> float: ...
@overload
def choose(condition: NDArray[np.bool_], yes: Floats | float, no: Floats | float) -> Floats: ...
def choose(condition: bool | NDArray[np.bool_], yes: Floats | float, no: Floats | float) -> Floats | float:
    """Return `yes` where the condition holds, else `no`, element by element."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, yes, no)
    return yes if condition else no


def any_true(condition: bool | NDArray[np.bool_]) -> bool:
    """Return whether the condition holds for any element. Lets rare cases be skipped for takes without them."""
    return bool(condition.any()) if isinstance(condition, np.ndarray) else condition


def safe_divide(a: T, b: T) -> T:
    """Return a / b, 0 where b is 0."""
    nothing = b == 0
    if any_true(nothing):
        return choose(nothing, 0.0, a / choose(nothing, 1.0, b))
    return a / b


def safe_inverse(b: T) -> T:
    """Return 1 / b, 0 where b is 0."""
    nothing = b == 0
    if any_true(nothing):
        return choose(nothing, 0.0, 1.0 / choose(nothing, 1.0, b))
    return 1.0 / b
