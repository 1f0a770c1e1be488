"""Hands without a lasting name."""

import numpy as np

from knuckle.capture.hand_tracks import HandSample
from knuckle.capture.protocols.hand_tracker import HandTracker


def test_however_many_hands_of_one_side_come_each_has_a_name() -> None:
    """Sixteen is the most that a packet of Leap's is read for."""
    hands = [HandSample("right", np.zeros((25, 3)), np.array([float(n), 0.0, 0.0]), 0.1) for n in range(16)]
    names = HandTracker().names_of(hands)
    assert len(set(names)) == 16 and names[:3] == ("right", "left", "right#2")


def test_hands_that_cross_keep_their_names_though_the_sender_swaps_its_own() -> None:
    """They go past each other 6 cm apart, a hand's width, 1 cm a packet; what the sender calls them is chance."""
    rng, owners = np.random.default_rng(0), HandTracker()
    for number in range(60):
        across = 0.3 - 0.01 * number
        places = [np.array([across, 0.03, 1.0]), np.array([-across, -0.03, 1.0])]
        claims = ["right", "left"] if number < 5 or rng.random() < 0.5 else ["left", "right"]
        hands = [HandSample(claim, np.zeros((25, 3)), place, 0.18) for claim, place in zip(claims, places, strict=True)]
        first, second = rng.permutation(2)
        named = owners.names_of([hands[first], hands[second]])
        assert {int(first): named[0], int(second): named[1]} == {0: "right", 1: "left"}, f"packet {number}"
