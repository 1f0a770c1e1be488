"""Long work as generators: they tell what they do next, and return what came of it."""

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar("Result")


def finished(work: Generator[object, None, Result]) -> Result:
    """What comes of a work that is run to its end at once."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
