"""Labels by an articulated hand: its confidence, its predictions, and the fragments that they place."""

import numpy as np
import pytest

from knuckle.hand.joints import SIDES
from knuckle.hand.labelling.label_confidence import CURVES, SIDE_CURVE, side_margin
from knuckle.hand.labelling.label_search import label_hands
from knuckle.hand.labelling.marker_prediction import MIN_SEEN, predict_markers
from knuckle.hand.labelling.model_fit import fit_model, shape_of_spots
from knuckle.hand.labelling.shape_model import SKIN_LAYOUTS
from knuckle.hand.mirror import POINT_SIGNS
from knuckle.tests.pure.hand.labelling.spoiled import made_with, score, spoil

SKIN = SKIN_LAYOUTS[0]
SPOTS = tuple(SKIN.spots.values())


def test_hands_that_cost_the_same_are_as_likely_and_a_larger_margin_is_surer():
    assert SIDE_CURVE.probability(side_margin(6.0, 6.0)) == 0.5
    margins = np.linspace(0, 3, 20)
    said = [SIDE_CURVE.probability(margin) for margin in margins.tolist()]
    assert said == sorted(said) and said[-1] > 0.99
    for curve in CURVES.values():
        likely = curve.probability(np.append(margins, np.inf))
        assert np.all(np.diff(likely) >= 0)
        assert likely[0] > 0 and likely[-1] < 1


@pytest.mark.parametrize("side", SIDES)
def test_markers_that_are_not_seen_are_predicted_where_they_are(side):
    _, positions, _ = made_with(SPOTS, side, 8, frames=40)
    hand = fit_model(shape_of_spots(SPOTS), side, positions[::4], np.arange(len(SPOTS))).hand
    tip = list(SKIN.spots).index("indextip")
    seen = positions.copy()
    seen[:, tip] = np.nan
    seen[5, MIN_SEEN - 1 :] = np.nan
    predicted = predict_markers(hand, side, seen)
    assert np.isnan(predicted[5]).all()
    others = np.delete(np.arange(40), 5)
    off = np.linalg.norm(predicted[others] - positions[others], axis=-1)
    assert off[:, tip].mean() < 0.015
    assert np.delete(off, tip, axis=1).max() < 0.015
    mirrored = predict_markers(hand, "left" if side == "right" else "right", seen * POINT_SIGNS)
    np.testing.assert_allclose(mirrored, predicted * POINT_SIGNS, atol=1e-9)


def test_a_hand_in_fragments_with_ghosts_is_labelled():
    times, positions, truth = made_with(SPOTS, "right", 9)
    spoiled = spoil(positions, 9, cuts=12, ghosts=2)
    found = score(label_hands(times, spoiled.positions, layouts=[(SKIN, SIDES)]), spoiled, truth)
    assert found.right > 0.97
    assert found.wrong < 0.01
