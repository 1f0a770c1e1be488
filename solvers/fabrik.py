"""FABRIK for hands, as FABRIK-CGA section 3.4: palm from its markers, a plane a digit, planar FABRIK in it."""

from dataclasses import dataclass

from ..hand.kinematics import Pose
from ..hand.model import HandModel
from ..hand.targets import Targets
from .planar.chain import Chain, Rider
from .planar.driver import solve_hand
from .planar.fabrik import PlanarFabrik, Stopping, planar_fabrik
from .planar.plan import PlanarState, Steps
from .settings import check, setting
from .solver import State


@dataclass(frozen=True, slots=True)
class Fabrik:
    """Constrained FABRIK. Every frame begins from its own targets, so a take can be solved in any pieces."""

    tolerance: float = setting(
        1e-5, "How far a digit's end may be from its target to be done", least=1e-9, most=0.01, unit="m"
    )
    passes: int = setting(60, "Most forward and backward passes from one beginning", least=1, most=1000)
    sweeps: int = setting(
        40,
        "Times that each joint turns as near as its limits let it, where they keep a digit from its target",
        most=1000,
    )

    def __post_init__(self) -> None:
        check(self)

    def solve(self, hand: HandModel, targets: Targets, state: State | None = None) -> tuple[Pose, PlanarState]:
        """See Solver. Raises HandError for a hand that is not five flexing digits on a rigid palm."""
        stopping = Stopping(self.tolerance, self.tolerance / 100, self.passes)
        return solve_hand(hand, targets, state, Steps(FabrikBend(stopping)), self.sweeps)


@dataclass(frozen=True, slots=True)
class FabrikBend:
    """Planar FABRIK as the step in which a digit bends."""

    stopping: Stopping

    def __call__(self, chain: Chain, end: Rider) -> PlanarFabrik:
        """See Bend."""
        return planar_fabrik(chain, end, self.stopping)
