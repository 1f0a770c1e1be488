"""Labels with what a person says: whose hand it is, or which side; and how often a confidence is right."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knuckle import capture
from knuckle.capture.cleaning import clean
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import DIGITS, TIPS
from knuckle.hand.labelling.label_search import label_hands
from knuckle.hand.labelling.shape_model import LAYOUTS
from knuckle.pipeline import assignment as assigning
from knuckle.pipeline.labelling import DOUBTFUL_CONFIDENCE, label_by_shape
from knuckle.pipeline.recipe import Recipe
from knuckle.tests.pure.hand.labelling.spoiled import made, score, spoil, stripped, truth_of
from knuckle.tests.pure.hand.people import posed, someone


@settings(max_examples=4, deadline=None)
@given(st.integers(3, 5), st.sampled_from(["left", "right"]), st.integers(0, 2**16))
def test_any_made_hand_with_three_or_four_on_the_palm_and_five_tips_is_labelled(layout, side, seed):
    times, places, truth = made(layout, side, seed, frames=80)
    spoiled = spoil(places, seed)
    hands = label_hands(times, spoiled.positions)
    found = score(hands, spoiled, truth)
    # A hand whose side cannot be determined gets no wrong labels.
    assert found.wrong <= 0.25
    assert found.right >= 0.75 or not hands.hands


@pytest.mark.parametrize(
    ("file", "sides"), [("two_hands_glove.c3d", ["left", "right"]), ("qualisys_glove.tsv", ["right"])]
)
def test_a_known_performers_markers_get_the_labels_under_which_they_were_measured(shared, file, sides):
    markers = capture.read(shared / "data/captures" / file)
    half = len(markers.times) // 2
    first, second = markers.select(slice(0, half)), markers.select(slice(half, None))
    recipe = Recipe(file, markers_on="joints")
    assigned = assigning.assign_hands(recipe, first)
    person, _ = assigning.measure_performer(recipe, clean(first, recipe.cleaning), assigned)
    assert sorted(person.hands) == sides
    order = np.random.default_rng(6).permutation(len(markers.names))
    names = tuple(f"M{number:03}" for number in range(len(order)))
    unnamed = replace(second, names=names, positions=second.positions[:, order], predicted=second.predicted[:, order])
    labels = run_to_end(label_by_shape(unnamed, person.hands))
    assert sorted(labels.groups) == sides
    for side in sides:
        assert set(labels.groups[side]) <= set(person.hands[side].spots)
        assert len(labels.groups[side]) >= len(person.hands[side].spots) - 1
        for label in labels.groups[side]:
            seen = labels.markers.positions[:, labels.markers.names.index(label)]
            np.testing.assert_array_equal(seen, second.positions[:, second.names.index(label)])


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_flat_hand_could_be_either_and_is_the_one_that_was_asked_for(side):
    """Pressed into the plane of its palm, a hand is its own mirror image's."""
    spots = tuple(LAYOUTS[3].spots.values())
    places = posed(someone(side), spots, np.zeros((40, 5, 3)), noise=0.0003) * [1.0, 1.0, 0.02]
    truth = {column: (side, spot) for column, spot in enumerate(spots)}
    times, spoiled = np.arange(40) / 50, spoil(places, 2)
    undecided = label_hands(times, spoiled.positions)
    assert not undecided.hands and "left or right cannot be determined" in undecided.notes[0]
    assert "--" not in undecided.notes[0], "a panel has no options of a shell"
    reported = label_hands(times, spoiled.positions, requested_side=side)
    assert "taken for the requested" in reported.notes[0]
    assert score(reported, spoiled, truth).right == 1.0
    other = label_hands(times, spoiled.positions, requested_side="left" if side == "right" else "right")
    assert all(hand.side != side for hand in other.hands)


def test_a_lone_tip_beyond_the_index_fingers_is_in_doubt_whichever_finger_it_is_said_to_be_on(shared):
    markers = capture.read(shared / "data/captures/qualisys_glove.tsv")
    known = (markers.times, markers.positions, truth_of(markers))
    for digits in (("thumb", "index-finger", "middle-finger"), ("thumb", "index-finger", "pinky-finger")):
        times, places, _ = stripped(*known, digits)
        (hand,) = label_hands(times, spoil(places, 4).positions).hands
        sure = {
            spot.joint: confidence
            for spot, confidence in zip(hand.layout.spots.values(), hand.confidence, strict=True)
            if confidence > 0
        }
        (lone,) = sure.keys() & set(TIPS[2:])
        assert sure.pop(lone) < DOUBTFUL_CONFIDENCE <= min(sure.values())


def test_what_is_said_to_be_right_nine_times_of_ten_is(shared):
    """Stripped to three on the palm and the tips, with swaps and losses: the pieces' confidence and their share."""
    said, right = [], []
    for file, seed in (("two_hands_glove.c3d", 21), ("qualisys_glove.tsv", 22), ("mediapipe_video.json", 23)):
        markers = capture.read(shared / "data/captures" / file)
        times, places, truth = stripped(markers.times, markers.positions, truth_of(markers), DIGITS)
        spoiled = spoil(places, seed, swaps=2, cuts=4)
        for hand in label_hands(times, spoiled.positions).hands:
            for span in hand.spans:
                owners = spoiled.owner[span.first : span.last + 1, span.column]
                owner = int(np.bincount(owners[owners >= 0]).argmax()) if (owners >= 0).any() else -1
                said.append(span.confidence)
                right.append(truth.get(owner) == (hand.side, hand.layout.spots[span.spot]))
    sure = np.array(said) > 0.9
    assert sure.mean() > 0.5
    assert np.array(right)[sure].mean() > 0.9
    assert np.mean(right) >= np.mean(said) - 0.1
