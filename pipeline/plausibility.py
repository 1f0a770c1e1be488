"""Hands that no person has: they come from captures in a wrong unit, with wrong labels, or of noise."""

import math

import numpy as np

from .joints import CHAIN_JOINTS, DIGITS, KNUCKLES, digit_label
from .proportions import PALM_JOINTS, Proportions, adult

HAND_LENGTH_M = (0.1, 0.25)
"""m from the wrist to the middle fingertip, of a child of two years and of the largest hands."""
MAX_RATIO = 2.0
"""Largest ratio, either way, of a length to that of a mean adult hand of the same size. Adults' bones differ by some
15 %; markers beside joints and estimates account for the rest."""


def implausible_lengths(hand: Proportions) -> str:
    """Return a sentence about a length that no person's hand has; empty for a plausible hand."""
    low, high = HAND_LENGTH_M
    if not low <= hand.size <= high:
        return (
            f"the {hand.side} hand is {1000 * hand.size:.0f} mm long, a person's is {1000 * low:.0f} to "
            f"{1000 * high:.0f} mm: is the unit of the capture right?"
        )
    lengths, usual = _lengths(hand), _lengths(adult(hand.side, hand.size))
    worst = max(lengths, key=lambda name: abs(math.log(lengths[name] / usual[name])))
    if 1 / MAX_RATIO <= lengths[worst] / usual[worst] <= MAX_RATIO:
        return ""
    return (
        f"the {hand.side} hand's {worst} is {1000 * lengths[worst]:.0f} mm long, in a mean hand of its size it is "
        f"{1000 * usual[worst]:.0f} mm: are the labels right?"
    )


def _lengths(hand: Proportions) -> dict[str, float]:
    """Return m, by name, of the moving bones and of the palm's breadth."""
    index, little = (hand.palm[PALM_JOINTS.index(joint)] for joint in (KNUCKLES[0], KNUCKLES[-1]))
    lengths = {"breadth across the knuckles": max(float(np.linalg.norm(little - index)), 1e-6)}
    for digit, phalanges in zip(DIGITS, hand.phalanges, strict=True):
        for joint, length in zip(CHAIN_JOINTS[digit], phalanges, strict=False):
            bone = joint.removeprefix(f"{digit}-").replace("phalanx-", "") + " bone"
            lengths[f"{digit_label(digit)}'s {bone}"] = float(length)
    return lengths
