"""Cyclic coordinate descent for hands: the palm and planes of FABRIK-CGA, and one joint after another in each plane."""

from dataclasses import dataclass

from ..hand.kinematics import Pose
from ..hand.model import HandModel
from ..hand.targets import Targets
from .planar.driver import solve_hand
from .planar.planar_ccd import PlanarCcd, planar_ccd
from .planar.planar_chain import Chain, ChainMarker
from .planar.planar_fabrik import Stopping
from .planar.planar_plan import PlanarState, Steps
from .planar.planar_settings import ccd_mode_setting, sweeps_setting, tolerance_setting
from .settings import check, setting
from .solver import State


@dataclass(frozen=True, slots=True)
class Ccd:
    """Rotates one joint after another to bring the end as near as possible to its target.

    A take can be solved in any pieces.
    """

    mode: str = ccd_mode_setting()
    tolerance: float = tolerance_setting()
    plane_sweeps: int = setting(
        200, "Maximum sweeps in a digit's plane from one starting pose", minimum=1, maximum=10_000
    )
    sweeps: int = sweeps_setting()

    def __post_init__(self) -> None:
        check(self)

    def solve(self, hand: HandModel, targets: Targets, state: State | None = None) -> tuple[Pose, PlanarState]:
        """See Solver. Raises HandError unless the hand has five flexing digits on a rigid palm."""
        stopping = Stopping(self.tolerance, self.tolerance / 1000, self.plane_sweeps)
        return solve_hand(
            hand, targets, state, Steps(CcdBendFactory(stopping)), self.sweeps, following=self.mode == "follow"
        )


@dataclass(frozen=True, slots=True)
class CcdBendFactory:
    """Prepares planar coordinate descent for a digit: a planar_plan.BendFactory."""

    stopping: Stopping

    def __call__(self, chain: Chain, end: ChainMarker) -> PlanarCcd:
        """See BendFactory."""
        return planar_ccd(chain, end, self.stopping)
