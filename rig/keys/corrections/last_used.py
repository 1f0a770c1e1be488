"""A cache of the most recent results, with all their inputs as key."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ....hand.generators import Steps

Value = TypeVar("Value")


class LastUsed(Generic[Value]):
    """A cache of the values used last, for arguments that functools.lru_cache cannot hash."""

    def __init__(self, maximum: int) -> None:
        self._most = maximum
        self._values = OrderedDict[Hashable, Value]()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a key; compute it if it is not cached."""
        if key not in self._values:
            self._values[key] = make()
        self._values.move_to_end(key)
        while len(self._values) > self._most:
            self._values.popitem(last=False)
        return self._values[key]

    def steps(self, key: Hashable, make: Callable[[], Steps[Value]]) -> Steps[Value]:
        """Do the same step by step. A computation that is abandoned is not cached."""
        found = self._values[key] if key in self._values else (yield from make())
        return self.get(key, lambda: found)


def digest(*arrays: NDArray[Any]) -> bytes:
    """Return a digest of the shapes and values of arrays."""
    found = blake2b()
    for array in arrays:
        found.update(f"{array.shape} {array.dtype} ".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.digest()
