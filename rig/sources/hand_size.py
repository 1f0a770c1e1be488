"""Guess the unit of a scene from its hands, by scaling them with a power of ten to the size of a person's."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...capture.recording import Recording
from ...hand.joints import DIGIT_JOINTS
from ...hand.proportions import adult

Floats = NDArray[np.float64]


def scaled_to_person(recording: Recording) -> Recording:
    """Return a recording scaled so that its first hand is within a factor of about three of an adult's, with a note.

    Some programs write centimetres as metres, or metres as centimetres. Labels are `right:wrist`, positions are in m.
    """
    length = _hand_length(recording.names, recording.positions[0])
    exponent = round(float(np.log10(length / adult("right").size))) if length > 0 else 0
    if exponent == 0:
        return recording
    larger = "large" if exponent > 0 else "small"
    note = f"the hand is {length:.3g} m long: taken as {10 ** abs(exponent)} times too {larger}"
    return replace(recording, positions=recording.positions * 10.0**-exponent, warnings=(*recording.warnings, note))


def _hand_length(names: tuple[str, ...], points: Floats) -> float:
    """Return the length (m) from the first hand's wrist to its longest digit's tip, along the digit. points: (M, 3)."""
    hand = names[0].rpartition(":")[0]
    positions = {name.removeprefix(f"{hand}:"): point for name, point in zip(names, points, strict=True)}
    lengths = []
    for joints in DIGIT_JOINTS.values():
        chain = [positions[joint] for joint in ("wrist", *joints) if joint in positions]
        lengths.append(sum(float(np.linalg.norm(after - before)) for before, after in pairwise(chain)))
    return max(lengths)
