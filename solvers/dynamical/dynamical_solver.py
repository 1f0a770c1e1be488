"""Dynamical inverse kinematics (Rapetti et al. 2020): target velocities plus error feedback, integrated over time."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import RecipeError
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.targets import Targets
from ..settings import check, setting
from ..solver import State
from .dynamical_plan import DynamicalPlan, DynamicalState, plan_of
from .floating import follow_floating
from .follow import FollowMethod, follow
from .limb_step import StepLimit
from .limbs import LimbWeights
from .settle_frames import settle
from .settle_limb import MAX_STEP, SettlingMethod

Floats = NDArray[np.float64]

CLOCK_TOLERANCE_S = 0.1
"""s, maximum backward jump of a live device's clock; after a larger one, frames are a new motion."""
FIRST_STEP_S = 1 / 60
"""s, time step assumed before a single first frame."""
MODES = {
    "settle": "Every frame is solved by itself until it is at rest",
    "follow": "The previous pose follows its targets at the gain",
}


@dataclass(frozen=True, slots=True)
class Dynamical:
    """Integrates joint velocities that lead to the targets, within limits and couplings.

    `settle` iterates every frame to convergence from its own start pose, so a take can be solved in any pieces.
    `follow` is the paper's method: from frame to frame at the gain, with the targets' velocities where measured.
    """

    mode: str = setting("settle", "Dependence of a frame on the previous one", choices=MODES)
    floating: bool = setting(
        False,
        "In mode follow, all targets move the wrist; otherwise the palm's do, before the digits are solved",
    )
    gain: float = setting(
        50.0, "In mode follow, the rate at which errors decay: K of exp(-K t), per second", maximum=1e5
    )
    max_speed: float = setting(
        30.0, "In mode follow, the largest speed of a joint, radians per second", minimum=1e-3, maximum=1000
    )
    end_weight: float = setting(
        30.0, "Weight of a digit's outermost marker relative to its other markers", minimum=1e-3, maximum=1e4
    )
    slope: float = setting(
        20.0,
        "Steepness with which joints slow down towards a limit: k of tanh(k x), per radian",
        minimum=0.1,
        maximum=1000,
    )
    substeps: int = setting(1, "In mode follow, steps for each frame", minimum=1, maximum=1000)
    steps: int = setting(20, "In mode settle, maximum steps for each frame", minimum=1, maximum=1000)
    tolerance: float = setting(
        2e-5,
        "In mode settle, distance from a target below which nothing is corrected",
        minimum=1e-9,
        maximum=0.01,
        unit="m",
    )
    damping: float = setting(
        3e-4, "Distance from a target that counts as much as a step of one radian", minimum=1e-6, maximum=1.0, unit="m"
    )
    rotation_weight: float = setting(
        0.03,
        "Distance from a target that counts as much as a rotation error of one radian",
        minimum=1e-4,
        maximum=10.0,
        unit="m",
    )
    coupling_weight: float = setting(
        3e-3, "Distance from a target that counts as much as a coupling off by one radian", maximum=1.0, unit="m"
    )
    takes_rotations: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self)
        if self.floating and self.mode != "follow":
            raise RecipeError(f"solver dynamical: floating is true and mode is '{self.mode}', expected mode 'follow'")

    def solve(self, hand: HandModel, targets: Targets, state: State | None = None) -> tuple[Pose, DynamicalState]:
        """Solve the frames; see Solver. Raises HandError for a hand that is not five flexing digits on a rigid palm."""
        plan = plan_of(hand, targets, state, LimbWeights(self.rotation_weight, self.coupling_weight, self.end_weight))
        last = state or State(np.eye(4), hand.neutral)
        if not len(targets):
            none = Pose(hand, np.zeros((0, 4, 4)), np.zeros((0, hand.dofs)))
            return none, DynamicalState(last.root, last.angles, plan)
        if self.mode == "settle":
            roots, angles, palm_root = *self._settle(plan, targets, last), None
        elif state is None or _is_later(state, targets):
            roots, angles, palm_root = self._settle_and_follow(plan, targets, last)
        else:
            roots, angles, palm_root = self._follow(plan, targets, last)
        time = float(targets.times[-1])
        return Pose(hand, roots, angles), DynamicalState(roots[-1], angles[-1], plan, time, palm_root)

    def _settle(self, plan: DynamicalPlan, targets: Targets, last: State) -> tuple[Floats, Floats]:
        method = SettlingMethod(self.tolerance, self.steps, self.damping**2, StepLimit(MAX_STEP, self.slope))
        roots, angles = settle(plan, targets, last, method)
        return np.broadcast_to(roots, (len(targets), 4, 4)), angles

    def _settle_and_follow(
        self, plan: DynamicalPlan, targets: Targets, last: State
    ) -> tuple[Floats, Floats, Floats | None]:
        """Start a take from its converged first frame, then follow."""
        roots, angles = self._settle(plan, targets.select(slice(0, 1)), last)
        if len(targets) == 1:
            return roots, angles, roots[0]
        first = DynamicalState(roots[0], angles[0], plan, float(targets.times[0]), roots[0])
        more_roots, more_angles, palm_root = self._follow(plan, targets.select(slice(1, None)), first)
        return np.concatenate([roots, more_roots]), np.concatenate([angles, more_angles]), palm_root

    def _follow(self, plan: DynamicalPlan, targets: Targets, last: State) -> tuple[Floats, Floats, Floats | None]:
        method = FollowMethod(self.gain, self.max_speed, self.slope, self.damping**2, self.substeps)
        steps = time_steps(targets, last)
        if self.floating:
            start = last.root, last.angles
            return *follow_floating(plan.planar.hand, targets, steps, start, (method, plan.weights)), None
        fitted = last.palm_root if isinstance(last, DynamicalState) else None
        return follow(plan, targets, steps, (last.root, last.angles, last.root if fitted is None else fitted), method)


def _is_later(state: State, targets: Targets) -> bool:
    """Return whether the state is later than the first frame, so that the frames are a new motion."""
    if not isinstance(state, DynamicalState) or state.time is None:
        return False
    return bool(state.time > targets.times[0] + CLOCK_TOLERANCE_S)


def time_steps(targets: Targets, last: State) -> Floats:
    """Return (F,) s from the previous frame to each frame, at least 0."""
    between = np.diff(targets.times)
    if isinstance(last, DynamicalState) and last.time is not None:
        first = float(targets.times[0]) - last.time
    else:
        first = float(between[0]) if len(between) else FIRST_STEP_S
    steps: Floats = np.maximum(np.concatenate([[first], between]), 0.0)
    return steps
