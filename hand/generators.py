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
    """0..1 of the whole."""
    doing: str = ""
    """The current step, in words; empty if it is the same as before."""


Steps = Generator[Progress, None, Result]
"""A computation that yields its progress and returns a result."""


def part_of(start: float, end: float, doing: str, work: Steps[Result]) -> Steps[Result]:
    """Run a part of a computation, with its progress scaled to the fractions from `start` to `end`.

    doing: the description of the step while the part yields none. Returns the part's result.
    """
    while True:
        try:
            progress = next(work)
        except StopIteration as finished:
            result: Result = finished.value
            return result
        yield Progress(start + (end - start) * progress.fraction, progress.doing or doing)


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
