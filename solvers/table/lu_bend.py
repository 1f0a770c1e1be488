"""Lu's tables as a planar solver's bend step."""

from dataclasses import dataclass, replace

import numpy as np

from ..planar.planar_chain import BendResult, ChainMarker, MarkerHint
from .linkage import Floats, tip
from .lu_table import Angles, LuTable, build_index_table, build_thumb_table, joint_angles
from .nearest_bend import clamp_around
from .table_bend import PlanarTable


@dataclass(frozen=True, slots=True, eq=False)
class PlanarLu:
    """Bends a digit to bring a marker to its goal, near the pose of the previous frame."""

    exact: PlanarTable
    """The exact table, for markers on the first two bones, which the thesis does not cover."""
    index: LuTable | None
    thumb: LuTable | None
    """The table from the end of the first bone, for frames in which that point is seen; None for fingers."""
    before: Angles = (0.0, 0.0, 0.0)
    """rad, the flexions of the frame before."""

    def after(self, flexions: Angles) -> "PlanarLu":
        """Return the bend for the frame after one with these flexions."""
        return replace(self, before=flexions)

    def bend_frame(self, u: float, v: float, hints: list[MarkerHint[float]]) -> BendResult[float]:
        """See PlanarBend."""
        if self.index is None or self.thumb is None:
            return self.exact.bend_frame(u, v, hints)
        linkage, joint_depth = self.exact.linkage, self.exact.joint_depth
        goal = complex(u, v - joint_depth)
        first_end = ChainMarker(0, float(self.exact.chain.lengths[0]))
        knuckle = next(
            (complex(hint.u, hint.v - joint_depth) for hint in hints if hint.marker == first_end and hint.weight > 0),
            None,
        )
        if knuckle is None:
            flexions = joint_angles(self.index, abs(goal), float(np.angle(goal)), self.before)
        else:
            outer_goal = (goal - knuckle) * np.exp(-1j * np.angle(knuckle))
            previous = (*self.before[1:], 0.0)
            middle, last, _ = joint_angles(self.thumb, abs(outer_goal), float(np.angle(outer_goal)), previous)
            flexions = float(np.angle(knuckle)), middle, last
        clamped = clamp_around(np.array(flexions), linkage.limits)
        first, middle, last = clamped.tolist()
        return first, middle, last, float(abs(tip(linkage.links, clamped) - goal))

    def bend_frames(self, u: Floats, v: Floats, hints: list[MarkerHint[Floats]]) -> BendResult[Floats]:
        """See PlanarBend. Frames are solved one by one, each near the previous one."""
        bend, results = self, np.empty((4, len(u)))
        for row in range(len(u)):
            seen = [MarkerHint(hint.marker, *(float(number[row]) for number in hint[1:])) for hint in hints]
            result = bend.bend_frame(float(u[row]), float(v[row]), seen)
            results[:, row] = result
            bend = bend.after(result[:3])
        return results[0], results[1], results[2], results[3]


def planar_lu(exact: PlanarTable, precision: float, coupled: bool) -> PlanarLu:
    """Build Lu's tables for a digit and one of its markers. precision: in mm and degrees. coupled: by ρ."""
    linkage = exact.linkage
    if linkage.bones < 3:
        return PlanarLu(exact, None, None)
    index = build_index_table(linkage, precision, coupled)
    return PlanarLu(exact, index, build_thumb_table(linkage, precision))
