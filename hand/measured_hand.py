"""One hand of a performer: its measurements, its own couplings and limits, and the model built from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import HandError
from .calibration.joint_radii import radii_by_size
from .calibration.skin_markers.skin_fit import SkinFit
from .joints import CHAIN_JOINTS, DIGITS, Side, digit_of
from .limits import DEFAULT_LIMITS, DIP_PER_PIP, AngleLimits, CouplingRow
from .marker_sets import Spot
from .measurements import Kind, Measurement, format_value
from .model import HandModel
from .proportions import Proportions, build

Floats = NDArray[np.float64]

Rho = tuple[float | None, ...]
MAX_LOST_RANGE_DEGREES = 1.0
"""Maximum part of a joint's range, in degrees, that it may lose through a coupling to a joint with narrower limits."""
NO_RHO: Rho = (None,) * len(DIGITS)


def _empty_array() -> Floats:
    """Return an empty array, which stands for a value that is not given."""
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
    """(5,) DIP flexion per PIP flexion of each digit, thesis (4.3). None: the usual ratio for a finger, no coupling for
    the thumb."""
    radii: Floats = field(default_factory=_empty_array)
    """(5, 3) m, radii of each digit's MCP, PIP and DIP (thumb: CMC, MCP, IP), thesis (4.4); by default from the hand's
    size."""
    limits: AngleLimits = field(default_factory=dict)
    """Degrees, only those that differ from DEFAULT_LIMITS."""
    measurements: tuple[Measurement, ...] = ()
    """Methods and uncertainties of all measurements."""
    motion: Floats = field(default_factory=_empty_array)
    """(N, D) rad, the model's angles in frames of free motion; empty if no such clip was solved."""
    uncoupled: frozenset[str] = frozenset()
    """Digits whose DIP does not follow the PIP."""
    skin_fit: SkinFit | None = None
    """The fit with markers on the skin, if there was one."""

    def __post_init__(self) -> None:
        if not len(self.radii):
            object.__setattr__(self, "radii", radii_by_size(self.proportions))
        self.radii.setflags(write=False)
        _check_limits(self.proportions.side, self.all_limits, self.couplings)

    @property
    def all_limits(self) -> AngleLimits:
        """DEFAULT_LIMITS, overridden by `limits`."""
        return DEFAULT_LIMITS | self.limits

    @property
    def couplings(self) -> tuple[CouplingRow, ...]:
        """A row θ_dip = ρ θ_pip for each coupled digit: thesis (4.2), misprinted as θ_pip = ρ θ_dip."""
        defaults = [None if digit == "thumb" else DIP_PER_PIP for digit in DIGITS]
        slopes = [default if rho is None else rho for rho, default in zip(self.rho, defaults, strict=True)]
        return tuple(
            CouplingRow(((CHAIN_JOINTS[digit][2], "flexion", 1.0), (CHAIN_JOINTS[digit][1], "flexion", -slope)))
            for digit, slope in zip(DIGITS, slopes, strict=True)
            if slope is not None and digit not in self.uncoupled
        )

    def with_rig_limits(self, rig_limits: AngleLimits) -> "MeasuredHand":
        """Return the hand restricted to a rig's limits.

        A digit's DIP no longer follows its PIP where the rig's limits of the DIP would then restrict the PIP.

        Args:
            rig_limits: degrees, for the movements that the rig limits.
        """
        limits = self.limits | rig_limits
        restricting_rows = (
            row for row in self.couplings if _restricts_pip(row, self.all_limits, self.all_limits | rig_limits)
        )
        uncoupled = self.uncoupled | {digit for row in restricting_rows if (digit := digit_of(row.terms[0][0]))}
        restricted = replace(self, limits=limits, uncoupled=uncoupled, motion=_empty_array())
        motion = np.clip(self.motion, *restricted.model.limits.T) if len(self.motion) else self.motion
        return replace(restricted, motion=motion)

    def thickness(self, digit: str) -> Floats:
        """Return the depth (3,) m of a digit's joints below the line of its markers, thesis (4.4).

        The depth is the joint's radius, for markers on the backs of the joints whose spots have no offset. It is zero
        if the radii were neither measured nor entered, or if the spots have offsets, which already contain it.
        """
        row, joints = DIGITS.index(digit), CHAIN_JOINTS[digit]
        are_default = np.allclose(self.radii[row], radii_by_size(self.proportions)[row], rtol=0, atol=1e-5)
        is_offset = any(any(spot.offset) for spot in self.spots.values() if spot.joint in joints)
        return np.zeros(3) if are_default or is_offset else self.radii[row]

    @cached_property
    def model(self) -> HandModel:
        """The hand model that solvers use."""
        return build(self.proportions, self.all_limits, self.couplings)

    def relabelled(self, labels: Mapping[str, str]) -> "MeasuredHand":
        """Return the hand with its markers relabelled.

        labels: old label -> new label; a label that is not listed stays.
        """
        spots = {labels.get(label, label): spot for label, spot in self.spots.items()}
        if self.skin_fit is None:
            return replace(self, spots=spots)
        markers = self.skin_fit.markers
        markers = replace(markers, labels=tuple(labels.get(label, label) for label in markers.labels))
        return replace(self, spots=spots, skin_fit=replace(self.skin_fit, markers=markers))

    def mirrored(self) -> "MeasuredHand":
        """Return the same person's other hand. Its marker positions are unknown."""
        return replace(self, proportions=self.proportions.mirrored(), spots={}, skin_fit=None)

    def measurement(self, kind: Kind, of: str) -> Measurement | None:
        """Return how one of the values was measured, None if that is unknown."""
        return next(
            (measurement for measurement in self.measurements if (measurement.kind, measurement.of) == (kind, of)), None
        )

    def table(self) -> list[str]:
        """Format the digits' measurements as lines of text, with standard deviations where known."""
        lines = [f"{'':16}{'bones, mm':36}{'rho':15}joint radii, mm"]
        for row, digit in enumerate(DIGITS):
            joints, rho = CHAIN_JOINTS[digit][:3], self.rho[row]
            lengths = zip(1000 * self.proportions.phalanges[row], joints, strict=True)
            bones = [format_value(float(value), self.measurement("bone", joint), 1) for value, joint in lengths]
            thickness = zip(1000 * self.radii[row], joints, strict=True)
            radii = [format_value(float(value), self.measurement("radius", joint), 1) for value, joint in thickness]
            slope = "-" if rho is None else format_value(rho, self.measurement("rho", digit), 2)
            cells = [f"{digit:16}", *(f"{cell:12}" for cell in bones), f"{slope:15}", *(f"{cell:12}" for cell in radii)]
            lines.append("".join(cells).rstrip())
        return lines


def apply_skin_fit(measured: MeasuredHand, skin_fit: SkinFit) -> MeasuredHand:
    """Return a hand with the bones, limits and marker positions of a fit with markers on the skin.

    The hand's own limits, such as those that the user wrote into its file, take precedence.
    """
    measurements = tuple(measurement for measurement in measured.measurements if measurement.kind in ("rho", "radius"))
    limits = skin_fit.limits | measured.limits
    return replace(
        measured,
        proportions=skin_fit.proportions,
        spots=skin_fit.spots(),
        limits=limits,
        measurements=measurements,
        motion=_empty_array(),
        skin_fit=skin_fit,
    )


def _restricts_pip(row: CouplingRow, hand_limits: AngleLimits, rig_limits: AngleLimits) -> bool:
    """Return whether a DIP coupling restricts the PIP more with a rig's limits than with the hand's own.

    For example, a DIP that a rig limits to 30 degrees would limit the PIP to 45.
    """
    (dip, dip_movement, _), (pip, pip_movement, slope) = row.terms

    def shared_and_lost(limits: AngleLimits) -> tuple[float, float]:
        """Return the part of the PIP's range that the DIP can follow, and the rest, in degrees."""
        (low, high), (dip_low, dip_high) = limits[pip, pip_movement], limits[dip, dip_movement]
        shared = min(high, dip_high / -slope) - max(low, dip_low / -slope)
        return shared, high - low - shared

    shared, lost = shared_and_lost(rig_limits)
    return shared < 0 or lost > shared_and_lost(hand_limits)[1] + MAX_LOST_RANGE_DEGREES


def _check_limits(side: Side, limits: AngleLimits, couplings: tuple[CouplingRow, ...]) -> None:
    """Raise HandError if a limit's bounds are swapped, or if no angles within the limits fulfil a coupling."""
    for (joint, movement), (low, high) in limits.items():
        if not low <= high:
            raise HandError(
                f"{side} hand: the {joint} {movement} is limited to {low:g}..{high:g} degrees, "
                "expected the lower limit first"
            )
    for row in couplings:
        bounds = [sorted(factor * limit for limit in limits[joint, movement]) for joint, movement, factor in row.terms]
        lowest, highest = (sum(bound) for bound in zip(*bounds, strict=True))
        if lowest > row.upper or highest < row.lower:
            names = " and ".join(f"{joint} {movement}" for joint, movement, _ in row.terms)
            ranges = " and ".join("{:g}..{:g}".format(*limits[joint, movement]) for joint, movement, _ in row.terms)
            raise HandError(
                f"{side} hand: {names} are limited to {ranges} degrees, no angles within these limits fulfil their "
                "coupling"
            )
