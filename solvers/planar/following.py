"""The published tracker: a digit's iterations start from its pose in the previous frame. FABRIK-CGA section 3.4.

(3.9) rotates the joints of the frame before into the digit's plane of this frame, which keeps their flexions. So each
frame depends on the previous one, and degrees of freedom that the targets leave open change as little as possible.
"""

import math
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import SCALAR, NumberFunctions
from ...hand.targets import Targets
from .digit_steps import solve_digit
from .planar_chain import BendResult, ChainLengths, Flexions, MarkerHint
from .planar_fabrik import Stopping
from .planar_plan import OutermostMarker, PlanarPlan
from .visible_markers import visible_in_frame

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RESTART_FLEXION = math.radians(15)
"""rad, flexion of each joint in the pose for restarting iterations that stall, as at a straight digit."""


class IteratedBend(Protocol):
    """A bend that iterates from a pose."""

    @property
    def bones(self) -> ChainLengths:
        """The digit as straight lines from joint to joint and to its end."""
        ...

    @property
    def stopping(self) -> Stopping:
        """Stopping criteria of the iterations."""
        ...

    def iterate(self, goal: tuple[float, float], start: Flexions[float]) -> tuple[BendResult[float], int]:
        """Bend in one frame from these flexions of `bones`, rad; also returns the number of iterations."""
        ...


def follow(plan: PlanarPlan, targets: Targets, roots: Floats, last: Floats, sweeps: int) -> tuple[Floats, Ints]:
    """Solve frame after frame.

    Args:
        plan: of a solver whose bends are IteratedBends.
        targets: F frames.
        roots: (F, 4, 4) T_world_wrist.
        last: (D,) rad, the angles of the frame before.
        sweeps: maximum sweeps of cyclic coordinate descent if iterations leave a digit off its goal.

    Returns:
        The angles (F, D) rad, and the number of iterations (F, 5) of each digit.
    """
    solved = np.empty((len(targets), plan.hand.dofs))
    passes = np.zeros((len(targets), len(plan.digits)), dtype=np.int64)
    angles = last.tolist()
    positions, weights = targets.positions.tolist(), targets.weights.tolist()
    for frame in range(len(targets)):
        root = roots[frame, :3].T.tolist()
        for number, marked in enumerate(plan.digits):
            visible = visible_in_frame(marked, positions[frame], weights[frame], root)
            if not visible.indices:
                continue
            first, middle, outer = marked.digit.flexions
            bend = BendFromLast((angles[first], angles[middle], angles[outer]))
            for dof, angle in zip(marked.dofs, solve_digit(SCALAR, marked, visible, sweeps, bend), strict=True):
                angles[dof] = angle
            passes[frame, number] = bend.passes
        solved[frame] = angles
    return solved, passes


class BendFromLast:
    """Bends a digit from its last flexions, and counts the iterations."""

    def __init__(self, flexions: Flexions[float]) -> None:
        self.flexions = flexions
        self.passes = 0

    def __call__(
        self, _m: NumberFunctions[float], end: OutermostMarker, u: float, v: float, _hints: list[MarkerHint[float]]
    ) -> BendResult[float]:
        """See digit_steps.Bend. Inner markers only determine the plane: the paper's fingers have none."""
        result, passes = bend_from(cast(IteratedBend, end.bend), (u, v), self.flexions)
        self.flexions = result[:3]
        self.passes += passes
        return result


def bend_from(bend: IteratedBend, goal: tuple[float, float], start: Flexions[float]) -> tuple[BendResult[float], int]:
    """Iterate from the given flexions, rad, and once from a slightly bent digit if that leaves the end off the goal.

    Returns the bend that is nearest to its goal, m in the plane, and the number of iterations.
    """
    shift = bend.bones.shift
    best_pose, passes = bend.iterate(goal, _within_limits(bend.bones, start))
    if best_pose[3] > bend.stopping.tolerance:
        retried, more = bend.iterate(
            goal, _within_limits(bend.bones, (RESTART_FLEXION, RESTART_FLEXION, RESTART_FLEXION))
        )
        best_pose, passes = min(best_pose, retried, key=lambda pose: pose[3]), passes + more
    return (best_pose[0] + shift[0], best_pose[1] + shift[1], best_pose[2] + shift[2], best_pose[3]), passes


def _within_limits(bones: ChainLengths, flexions: Flexions[float]) -> Flexions[float]:
    """Convert a digit's flexions to those of these bones, within their limits."""
    first, middle, last = (
        min(max(flexion - shift, low), high)
        for flexion, shift, (low, high) in zip(flexions, bones.shift, bones.limits, strict=True)
    )
    return first, middle, last
