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


def hashable_content(value: Any) -> Hashable:
    """Return a hashable copy of what a dataclass, a tuple or an array contains."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, tuple):
        return tuple(hashable_content(part) for part in value)
    if is_dataclass(value):
        return tuple(hashable_content(getattr(value, field.name)) for field in fields(value))
    hashable: Hashable = value
    return hashable
