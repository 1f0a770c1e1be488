"""Sets with three or four markers on the palm and some tips, labelled by shape; and captures stripped to them."""

import pytest

from knuckle import capture
from knuckle.hand.labelling.label_search import label_hands
from knuckle.hand.labelling.shape_model import LAYOUTS
from knuckle.tests.pure.hand.labelling.spoiled import made, score, spoil, stripped, truth_of

INDEX_AND_LITTLE = ("thumb", "index-finger", "pinky-finger")
INDEX_AND_MIDDLE = ("thumb", "index-finger", "middle-finger")
NO_RING = (*INDEX_AND_MIDDLE, "pinky-finger")


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("digits", [INDEX_AND_LITTLE, INDEX_AND_MIDDLE])
@pytest.mark.parametrize("layout", [3, 4, 5])
def test_hands_that_are_made_are_labelled_though_some_tips_have_no_marker(layout, digits, side):
    assert LAYOUTS[layout].name.endswith("five fingertips")
    times, places, truth = stripped(*made(layout, side, 1), digits)
    spoiled = spoil(places, 1)
    found = score(label_hands(times, spoiled.positions), spoiled, truth)
    assert (found.right, found.wrong) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("file", "digits"),
    [
        ("two_hands_glove.c3d", INDEX_AND_LITTLE),
        ("two_hands_glove.c3d", INDEX_AND_MIDDLE),
        ("qualisys_glove.tsv", INDEX_AND_LITTLE),
        ("qualisys_glove.tsv", (*NO_RING, "ring-finger")),
        ("mediapipe_video.json", INDEX_AND_LITTLE),
        ("mediapipe_video.json", INDEX_AND_MIDDLE),
        ("leap_finger_tap.json", NO_RING),
    ],
)
def test_captures_stripped_to_three_on_the_palm_and_some_tips_are_labelled(shared, file, digits):
    markers = capture.read(shared / "data/captures" / file)
    times, places, truth = stripped(markers.times, markers.positions, truth_of(markers), digits)
    spoiled = spoil(places, 1)
    found = score(label_hands(times, spoiled.positions), spoiled, truth)
    assert found.right >= 0.99
    assert found.wrong <= 0.002
