"""Limit BLAS to one thread: on a hand's small matrices, threads only wait for each other."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Variables of the environment, read when NumPy is imported."""


def use_one_thread() -> None:
    """Limit BLAS to one thread in this process, unless its variable is set. Call this before NumPy is imported."""
    if not any(name in os.environ for name in ONE_THREAD):
        os.environ.update(ONE_THREAD)


@contextmanager
def one_thread_in_new_processes() -> Iterator[None]:
    """Limit BLAS to one thread in processes started within the context."""
    saved_values = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in saved_values.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
