"""Solving with Amaya's table (thesis 3.4.2): it gives the last joint's position, and two links reach that."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS
from ...hand.model import HandModel
from ...hand.targets import Targets
from ..planar.planar_chain import BendResult, ChainMarker, MarkerHint
from ..planar.planar_plan import MarkedDigit, PlanarPlan
from ..planar.visible_markers import to_base_frame
from .linkage import Complex, Floats, exp_i, straight_tip, tip, two_link_angle
from .nearest_bend import clamp_around
from .recorded_table import RecordedTable
from .table_bend import PlanarTable

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class PlanarRecorded:
    """Bends a digit to bring its tip to its goal, by the recorded last joint if known, else by the uniform table."""

    exact: PlanarTable
    recorded: RecordedTable | None = None
    """The recorded table, indexed by the position of the marker."""

    def bend_frame(self, u: float, v: float, hints: list[MarkerHint[float]]) -> BendResult[float]:
        """See PlanarBend."""
        arrays = [MarkerHint(hint.marker, *(np.array([number]) for number in hint[1:])) for hint in hints]
        first, middle, last, error = (
            float(values[0]) for values in self.bend_frames(np.array([u]), np.array([v]), arrays)
        )
        return first, middle, last, error

    def bend_frames(self, u: Floats, v: Floats, hints: list[MarkerHint[Floats]]) -> BendResult[Floats]:
        """See PlanarBend."""
        joint = ChainMarker(1, float(self.exact.chain.lengths[1]))
        seen = next((hint for hint in hints if hint.marker == joint), None) if self.exact.linkage.bones == 3 else None
        if seen is None:
            return self.exact.bend_frames(u, v, hints)
        results, has_middle_marker = np.empty((4, len(u))), seen.weight > 0
        rows, other_rows = np.flatnonzero(has_middle_marker), np.flatnonzero(~has_middle_marker)
        if len(rows):
            results[:, rows] = self._two_links(u[rows] + 1j * v[rows], seen.u[rows] + 1j * seen.v[rows])
        if len(other_rows):
            other_hints = [
                MarkerHint(hint.marker, hint.u[other_rows], hint.v[other_rows], hint.weight[other_rows])
                for hint in hints
            ]
            results[:, other_rows] = self.exact.bend_frames(u[other_rows], v[other_rows], other_hints)
        return results[0], results[1], results[2], results[3]

    def _two_links(self, goal: Complex, joint: Complex) -> list[Floats]:
        """Return three flexions and the error for goals (N,) with the last joint at `joint` (N,)."""
        linkage, joint_depth = self.exact.linkage, 1j * self.exact.joint_depth
        goal, joint_position = goal - joint_depth, joint - joint_depth
        middle = two_link_angle(linkage.links[0], linkage.links[1], np.abs(joint_position), 1.0)
        first = np.angle(joint_position) - np.angle(straight_tip(linkage.links[:2], middle, middle))
        last = np.angle((goal - joint_position) * np.conj(exp_i(first + middle) * linkage.links[2]))
        flexions = clamp_around(np.stack([first, middle, last], -1), linkage.limits)
        return [*flexions.T, np.abs(tip(linkage.links, flexions) - goal)]


def with_last_joints(hand: HandModel, targets: Targets, recorded: Mapping[str, RecordedTable]) -> Targets:
    """Return the targets, with one more of weight 0 for each last joint that a recorded table can give."""
    joints = [hand.site_index(CHAIN_JOINTS[digit][2]) for digit in recorded]
    more = [site for site in joints if site not in targets.sites]
    return targets.with_sites(np.array(more, dtype=targets.sites.dtype))


def with_recorded(plan: PlanarPlan, recorded: Mapping[str, RecordedTable]) -> PlanarPlan:
    """Return the plan with the recorded tables, each indexed by the position of the marker on the last bone."""
    return replace(plan, digits=tuple(_with_table(marked, recorded.get(marked.digit.name)) for marked in plan.digits))


def _with_table(marked: MarkedDigit, table: RecordedTable | None) -> MarkedDigit:
    if table is None:
        return marked
    ends = []
    for end, aside in zip(marked.ends, marked.offsets, strict=True):
        bend = end.bend
        if end.marker.bone == 2 and isinstance(bend, PlanarRecorded):
            marker = np.array([aside, end.marker.along - marked.digit.lengths[2], end.marker.dorsal])
            bend = replace(bend, recorded=table.for_marker(marker) if marker.any() else table)
        ends.append(replace(end, bend=bend))
    return replace(marked, ends=tuple(ends))


def fill_in_last_joints(
    plan: PlanarPlan, targets: Targets, roots: Floats, first_added: int
) -> tuple[Targets, dict[str, int]]:
    """Fill in the last joints' positions from the recorded tables, in the target columns from `first_added` on.

    Returns the targets, and the number of frames in which each digit was outside the recorded positions; there the
    nearest recorded position is used. roots: (F, 4, 4) T_world_wrist.
    """
    positions, weights = targets.positions.copy(), targets.weights.copy()
    outside: dict[str, int] = {}
    root = np.transpose(np.broadcast_to(roots, (len(targets), 4, 4))[:, :3], (2, 1, 0))
    for marked in plan.digits:
        for mark, column in enumerate(marked.columns):
            joint = [added for added in marked.columns if added >= first_added]
            bend = marked.ends[mark].bend
            rows = np.flatnonzero(targets.weights[:, column] > 0)
            if not joint or not isinstance(bend, PlanarRecorded) or bend.recorded is None or not len(rows):
                continue
            local_positions = np.stack(to_base_frame(root[..., rows], marked, positions[rows, column].T), -1)
            tips, rotations, is_inside = bend.recorded.look_up(local_positions)
            last = tips - marked.digit.lengths[2] * rotations[..., 1]
            positions[rows, joint[0]] = _to_world(root[..., rows], marked, last)
            weights[rows, joint[0]] = 1.0
            outside[marked.digit.name] = outside.get(marked.digit.name, 0) + int((~is_inside).sum())
    return replace(targets, positions=positions, weights=weights), outside


def _to_world(root: Floats, marked: MarkedDigit, points: Floats) -> Floats:
    """Return points (N, 3) m of a digit's base frame in the world: the inverse of to_base_frame."""
    wrist = points @ np.array(marked.base_rows) + np.array(marked.origin)
    world: Floats = np.einsum("jin,nj->ni", root[:3], wrist) + root[3].T
    return world
