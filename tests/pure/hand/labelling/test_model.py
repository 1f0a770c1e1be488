"""Labels of markers on the skin, by what an articulated hand reaches: hands that are made, and real takes."""

import numpy as np
import pytest

from knuckle import capture
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import SIDES
from knuckle.hand.labelling.label_search import label_hands
from knuckle.hand.labelling.model_fit import fit_model, shape_of_spots
from knuckle.hand.labelling.model_hands import compare_sides, search_sides
from knuckle.hand.labelling.model_search import MAX_TRIALS, MIN_TRIALS, exchange_mirrored_fingers, improve_fit
from knuckle.hand.labelling.shape_model import LAYOUTS, SKIN_LAYOUTS, MarkerLayout
from knuckle.hand.mirror import POINT_SIGNS, other_side
from knuckle.pipeline.assignment import side_of_file
from knuckle.tests.pure.hand.labelling.spoiled import made_with, score, spoil

SKIN = SKIN_LAYOUTS[0]
SPOTS = tuple(SKIN.spots.values())


@pytest.mark.parametrize("side", SIDES)
def test_a_hand_costs_least_with_its_own_labels_and_side(side):
    _, positions, _ = made_with(SPOTS, side, 3)
    shape, right = shape_of_spots(SPOTS), np.arange(len(SPOTS))
    own = fit_model(shape, side, positions[::8], right)
    assert list(own.labels) == list(right)
    assert own.filled_cost < 0.5
    assert fit_model(shape, other_side(side), positions[::8], right).cost > own.cost + 2


def test_exchanged_fingers_are_found_and_each_margin_is_that_of_another_fit():
    _, positions, _ = made_with(SPOTS, "right", 4)
    labels = list(SKIN.spots)
    index, ring = ([labels.index(f"{finger}{part}") for part in ("mcp", "pip", "tip")] for finger in ("index", "ring"))
    exchanged = np.arange(len(SPOTS))
    exchanged[index], exchanged[ring] = ring, index
    shape = shape_of_spots(SPOTS)
    found = improve_fit(shape, positions[::8], fit_model(shape, "right", positions[::8], exchanged))
    assert list(found.fit.labels) == list(range(len(SPOTS)))
    assert found.margins.min() > 0


def test_the_search_for_a_hand_among_points_that_are_none_is_bounded():
    points = np.random.default_rng(2).normal(0, 0.05, (1, 30, 3))
    shape = shape_of_spots(SPOTS)
    starts = [fit_model(shape, side, points, np.arange(len(SPOTS))) for side in SIDES]
    searched, _ = run_to_end(search_sides(shape, points, starts))
    assert sum(each.trials for each in searched) <= MAX_TRIALS + (len(searched) - 1) * MIN_TRIALS
    assert all(np.isfinite(each.margins).any() for each in searched), "what may win was tried otherwise, too"


def test_the_hand_that_a_mirror_shows_leads_to_the_hand_itself():
    """The fit of a left hand to a right hand's markers, with its fingers in the opposite order, is no end."""
    _, positions, _ = made_with(SPOTS, "right", 6)
    shape, own = shape_of_spots(SPOTS), np.arange(len(SPOTS))
    mirrored = exchange_mirrored_fingers(shape, own, len(own))
    assert np.count_nonzero(mirrored == own) < 3
    wrong = fit_model(shape, "left", positions[::8], mirrored)
    _, fits = run_to_end(search_sides(shape, positions[::8], [wrong]))
    (cost, best), (other_cost, other) = compare_sides(shape, positions[::8], fits)
    assert (best.side, other.side) == ("right", "left")
    assert list(best.labels) == list(own)
    assert other_cost > 2 * cost


@pytest.mark.parametrize(("layout", "layouts"), [(SKIN, [(SKIN, SIDES)]), (LAYOUTS[3], [])])
def test_a_mirrored_take_is_the_other_hand_with_the_same_confidence(layout, layouts):
    times, positions, _ = made_with(tuple(layout.spots.values()), "left", 7, frames=60)
    spoiled = spoil(positions, 7)
    (hand,) = label_hands(times, spoiled.positions, layouts=layouts).hands
    (mirrored,) = label_hands(times, spoiled.positions * POINT_SIGNS, layouts=layouts).hands
    assert (hand.side, mirrored.side) == ("left", "right")
    assert mirrored.side_confidence == pytest.approx(hand.side_confidence, abs=1e-6)
    np.testing.assert_allclose(mirrored.confidence, hand.confidence, atol=1e-6)
    np.testing.assert_array_equal(mirrored.columns, hand.columns)


@pytest.mark.parametrize("side", SIDES)
def test_markers_on_the_skin_of_a_hand_of_either_side_are_labelled(side):
    times, positions, truth = made_with(SPOTS, side, 5)
    spoiled = spoil(positions, 5)
    assert score(label_hands(times, spoiled.positions, layouts=[(SKIN, SIDES)]), spoiled, truth).right > 0.99


def test_a_set_that_is_not_there_is_not_found():
    """Nineteen markers that drift each on its own, and a hand with other markers."""
    rng = np.random.default_rng(1)
    drift = np.cumsum(rng.normal(0, 0.002, (80, 19, 3)), axis=0) + rng.uniform(-0.1, 0.1, (19, 3))
    assert not label_hands(np.arange(80) / 100, drift, layouts=[(SKIN, SIDES)]).hands
    times, positions, _ = made_with(tuple(LAYOUTS[2].spots.values()), "right", 2)
    assert not label_hands(times, positions, layouts=[(MarkerLayout("other", SKIN.spots), SIDES)]).hands


@pytest.mark.parametrize(
    "take",
    ["user1/capture2_18_right.trc", "user2/capture4_13_left.trc", "user3/capture4_23_right.trc"],
)
def test_takes_of_three_performers_get_their_labels_back(shared, take):
    path = shared / "data" / "sig18" / take
    markers = capture.read(path)
    truth = {
        column: (str(side_of_file(path.name)), SKIN.spots[name.lower()]) for column, name in enumerate(markers.names)
    }
    spoiled = spoil(markers.positions, 6)
    found = label_hands(markers.times, spoiled.positions)
    assert score(found, spoiled, truth).right > 0.98
    assert found.hands[0].side_confidence > 0.85


def test_pieces_of_a_hand_are_no_second_hand(shared):
    """Lost and found under other names, eight of one hand's markers once were a second hand in its place."""
    path = shared / "data" / "sig18" / "user3" / "capture4_13_left.trc"
    markers = capture.read(path)
    spoiled = spoil(markers.positions, 4, swaps=2, cuts=12, ghosts=2)
    assert len(label_hands(markers.times, spoiled.positions).hands) <= 1


def test_layouts_have_as_many_markers_as_their_names_say():
    """Those of marker sets are taken by name: one that was taken by its order was another's for a week."""
    assert [len(layout.spots) for layout in LAYOUTS] == [21, 25, 13, 8, 8, 9]
