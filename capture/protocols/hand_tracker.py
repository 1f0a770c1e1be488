"""Tracking of live hands: each keeps its name while the side that the sender claims for it flickers."""

from itertools import chain, count

import numpy as np

from ..hand_tracks import HandSample

MAX_STEP = 0.5
"""Maximum movement of a hand between two packets, as a multiple of its size; a hand farther away is another one."""
FORGET_AFTER = 30
"""Number of packets without a hand after which its name is free."""


class HandTracker:
    """Gives each hand of each packet a name: 'left', 'right', 'right#2'."""

    def __init__(self) -> None:
        self._tracked: dict[str, tuple[HandSample, int]] = {}
        """Name -> its last sample, and the number of that packet."""
        self._packet = 0

    def names_of(self, hands: list[HandSample]) -> tuple[str, ...]:
        """Return names of the hands in a packet: a tracked hand keeps its name, a new one is named by its claim."""
        self._packet += 1
        self._tracked = {
            name: tracked for name, tracked in self._tracked.items() if self._packet - tracked[1] <= FORGET_AFTER
        }
        candidates = sorted(
            (_distance(tracked, hand), name, index)
            for name, (tracked, _) in self._tracked.items()
            for index, hand in enumerate(hands)
        )
        names: dict[int, str] = {}
        for distance, name, index in candidates:
            if distance < MAX_STEP and index not in names and name not in names.values():
                names[index] = name
        for index, hand in enumerate(hands):
            if index not in names:
                names[index] = _free_name(hand.claim, set(names.values()))
        self._tracked |= {names[index]: (hand, self._packet) for index, hand in enumerate(hands)}
        return tuple(names[index] for index in range(len(hands)))


def _distance(tracked: HandSample, hand: HandSample) -> float:
    """Return the distance of two samples as a multiple of the hand's size, plus 0.1 if their claims differ.

    It is -1 if their ids agree.
    """
    if hand.hand_id and hand.hand_id == tracked.hand_id:
        return -1.0
    if tracked.position.shape != hand.position.shape:
        return np.inf
    return float(np.linalg.norm(tracked.position - hand.position)) / max(hand.size, 1e-9) + 0.1 * (
        tracked.claim != hand.claim
    )


def _free_name(claim: str, used_names: set[str]) -> str:
    """Return a free name for a new hand: its claim, the other side if that is taken, or the claim with a number."""
    opposite = {"left": "right", "right": "left"}.get(claim, claim)
    return next(name for name in chain((claim, opposite), (f"{claim}#{n}" for n in count(2))) if name not in used_names)
