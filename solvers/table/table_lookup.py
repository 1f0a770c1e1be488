"""Look-up in the tables of several digits at once, for many frames.

The bend is interpolated between two rows and refined by a Newton step on the tip's squared distance, which leaves less
than a nanometre. Where the last joint reaches its limit the curve has a kink; within a row of it a step may cross to
the other side, and another one is taken from there.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .linkage import Floats
from .uniform_table import ROWS, TableBranch, UniformTable

Bools = NDArray[np.bool_]

STRAIGHT_TOLERANCE = 1e-12
"""m² of R² - r² below which a digit counts as fully extended, a few picometres short of it. Closer, rounding would
decide the bend, and a frame solved alone would differ from the same frame in a batch."""
MAX_LAST_STEP = 1e-4
"""rad, length of a Newton step that ends the iteration. The remaining error is about 0.1 m times its square."""
REACH_TOLERANCE = 1e-12
"""m², error of the squared distance within which a tip has reached its goal: 0.01 nm for a finger."""
MIN_SLOPE = 1e-12
"""m²/rad, derivative of the squared distance below which no step is taken."""
MAX_EXTRA_STEPS = 3
"""Maximum further steps after the first."""


@dataclass(frozen=True, slots=True, eq=False)
class LookupResult:
    """The bends of D digits in N frames."""

    bend: Floats
    """(D, N) rad, the middle joint's."""
    last: Floats
    """(D, N) rad"""
    along: Floats
    towards: Floats
    """(D, N) m, position of the tip while the first joint is straight."""
    reached: Bools
    """(D, N) whether the tip has the requested distance."""


@dataclass(frozen=True, slots=True, eq=False)
class TableRows:
    """One branch of each of D digits, side by side."""

    parameters: Floats
    """(12, D, 1): real and imaginary parts of the three links, ratio, coupling offset, the last joint's limits, and the
    smallest and the largest bend of the branch."""
    farthest: Floats
    """(D, 1) m², the squared distance at the branch's start."""
    straightest: Bools
    """(D, 1) whether the pose at the branch's start is the best for any goal farther away."""
    scale: Floats
    """(D, 1) rows per metre of s."""
    first_rows: NDArray[np.intp]
    """(D, 1) index of a digit's first row."""
    bends: Floats
    slopes: Floats
    """(D · (ROWS + 2),) rad, of each row, and the difference to the next row."""

    def look_up(self, squared: Floats) -> LookupResult:
        """Return the bends that put the tips at squared distances (D, N) m²."""
        shortfall = self.farthest - squared
        is_bent = shortfall > STRAIGHT_TOLERANCE
        position = np.minimum(np.sqrt(np.where(is_bent, shortfall, 0.0)) * self.scale, ROWS)
        row = position.astype(np.intp)
        position -= row
        row += self.first_rows
        bend = self.bends.take(row) + position * self.slopes.take(row)
        result = _newton_step(self.parameters, bend, squared, is_bent)
        result.reached[~is_bent] = ((shortfall > -STRAIGHT_TOLERANCE) | self.straightest)[~is_bent]
        for _ in range(MAX_EXTRA_STEPS):
            missed = np.nonzero(is_bent & ~result.reached)
            if not len(missed[0]):
                break
            better = _newton_step(
                self.parameters[:, missed[0], 0], result.bend[missed], squared[missed], is_bent[missed]
            )
            for name in result.__slots__:
                getattr(result, name)[missed] = getattr(better, name)
        return result


def stack_branches(tables: list[tuple[UniformTable, TableBranch]]) -> TableRows:
    """Stack the branches of these tables for a joint look-up."""
    columns = []
    for table, branch in tables:
        links = [part for link in table.linkage.links for part in (link.real, link.imag)]
        ends = sorted((branch.bends[0], branch.bends[-1]))
        columns.append([*links, table.linkage.ratio, table.linkage.coupling_offset, *table.linkage.limits[2], *ends])
    bends = np.concatenate([branch.bends for _, branch in tables])
    return TableRows(
        parameters=np.array(columns).T[..., None],
        farthest=np.array([[table.farthest**2] for table, _ in tables]),
        straightest=np.array([[table.straightest] for table, _ in tables]),
        scale=np.array([[1 / branch.step] for _, branch in tables]),
        first_rows=np.arange(len(tables))[:, None] * (ROWS + 2),
        bends=bends,
        slopes=np.diff(bends, append=0.0),
    )


def _newton_step(parameters: Floats, bend: Floats, squared: Floats, is_bent: Bools) -> LookupResult:
    """Return one Newton step from these bends, none where a digit is fully extended."""
    first_x, first_y, middle_x, middle_y, third_x, third_y, ratio, coupling_offset, low, high, minimum, maximum = (
        parameters
    )
    coupled = ratio * bend + coupling_offset
    last = np.minimum(np.maximum(coupled, low), high)
    follows = coupled == last
    third_x, third_y = _rotate(*cos_sin(last), third_x, third_y)
    cos_sin_bend = cos_sin(bend)
    outer_x, outer_y = _rotate(*cos_sin_bend, middle_x + third_x, middle_y + third_y)
    third_x, third_y = _rotate(*cos_sin_bend, third_x, third_y)
    end_x, end_y = first_x + outer_x, first_y + outer_y
    # The tip's motion per radian of bend.
    rate = ratio * follows
    moves_x, moves_y = -outer_y - rate * third_y, outer_x + rate * third_x
    error = (squared - end_x * end_x - end_y * end_y) * is_bent
    slope = 2 * (end_x * moves_x + end_y * moves_y)
    stepped = bend + error / np.where(np.abs(slope) > MIN_SLOPE, slope, np.inf)
    stepped = np.minimum(np.maximum(stepped, minimum), maximum)
    step = stepped - bend
    coupled = ratio * stepped + coupling_offset
    last = np.minimum(np.maximum(coupled, low), high)
    reached = (
        (np.abs(error - slope * step) <= REACH_TOLERANCE)
        & (np.abs(step) <= MAX_LAST_STEP)
        & ((coupled == last) == follows)
    )
    return LookupResult(stepped, last, end_x + moves_x * step, end_y + moves_y * step, reached)


def cos_sin(angle: Floats) -> tuple[Floats, Floats]:
    """Return cosine and sine of angles within ±π by the half-angle tangent: one slow function instead of two."""
    tangent = np.tan(0.5 * angle)
    square = tangent * tangent
    scale = 1.0 / (1.0 + square)
    return (1.0 - square) * scale, 2.0 * tangent * scale


def _rotate(cosine: Floats, sine: Floats, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    return cosine * x - sine * y, sine * x + cosine * y
