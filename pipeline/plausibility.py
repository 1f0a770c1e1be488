"""Detect implausible hands, from captures in a wrong unit, with wrong labels, or of noise."""

import math

import numpy as np

from ..capture.conventions import METRES
from ..hand.joints import CHAIN_JOINTS, DIGITS, KNUCKLES, digit_label
from ..hand.proportions import PALM_JOINTS, Proportions, adult

HAND_LENGTH_M = (0.1, 0.25)
"""m from the wrist to the middle fingertip, of a child of two years and of the largest hands."""
MAX_RATIO = 2.0
"""Maximum factor by which a length may differ from that of a mean adult hand of the same size. Bones of adults differ
by some 15 %; the rest allows for markers beside joints and estimates."""


def implausible_lengths(hand: Proportions, unit: str) -> str:
    """Return a warning about an implausible length of a hand; empty for a plausible hand.

    unit: the assumed unit of the capture's lengths.
    """
    low, high = HAND_LENGTH_M
    if not low <= hand.size <= high:
        return (
            f"the {hand.side} hand is {length_text(hand.size)} long, a person's is {1000 * low:.0f} to "
            f"{1000 * high:.0f} mm: {_in_other_units(hand.size, unit)}"
        )
    lengths, usual = _lengths(hand), _lengths(adult(hand.side, hand.size))
    worst = max(lengths, key=lambda name: abs(math.log(lengths[name] / usual[name])))
    if 1 / MAX_RATIO <= lengths[worst] / usual[worst] <= MAX_RATIO:
        return ""
    return (
        f"the {hand.side} hand's {worst} is {1000 * lengths[worst]:.0f} mm long, in a mean hand of its size it is "
        f"{1000 * usual[worst]:.0f} mm: are the labels right?"
    )


def length_text(length: float) -> str:
    """Format a length in m as text: in m from 1 m, else in mm, with two digits below 10 mm."""
    if length < 0.01:
        return f"{1000 * length:.2g} mm"
    return f"{1000 * length:.0f} mm" if length < 1.0 else f"{length:.3g} m"


def _in_other_units(size: float, unit: str) -> str:
    """Return the units in which the capture's lengths fit a human hand. size: m, with the lengths in `unit`."""
    low, high = HAND_LENGTH_M
    sizes = {other_unit: size * METRES[other_unit] / METRES[unit] for other_unit in METRES if other_unit != unit}
    fitting = [other_unit for other_unit, length in sizes.items() if low <= length <= high]
    if fitting:
        lengths = " or ".join(
            f"{length_text(sizes[other_unit])} in {other_unit} (Unit, --unit {other_unit})" for other_unit in fitting
        )
        return f"its lengths were taken as {unit}, it would be {lengths}"
    lengths = ", ".join(f"{length_text(length)} in {other_unit}" for other_unit, length in sizes.items())
    return f"its lengths were taken as {unit}, and no unit makes it a person's ({lengths}): are the labels right?"


def _lengths(hand: Proportions) -> dict[str, float]:
    """Return m, by name, of the moving bones and of the palm's breadth."""
    index, little = (hand.palm[PALM_JOINTS.index(joint)] for joint in (KNUCKLES[0], KNUCKLES[-1]))
    lengths = {"breadth across the knuckles": max(float(np.linalg.norm(little - index)), 1e-6)}
    for digit, phalanges in zip(DIGITS, hand.phalanges, strict=True):
        for joint, length in zip(CHAIN_JOINTS[digit], phalanges, strict=False):
            bone = joint.removeprefix(f"{digit}-").replace("phalanx-", "") + " bone"
            lengths[f"{digit_label(digit)}'s {bone}"] = float(length)
    return lengths
