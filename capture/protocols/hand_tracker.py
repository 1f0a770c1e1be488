"""Tracking of live hands: each keeps its name while the side that the sender claims for it flickers."""

from itertools import chain, count

import numpy as np

from ..hand_tracks import HandSample

STEP = 0.5
"""Farthest that a hand may move between two packets and count as the same, as a multiple of its size."""
FORGET = 30
"""Packets without a hand after which it is forgotten."""


class HandTracker:
    """Gives each hand of each packet a name: 'left', 'right', 'right#2'."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[HandSample, int]] = {}
        """Name -> its last sample, and the number of that packet."""
        self._packet = 0

    def of(self, hands: list[HandSample]) -> tuple[str, ...]:
        """Names of the hands of a packet: those of the hands that they continue, else by the sender's claim."""
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
    """Distance of two samples in sizes of a hand, plus 0.1 if their claims differ; -1 if their ids agree."""
    if hand.identity and hand.identity == known.identity:
        return -1.0
    if known.place.shape != hand.place.shape:
        return np.inf
    return float(np.linalg.norm(known.place - hand.place)) / max(hand.size, 1e-9) + 0.1 * (known.claim != hand.claim)


def _free(claim: str, taken: set[str]) -> str:
    """A free name for a new hand: its claim, the other side if that is taken, or the claim with a number."""
    other = {"left": "right", "right": "left"}.get(claim, claim)
    return next(name for name in chain((claim, other), (f"{claim}#{n}" for n in count(2))) if name not in taken)
