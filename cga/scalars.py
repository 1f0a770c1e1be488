"""The few operations that floats and arrays of floats write differently, so that one formula serves both."""

import math
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
T = TypeVar("T", float, Floats)


def root(x: T) -> T:
    """The square root, 0 below 0: of what rounding alone brought there."""
    if isinstance(x, np.ndarray):
        return np.sqrt(np.maximum(x, 0.0))
    return 0.0 if x <= 0 else math.sqrt(x)


@overload
def choose(condition: bool, yes: float, no: float) -> float: ...
@overload
def choose(condition: NDArray[np.bool_], yes: Floats | float, no: Floats | float) -> Floats: ...
def choose(condition: bool | NDArray[np.bool_], yes: Floats | float, no: Floats | float) -> Floats | float:
    """The one or the other, element by element."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, yes, no)
    return yes if condition else no


def quotient(a: T, b: T) -> T:
    """a / b, and 0 where b is 0."""
    if isinstance(b, np.ndarray):
        return np.divide(a, b, out=np.zeros(np.broadcast_shapes(np.shape(a), b.shape)), where=b != 0)
    return a / b if b != 0 else 0.0
