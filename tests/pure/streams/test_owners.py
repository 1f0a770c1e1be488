"""Hands without a lasting name."""

import numpy as np

from knuckle.captures.tracks import Detection
from knuckle.streams.owners import Owners


def test_however_many_hands_of_one_side_come_each_has_a_name() -> None:
    """Sixteen is the most that a packet of Leap's is read for."""
    hands = [Detection("right", np.zeros((25, 3)), np.array([float(n), 0.0, 0.0]), 0.1) for n in range(16)]
    names = Owners().of(hands)
    assert len(set(names)) == 16 and names[:3] == ("right", "left", "right#2")
