"""A digit in its plane as a chain of up to three complex links, which include the hidden links of circular joints.

The plane is the complex numbers: the real axis points along the straight digit, the imaginary axis towards the palm,
and a bone rotated by θ is its link times exp(iθ).

Lu's thesis (1997, chapter 4) puts a marker on the back of each joint and models the joint as a circle of radius r, so
that bending moves the two bones apart by a hidden link d = 2 r sin(θ/2) (Table 4.4) with the angle θ/2 (4.5-4.7). Since

    2 r sin(θ/2) exp(iθ/2) = i r - i r exp(iθ)

the hidden link goes down to the circle's centre before the joint's rotation and up again after it. So the five links of
(4.8) are three, each including the radii at its ends:

    tip = (l1 + i r2) + (l2 + i (r3 - r2)) exp(iθ2) + (l3 - i r3) exp(i(θ2 + θ3))

The thesis omits the knuckle's hidden link, since it measures the position of that joint. A marker above the knuckle is
fixed to the palm while the bone rotates r1 below it: then the chain starts at i r1, and l1 becomes l1 - i r1.

The end of a link may also be a marker on the back of a bone; with radii of zero the links are the three bones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..planar.planar_chain import Chain, ChainMarker

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

STRAIGHT_TOLERANCE = 1e-10
"""Difference of a joint's cosine from 1 or -1 within which it counts as straight or folded: some picometres at the tip.
Nearer, rounding would decide the bend, and a single frame would differ from the same frame in a batch."""


@dataclass(frozen=True, slots=True, eq=False)
class Linkage:
    """One digit up to the marker that is brought to its goal. Lengths in m, angles in rad."""

    links: tuple[complex, ...]
    """(bones,) 1 to 3; the last one ends at the marker."""
    limits: Floats
    """(3, 2) lowest and highest flexion of each joint."""
    ratio: float
    coupling_offset: float
    """rad. The last joint's flexion is ratio · the middle joint's + coupling_offset; the ratio is ρ of the thesis."""

    @property
    def bones(self) -> int:
        """Number of bones up to the marker, which is also the number of joints that move it."""
        return len(self.links)

    def coupled_flexion(self, middle: Floats) -> Floats:
        """Return the last joint's flexion, rad, that follows the middle joint's by the coupling, within its limits."""
        flexion: Floats = np.minimum(
            np.maximum(self.ratio * middle + self.coupling_offset, self.limits[2, 0]), self.limits[2, 1]
        )
        return flexion

    def coupling_deviation(self, flexions: Floats) -> Floats:
        """Return how far the last joint of poses (..., 3) deviates from the coupling, rad.

        With two bones, return the negative of the second joint's flexion instead, which is least where it bends most
        towards the palm.
        """
        deviation = flexions[..., 2] - self.coupled_flexion(flexions[..., 1])
        return np.abs(deviation) if self.bones == 3 else -flexions[..., 1]


def linkage(chain: Chain, marker: ChainMarker, radii: Floats) -> Linkage:
    """Return the links of a chain up to a marker on one of its bones; radii (3,) m of its joints.

    The chain starts at the first joint's centre, radii[0] m below the marker on its back, which does not move.
    """
    links = [complex(length) for length in chain.lengths[: marker.bone]] + [complex(marker.along, -marker.dorsal)]
    for joint, link in enumerate(links):
        end_radius = float(radii[joint + 1]) if joint + 1 < len(links) else 0.0
        links[joint] = link + 1j * (end_radius - float(radii[joint]))
    return Linkage(tuple(links), chain.limits, chain.ratio, chain.coupling_offset)


def exp_i(angle: Floats) -> Complex:
    """Return exp(i angle)."""
    result = np.empty(np.shape(angle), complex)
    result.real, result.imag = np.cos(angle), np.sin(angle)
    return result


def straight_tip(links: tuple[complex, ...], middle: Floats, last: Floats) -> Complex:
    """Return the position of the marker while the first joint is straight."""
    tip = np.full(np.shape(middle), links[0])
    if len(links) > 1:
        tip = tip + links[1] * exp_i(middle)
    if len(links) > 2:
        tip = tip + links[2] * exp_i(middle + last)
    return tip


def tip(links: tuple[complex, ...], flexions: Floats) -> Complex:
    """Return the position (N,) of the marker at flexions (N, 3)."""
    position: Complex = exp_i(flexions[..., 0]) * straight_tip(links, flexions[..., 1], flexions[..., 2])
    return position


def two_link_angle(
    first: complex | Complex, second: complex | Complex, distance: Floats, side: float | Floats
) -> Floats:
    """Return the rotation of the second link relative to the first that puts the end at `distance` m from the start.

    By the law of cosines, as in the thesis. side: 1 to bend towards the palm, -1 for the other solution. If `distance`
    is out of reach, the links are straight or folded. The result is 0 if a link has no length.
    """
    a, b = np.abs(first), np.abs(second)
    scale = 2 * a * b
    cosine = (distance * distance - a * a - b * b) / np.where(scale > 0, scale, 1.0)
    bend = np.arccos(np.where(np.abs(cosine) > 1.0 - STRAIGHT_TOLERANCE, np.sign(cosine), cosine))
    angle: Floats = np.where(scale > 0, side * bend - np.angle(second) + np.angle(first), 0.0)
    return angle
