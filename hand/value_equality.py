"""Dataclasses compared and hashed by value, arrays included, so that results computed from them can be cached."""

from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


class ValueEquality:
    """Mixin for dataclasses: equal if of the same class with the same values, bit by bit for arrays."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and hashable_content(self) == hashable_content(other)

    def __hash__(self) -> int:
        return hash(hashable_content(self))


def hashable_content(of: Any) -> Hashable:
    """Return a hashable copy of what a dataclass, a tuple or an array contains."""
    if isinstance(of, np.ndarray):
        return of.shape, of.dtype.str, of.tobytes()
    if isinstance(of, tuple):
        return tuple(hashable_content(part) for part in of)
    if is_dataclass(of):
        return tuple(hashable_content(getattr(of, field.name)) for field in fields(of))
    held: Hashable = of
    return held
