"""Floats in binary files."""

import numpy as np

from ..markers import Floats


def float32_values(raw: bytes, order: str = "<") -> Floats:
    """Return the 32-bit floats (N,) in `raw`, in byte order '<' or '>'.

    Values may be inf or NaN, in damaged files also signalling ones, which raise no warning.
    """
    with np.errstate(invalid="ignore"):
        values: Floats = np.frombuffer(raw, f"{order}f4").astype(np.float64)
    return values
