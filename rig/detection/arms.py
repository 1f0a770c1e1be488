"""The arm above a wrist: which of the bones above it begin at the elbow and at the shoulder, from where they begin."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Part = Literal["fore", "upper"]
"""What a bone's name says that it is a piece of."""

FORE, UPPER = 1.35, 1.15
"""An adult's forearm in lengths of the hand, 0.19 m from wrist to fingertip; upper arm in lengths of the forearm."""
MOST_COST = 1.6
"""Arms of up to five times a person's length for their hand, or a fifth, are still arms."""
NAMED = 0.5
"""What a name that says the same takes off the cost."""
KINK = np.cos(np.deg2rad(20.0))
"""Twist bones divide a limb, and lie along it."""
ELBOW = np.cos(np.deg2rad(4.0))
"""Elbows are bent a little more than that at rest."""
GOES_ON = 0.5
"""What it adds to the cost if the bones go on straight beyond an elbow, or beyond a shoulder."""
SAME_PLACE = 0.02
"""Bones that begin nearer to each other than this part of a hand begin in one place."""


def arm_above(heads: Floats, hand: float, said: Sequence[Part | None]) -> tuple[int, int] | None:
    """The rows of the bones that begin at the elbow and at the shoulder; None if nothing there is like an arm.

    heads (N, 3): where the wrist's bone begins, and those above it, upwards. hand: the hand's length in the same unit.
    said: of each, what its name says. Of bones that begin in one place the outermost is taken.
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
    """Whether the bone above a row's is in line with the one that comes to it, leaving out bones without length."""
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
