"""Hands that come without a lasting name: each keeps its own while what the sender calls it flickers."""

from itertools import chain, count

import numpy as np

from ..hand_tracks import HandSample

STEP = 0.5
"""Sizes of a hand that it may go between two packets and be the same one, whatever it is called."""
FORGET = 30
"""Packets after which a hand that is not seen is forgotten."""


class HandTracker:
    """Gives each hand of each packet a name: 'left', 'right', 'right#2'."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[HandSample, int]] = {}
        """Name -> how it was last seen, and in which packet."""
        self._packet = 0

    def of(self, hands: list[HandSample]) -> tuple[str, ...]:
        """What the hands of a packet are called: as those that they are the next sight of, else as the sender says."""
        self._packet += 1
        self._known = {name: known for name, known in self._known.items() if self._packet - known[1] <= FORGET}
        away = sorted(
            (_away(known, hand), name, index)
            for name, (known, _) in self._known.items()
            for index, hand in enumerate(hands)
        )
        owners: dict[int, str] = {}
        for far, name, index in away:
            if far < STEP and index not in owners and name not in owners.values():
                owners[index] = name
        for index, hand in enumerate(hands):
            if index not in owners:
                owners[index] = _free(hand.claim, set(owners.values()))
        self._known |= {owners[index]: (hand, self._packet) for index, hand in enumerate(hands)}
        return tuple(owners[index] for index in range(len(hands)))


def _away(known: HandSample, hand: HandSample) -> float:
    """How far apart two sights are, in sizes of a hand; more where their claims differ, none where their ids agree."""
    if hand.identity and hand.identity == known.identity:
        return -1.0
    if known.place.shape != hand.place.shape:
        return np.inf
    return float(np.linalg.norm(known.place - hand.place)) / max(hand.size, 1e-9) + 0.1 * (known.claim != hand.claim)


def _free(claim: str, taken: set[str]) -> str:
    """A name for a hand: its claim, the other side if that is taken, or a number behind it."""
    other = {"left": "right", "right": "left"}.get(claim, claim)
    return next(name for name in chain((claim, other), (f"{claim}#{n}" for n in count(2))) if name not in taken)
