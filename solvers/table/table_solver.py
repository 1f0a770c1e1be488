"""The table solver: a digit's bend in its plane is looked up in tables (thesis chapters 3.4 and 4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from ...errors import HandError
from ...hand.joints import DIGITS
from ...hand.kinematics import Pose
from ...hand.measured_hand import MeasuredHand
from ...hand.model import HandModel
from ...hand.targets import Targets
from ..planar.driver import solve_hand
from ..planar.planar_chain import Chain, ChainMarker
from ..planar.planar_plan import MarkedDigit, PlanarBend, PlanarPlan, PlanarState, Steps, make_plan
from ..planar.planar_settings import sweeps_setting
from ..settings import check, setting
from ..solver import State
from .linkage import Floats
from .lu_bend import PlanarLu, planar_lu
from .recorded_bend import PlanarRecorded, fill_in_last_joints, with_last_joints, with_recorded
from .recorded_table import RecordedTable, record
from .table_bend import planar_table


@dataclass(frozen=True, slots=True, eq=False)
class DigitMeasures:
    """Measurements of a performer's digits for their tables."""

    radii: Mapping[str, Floats] = field(default_factory=dict)
    """Digit -> (3,) m, depth of its joints below the markers on their backs, thesis (4.4); 0 where missing."""
    recorded: Mapping[str, RecordedTable] = field(default_factory=dict)
    """Digit -> table of its range-of-motion clip."""


@dataclass(frozen=True, slots=True, eq=False)
class TableState(PlanarState):
    """The last pose, the plan with its tables, and the measurements that these were made from."""

    measures: DigitMeasures = field(default_factory=DigitMeasures)
    outside: Mapping[str, int] = field(default_factory=dict)
    """Digit -> number of frames of the last piece in which it was outside its recorded range."""


@dataclass(frozen=True, slots=True)
class Table:
    """Planar solver that looks up each digit's bend in tables."""

    method: str = setting(
        "even",
        "Tables that are used",
        choices={
            "even": "Even rows, interpolated",
            "lu": "Lu's own tables, nearest entry",
            "recorded": "Tables of a recorded range of motion",
        },
    )
    precision: float = setting(1.0, "Lu's tables: millimeters and degrees between entries", minimum=0.05, maximum=10.0)
    coupled: bool = setting(True, "Lu's tables: the last joint follows the middle one")
    sweeps: int = sweeps_setting()

    def __post_init__(self) -> None:
        check(self)

    def initial_state(self, measured: MeasuredHand) -> TableState:
        """See UsesMeasurements: uses the radii of joints with markers on their backs, and the recorded motion."""
        hand, motion = measured.model, measured.motion
        radii = {digit: measured.thickness(digit) for digit in DIGITS}
        recorded: dict[str, RecordedTable] = {}
        if self.method == "recorded" and len(motion):
            pose = Pose(hand, np.broadcast_to(np.eye(4), (len(motion), 4, 4)), motion)
            recorded = {digit: record(pose, digit) for digit in DIGITS}
        measures = DigitMeasures(
            {digit: digit_radii for digit, digit_radii in radii.items() if digit_radii.any()}, recorded
        )
        return TableState(np.eye(4), hand.neutral, None, measures=measures)

    def solve(self, hand: HandModel, targets: Targets, state: State | None = None) -> tuple[Pose, PlanarState]:
        """Solve the frames; see Solver.

        Raises HandError for a hand that is not five flexing digits on a rigid palm, or where the method needs a
        recorded motion and there is none.
        """
        state = state or State(np.eye(4), hand.neutral)
        measures = state.measures if isinstance(state, TableState) else DigitMeasures()
        steps = _steps(self.method, self.precision, self.coupled)
        if self.method == "even" and not measures.radii:
            return solve_hand(hand, targets, state, steps, self.sweeps)
        if self.method == "recorded":
            return self._solve_with_recording(hand, targets, state, steps, measures)
        return self._solve_with_plan(hand, targets, state, _plan(hand, targets, state, steps, measures), measures)

    def _solve_with_plan(
        self, hand: HandModel, targets: Targets, state: State, plan: PlanarPlan, measures: DigitMeasures
    ) -> tuple[Pose, TableState]:
        if self.method != "lu":
            pose, next_state = solve_hand(
                hand, targets, PlanarState(state.root, state.angles, plan), plan.steps, self.sweeps
            )
            return pose, TableState(next_state.root, next_state.angles, plan, measures=measures)
        # Each frame depends on the one before it. The table's entries are not refined by sweeps.
        roots, angles = np.empty((len(targets), 4, 4)), np.empty((len(targets), hand.dofs))
        for frame in range(len(targets)):
            planar_state = PlanarState(state.root, state.angles, _plan_after(plan, state.angles))
            pose, state = solve_hand(hand, targets.select(slice(frame, frame + 1)), planar_state, plan.steps, 0)
            roots[frame], angles[frame] = pose.root[0], pose.angles[0]
        return Pose(hand, roots, angles), TableState(state.root, state.angles, plan, measures=measures)

    def _solve_with_recording(
        self, hand: HandModel, targets: Targets, state: State, steps: Steps, measures: DigitMeasures
    ) -> tuple[Pose, TableState]:
        if not measures.recorded:
            raise HandError(
                f"{hand.side} hand: the table of a recorded range of motion needs one and none was recorded, "
                "expected a performer calibrated on a clip of free motion"
            )
        extended = with_last_joints(hand, targets, measures.recorded)
        plan = _plan(hand, extended, state, steps, measures)
        roots = plan.palm.roots(extended, state.root)
        filled, outside = fill_in_last_joints(plan, extended, roots, len(targets.sites))
        pose, next_state = self._solve_with_plan(hand, filled, state, plan, measures)
        return pose, replace(next_state, outside=outside)


@dataclass(frozen=True, slots=True)
class TableBend:
    """The bend step of the table solver: a planar_plan.BendFactory."""

    method: str
    precision: float
    coupled: bool

    def __call__(self, chain: Chain, end: ChainMarker) -> PlanarBend:
        """See BendFactory."""
        return self.prepared(chain, end, np.zeros(3))

    def prepared(self, chain: Chain, end: ChainMarker, radii: Floats) -> PlanarBend:
        """Return the bend of a chain whose joints have radii (3,) m."""
        exact = planar_table(chain, end, radii)
        if self.method == "lu":
            return planar_lu(exact, self.precision, self.coupled)
        return PlanarRecorded(exact) if self.method == "recorded" else exact


@lru_cache(maxsize=8)
def _steps(method: str, precision: float, coupled: bool) -> Steps:
    """Return the steps for these settings, cached for live frames."""
    return Steps(TableBend(method, precision, coupled))


def _plan(hand: HandModel, targets: Targets, state: State, steps: Steps, measures: DigitMeasures) -> PlanarPlan:
    """Return the state's plan if it fits, else a new one with the measurements applied."""
    plan = state.plan if isinstance(state, PlanarState) else None
    if plan is None or not plan.serves(hand, targets, steps):
        plan = make_plan(hand, targets, steps)
        plan = replace(plan, digits=tuple(_with_radii(hand, marked, steps, measures) for marked in plan.digits))
        plan = with_recorded(plan, measures.recorded)
    return plan


def _with_radii(hand: HandModel, marked: MarkedDigit, steps: Steps, measures: DigitMeasures) -> MarkedDigit:
    """Return the digit with the measured radii of its joints."""
    digit, bend = marked.digit, steps.bend
    if digit.name not in measures.radii or not isinstance(bend, TableBend):
        return marked
    chain = Chain(digit.lengths, hand.limits[list(digit.flexions)], digit.ratio, digit.coupling_offset)
    radii = measures.radii[digit.name]
    ends = (replace(end, bend=bend.prepared(chain, end.marker, radii)) for end in marked.ends)
    return replace(marked, ends=tuple(ends))


def _plan_after(plan: PlanarPlan, angles: Floats) -> PlanarPlan:
    """Return the plan for the frame after one with these angles (D,)."""
    digits = []
    for marked in plan.digits:
        first, middle, last = (float(angles[dof]) for dof in marked.digit.flexions)
        ends = (
            replace(end, bend=end.bend.after((first, middle, last))) if isinstance(end.bend, PlanarLu) else end
            for end in marked.ends
        )
        digits.append(replace(marked, ends=tuple(ends)))
    return replace(plan, digits=tuple(digits))
