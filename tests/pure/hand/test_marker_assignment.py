"""Assigning markers one after another: laws of the steps, and that the map which comes of them is a valid one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from knuckle.hand.joints import SIDES, Side
from knuckle.hand.marker_assignment import STEPS, MarkerAssignment, combine, start_assignment, step_positions
from knuckle.hand.marker_sets import Spot, completeness, from_json, suggest, to_json

LABELS = [f"m{number}" for number in range(30)]
ACTIONS = st.lists(
    st.one_of(st.sampled_from(LABELS), st.sampled_from(["keep", "skip", "back"])), min_size=1, max_size=60
)


def after(hand: MarkerAssignment, actions: list[str]) -> MarkerAssignment:
    for action in actions:
        hand = hand.assign(action) if action in LABELS else getattr(hand, action)()
    return hand


@given(ACTIONS)
def test_whatever_is_clicked_the_map_is_valid_and_holds_each_marker_once(actions):
    hand = after(start_assignment("left", {"m1": Spot("thumb-tip"), "m2": Spot("index-finger-metacarpal")}), actions)
    assert 0 <= hand.step_index <= len(STEPS)
    labels = [label for label, _ in hand.assigned.values()] + list(hand.extra_markers)
    assert len(labels) == len(set(labels))
    groups = combine({"left": hand}, 1)
    assert from_json(to_json(groups), "map") == groups if groups else not hand.spots


def test_clicks_in_the_order_of_the_steps_give_the_hand():
    hand = after(MarkerAssignment("right"), LABELS[: len(STEPS)])
    assert hand.step is None
    assert hand.spots == {label: step.spot for label, step in zip(LABELS, STEPS, strict=False)}
    assert completeness(hand.spots) == 1.0
    assert completeness(after(MarkerAssignment("right"), LABELS[:10]).spots) == 1.0, "the first steps are enough"


def test_back_and_skip():
    hand = MarkerAssignment("right").assign("m0").assign("m1").back()
    assert (hand.step_index, hand.label) == (1, "m1")
    assert hand.skip().spots == {"m0": STEPS[0].spot}
    assert MarkerAssignment("right").back().step_index == 0


def test_a_marker_that_is_clicked_again_moves():
    hand = MarkerAssignment("right").assign("m0").assign("m0")
    assert hand.spots == {"m0": STEPS[1].spot}


def test_a_guess_that_is_kept_stays_as_it_was():
    """Offsets of a known set are finer than those of the steps, and markers that no step asks for are kept."""
    names = ["thumb_tip", "index_tip", "middle_tip", "ring_tip", "little_tip", "thumb_middle", "index_middle"]
    found = suggest([*names, "hand_top", "hand_left", "hand_right"])
    (guess,) = found.groups.values()
    hand = start_assignment("right", guess)
    assert after(hand, ["keep"] * len(STEPS)).spots == guess
    assert any(hand.extra_markers), "the markers at the middle of a bone"


def test_hands_with_too_few_markers_are_left_out():
    hands: dict[Side, MarkerAssignment] = {
        "left": after(MarkerAssignment("left"), LABELS[:2]),
        "right": after(MarkerAssignment("right"), LABELS[2:5]),
    }
    assert list(combine(hands, 3)) == ["right"]


def test_the_places_of_the_picture_are_those_of_a_flat_hand():
    right, left = step_positions("right"), step_positions("left")
    np.testing.assert_allclose(left, right * [-1.0, 1.0, 1.0], atol=1e-9)
    words = [step.words for step in STEPS]
    tip, knuckle = (right[words.index(f"the {part} of the middle finger")] for part in ("tip", "knuckle"))
    assert 0.15 < tip[1] < 0.22 and 0.07 < knuckle[1] < 0.11
    assert right[words.index("the tip of the thumb")][0] < right[words.index("the tip of the little finger")][0]
    assert len({step.spot for step in STEPS}) == len(STEPS) and set(SIDES) == {"left", "right"}
