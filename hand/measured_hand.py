"""One hand of a performer: its measures, the couplings and limits that are its own, and the hand built of them."""

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
"""Degrees of its own range that a joint may lose to one that follows it, for being limited."""
NO_RHO: Rho = (None,) * len(DIGITS)


def _unknown() -> Floats:
    """The shape of 'not given'."""
    return np.zeros((0, 3))


@dataclass(frozen=True, eq=False)
class MeasuredHand:
    """One hand's measures, and where on it the markers were found to sit.

    Raises HandError for limits or couplings that the hand does not have, or that no angles could fulfil.
    """

    proportions: Proportions
    spots: dict[str, Spot]
    """label -> spot."""
    rho: Rho = NO_RHO
    """(5,) how much the last joint of each digit bends with its middle one, thesis (4.3). None: a finger's is the
    usual one, a thumb's joints bend independently."""
    radii: Floats = field(default_factory=_unknown)
    """(5, 3) m, of each digit's MCP, PIP and DIP (thumb: CMC, MCP, IP), thesis (4.4); not given: by its size."""
    limits: AngleLimits = field(default_factory=dict)
    """Degrees, what differs from the usual limits."""
    measures: tuple[Measure, ...] = ()
    """How all this was measured, and how sure it is."""
    motion: Floats = field(default_factory=_unknown)
    """(N, D) rad, the angles of its model in frames of free motion; none where no such clip was solved."""
    uncoupled: frozenset[str] = frozenset()
    """Digits whose last joint does not follow its middle one."""
    worn: WornHand | None = None
    """The hand with the markers that it wore on its skin, where it was fitted with them."""

    def __post_init__(self) -> None:
        if not len(self.radii):
            object.__setattr__(self, "radii", by_size(self.proportions))
        self.radii.setflags(write=False)
        _check_limits(self.proportions.side, self.all_limits, self.couplings)

    @property
    def all_limits(self) -> AngleLimits:
        """The usual limits, and the hand's own where it has them."""
        return DEFAULT_LIMITS | self.limits

    @property
    def couplings(self) -> tuple[CouplingRow, ...]:
        """A row for each digit whose last joint follows its middle one: θ_dip = ρ θ_pip, thesis (4.2) put right."""
        usual = [None if digit == "thumb" else DIP_PER_PIP for digit in DIGITS]
        slopes = [other if own is None else own for own, other in zip(self.rho, usual, strict=True)]
        return tuple(
            CouplingRow(((CHAIN_JOINTS[digit][2], "flexion", 1.0), (CHAIN_JOINTS[digit][1], "flexion", -slope)))
            for digit, slope in zip(DIGITS, slopes, strict=True)
            if slope is not None and digit not in self.uncoupled
        )

    def within(self, allowed: AngleLimits) -> "MeasuredHand":
        """The hand on a rig that allows it less. allowed: degrees, of the movements that the rig limits.

        The last joint of a digit follows its middle one no more where the rig's limits would so hold the middle one.
        """
        limits = self.limits | allowed
        held = (row for row in self.couplings if _holds_back(row, self.all_limits, self.all_limits | allowed))
        free = self.uncoupled | {digit for row in held if (digit := digit_of(row.terms[0][0]))}
        fitted = replace(self, limits=limits, uncoupled=free, motion=_unknown())
        motion = np.clip(self.motion, *fitted.model.limits.T) if len(self.motion) else self.motion
        return replace(fitted, motion=motion)

    def thickness(self, digit: str) -> Floats:
        """(3,) m, how deep a digit's joints lie below the line of its markers, thesis (4.4).

        Its radii where they were measured or typed, for markers that count as in the joints and are on their backs.
        Zero where the radii are only the usual ones of a hand of this size, and where the markers are said to sit
        beside the joints: those are not on that line.
        """
        row, joints = DIGITS.index(digit), CHAIN_JOINTS[digit]
        usual = np.allclose(self.radii[row], by_size(self.proportions)[row], rtol=0, atol=1e-5)
        beside = any(any(spot.offset) for spot in self.spots.values() if spot.joint in joints)
        return np.zeros(3) if usual or beside else self.radii[row]

    @cached_property
    def model(self) -> HandModel:
        """The hand that solvers solve."""
        return build(self.proportions, self.all_limits, self.couplings)

    def mirrored(self) -> "MeasuredHand":
        """The same person's other hand; where the markers sit on that one is not known."""
        return replace(self, proportions=self.proportions.mirrored(), spots={}, worn=None)

    def measure(self, kind: Kind, of: str) -> Measure | None:
        """How one of its values was measured, None where that is not known."""
        return next((one for one in self.measures if (one.kind, one.of) == (kind, of)), None)

    def table(self) -> list[str]:
        """The digits' measures in lines of text, each with its spread where it is known."""
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
    """A hand as it was fitted with the markers that it wore: its bones and limits are those of the fit."""
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
    """Whether a last joint that follows would hold its middle one more with fewer angles than with its own.

    A DIP that a rig lets bend by 30 degrees only would else keep the PIP at 45.
    """
    (last, of_last, _), (middle, of_middle, slope) = row.terms

    def room(limits: AngleLimits) -> tuple[float, float]:
        """Degrees that the middle joint has, and how many of them the last joint cannot follow to."""
        (low, high), (low_last, high_last) = limits[middle, of_middle], limits[last, of_last]
        shared = min(high, high_last / -slope) - max(low, low_last / -slope)
        return shared, high - low - shared

    shared, lost = room(fewer)
    return shared < 0 or lost > room(own)[1] + LOST


def _check_limits(side: Side, limits: AngleLimits, couplings: tuple[CouplingRow, ...]) -> None:
    """Raises HandError for a range whose ends are swapped, or that leaves a coupling no angles."""
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
