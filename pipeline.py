"""From a recipe to solved hands: read, clean, assign, measure, solve. The path of the data in one place."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .captures.markers import Markers
from .hand.joints import Side
from .hand.model import HandModel, Pose
from .hand.proportions import Proportions
from .hand.targets import Targets
from .recipe import Recipe

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class SolvedHand:
    """One hand of a take, solved over F frames."""

    side: Side
    hand: HandModel
    proportions: Proportions
    targets: Targets
    pose: Pose
    predicted: Bools
    """(F, J) True where a joint was not held by a measured marker in that frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Take:
    """A capture, solved."""

    recipe: Recipe
    markers: Markers
    """Cleaned, at the rate of the solved frames."""
    times: Floats
    """(F,) s of the solved frames, the first at the capture's own time."""
    hands: tuple[SolvedHand, ...]
    report: dict[str, Any]
    """capture, frames, rate, solver, hands{side: {digit: {...}}}, seconds{read, solve}: JSON-ready."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is: a fraction 0..1 and what it is doing, in words."""

    fraction: float
    doing: str


class Job:
    """Runs a recipe step by step, so that a panel can show progress and cancel between the steps.

    Iterate `steps()` to the end, then read `take`. Nothing outside the job is changed by it.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.take: Take | None = None

    def steps(self) -> Iterator[Progress]:
        """Reads, cleans, assigns, measures and solves in pieces. Raises KnuckleError."""
        raise NotImplementedError


def run(recipe: Recipe) -> Take:
    """A recipe, run to its end. Raises KnuckleError."""
    job = Job(recipe)
    for _ in job.steps():
        pass
    assert job.take is not None
    return job.take
