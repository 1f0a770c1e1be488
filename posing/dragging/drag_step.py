"""One step of a drag, and the interface of the solvers that compute it."""

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
    """The result of a step of a drag, from which the next one continues."""

    pose: Pose
    """One frame."""
    objectives: tuple[Objective, ...] = ()
    """The objectives of the step; empty before the first step."""
    targets: Mapping[int, Floats] = field(default_factory=dict)
    """Site -> (3,) m in the world, the target that the solver was given for it."""
    state: Any = None
    """The solver's state from one step to the next."""


class DragSolver(Protocol):
    """Computes the steps of a drag; a frozen dataclass."""

    def step(self, problem: PoseProblem, last: DragStep | None = None) -> DragStep:
        """Return the pose that meets the problem's objectives, or comes near to them; last: the step before.

        Raises HandError for a hand that the solver does not support.
        """
        ...
