"""Joint limits and couplings of a human hand, in degrees.

The ranges are those of the thesis, section 2.2.1 (Human Hand Anatomy): MCP 30 abduction and 120 flexion, PIP 100, DIP
60; thumb CMC 120 abduction and 45 flexion, MCP 30 and 50, IP 85. It gives only widths: the lower limits are chosen from
the straight finger and from how far a joint overextends. It gives no twist: the passive axial play of an MCP and the
pronation of the thumb's CMC are limited to a few degrees.

Some ranges are wider because headset hands need it. Ten hands of npm handy-work need 110 degrees at the PIP, 70 at the
DIP and 22.5 of adduction from a flat hand. Of fifty-five more, solved with all markers and wide limits, a DIP
overextends by up to 16 degrees when a straight finger presses, the thumb's IP by 26; the thumb's CMC flexes from -19 to
31 degrees and its MCP to 66.
"""

from dataclasses import dataclass

from .joints import CHAIN_JOINTS, DIGITS
from .model import Movement

AngleLimits = dict[tuple[str, Movement], tuple[float, float]]
"""(joint, movement) -> lower and upper limit in degrees."""


@dataclass(frozen=True, slots=True)
class RigLimits:
    """The limits that a rig sets for the hand that drives it."""

    limits: AngleLimits
    """Degrees, for the movements that the rig limits."""
    bones: int = 0
    """Number of the rig's bones whose limits are used."""
    notes: tuple[str, ...] = ()
    """Remarks for the user, in sentences."""


_CMC, _THUMB_MCP, _IP, _ = CHAIN_JOINTS["thumb"]


def _finger_limits(digit: str) -> AngleLimits:
    mcp, pip, dip, _ = CHAIN_JOINTS[digit]
    return {
        (mcp, "abduction"): (-25, 15),
        (mcp, "twist"): (-15, 15),
        (mcp, "flexion"): (-30, 90),
        (pip, "flexion"): (0, 110),
        (dip, "flexion"): (-15, 70),
    }


DEFAULT_LIMITS: AngleLimits = {
    (_CMC, "abduction"): (-60, 60),
    (_CMC, "flexion"): (-20, 35),
    (_CMC, "twist"): (-20, 20),
    (_THUMB_MCP, "abduction"): (-15, 15),
    (_THUMB_MCP, "flexion"): (0, 65),
    (_IP, "flexion"): (-25, 70),
}
for _digit in DIGITS[1:]:
    DEFAULT_LIMITS.update(_finger_limits(_digit))

NEUTRAL: dict[tuple[str, Movement], float] = {
    (_CMC, "flexion"): 5,
    (_THUMB_MCP, "flexion"): 15,
    (_IP, "flexion"): 10,
}
"""Angles of a relaxed hand in degrees; those not listed are zero."""
for _digit in DIGITS[1:]:
    for _joint, _angle in zip(CHAIN_JOINTS[_digit], (20, 25, 25 * 2 / 3), strict=False):
        NEUTRAL[_joint, "flexion"] = _angle


DIGIT_MOVEMENTS: tuple[tuple[int, Movement], ...] = (
    (0, "abduction"),
    (0, "twist"),
    (0, "flexion"),
    (1, "abduction"),
    (1, "flexion"),
    (2, "flexion"),
)
"""A digit's movements: index of the joint in CHAIN_JOINTS, and movement. A finger has no abduction of its PIP, the
thumb has all of them."""


@dataclass(frozen=True, slots=True)
class CouplingRow:
    """lower <= Σ coefficient · angle <= upper, in degrees."""

    terms: tuple[tuple[str, Movement, float], ...]
    lower: float = 0.0
    upper: float = 0.0
    soft: bool = True


DIP_PER_PIP = 2 / 3
"""ρ, DIP flexion per PIP flexion: the ratio most used in the field (Rijpkema & Girard 1991), thesis (4.2)."""

DEFAULT_COUPLINGS: tuple[CouplingRow, ...] = tuple(
    CouplingRow(((CHAIN_JOINTS[digit][2], "flexion", 1.0), (CHAIN_JOINTS[digit][1], "flexion", -DIP_PER_PIP)))
    for digit in DIGITS[1:]
)
