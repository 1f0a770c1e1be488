"""Long computations as generators that yield their progress and return their result."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

Result = TypeVar("Result")
Yielded = TypeVar("Yielded")


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a computation."""

    fraction: float
    """Of the whole computation, 0..1."""
    description: str = ""
    """What is being done, for the user; empty if it has not changed."""


Steps = Generator[Progress, None, Result]
"""A computation that yields its progress and returns a result."""


def part_of(start: float, end: float, description: str, work: Steps[Result]) -> Steps[Result]:
    """Run a part of a computation, its progress scaled to the range from `start` to `end`, and return its result.

    description: replaces the part's own descriptions where these are empty.
    """
    while True:
        try:
            progress = next(work)
        except StopIteration as finished:
            result: Result = finished.value
            return result
        yield Progress(start + (end - start) * progress.fraction, progress.description or description)


def run_to_end(
    work: Generator[Yielded, None, Result], on_yield: Callable[[Yielded], object] = lambda _yielded: None
) -> Result:
    """Run a generator to its end, call a function with each value that it yields, and return its result."""
    while True:
        try:
            yielded = next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
        on_yield(yielded)
