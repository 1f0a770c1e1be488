"""A digit in its plane as three complex links, which also hold the hidden links of circular joints.

The plane is the complex numbers: the real axis runs along the straight digit, the imaginary one towards the palm, and
a bone that is turned by θ is its link times exp(iθ).

The thesis puts a marker on the back of each joint and lets the joint be a circle of radius r, so that bending moves the
two bones apart by a hidden link of d = 2 r sin(θ/2) (Table 4.4) that turns by θ/2 (4.5-4.7). Since

    2 r sin(θ/2) exp(iθ/2) = i r - i r exp(iθ)

the hidden link is the way down to the circle's centre before the joint turns and the way up again after it. So the
five links of (4.8) are three, each with the radii at its ends taken in:

    tip = (l1 + i r2) + (l2 + i (r3 - r2)) exp(iθ2) + (l3 - i r3) exp(i(θ2 + θ3))

The thesis leaves the knuckle's hidden link out, since it measures the place of the joint. A marker over the knuckle
stands still on the palm while the bone turns r1 below it: then the tip is seen from i r1, and l1 is l1 - i r1.

A marker on the back of a bone is the end of such a link, too, and radii of zero are the ordinary three bones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..planar.planar_chain import Chain, ChainMarker

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

STRAIGHT = 1e-10
"""How near a corner's cosine is to 1 or -1 where it counts as straight or folded: some picometres of the tip. Nearer,
rounding would decide the bend, and a frame solved alone would differ from the same one in a batch."""


@dataclass(frozen=True, slots=True, eq=False)
class Linkage:
    """One digit up to the rider that is brought to its goal. Lengths in m, angles in rad."""

    links: tuple[complex, ...]
    """(bones,) 1 to 3, the last one ends in the rider."""
    limits: Floats
    """(3, 2) lowest and highest flexion of each joint."""
    ratio: float
    lead: float
    """The last joint bends ratio · the middle one's bend + lead: ρ of the thesis."""

    @property
    def bones(self) -> int:
        """How many joints move the rider."""
        return len(self.links)

    def last(self, bend: Floats) -> Floats:
        """The last joint's bend that goes with the middle one's, within its limits."""
        together: Floats = np.minimum(np.maximum(self.ratio * bend + self.lead, self.limits[2, 0]), self.limits[2, 1])
        return together

    def strayed(self, flexions: Floats) -> Floats:
        """(...) rad by which the last joint does not follow the middle one; of two, how far the second bends back."""
        away = flexions[..., 2] - self.last(flexions[..., 1])
        return np.abs(away) if self.bones == 3 else -flexions[..., 1]


def linkage(chain: Chain, rider: ChainMarker, radii: Floats) -> Linkage:
    """The links of a chain up to a rider on one of its bones; radii (3,) m of its joints.

    The links begin in the first joint's centre, radii[0] m below the marker on its back, which stays where it is.
    """
    ends = [complex(length) for length in chain.lengths[: rider.bone]] + [complex(rider.along, -rider.dorsal)]
    for joint, end in enumerate(ends):
        beyond = float(radii[joint + 1]) if joint + 1 < len(ends) else 0.0
        ends[joint] = end + 1j * (beyond - float(radii[joint]))
    return Linkage(tuple(ends), chain.limits, chain.ratio, chain.lead)


def unit(angle: Floats) -> Complex:
    """exp(i angle)."""
    turned = np.empty(np.shape(angle), complex)
    turned.real, turned.imag = np.cos(angle), np.sin(angle)
    return turned


def straight_tip(links: tuple[complex, ...], middle: Floats, last: Floats) -> Complex:
    """Where the rider is while the first joint is straight."""
    tip = np.full(np.shape(middle), links[0])
    if len(links) > 1:
        tip = tip + links[1] * unit(middle)
    if len(links) > 2:
        tip = tip + links[2] * unit(middle + last)
    return tip


def tip(links: tuple[complex, ...], flexions: Floats) -> Complex:
    """(N,) where the rider is, from flexions (N, 3)."""
    there: Complex = unit(flexions[..., 0]) * straight_tip(links, flexions[..., 1], flexions[..., 2])
    return there


def between(first: complex | Complex, second: complex | Complex, distance: Floats, side: float | Floats) -> Floats:
    """The turn of the second link against the first that puts the end at a distance from the beginning, by the cosine
    rule: the closed form that the thesis takes from Craig.

    side: 1 for the bend towards the palm, -1 for the other one. Out of reach, the links are as straight or as folded as
    they go. Links of no length turn by nothing.
    """
    one, two = np.abs(first), np.abs(second)
    twice = 2 * one * two
    cosine = (distance * distance - one * one - two * two) / np.where(twice > 0, twice, 1.0)
    corner = np.arccos(np.where(np.abs(cosine) > 1.0 - STRAIGHT, np.sign(cosine), cosine))
    turn: Floats = np.where(twice > 0, side * corner - np.angle(second) + np.angle(first), 0.0)
    return turn
