"""Reals as they stand in binary files."""

import numpy as np

from ..markers import Floats


def reals(raw: bytes, order: str = "<") -> Floats:
    """(N,) the four-byte IEEE reals in `raw`, of the byte order '<' or '>'; damaged ones are inf or NaN, silently."""
    with np.errstate(invalid="ignore"):
        values: Floats = np.frombuffer(raw, f"{order}f4").astype(np.float64)
    return values
