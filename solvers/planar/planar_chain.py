"""A digit in its plane: three bones with hinge limits, the last joint coupled to the middle one.

In the plane, u runs along the straight digit and v towards the palm. A bone's heading is the sum of the flexions up to
it; its direction is (cos, sin) of the heading. Angles are in rad, lengths in m.

The functions take one frame in plain floats or many in arrays (see hand.scalar_math).
"""

import math
from dataclasses import dataclass
from typing import Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import N, NumberFunctions

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Three bones in a plane with hinge limits and a coupling of the last joint to the middle one."""

    lengths: Floats
    """(3,) m."""
    limits: Floats
    """(3, 2) rad, lower and upper limit of each joint's flexion."""
    ratio: float
    """Slope of the coupling: last flexion = ratio · middle flexion + coupling_offset."""
    coupling_offset: float


@dataclass(frozen=True, slots=True)
class ChainMarker:
    """A point fixed to a bone: a marker, or the bone's end."""

    bone: int
    """0, 1 or 2."""
    along: float
    """m along the bone from its start."""
    dorsal: float = 0.0
    """m out of the bone's back."""


class MarkerHint(NamedTuple, Generic[N]):
    """Observed position of an inner marker."""

    marker: ChainMarker
    u: N
    v: N
    """m in the plane."""
    weight: N
    """0: not seen."""


BendResult = tuple[N, N, N, N]
"""Three flexions, rad, and the end's distance from its goal, m."""
Flexions = tuple[N, N, N]


@dataclass(frozen=True, slots=True)
class ChainLengths:
    """A chain up to the marker that is its end, as straight lines from joint to joint and to the marker.

    A marker on the back of a bone is the end of a slightly longer bone that is raised by a fixed angle. In a batch of
    several digits, a number that differs between them is an array (N,) with one entry for each row.
    """

    count: int
    """Number of bones that move the end, 1 to 3."""
    lengths: tuple[float, float, float]
    """m; 0 beyond the end."""
    limits: tuple[tuple[float, float], tuple[float, float], tuple[float, float]]
    ratio: float
    coupling_offset: float
    shift: tuple[float, float, float]
    """rad, flexions of the chain minus flexions of these bones."""

    @property
    def straightest(self) -> float:
        """rad, minimum flexion of the middle joint: fingers are assumed not to bend backwards there."""
        low, high = self.limits[1]
        return min(max(0.0, low), high)


def bones_to_marker(chain: Chain, end: ChainMarker) -> ChainLengths:
    """Reduce a chain to the bones that bring a marker to its goal."""
    raised = math.atan2(end.dorsal, end.along)
    lengths = [float(length) if bone < end.bone else 0.0 for bone, length in enumerate(chain.lengths)]
    lengths[end.bone] = math.hypot(end.dorsal, end.along)
    shift = [raised if bone == end.bone else 0.0 for bone in range(3)]
    limits = [
        (float(low) - raised_by, float(high) - raised_by)
        for (low, high), raised_by in zip(chain.limits, shift, strict=True)
    ]
    coupling_offset = chain.coupling_offset + (
        chain.ratio * raised if end.bone == 1 else -raised if end.bone == 2 else 0.0
    )
    a, b, c = lengths
    return ChainLengths(
        end.bone + 1,
        (a, b, c),
        (limits[0], limits[1], limits[2]),
        chain.ratio,
        coupling_offset,
        (shift[0], shift[1], shift[2]),
    )


def end_position(m: NumberFunctions[N], bones: ChainLengths, flexions: Flexions[N]) -> tuple[N, N]:
    """Return the end's position in the plane."""
    a, b, c = bones.lengths
    first, middle, last = flexions
    second = first + middle
    headings = m.cos_sin(first), m.cos_sin(second), m.cos_sin(second + last)
    (cos, sin), (cos_second, sin_second), (cos_third, sin_third) = headings
    return a * cos + b * cos_second + c * cos_third, a * sin + b * sin_second + c * sin_third


def end_error(m: NumberFunctions[N], bones: ChainLengths, flexions: Flexions[N], goal: tuple[N, N]) -> N:
    """Return the distance from the end to its goal, m."""
    return distance(m, end_position(m, bones, flexions), goal)


def distance(m: NumberFunctions[N], a: tuple[N, N], b: tuple[N, N]) -> N:
    """Return the distance between two points of the plane, m."""
    u, v = a[0] - b[0], a[1] - b[1]
    return m.sqrt(u * u + v * v)


def marker_position(m: NumberFunctions[N], chain: Chain, marker: ChainMarker, flexions: Flexions[N]) -> tuple[N, N]:
    """Return a marker's position in the plane at these flexions of the chain."""
    heading, u, v = flexions[0], 0.0 * flexions[0], 0.0 * flexions[0]
    for bone in range(marker.bone):
        cos, sin = m.cos_sin(heading)
        u, v = u + float(chain.lengths[bone]) * cos, v + float(chain.lengths[bone]) * sin
        heading = heading + flexions[bone + 1]
    cos_heading, sin_heading = m.cos_sin(heading)
    return (
        u + marker.along * cos_heading + marker.dorsal * sin_heading,
        v + marker.along * sin_heading - marker.dorsal * cos_heading,
    )
