"""Look-up in one branch of one table, for one frame in plain floats: ten times as fast as table_lookup.py."""

import math
from dataclasses import dataclass

from .table_lookup import MAX_LAST_STEP, MIN_SLOPE, REACH_TOLERANCE, STRAIGHT_TOLERANCE
from .uniform_table import ROWS, TableBranch, UniformTable


@dataclass(frozen=True, slots=True, eq=False)
class ScalarLookup:
    """The numbers of a Linkage and one branch of TableRows, see there."""

    links: tuple[float, float, float, float, float, float]
    ratio: float
    coupling_offset: float
    first_limits: tuple[float, float]
    last_limits: tuple[float, float]
    ends: tuple[float, float]
    """rad, the smallest and the largest bend of the branch."""
    farthest: float
    """m², R²."""
    straightest: bool
    scale: float
    bends: list[float]
    slopes: list[float]
    joint_depth: float
    """m, the depth of the first joint's centre below its marker."""

    def read(self, u: float, v: float) -> tuple[float, float, float, float] | None:
        """Return three flexions that bring the tip to (u, v) m, and the error in m.

        None where that takes more than one Newton step or the table's pose violates a limit.
        """
        squared = u * u + v * v
        shortfall = self.farthest - squared
        is_bent = shortfall > STRAIGHT_TOLERANCE
        if is_bent:
            position = math.sqrt(shortfall) * self.scale
            if position > ROWS:
                return None
            row = int(position)
            bend = self.bends[row] + (position - row) * self.slopes[row]
        elif self.straightest or shortfall > -STRAIGHT_TOLERANCE:
            bend = self.bends[0]
        else:
            return None
        low, high = self.last_limits
        coupled = self.ratio * bend + self.coupling_offset
        last = low if coupled < low else high if coupled > high else coupled
        follows = self.ratio if last == coupled else 0.0
        ax, ay, bx, by, cx, cy = self.links
        cosine, sine = math.cos(last), math.sin(last)
        x, y = cosine * cx - sine * cy, sine * cx + cosine * cy
        cosine, sine = math.cos(bend), math.sin(bend)
        bx, by = bx + x, by + y
        bx, by = cosine * bx - sine * by, sine * bx + cosine * by
        x, y = cosine * x - sine * y, sine * x + cosine * y
        x_sum, y_sum = ax + bx, ay + by
        if is_bent:
            error = squared - x_sum * x_sum - y_sum * y_sum
            x, y = -by - follows * y, bx + follows * x
            slope = 2 * (x_sum * x + y_sum * y)
            step = error / slope if abs(slope) > MIN_SLOPE else 0.0
            bend += step
            coupled = self.ratio * bend + self.coupling_offset
            last = low if coupled < low else high if coupled > high else coupled
            inside = self.ends[0] <= bend <= self.ends[1] and abs(error - slope * step) <= REACH_TOLERANCE
            if not inside or abs(step) > MAX_LAST_STEP or (last == coupled) != (follows != 0.0):
                return None
            x_sum += x * step
            y_sum += y * step
        first = math.atan2(v * x_sum - u * y_sum, u * x_sum + v * y_sum)
        if not self.first_limits[0] <= first <= self.first_limits[1]:
            return None
        return first, bend, last, 0.0 if is_bent else max(math.sqrt(squared) - math.sqrt(self.farthest), 0.0)


def scalar_lookup(table: UniformTable, branch: TableBranch, joint_depth: float = 0.0) -> ScalarLookup:
    """Prepare the look-up in a branch of a table."""
    linkage = table.linkage
    first, middle, third = linkage.links
    bends = branch.bends.tolist()
    low, high = sorted((bends[0], bends[-1]))
    limits = [(float(minimum), float(maximum)) for minimum, maximum in linkage.limits]
    return ScalarLookup(
        links=(first.real, first.imag, middle.real, middle.imag, third.real, third.imag),
        ratio=linkage.ratio,
        coupling_offset=linkage.coupling_offset,
        first_limits=limits[0],
        last_limits=limits[2],
        ends=(low, high),
        farthest=table.farthest**2,
        straightest=table.straightest,
        scale=1 / branch.step,
        bends=bends,
        slopes=[next_bend - bend for bend, next_bend in zip(bends, [*bends[1:], bends[-1]], strict=True)],
        joint_depth=joint_depth,
    )
