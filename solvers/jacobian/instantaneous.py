"""Instantaneous optimisation of the whole hand and pair-wise: the methods that Dynamical is compared with (5.1).

Both are nonlinear least squares for each frame, and presets of the Jacobian solver. `WholeHand` solves for all angles
at once, and for a floating wrist with them. `PairWise` splits the hand at its rotation targets (figure 6) and solves
for the bones between two of them.
"""

from dataclasses import dataclass
from typing import ClassVar

from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.targets import Targets
from ..settings import check, setting
from ..solver import State
from .jacobian_solver import Jacobian, JacobianState


@dataclass(frozen=True, slots=True)
class WholeHand:
    """One nonlinear least-squares problem over all targets in each frame."""

    floating: bool = setting(
        False, "The wrist is solved together with the fingers; otherwise the palm's targets place it before"
    )
    iterations: int = setting(100, "Maximum steps for each frame", minimum=1, maximum=10000)
    tolerance: float = setting(
        1e-9, "Length of a step below which a frame is done", minimum=1e-10, maximum=0.1, unit="rad"
    )

    takes_rotations: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self)

    def solve(self, hand: HandModel, targets: Targets, state: State | None = None) -> tuple[Pose, JacobianState]:
        """Solve the frames; see Solver. Raises HandError where limits and hard couplings contradict each other."""
        method = Jacobian(parts="whole", floating=self.floating, iterations=self.iterations, tolerance=self.tolerance)
        return method.solve(hand, targets, state)


@dataclass(frozen=True, slots=True)
class PairWise:
    """A nonlinear least-squares problem for each pair of consecutive targets, from the palm outwards."""

    iterations: int = setting(100, "Maximum steps for each pair", minimum=1, maximum=10000)
    tolerance: float = setting(
        1e-9, "Length of a step below which a pair is done", minimum=1e-10, maximum=0.1, unit="rad"
    )

    takes_rotations: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self)

    def solve(self, hand: HandModel, targets: Targets, state: State | None = None) -> tuple[Pose, JacobianState]:
        """Solve the frames; see Solver. Raises HandError where limits and hard couplings contradict each other."""
        return Jacobian(parts="pairs", iterations=self.iterations, tolerance=self.tolerance).solve(hand, targets, state)
