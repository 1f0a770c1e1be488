"""The arm above a wrist: which ancestors of its bone begin at the elbow and at the shoulder, judged by their heads."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Part = Literal["fore", "upper"]
"""The part of an arm that a bone's name suggests."""

FORE, UPPER = 1.35, 1.15
"""An adult's forearm in hand lengths (0.19 m from wrist to fingertip); the upper arm in forearm lengths."""
MOST_COST = 1.6
"""Arms up to five times as long for their hand as a person's, or a fifth as long, are accepted."""
NAMED = 0.5
"""How much a matching name reduces the cost."""
KINK = np.cos(np.deg2rad(20.0))
"""Cosine; twist bones divide a limb and lie along it within this angle."""
ELBOW = np.cos(np.deg2rad(4.0))
"""Cosine; elbows are bent a little more than this at rest."""
GOES_ON = 0.5
"""The cost if the bones continue straight beyond an elbow or a shoulder."""
SAME_PLACE = 0.02
"""Heads nearer to each other than this share of a hand length coincide."""


def arm_above(heads: Floats, hand: float, said: Sequence[Part | None]) -> tuple[int, int] | None:
    """Return the rows of the bones that begin at the elbow and at the shoulder; None if nothing is like an arm.

    heads: (N, 3) heads of the wrist's bone and its ancestors, nearest first. hand: the hand's length in the same unit.
    said: the part that each bone's name suggests. Of bones whose heads coincide the outermost is taken.
    """
    best, least = None, np.inf
    for elbow, shoulder in _pairs(heads, hand):
        fore, upper = np.linalg.norm(heads[elbow] - heads[0]), np.linalg.norm(heads[shoulder] - heads[elbow])
        cost = abs(np.log(fore / (FORE * hand))) + abs(np.log(upper / (UPPER * fore)))
        if cost > MOST_COST or not (_is_straight(heads[: elbow + 1]) and _is_straight(heads[elbow : shoulder + 1])):
            continue
        cost += GOES_ON * (_goes_on(heads, elbow, ELBOW) + _goes_on(heads, shoulder, KINK))
        cost -= NAMED * (said[elbow] == "fore") + NAMED * (said[shoulder] == "upper")
        if cost < least:
            best, least = (elbow, shoulder), cost
    return best


def _pairs(heads: Floats, hand: float) -> Iterator[tuple[int, int]]:
    steps = np.linalg.norm(np.diff(heads, axis=0), axis=-1)
    places = [row + 1 for row in range(len(steps)) if steps[row] > SAME_PLACE * hand]
    for number, elbow in enumerate(places):
        yield from ((elbow, shoulder) for shoulder in places[number + 1 :])


def _goes_on(heads: Floats, row: int, straight: float) -> bool:
    """Whether the segments on both sides of a joint are in line, ignoring segments of no length."""
    below, above = heads[row] - heads[:row], heads[row + 1 :] - heads[row]
    sizes = np.linalg.norm(below, axis=-1), np.linalg.norm(above, axis=-1)
    near = SAME_PLACE * np.linalg.norm(heads[row] - heads[0])
    ends = np.flatnonzero(sizes[0] > near), np.flatnonzero(sizes[1] > near)
    if not len(ends[0]) or not len(ends[1]):
        return False
    coming, going = below[ends[0][-1]], above[ends[1][0]]
    return bool(coming @ going > straight * np.linalg.norm(coming) * np.linalg.norm(going))


def _is_straight(heads: Floats) -> bool:
    steps = np.diff(heads, axis=0)
    lengths = np.linalg.norm(steps, axis=-1)
    chord = heads[-1] - heads[0]
    along = steps @ chord
    straight: bool = bool(np.all(along >= KINK * lengths * np.linalg.norm(chord)))
    return straight
