"""The arm above a wrist: which ancestors of its bone start at the elbow and at the shoulder, judged by their heads."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ArmPart = Literal["fore", "upper"]
"""The part of an arm that a bone's name suggests."""

FOREARM_RATIO, UPPER_ARM_RATIO = 1.35, 1.15
"""An adult's forearm in hand lengths (0.19 m from wrist to fingertip); the upper arm in forearm lengths."""
MAX_COST = 1.6
"""Arms are accepted if their length relative to the hand is between a fifth and five times a person's."""
NAME_BONUS = 0.5
"""Reduction of the cost by a matching name."""
LIMB_COSINE = np.cos(np.deg2rad(20.0))
"""Cosine; twist bones divide a limb and lie along it within this angle."""
ELBOW_COSINE = np.cos(np.deg2rad(4.0))
"""Cosine; elbows are bent a little more than this at rest."""
CONTINUATION_COST = 0.5
"""The cost if the bones continue straight beyond an elbow or a shoulder."""
COINCIDENT = 0.02
"""Fraction of a hand length: heads within this distance of each other coincide."""


def arm_above(heads: Floats, hand: float, suggested: Sequence[ArmPart | None]) -> tuple[int, int] | None:
    """Return the rows of the bones that start at the elbow and at the shoulder; None if nothing resembles an arm.

    heads: (N, 3) heads of the wrist's bone and its ancestors, nearest first. hand: the hand's length in the same unit.
    suggested: the part that each bone's name suggests. Of bones whose heads coincide, the most distal is returned.
    """
    best, min_cost = None, np.inf
    for elbow, shoulder in _pairs(heads, hand):
        fore, upper = np.linalg.norm(heads[elbow] - heads[0]), np.linalg.norm(heads[shoulder] - heads[elbow])
        cost = abs(np.log(fore / (FOREARM_RATIO * hand))) + abs(np.log(upper / (UPPER_ARM_RATIO * fore)))
        if cost > MAX_COST or not (_is_straight(heads[: elbow + 1]) and _is_straight(heads[elbow : shoulder + 1])):
            continue
        cost += CONTINUATION_COST * (_continues(heads, elbow, ELBOW_COSINE) + _continues(heads, shoulder, LIMB_COSINE))
        cost -= NAME_BONUS * (suggested[elbow] == "fore") + NAME_BONUS * (suggested[shoulder] == "upper")
        if cost < min_cost:
            best, min_cost = (elbow, shoulder), cost
    return best


def _pairs(heads: Floats, hand: float) -> Iterator[tuple[int, int]]:
    steps = np.linalg.norm(np.diff(heads, axis=0), axis=-1)
    rows = [row + 1 for row in range(len(steps)) if steps[row] > COINCIDENT * hand]
    for number, elbow in enumerate(rows):
        yield from ((elbow, shoulder) for shoulder in rows[number + 1 :])


def _continues(heads: Floats, row: int, min_cosine: float) -> bool:
    """Return whether the segments on both sides of a joint are in line, ignoring segments of zero length."""
    below, above = heads[row] - heads[:row], heads[row + 1 :] - heads[row]
    sizes = np.linalg.norm(below, axis=-1), np.linalg.norm(above, axis=-1)
    tolerance = COINCIDENT * np.linalg.norm(heads[row] - heads[0])
    significant = np.flatnonzero(sizes[0] > tolerance), np.flatnonzero(sizes[1] > tolerance)
    if not len(significant[0]) or not len(significant[1]):
        return False
    incoming, outgoing = below[significant[0][-1]], above[significant[1][0]]
    return bool(incoming @ outgoing > min_cosine * np.linalg.norm(incoming) * np.linalg.norm(outgoing))


def _is_straight(heads: Floats) -> bool:
    steps = np.diff(heads, axis=0)
    lengths = np.linalg.norm(steps, axis=-1)
    chord = heads[-1] - heads[0]
    along = steps @ chord
    straight: bool = bool(np.all(along >= LIMB_COSINE * lengths * np.linalg.norm(chord)))
    return straight
