"""The tracker as published: a digit's passes begin from its pose in the frame before. FABRIK-CGA section 3.4.

(3.9) rotates the joints of the frame before into the digit's plane of this frame, which keeps their flexions. So each
frame depends on the one before, and what its targets leave open stays as near to that as it can.
"""

import math
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import SCALAR, NumberFunctions, wrap_angle
from ...hand.targets import Targets
from .digit_steps import solve_digit
from .planar_chain import BendResult, ChainLengths, Flexions, MarkerHint, distance
from .planar_fabrik import Nearest, PlanarFabrik, backward, bone_ends
from .planar_plan import OutermostMarker, PlanarPlan
from .visible_markers import visible_in_frame

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BENT = math.radians(15)
"""rad, flexion of each joint in the pose from which passes begin anew if they stall, as they do at a straight digit."""
LEAST_GAIN = 0.01
"""Share of its distance from the target by which a pass brings the end nearer, unless it has stalled."""
MAX_STALLED_PASSES = 3


def follow(plan: PlanarPlan, targets: Targets, roots: Floats, last: Floats, sweeps: int) -> tuple[Floats, Ints]:
    """Solve frame after frame.

    Args:
        plan: of a solver whose bends are PlanarFabrik.
        targets: F frames.
        roots: (F, 4, 4) T_world_wrist.
        last: (D,) rad, the angles of the frame before.
        sweeps: most sweeps of cyclic coordinate descent where the passes leave a digit off its goal.

    Returns:
        The angles (F, D) rad, and the number of passes (F, 5) of each digit.
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
    """Bends a digit from its last flexions, and counts the passes."""

    def __init__(self, flexions: Flexions[float]) -> None:
        self.flexions = flexions
        self.passes = 0

    def __call__(
        self, _m: NumberFunctions[float], end: OutermostMarker, u: float, v: float, _hints: list[MarkerHint[float]]
    ) -> BendResult[float]:
        """See digit_steps.Bend. Inner markers only determine the plane: the paper's fingers have none."""
        bend = cast(PlanarFabrik, end.bend)
        result, passes = bend_from(bend, (u, v), self.flexions)
        self.flexions = result[:3]
        self.passes += passes
        return result


def bend_from(bend: PlanarFabrik, goal: tuple[float, float], start: Flexions[float]) -> tuple[BendResult[float], int]:
    """Run Algorithm 1 from the given flexions, rad, and once from a slightly bent digit if they stall off the goal.

    Returns the bend that is nearest to its goal, m in the plane, and the number of passes.
    """
    best, passes = _iterate(bend, goal, start)
    if best[3] > bend.stopping.tolerance:
        bent, more = _iterate(bend, goal, (BENT, BENT, BENT))
        best, passes = min(best, bent, key=lambda each: each[3]), passes + more
    first, middle, last = (flexion + shift for flexion, shift in zip(best[:3], bend.bones.shift, strict=True))
    return (first, middle, last, best[3]), passes


def _iterate(bend: PlanarFabrik, goal: tuple[float, float], start: Flexions[float]) -> tuple[BendResult[float], int]:
    """Run passes until the end is at its goal or they stall; one pass if the goal is out of reach, lines 1.4 to 1.9."""
    bones, stopping = bend.bones, bend.stopping
    first, middle, last = (
        min(max(flexion - shift, low), high)
        for flexion, shift, (low, high) in zip(start, bones.shift, bones.limits, strict=True)
    )
    flexions, passes, stalled = (first, middle, last), 0, 0
    ends = bone_ends(SCALAR, bones, flexions)
    best = (*flexions, distance(SCALAR, ends[-1], goal))
    unreachable = math.hypot(*goal) > sum(bones.lengths)
    most = 1 if unreachable else stopping.passes
    while best[3] > stopping.tolerance and passes < most and stalled < MAX_STALLED_PASSES:
        inner = [goal] * bones.count if unreachable else forward_within_limits(bones, ends, goal, bend.nearest)
        (flexions, ends), passes = backward(SCALAR, bones, inner, goal, flexions[1:]), passes + 1
        error = distance(SCALAR, ends[-1], goal)
        stalled = 0 if error < (1 - LEAST_GAIN) * best[3] else stalled + 1
        if error < best[3]:
            best = (*flexions, error)
    return best, passes


def forward_within_limits(
    bones: ChainLengths, ends: list[tuple[float, float]], goal: tuple[float, float], nearest: Nearest
) -> list[tuple[float, float]]:
    """Stage 1 with limits: a nearest point moves on its sphere until the joint at the sphere's centre can bend so.

    ends: of all bones, m in the plane. Returns those of all but the last.
    """
    ends = [*ends[:-1], goal]
    outer_heading = None
    for bone in range(bones.count - 1, 0, -1):
        length, (u, v) = bones.lengths[bone], ends[bone]
        inner = nearest(SCALAR, (u, v), length, ends[bone - 1])
        heading = math.atan2(v - inner[1], u - inner[0])
        if outer_heading is not None:
            low, high = bones.limits[bone + 1]
            heading = outer_heading - min(max(wrap_angle(outer_heading - heading), low), high)
            inner = u - length * math.cos(heading), v - length * math.sin(heading)
        ends[bone - 1], outer_heading = inner, heading
    return ends[:-1]
