"""What bends the digits of a hand that is dragged, whichever solver it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import Pose
from ...solvers.pose_problem import Objective, PoseProblem

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class DragStep:
    """What a step of a drag came to, for the next one to go on from."""

    pose: Pose
    """One frame."""
    objectives: tuple[Objective, ...] = ()
    """Those that it was to meet; of a pose that no step led to there are none."""
    aims: Mapping[int, Floats] = field(default_factory=dict)
    """site -> (3,) m in the world, where the solver itself was told to bring it."""
    own: Any = None
    """What a solver keeps from one step to the next."""


class Bending(Protocol):
    """A frozen dataclass with one method."""

    def step(self, problem: PoseProblem, last: DragStep | None = None) -> DragStep:
        """The pose that meets the problem's objectives, or is straight towards them; last: what the step before came
        to. Raises HandError for a hand that the solver does not take."""
        ...
