"""Two recorded hands whose markers say nothing: near each other, crossing, out of view, with a third hand beside."""

import numpy as np
import pytest

from knuckle import capture
from knuckle.hand.labelling.label_search import label_hands
from knuckle.tests.pure.hand.labelling.spoiled import score, spoil, stripped, truth_of

SETS = {
    "eight": ("thumb", "index-finger", "middle-finger", "ring-finger", "pinky-finger"),
    "six": ("thumb", "index-finger", "pinky-finger"),
}


@pytest.fixture(scope="module")
def glove(shared):
    return capture.read(shared / "data/captures/two_hands_glove.c3d")


def two(glove, digits, apart, drift=0.0):
    """Both hands about the same place, moved aside by `apart` m and `drift` m more in the course of the recording."""
    times, places, truth = stripped(glove.times, glove.positions, truth_of(glove), digits)
    places = places[:, : len(truth)].copy()
    way = np.linspace(apart - drift, apart + drift, len(times))
    for side, sign in (("left", -1), ("right", 1)):
        own = [column for column in truth if truth[column][0] == side]
        places[:, own] -= np.nanmean(places[:, own], axis=(0, 1))
        places[:, own, 0] += sign * way[:, None] / 2
    return times, places, truth


def columns(truth, side):
    return [column for column in truth if truth[column][0] == side]


@pytest.mark.parametrize(
    ("markers", "apart", "drift"), [("six", 0.12, 0.0), ("eight", 0.0, 0.3)], ids=["near", "crossing"]
)
def test_hands_near_each_other_or_crossing_are_distinguished_though_markers_swap_and_break(
    glove, markers, apart, drift
):
    times, places, truth = two(glove, SETS[markers], apart, drift)
    spoiled = spoil(places, 1, swaps=4, cuts=8, ghosts=3)
    found = score(label_hands(times, spoiled.positions), spoiled, truth)
    assert found.wrong <= 0.01
    assert found.right >= 0.85


@pytest.mark.parametrize("kind", ["leaves", "comes late", "in turns"])
def test_a_hand_that_is_not_always_in_view_is_not_taken_for_the_other(glove, kind):
    times, places, truth = two(glove, SETS["six"], 0.4)
    left, right, frames = columns(truth, "left"), columns(truth, "right"), len(times)
    if kind == "leaves":
        places[frames // 3 : 2 * frames // 3, left] = np.nan
    else:
        places[: frames // 2, right] = np.nan
    if kind == "in turns":
        places[frames // 2 :, left] = np.nan
    spoiled = spoil(places, 1)
    found = score(label_hands(times, spoiled.positions), spoiled, truth)
    assert found.wrong == 0
    assert found.right >= 0.99


def test_of_three_hands_two_are_reported_and_the_thirds_markers_are_in_neither(glove):
    """The third moves as the left one did in the second half of the recording: either of them may be taken."""
    times, places, truth = two(glove, SETS["six"], 0.4)
    left = columns(truth, "left")
    third = np.roll(places[:, left], len(times) // 2, axis=0) + [0.0, 0.5, 0.0]
    hands = label_hands(times, np.concatenate([places, third], axis=1)).hands
    assert sorted(hand.side for hand in hands) == ["left", "right"]
    for hand in hands:
        taken = set(hand.columns[hand.columns >= 0].tolist())
        owners = {"third" if column >= len(truth) else truth[column][0] for column in taken}
        assert len(owners) == 1 and (owners == {"right"}) == (hand.side == "right")
