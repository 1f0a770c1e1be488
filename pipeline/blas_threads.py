"""One thread for BLAS: a hand's matrices are small, and threads only wait for each other."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Variables of the environment, read when NumPy is imported."""


def use_one_thread() -> None:
    """Give BLAS one thread in this process, unless a number was chosen; call it before NumPy is imported."""
    if not any(name in os.environ for name in ONE_THREAD):
        os.environ.update(ONE_THREAD)


@contextmanager
def one_thread_in_new_processes() -> Iterator[None]:
    """Give BLAS one thread in processes that are started meanwhile."""
    saved_values = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in saved_values.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
