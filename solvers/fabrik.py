"""FABRIK for hands (FABRIK-CGA section 3.4): the palm from its markers, a plane for each digit, planar FABRIK in it."""

from dataclasses import dataclass

from ..hand.kinematics import Pose
from ..hand.model import HandModel
from ..hand.targets import Targets
from .planar.driver import solve_hand
from .planar.planar_chain import Chain, ChainMarker
from .planar.planar_fabrik import PlanarFabrik, Stopping, planar_fabrik
from .planar.planar_plan import PlanarState, Steps
from .planar.planar_settings import mode_setting, passes_setting, sweeps_setting, tolerance_setting
from .settings import check
from .solver import State


@dataclass(frozen=True, slots=True)
class Fabrik:
    """Constrained FABRIK, from each frame's own targets or from the pose before. A take can be solved in any pieces."""

    mode: str = mode_setting()
    tolerance: float = tolerance_setting()
    passes: int = passes_setting()
    sweeps: int = sweeps_setting()

    def __post_init__(self) -> None:
        check(self)

    def solve(self, hand: HandModel, targets: Targets, state: State | None = None) -> tuple[Pose, PlanarState]:
        """See Solver. Raises HandError unless the hand has five flexing digits on a rigid palm."""
        stopping = Stopping(self.tolerance, self.tolerance / 100, self.passes)
        return solve_hand(
            hand, targets, state, Steps(FabrikBendFactory(stopping)), self.sweeps, following=self.mode == "follow"
        )


@dataclass(frozen=True, slots=True)
class FabrikBendFactory:
    """Prepares planar FABRIK for a digit: a planar_plan.BendFactory."""

    stopping: Stopping

    def __call__(self, chain: Chain, end: ChainMarker) -> PlanarFabrik:
        """See BendFactory."""
        return planar_fabrik(chain, end, self.stopping)
