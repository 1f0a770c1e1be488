"""One hand of a performer: its measurements, its own couplings and limits, and the model built from them."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import HandError
from .calibration.joint_radii import by_size
from .calibration.skin_markers.model import WornHand
from .joints import CHAIN_JOINTS, DIGITS, Side, digit_of
from .limits import DEFAULT_LIMITS, DIP_PER_PIP, AngleLimits, CouplingRow
from .marker_sets import Spot
from .measurements import Kind, Measure, told
from .model import HandModel
from .proportions import Proportions, build

Floats = NDArray[np.float64]

Rho = tuple[float | None, ...]
LOST = 1.0
"""Degrees of its range that a joint may lose through a coupling to a joint with narrower limits."""
NO_RHO: Rho = (None,) * len(DIGITS)


def _unknown() -> Floats:
    """Return an empty array, which stands for 'not given'."""
    return np.zeros((0, 3))


@dataclass(frozen=True, eq=False)
class MeasuredHand:
    """A hand's measurements, and where its markers sit.

    Raises:
        HandError: limits or couplings name movements that the hand does not have, or no angles fulfil them.
    """

    proportions: Proportions
    spots: dict[str, Spot]
    """Label -> where the marker sits."""
    rho: Rho = NO_RHO
    """(5,) DIP flexion per PIP flexion of each digit, thesis (4.3). None: a finger's is the usual ratio; the thumb's
    joints bend independently."""
    radii: Floats = field(default_factory=_unknown)
    """(5, 3) m, radii of each digit's MCP, PIP and DIP (thumb: CMC, MCP, IP), thesis (4.4); by default from the hand's
    size."""
    limits: AngleLimits = field(default_factory=dict)
    """Degrees, only those that differ from DEFAULT_LIMITS."""
    measures: tuple[Measure, ...] = ()
    """How all this was measured, and how certain it is."""
    motion: Floats = field(default_factory=_unknown)
    """(N, D) rad, the model's angles in frames of free motion; empty if no such clip was solved."""
    uncoupled: frozenset[str] = frozenset()
    """Digits whose DIP does not follow the PIP."""
    worn: WornHand | None = None
    """The fit with markers on the skin, if there was one."""

    def __post_init__(self) -> None:
        if not len(self.radii):
            object.__setattr__(self, "radii", by_size(self.proportions))
        self.radii.setflags(write=False)
        _check_limits(self.proportions.side, self.all_limits, self.couplings)

    @property
    def all_limits(self) -> AngleLimits:
        """DEFAULT_LIMITS, overridden by the hand's own."""
        return DEFAULT_LIMITS | self.limits

    @property
    def couplings(self) -> tuple[CouplingRow, ...]:
        """A row θ_dip = ρ θ_pip for each digit that is coupled, thesis (4.2) with the misprinted sides exchanged."""
        usual = [None if digit == "thumb" else DIP_PER_PIP for digit in DIGITS]
        slopes = [other if own is None else own for own, other in zip(self.rho, usual, strict=True)]
        return tuple(
            CouplingRow(((CHAIN_JOINTS[digit][2], "flexion", 1.0), (CHAIN_JOINTS[digit][1], "flexion", -slope)))
            for digit, slope in zip(DIGITS, slopes, strict=True)
            if slope is not None and digit not in self.uncoupled
        )

    def within(self, allowed: AngleLimits) -> "MeasuredHand":
        """Return the hand restricted to a rig's limits.

        A digit's DIP no longer follows its PIP where the rig's limits of the DIP would thereby restrict the PIP.

        Args:
            allowed: degrees, for the movements that the rig limits.
        """
        limits = self.limits | allowed
        held = (row for row in self.couplings if _holds_back(row, self.all_limits, self.all_limits | allowed))
        free = self.uncoupled | {digit for row in held if (digit := digit_of(row.terms[0][0]))}
        fitted = replace(self, limits=limits, uncoupled=free, motion=_unknown())
        motion = np.clip(self.motion, *fitted.model.limits.T) if len(self.motion) else self.motion
        return replace(fitted, motion=motion)

    def thickness(self, digit: str) -> Floats:
        """Depth (3,) m of a digit's joints below the line of its markers, thesis (4.4).

        These are the radii, if they were measured or entered and the markers, on the joints' backs, are placed at the
        joints. Zero if the radii are only the usual ones for a hand of this size, or if markers are placed at offsets
        from the joints, which already account for it.
        """
        row, joints = DIGITS.index(digit), CHAIN_JOINTS[digit]
        usual = np.allclose(self.radii[row], by_size(self.proportions)[row], rtol=0, atol=1e-5)
        beside = any(any(spot.offset) for spot in self.spots.values() if spot.joint in joints)
        return np.zeros(3) if usual or beside else self.radii[row]

    @cached_property
    def model(self) -> HandModel:
        """The hand model that solvers use."""
        return build(self.proportions, self.all_limits, self.couplings)

    def mirrored(self) -> "MeasuredHand":
        """Return the same person's other hand. Its marker positions are unknown."""
        return replace(self, proportions=self.proportions.mirrored(), spots={}, worn=None)

    def measure(self, kind: Kind, of: str) -> Measure | None:
        """Return how one of the values was measured, None if that is unknown."""
        return next((one for one in self.measures if (one.kind, one.of) == (kind, of)), None)

    def table(self) -> list[str]:
        """Format the digits' measurements as lines of text, with standard deviations where known."""
        lines = [f"{'':16}{'bones, mm':36}{'rho':15}joint radii, mm"]
        for row, digit in enumerate(DIGITS):
            joints, rho = CHAIN_JOINTS[digit][:3], self.rho[row]
            lengths = zip(1000 * self.proportions.phalanges[row], joints, strict=True)
            bones = [told(float(value), self.measure("bone", joint), 1) for value, joint in lengths]
            thickness = zip(1000 * self.radii[row], joints, strict=True)
            radii = [told(float(value), self.measure("radius", joint), 1) for value, joint in thickness]
            slope = "-" if rho is None else told(rho, self.measure("rho", digit), 2)
            cells = [f"{digit:16}", *(f"{cell:12}" for cell in bones), f"{slope:15}", *(f"{cell:12}" for cell in radii)]
            lines.append("".join(cells).rstrip())
        return lines


def with_markers(measured: MeasuredHand, worn: WornHand) -> MeasuredHand:
    """Return a hand with the bones, limits and marker positions of a fit with markers on the skin."""
    kept = tuple(one for one in measured.measures if one.kind in ("rho", "radius"))
    limits = measured.limits | worn.limits
    return replace(
        measured,
        proportions=worn.proportions,
        spots=worn.spots(),
        limits=limits,
        measures=kept,
        motion=_unknown(),
        worn=worn,
    )


def _holds_back(row: CouplingRow, own: AngleLimits, fewer: AngleLimits) -> bool:
    """Whether a DIP coupling would restrict the PIP more under limits `fewer` than under the hand's `own`.

    For example, a DIP that a rig limits to 30 degrees would limit the PIP to 45.
    """
    (last, of_last, _), (middle, of_middle, slope) = row.terms

    def room(limits: AngleLimits) -> tuple[float, float]:
        """Degrees of the PIP's range that the DIP can follow, and degrees that it cannot."""
        (low, high), (low_last, high_last) = limits[middle, of_middle], limits[last, of_last]
        shared = min(high, high_last / -slope) - max(low, low_last / -slope)
        return shared, high - low - shared

    shared, lost = room(fewer)
    return shared < 0 or lost > room(own)[1] + LOST


def _check_limits(side: Side, limits: AngleLimits, couplings: tuple[CouplingRow, ...]) -> None:
    """Raise HandError for a range whose ends are swapped, or that leaves a coupling no angles."""
    for (joint, movement), (low, high) in limits.items():
        if not low <= high:
            raise HandError(
                f"{side} hand: the {joint} {movement} is limited to {low:g}..{high:g} degrees, "
                "the first must be the smaller"
            )
    for row in couplings:
        ends = [sorted(factor * limit for limit in limits[joint, movement]) for joint, movement, factor in row.terms]
        least, most = (sum(end) for end in zip(*ends, strict=True))
        if least > row.upper or most < row.lower:
            named = " and ".join(f"{joint} {movement}" for joint, movement, _ in row.terms)
            ranges = " and ".join("{:g}..{:g}".format(*limits[joint, movement]) for joint, movement, _ in row.terms)
            raise HandError(f"{side} hand: {named} are limited to {ranges} degrees, their coupling has no angles there")
