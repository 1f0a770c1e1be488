"""Dynamical inverse kinematics (Rapetti et al. 2020): velocities corrected by how far off a pose is, and integrated."""

from dataclasses import dataclass

import numpy as np

from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.targets import Targets
from ..settings import check, setting
from ..solver import State
from .limbs import Worth
from .plan import DynamicalState, plan_of
from .program import Room
from .settled import settled
from .settling import Method

FREELY = 1.0
"""rad that a joint may turn in one step towards rest."""


@dataclass(frozen=True, slots=True)
class Dynamical:
    """Dynamical inverse kinematics."""

    tolerance: float = setting(
        2e-5,
        "Distance from its target within which nothing is corrected as a frame comes to rest",
        least=1e-9,
        most=0.01,
        unit="m",
    )
    steps: int = setting(30, "Most steps of one frame", least=1, most=1000)
    damping: float = setting(
        3e-4,
        "Distance from a target that one radian of a step is worth",
        least=1e-6,
        most=1.0,
        unit="m",
    )
    turn_length: float = setting(
        0.03, "Distance from a target that one radian of a wrong turn is worth", least=1e-4, most=10.0, unit="m"
    )
    coupling: float = setting(
        3e-3, "Distance from a target that a coupling missed by one radian is worth", most=1.0, unit="m"
    )
    slope: float = setting(
        20.0,
        "How steeply a joint slows down towards its limit: the k of tanh(k x), per radian",
        least=0.1,
        most=1000,
    )
    takes_rotations = True

    def __post_init__(self) -> None:
        check(self)

    def solve(self, hand: HandModel, targets: Targets, state: State | None = None) -> tuple[Pose, DynamicalState]:
        """See Solver. Raises HandError for a hand that is not five flexing digits on a rigid palm."""
        plan = plan_of(hand, targets, state, Worth(self.turn_length, self.coupling))
        last = state or State(np.eye(4), hand.neutral)
        if not len(targets):
            none = Pose(hand, np.zeros((0, 4, 4)), np.zeros((0, hand.dofs)))
            return none, DynamicalState(last.root, last.angles, plan)
        roots, angles = settled(plan, targets, last, self._method())
        roots = np.broadcast_to(roots, (len(targets), 4, 4))
        return Pose(hand, roots, angles), DynamicalState(roots[-1], angles[-1], plan, float(targets.times[-1]))

    def _method(self) -> Method:
        return Method(self.tolerance, self.steps, self.damping**2, Room(FREELY, self.slope))
