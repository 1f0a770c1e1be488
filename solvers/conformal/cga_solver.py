"""The solver `cga`: FABRIK-CGA's hand tracker on the driver shared by all planar solvers."""

from dataclasses import dataclass
from functools import lru_cache

from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.targets import Targets
from ..planar.driver import solve_hand
from ..planar.planar_fabrik import Stopping
from ..planar.planar_plan import PlanarState, Steps
from ..planar.planar_settings import mode_setting, passes_setting, sweeps_setting, tolerance_setting
from ..settings import check, setting
from ..solver import State
from .cga_bend import ConformalBendFactory
from .cga_digit_plane import ConformalPlaneFactory
from .cga_palm import ConformalPalmFactory


@dataclass(frozen=True, slots=True)
class Cga:
    """Palm, planes and FABRIK in conformal geometric algebra. A take can be solved in pieces of any length."""

    mode: str = mode_setting()
    tolerance: float = tolerance_setting()
    passes: int = passes_setting()
    sweeps: int = sweeps_setting()
    palm_joints: float = setting(
        0.1,
        "Weight, relative to a marker, of a palm joint that is found from two of three palm markers",
        maximum=10,
    )
    thumb: str = setting(
        "own",
        "Source of the tilt of the thumb's plane",
        choices={
            "own": "The thumb's own hinges, as measured",
            "index": "The index finger's knuckle, to which the thumb points when it bends",
        },
    )

    def __post_init__(self) -> None:
        check(self)

    def solve(self, hand: HandModel, targets: Targets, state: State | None = None) -> tuple[Pose, PlanarState]:
        """See Solver. Raises HandError unless the hand has five flexing digits on a rigid palm."""
        return solve_hand(hand, targets, state, _steps(self), self.sweeps, following=self.mode == "follow")


@lru_cache(maxsize=8)
def _steps(solver: Cga) -> Steps:
    """Return the steps for a solver's settings, cached for live frames."""
    bend = ConformalBendFactory(Stopping(solver.tolerance, solver.tolerance / 100, solver.passes))
    return Steps(bend, ConformalPalmFactory(solver.palm_joints), ConformalPlaneFactory(solver.thumb))
