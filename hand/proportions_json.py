"""Proportions of a hand in a performer file."""

import numpy as np
from numpy.typing import NDArray

from ..errors import HandError
from .joints import CHAIN_JOINTS, DIGITS, Side
from .proportions import PALM_JOINTS, Proportions

Floats = NDArray[np.float64]


def to_json(proportions: Proportions) -> dict[str, object]:
    """Convert proportions for a performer file: in mm, by joint."""
    chains = [CHAIN_JOINTS[digit] for digit in DIGITS]
    return {
        "size_mm": round(proportions.size * 1000, 2),
        "palm_mm": {
            joint: [round(x * 1000, 3) for x in position]
            for joint, position in zip(PALM_JOINTS, proportions.palm, strict=True)
        },
        "bones_mm": {
            chain[bone]: round(float(proportions.phalanges[row, bone]) * 1000, 3)
            for row, chain in enumerate(chains)
            for bone in range(3)
        },
        "directions_wxyz": {
            digit: [round(float(x), 6) for x in frame]
            for digit, frame in zip(DIGITS, proportions.digit_rotations, strict=True)
        },
    }


def from_json(side: Side, data: object, where: str) -> Proportions:
    """Read proportions: the inverse of to_json.

    Raises:
        HandError: a value is missing or not a number; the message begins with `where`.
    """

    def numbers(group: str, key: str, count: int) -> Floats:
        entry = data.get(group, {}).get(key) if isinstance(data, dict) and isinstance(data.get(group), dict) else None
        values = entry if isinstance(entry, list) else [entry]
        is_valid = len(values) == count and all(isinstance(x, int | float) and abs(x) < 1e4 for x in values)
        if not is_valid:
            raise HandError(f"{where}: {group} of {key} is {entry!r}, expected {count} numbers")
        return np.array(values, float)

    frames = np.stack([numbers("directions_wxyz", digit, 4) for digit in DIGITS])
    norms = np.linalg.norm(frames, axis=-1, keepdims=True)
    if (np.abs(norms - 1) > 0.01).any():
        raise HandError(f"{where}: a quaternion in directions_wxyz has the length {norms.min():.3f}, expected 1")
    bones = [[numbers("bones_mm", CHAIN_JOINTS[digit][bone], 1)[0] for bone in range(3)] for digit in DIGITS]
    return Proportions(
        side=side,
        palm=np.stack([numbers("palm_mm", joint, 3) for joint in PALM_JOINTS]) / 1000,
        phalanges=np.array(bones) / 1000,
        digit_rotations=frames / norms,
    )
