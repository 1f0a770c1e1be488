"""Planar FABRIK with limits: FABRIK-CGA section 3.4, Algorithm 1 with the misprint of line 1.28 corrected.

FABRIK stays close to its initial pose (section 3.5), which therefore determines what the targets leave open. The
initial pose follows the coupling or the hints, and its end is at the target's distance. Within limits this is already
the solution; if a limit interferes, forward and backward passes continue from it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import SCALAR, N, NumberFunctions, wrap_angle
from .coupled_bend import CoupledBend
from .planar_chain import BendResult, Chain, ChainLengths, ChainMarker, Flexions, bones_to_marker, distance, end_error
from .planar_reach import bend_with_fixed_first, exact_farthest_reach, nearer_bend

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stopping:
    """Stopping criteria of the passes."""

    tolerance: float
    """m, distance from the end to its target at which a frame has converged."""
    stall: float
    """m, minimum improvement of a pass; with less the frame has stalled."""
    passes: int
    """Maximum number of forward and backward passes."""


MIN_GAIN = 0.01
"""Minimum fraction of the error that a pass from a given pose must remove; below it the pass counts as stalled."""
MAX_STALLED_PASSES = 3
"""Maximum number of consecutive passes that may stall."""


Nearest = Callable[[Any, tuple[Any, Any], float, tuple[Any, Any]], tuple[Any, Any]]
"""NearestPointSphere of Algorithm 1 in the plane; see nearest_point."""


@dataclass(frozen=True, slots=True, eq=False)
class PlanarFabrik(CoupledBend):
    """Bends a digit by FABRIK to bring one marker as near to its goal as limits allow."""

    stopping: Stopping
    nearest: Nearest

    def improve(
        self, m: NumberFunctions[N], bones: ChainLengths, goal: tuple[N, N], bent: BendResult[N]
    ) -> BendResult[N]:
        """See CoupledBend: a search within the limits."""
        improved: BendResult[N] = m.recompute_where(
            self.misses(bent), bent, lambda pick: self.search(m, pick(bones), pick(goal), pick(bent[:3]))
        )
        return improved

    def misses(self, bent: BendResult[N]) -> Any:
        """Return whether a search may improve a bend: in one frame or in each."""
        missed: Any = bent[3] > self.stopping.tolerance
        return missed & (self.bones.count > 1)

    def search(
        self, m: NumberFunctions[N], bones: ChainLengths, goal: tuple[N, N], flexions: Flexions[N]
    ) -> BendResult[N]:
        """Improve flexions that a limit or an unreachable goal leaves off the goal; return the nearest bend found."""
        first, middle, last = flexions
        error = end_error(m, bones, flexions, goal)
        best_bend = nearer_bend(m, (first, middle, last, error), bend_with_fixed_first(m, bones, goal, first))
        missed: Any = best_bend[3] > self.stopping.tolerance
        result: BendResult[N] = m.recompute_where(
            missed, best_bend, lambda pick: self._passes(m, pick(bones), pick(goal), pick(best_bend))
        )
        return result

    def _passes(
        self, m: NumberFunctions[N], bones: ChainLengths, goal: tuple[N, N], best_bend: BendResult[N]
    ) -> BendResult[N]:
        """Run forward and backward passes and return the best pose of each frame. Converged or stalled frames stop."""
        flexions: Flexions[N] = best_bend[:3]
        ends = bone_ends(m, bones, flexions)
        active: Any = best_bend[3] > self.stopping.tolerance
        for _ in range(self.stopping.passes):
            if not m.any(active):
                break
            inner = forward(m, bones, ends, goal, self.nearest)
            flexions, ends = backward(m, bones, inner, goal)
            error = distance(m, ends[-1], goal)
            active = active & (error < best_bend[3] - self.stopping.stall)
            first, middle, last, min_error = (
                m.where(active, new, old) for new, old in zip((*flexions, error), best_bend, strict=True)
            )
            best_bend = first, middle, last, min_error
            active = active & (error > self.stopping.tolerance)
        return best_bend

    def iterate(self, goal: tuple[float, float], start: Flexions[float]) -> tuple[BendResult[float], int]:
        """See following.IteratedBend. Both stages of a pass apply the limits; a goal out of reach takes one pass.

        Lines 1.4 to 1.9 of Algorithm 1.
        """
        bones, stopping, flexions, passes, stalled = self.bones, self.stopping, start, 0, 0
        ends = bone_ends(SCALAR, bones, flexions)
        best_bend = (*flexions, distance(SCALAR, ends[-1], goal))
        unreachable = math.hypot(*goal) > sum(bones.lengths)
        max_passes = 1 if unreachable else stopping.passes
        while best_bend[3] > stopping.tolerance and passes < max_passes and stalled < MAX_STALLED_PASSES:
            inner = [goal] * bones.count if unreachable else forward_within_limits(bones, ends, goal, self.nearest)
            (flexions, ends), passes = backward(SCALAR, bones, inner, goal, flexions[1:]), passes + 1
            error = distance(SCALAR, ends[-1], goal)
            stalled = 0 if error < (1 - MIN_GAIN) * best_bend[3] else stalled + 1
            if error < best_bend[3]:
                best_bend = (*flexions, error)
        return best_bend, passes


def forward(
    m: NumberFunctions[N], bones: ChainLengths, ends: list[tuple[N, N]], goal: tuple[N, N], nearest: Nearest
) -> list[tuple[N, N]]:
    """Stage 1: put the end on its target, each joint before it on the nearest point at its bone's length (line 1.21).

    ends: m in the plane, ends of all bones. Returns the ends of all but the last bone.
    """
    joints = ends[:-1]
    for bone in range(bones.count - 1, 0, -1):
        outer_end = goal if bone == bones.count - 1 else joints[bone]
        joints[bone - 1] = nearest(m, outer_end, bones.lengths[bone], joints[bone - 1])
    return joints


def forward_within_limits(
    bones: ChainLengths, ends: list[tuple[float, float]], goal: tuple[float, float], nearest: Nearest
) -> list[tuple[float, float]]:
    """Stage 1 with limits: a nearest point moves on its sphere until the joint at the sphere's centre is within limits.

    ends: m in the plane, ends of all bones. Returns the ends of all but the last bone.
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


def bone_ends(m: NumberFunctions[N], bones: ChainLengths, flexions: Flexions[N]) -> list[tuple[N, N]]:
    """Return the ends of all bones that move the end, m in the plane."""
    ends = []
    heading, at_u, at_v = 0.0 * flexions[0], 0.0 * flexions[0], 0.0 * flexions[0]
    for length, flexion in zip(bones.lengths[: bones.count], flexions, strict=False):
        heading = heading + flexion
        cos, sin = m.cos_sin(heading)
        at_u, at_v = at_u + length * cos, at_v + length * sin
        ends.append((at_u, at_v))
    return ends


def backward(
    m: NumberFunctions[N], bones: ChainLengths, joints: list[tuple[N, N]], goal: tuple[N, N], beyond: Sequence[N] = ()
) -> tuple[Flexions[N], list[tuple[N, N]]]:
    """Stage 2: from the base outwards, direct each bone to its end as far as its joint's limits allow (line 1.28).

    beyond: the flexions of the middle and the last joint, which a chain of one bone keeps; longer chains need none.

    Returns the flexions, and the ends of all bones that move the end.
    """
    flexions, ends = [], []
    heading, at_u, at_v = 0.0 * goal[0], 0.0 * goal[0], 0.0 * goal[0]
    for bone in range(bones.count):
        to_u, to_v = goal if bone == bones.count - 1 else joints[bone]
        flexion = m.clip(wrap_angle(m.atan2(to_v - at_v, to_u - at_u) - heading), *bones.limits[bone])
        heading = heading + flexion
        cos, sin = m.cos_sin(heading)
        at_u, at_v = at_u + bones.lengths[bone] * cos, at_v + bones.lengths[bone] * sin
        flexions.append(flexion)
        ends.append((at_u, at_v))
    if bones.count == 2:
        flexions.append(m.clip(bones.ratio * flexions[1] + bones.coupling_offset, *bones.limits[2]))
    flexions += beyond[len(flexions) - 1 :]
    return (flexions[0], flexions[1], flexions[2]), ends


def nearest_point(m: NumberFunctions[N], centre: tuple[N, N], radius: float, point: tuple[N, N]) -> tuple[N, N]:
    """Return the point at `radius` from the centre that is nearest to `point`: FABRIK-CGA 3.4.2.1 in the plane."""
    u, v = point[0] - centre[0], point[1] - centre[1]
    distance = m.sqrt(u * u + v * v)
    # If point and centre coincide, all points on the circle are equally near.
    is_apart = distance > 1e-12
    scale = radius / m.where(is_apart, distance, 1.0)
    return centre[0] + m.where(is_apart, u * scale, -radius), centre[1] + m.where(is_apart, v * scale, 0.0)


def planar_fabrik(chain: Chain, end: ChainMarker, stopping: Stopping, nearest: Nearest = nearest_point) -> PlanarFabrik:
    """Prepare planar FABRIK for a chain and the marker that is its end."""
    bones = bones_to_marker(chain, end)
    return PlanarFabrik(chain, bones, exact_farthest_reach(bones), stopping, nearest)
