"""Clifford's own way through FABRIK-CGA's equations."""

from functools import reduce
from operator import xor
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

g3c: ModuleType = pytest.importorskip("clifford.g3c")

Floats = NDArray[np.float64]

I5 = g3c.e1 * g3c.e2 * g3c.e3 * g3c.e4 * g3c.e5


def vector(x: Floats) -> Any:
    """A vector of space."""
    return x[0] * g3c.e1 + x[1] * g3c.e2 + x[2] * g3c.e3


def sphere(x: Floats, radius: float) -> Any:
    """(3.3)"""
    return g3c.up(vector(x)) - 0.5 * radius**2 * g3c.einf


def plane(normal: Floats, on: Floats) -> Any:
    """Of a unit normal through a place."""
    return vector(normal) + (normal @ on) * g3c.einf


def meets(*objects: Any) -> list[Floats]:
    """(3.5), (3.6): the two places in which three objects meet, by projectors."""
    pair = reduce(xor, objects) * I5
    length = np.sqrt((pair * pair)[()])
    arm = g3c.einf.lc(pair)
    return [g3c.down((pair + sign * length) * arm).value[1:4] for sign in (-1, 1)]


def pole(place: Floats, way: Floats) -> Floats:
    """(3.8): the normal of the plane through the origin and a place along a way."""
    direct = g3c.eo ^ g3c.up(vector(place)) ^ vector(way) ^ g3c.einf
    normal: Floats = (direct * I5.inv()).value[1:4]
    return normal
