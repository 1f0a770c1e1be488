"""Long computations as generators that yield progress and return their result."""

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar("Result")


def run_to_end(work: Generator[object, None, Result]) -> Result:
    """Run a generator to its end and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
