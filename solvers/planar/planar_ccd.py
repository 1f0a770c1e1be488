"""Cyclic coordinate descent in a digit's plane, to compare with FABRIK (Wang & Chen 1991, FABRIK-CGA's reference 15).

A sweep rotates one joint after another, the outermost first, to the angle within its limits at which the end is nearest
to its goal. A last joint that follows the middle one rotates with it: together they rotate the end about the point
between them that divides their distance by their rates, so that this coordinate has a closed form as well.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, cast

import numpy as np

from ...hand.scalar_math import SCALAR, N, NumberFunctions, Pick, wrap_angle
from .coupled_bend import CoupledBend
from .dip_offset import estimated_coupling_offset
from .planar_chain import BendResult, Chain, ChainMarker, Flexions, MarkerHint, bones_to_marker, end_error
from .planar_fabrik import Stopping, bone_ends
from .planar_reach import LIMIT_TOLERANCE_RAD, bend_coupled, exact_farthest_reach, farthest_reach

START_BENDS = tuple(math.radians(degrees) for degrees in (2, 4, 8, 16, 32, 64))
"""rad, middle joint's flexion relative to the straight digit in the starting poses; the nearest to the goal is used.

Near a straight digit, sweeps converge too slowly for a single starting pose."""
MIN_BATCH_ROWS = 16
"""Minimum number of frames of a batch; fewer are swept one by one in plain floats, which is faster."""
SWEEPS_PER_BATCH = 8
"""Number of sweeps after which finished frames are removed from a batch."""
UNDETERMINED_M2 = 1e-14
"""m², product of lever and goal distance below which all angles are equivalent, and the joint stays."""


class AngleCoupling(NamedTuple):
    """The coupling: last flexion = ratio · middle flexion + coupling_offset. Numbers or arrays (N,)."""

    ratio: Any
    coupling_offset: Any
    straight: Any
    """rad, the middle joint's flexion at which the end is farthest away."""
    square: Any
    """m², squared distance of the end from the base at `straight`."""


class Swept(NamedTuple, Generic[N]):
    """A pose after sweeps."""

    first: N
    middle: N
    last: N
    """rad, the flexions."""
    error: N
    """m, the end's distance from its goal."""
    sweeps: N
    """Number of sweeps."""


@dataclass(frozen=True, slots=True, eq=False)
class PlanarCcd(CoupledBend):
    """Bends a digit by coordinate descent to bring one marker as near to its goal as possible within limits."""

    stopping: Stopping

    def _bend(self, m: NumberFunctions[N], u: N, v: N, hints: list[MarkerHint[N]]) -> BendResult[N]:
        bones, shift = self.bones, self.bones.shift
        if bones.count == 1:
            first, middle, last, error = bend_coupled(
                m, bones, (u, v), cast(Any, bones.coupling_offset), cast(Any, self.far)
            )
        else:
            first, middle, last, error = self.descend(m, (u, v), self._coupling(m, (u, v), hints))[:4]
        return first + shift[0], middle + shift[1], last + shift[2], error

    def _coupling(self, m: NumberFunctions[N], goal: tuple[N, N], hints: list[MarkerHint[N]]) -> AngleCoupling:
        """Return the chain's own coupling, or the one estimated from inner markers."""
        bones = self.bones
        if not hints or bones.count < 3:
            return self.own_coupling()
        coupling_offset, last, determined = estimated_coupling_offset(m, self.chain, bones, goal, hints)
        far = farthest_reach(m, bones, coupling_offset)
        rigid = farthest_reach(m, replace(bones, ratio=0.0), last)
        pairs = ((0.0, bones.ratio), (last, coupling_offset), (rigid.bend, far.bend), (rigid.square, far.square))
        return AngleCoupling(*(m.where(determined, seen, coupled) for seen, coupled in pairs))

    def own_coupling(self) -> AngleCoupling:
        """Return the chain's own coupling."""
        return AngleCoupling(self.bones.ratio, self.bones.coupling_offset, self.far.bend, self.far.square)

    def descend(self, m: NumberFunctions[N], goal: tuple[N, N], coupling: AngleCoupling) -> Swept[N]:
        """Return the nearest pose that sweeps find from the starting poses; the last joint keeps its coupling.

        If a limit then keeps the end from its goal, the three joints rotate independently, starting from that pose and
        from a half-closed digit, because sweeps stall at a straight digit.
        """
        zero, stopping = 0.0 * goal[0], self.stopping
        # For a goal out of reach, the straight digit is the nearest pose; descent would converge to it too slowly.
        is_within_reach: Any = m.where(goal[0] * goal[0] + goal[1] * goal[1] >= coupling.square, zero, zero + 1.0)
        start, *alternatives = (
            self._start(m, goal, coupling, coupling.straight + bend * is_within_reach) for bend in START_BENDS
        )
        for alternative in alternatives:
            start = _nearer(m, start, alternative, 0.0)
        best_sweep = self._sweeps(m, goal, start, coupling)
        (low, high), (_, closed) = self.bones.limits[:2]
        is_at_limit: Any = (best_sweep.first <= low) | (best_sweep.first >= high) | (best_sweep.middle >= closed)
        has_missed: Any = is_at_limit & (best_sweep.error > stopping.tolerance)

        def rotate_alone(pick: Pick) -> Swept[N]:
            row_goal, row_coupling = (pick(goal[0]), pick(goal[1])), AngleCoupling(*map(pick, coupling))
            half = self._start(m, row_goal, row_coupling, (row_coupling.straight + pick(zero) + closed) / 2)
            from_best, from_half = (
                self._sweeps(m, row_goal, initial, None) for initial in (Swept(*map(pick, best_sweep)), half)
            )
            return _nearer(m, from_best, from_half, stopping.tolerance)

        return Swept(*m.recompute_where(has_missed, best_sweep, rotate_alone))

    def _start(self, m: NumberFunctions[N], goal: tuple[N, N], coupling: AngleCoupling, bend: N) -> Swept[N]:
        """Return the pose whose middle joint is bent by `bend`, rad, and whose first one points the end at the goal."""
        bones, zero = self.bones, 0.0 * goal[0]
        middle = m.clip(bend, *bones.limits[1])
        start = m.clip(zero, *bones.limits[0]), middle, _follow(m, self, middle, coupling)
        aimed = _rotate(m, self, start, goal, joint=0, coupling=coupling)
        return Swept(*aimed, end_error(m, bones, aimed, goal), zero)

    def iterate(self, goal: tuple[float, float], start: Flexions[float]) -> tuple[BendResult[float], int]:
        """See following.IteratedBend. All joints rotate independently; also returns the number of sweeps."""
        swept = self._sweeps(SCALAR, goal, Swept(*start, end_error(SCALAR, self.bones, start, goal), 0.0), None)
        return swept[:4], int(swept.sweeps)

    def _sweeps(
        self, m: NumberFunctions[N], goal: tuple[N, N], best_sweep: Swept[N], coupling: AngleCoupling | None
    ) -> Swept[N]:
        """Sweep each frame until it is at its goal or stalls. No frame ends farther from its goal than it started."""
        if m is not SCALAR and np.size(best_sweep.error) < MIN_BATCH_ROWS:
            return self._sweep_rows(goal, best_sweep, coupling)
        active: Any = best_sweep.error > self.stopping.tolerance
        for sweep_count in range(0, self.stopping.passes, SWEEPS_PER_BATCH):
            if not m.any(active):
                break
            count: int = min(SWEEPS_PER_BATCH, self.stopping.passes - sweep_count)

            def some_sweeps(pick: Pick, start: Any = best_sweep, times: int = count) -> Any:
                row_coupling = None if coupling is None else AngleCoupling(*map(pick, coupling))
                return self._some_sweeps(
                    m, (pick(goal[0]), pick(goal[1])), Swept(*map(pick, start)), row_coupling, times
                )

            swept: Any = m.recompute_where(active, (*best_sweep, 0.0 * best_sweep.error), some_sweeps)
            best_sweep, active = Swept(*swept[:5]), swept[5] > 0
        return best_sweep

    def _sweep_rows(self, goal: tuple[Any, Any], initial: Swept[Any], coupling: AngleCoupling | None) -> Swept[Any]:
        """Do the same as `_sweeps` in plain floats, row by row."""
        inputs = np.stack(np.broadcast_arrays(*goal, *initial, *(coupling or ())), -1).tolist()
        rows = [
            self._sweeps(SCALAR, (row[0], row[1]), Swept(*row[2:7]), AngleCoupling(*row[7:]) if coupling else None)
            for row in inputs
        ]
        return Swept(*np.array(rows).reshape(-1, 5).T)

    def _some_sweeps(
        self, m: NumberFunctions[N], goal: tuple[N, N], best_sweep: Swept[N], coupling: AngleCoupling | None, count: int
    ) -> tuple[Any, ...]:
        """Sweep frames that are off their goals `count` times.

        Returns the best poses, and 1 for frames that still improve, else 0.
        """
        stopping, active = self.stopping, cast(Any, best_sweep.error >= 0)
        for _ in range(count):
            flexions: Flexions[N] = sweep(m, self, best_sweep[:3], goal, coupling)
            error = end_error(m, self.bones, flexions, goal)
            is_nearer: Any = active & (error < best_sweep.error)
            has_progressed: Any = active & (error < best_sweep.error - stopping.stall)
            first, middle, last, min_error = (
                m.where(is_nearer, new, old) for new, old in zip((*flexions, error), best_sweep[:4], strict=True)
            )
            best_sweep = Swept(first, middle, last, min_error, best_sweep.sweeps + m.where(active, 1.0, 0.0))
            active = has_progressed & (error > stopping.tolerance)
        return *best_sweep, m.where(active, 1.0, 0.0)


def _nearer(m: NumberFunctions[N], current: Swept[N], alternative: Swept[N], margin: float) -> Swept[N]:
    """Return the current pose, or the alternative where its error is smaller by more than `margin` m; the sweeps
    of both are counted."""
    is_nearer: Any = alternative.error < current.error - margin
    first, middle, last, error = (
        m.where(is_nearer, new, old) for new, old in zip(alternative[:4], current[:4], strict=True)
    )
    return Swept(first, middle, last, error, current.sweeps + alternative.sweeps)


def sweep(
    m: NumberFunctions[N], bend: PlanarCcd, flexions: Flexions[N], goal: tuple[N, N], coupling: AngleCoupling | None
) -> Flexions[N]:
    """Return one sweep, the outermost joint first; the last joint follows the middle one unless `coupling` is None."""
    for joint in reversed(range(bend.bones.count if coupling is None else 2)):
        flexions = _rotate(m, bend, flexions, goal, joint=joint, coupling=coupling)
    return flexions


def _rotate(
    m: NumberFunctions[N],
    bend: PlanarCcd,
    flexions: Flexions[N],
    goal: tuple[N, N],
    *,
    joint: int,
    coupling: AngleCoupling | None,
) -> Flexions[N]:
    """Rotate one joint to the angle within its limits at which the end is nearest to its goal."""
    bones, old_angle = bend.bones, flexions[joint]
    ends = bone_ends(m, bones, flexions)
    (at_u, at_v), rate = ends[joint - 1] if joint else (0.0 * old_angle, 0.0 * old_angle), 1.0 + 0.0 * old_angle
    if joint == 1 and coupling is not None and bones.count == 3:
        low, high = bones.limits[2]
        last = coupling.ratio * old_angle + coupling.coupling_offset
        follows: Any = m.where((last > low - LIMIT_TOLERANCE_RAD) & (last < high), coupling.ratio, 0.0)
        rate = rate + follows
        at_u, at_v = (at_u + follows * ends[1][0]) / rate, (at_v + follows * ends[1][1]) / rate
    end_u, end_v, goal_u, goal_v = ends[-1][0] - at_u, ends[-1][1] - at_v, goal[0] - at_u, goal[1] - at_v
    cross, dot = end_u * goal_v - end_v * goal_u, end_u * goal_u + end_v * goal_v
    low, high = bones.limits[joint]
    centre = (low + high) / 2
    # Clip to the limit that leaves the end nearer.
    angle = m.clip(centre + wrap_angle(old_angle + m.atan2(cross, dot) / rate - centre), low, high)
    angle = m.where(abs(cross) + abs(dot) > UNDETERMINED_M2, angle, old_angle)
    if joint == 1 and coupling is not None:
        # Below the straight digit's flexion it would bend backwards.
        angle = m.where(angle > coupling.straight, angle, coupling.straight)
    new_flexions = [angle if index == joint else flexion for index, flexion in enumerate(flexions)]
    last = new_flexions[2] if coupling is None else _follow(m, bend, new_flexions[1], coupling)
    return new_flexions[0], new_flexions[1], last


def _follow(m: NumberFunctions[N], bend: PlanarCcd, middle: N, coupling: AngleCoupling) -> N:
    """Return the last joint's flexion that follows the middle one's."""
    return m.clip(coupling.ratio * middle + coupling.coupling_offset, *bend.bones.limits[2])


def planar_ccd(chain: Chain, end: ChainMarker, stopping: Stopping) -> PlanarCcd:
    """Prepare planar coordinate descent for a chain and the marker that is its end."""
    bones = bones_to_marker(chain, end)
    return PlanarCcd(chain, bones, exact_farthest_reach(bones), stopping)
