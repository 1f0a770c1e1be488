"""Three markers on a palm, or fingertips alone: what is found is right, and what cannot be found is not guessed."""

import itertools

import numpy as np
import pytest

from knuckle import capture
from knuckle.hand.joints import DIGITS, TIPS
from knuckle.hand.labelling.few_markers import describe_few_markers, identify_tips
from knuckle.hand.labelling.label_search import label_hands
from knuckle.tests.pure.hand.labelling.spoiled import made, stripped, truth_of

THREES = (("thumb", "index-finger", "pinky-finger"), ("thumb", "index-finger", "middle-finger"))


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_palm_and_fingertips_that_are_made_are_told_as_what_they_are_and_no_more(side):
    times, places, _ = made(3, side, 4)
    (palm,), (tips,) = (
        describe_few_markers(places[:, [1, 2, 0]], ("a", "b", "c")),
        describe_few_markers(places[:, 3:], tuple("vwxyz")),
    )
    assert "neither left or right" in palm and "add markers on the fingertips" in palm
    assert "'v' is the thumb's" in tips and "neither left or right" in tips and "at the wrist and two knuckles" in tips
    assert describe_few_markers(places[:, :4], tuple("abcd")) == ()
    assert describe_few_markers(3 * places[:, 3:], tuple("vwxyz")) == ()
    assert label_hands(times, places[:, :3]).hands == ()


def hands(shared):
    """Name, and (F, 5, 3) m the tips in the order of DIGITS, of each recorded hand."""
    for file in ("two_hands_glove.c3d", "qualisys_glove.tsv", "mediapipe_video.json", "leap_finger_tap.json"):
        markers = capture.read(shared / "data/captures" / file)
        column = {(side, spot.joint): index for index, (side, spot) in truth_of(markers).items()}
        for side in sorted({side for side, _ in column}):
            yield f"{file} {side}", markers.positions[:, [column[side, tip] for tip in TIPS]]


def test_the_five_tips_of_recorded_hands_are_told_apart(shared):
    for name, places in hands(shared):
        order = np.random.default_rng(3).permutation(5)
        seen = places[np.all(np.isfinite(places), axis=(1, 2))][::10]
        assert identify_tips(seen[:, order]) == {index: TIPS[tip] for index, tip in enumerate(order)}, name


def test_of_parts_of_recordings_hardly_any_tip_is_told_wrongly(shared):
    reported = wrong = 0
    for (_, places), digits, parts in itertools.product(hands(shared), (DIGITS, *THREES), (3, 8)):
        own = [DIGITS.index(digit) for digit in digits]
        seen = places[np.all(np.isfinite(places), axis=(1, 2))][:, own]
        for part in np.array_split(seen, parts):
            tips = identify_tips(part[:: max(1, len(part) // 30)]) or {}
            reported += len(tips)
            wrong += sum(tip != f"{digits[index]}-tip" for index, tip in tips.items())
    assert reported > 250
    assert wrong <= 0.01 * reported


def test_the_tips_of_two_hands_in_one_capture_are_reported_for_each(shared):
    markers = capture.read(shared / "data/captures/two_hands_glove.c3d")
    _, places, truth = stripped(markers.times, markers.positions, truth_of(markers), DIGITS, palm=False)
    names = tuple(f"{truth[i][0]} {truth[i][1].joint}" if i in truth else f"body {i}" for i in range(places.shape[1]))
    sentences = describe_few_markers(places, names)
    for side in ("left", "right"):
        assert any(f"'{side} thumb-tip' is the thumb's" in sentence for sentence in sentences)
