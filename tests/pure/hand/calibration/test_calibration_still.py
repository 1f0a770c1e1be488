"""Lengths of bones from a hand that keeps still, and finding where it does."""

import numpy as np
import pytest

from knuckle.hand.calibration.still_clip import bone_lengths, movement, stillest_window
from knuckle.hand.measurements import inlier_mask, jackknife, mean_and_spread
from knuckle.tests.pure.hand.people import BACK, FULL, posed, recorded, someone


def test_lengths_are_found_under_noise():
    hand = someone("left")
    found, measures = bone_lengths(FULL, posed(hand, FULL, np.full((30, 5, 3), 0.1), noise=0.0005), "frames")
    off = 1000 * np.abs(found - hand.phalanges).max()
    assert off < 0.4, f"{off:.2f} mm > 0.4 mm"
    assert len(measures) == 15
    for one in measures:
        # The distance of two points with 0.5 mm of noise in each axis scatters by 0.5 · √2 mm.
        assert one.spread == pytest.approx(0.707, rel=0.5)


def test_wild_frames_and_gaps_do_not_count():
    hand = someone("right")
    places = posed(hand, FULL, np.zeros((30, 5, 3)))
    places[3, 7] += 0.05
    places[11:15, 9] = np.nan
    found, measures = bone_lengths(FULL, places, "frames")
    assert np.abs(found - hand.phalanges).max() < 1e-9
    assert {one.frames for one in measures} == {30, 29, 26}


def test_bones_that_show_one_end_are_not_known():
    found, measures = bone_lengths(BACK, recorded(someone("right"), BACK, 30), "frames")
    assert np.isnan(found).all()
    assert measures == []


def test_the_calmest_frames_are_found():
    places = recorded(someone("right"), FULL, frames=200, noise=0.0003)
    places[90:130] = places[90] + np.random.default_rng(0).normal(0, 0.0003, (40, *places.shape[1:]))
    places[:, 4] = np.nan  # a marker that is never seen
    places[95:97, 6] = np.nan
    first = stillest_window(places)
    assert 90 <= first <= 100
    shown = np.delete(places, 4, axis=1)
    spread = [np.nanvar(shown[k : k + 30], axis=0).sum(-1).max() for k in range(171)]
    assert first == int(np.argmin(spread)), "as brute force finds them"


@pytest.mark.parametrize("frames", [1, 5, 29])
def test_a_short_clip_is_taken_whole(frames):
    assert stillest_window(np.zeros((frames, 3, 3))) == 0


def test_movement_is_that_of_the_liveliest_marker():
    places = np.zeros((30, 3, 3))
    places[:, 1, 0] = np.linspace(0, 0.1, 30)
    assert movement(places) == pytest.approx(0.045, abs=0.005)
    assert movement(np.full((30, 3, 3), np.nan)) == 0
    assert movement(np.zeros((1, 3, 3))) == 0


def test_one_wild_frame_is_no_movement():
    places = np.zeros((30, 3, 3))
    places[7] += 1.0
    assert movement(places) == 0


def test_means_are_those_of_what_is_not_wild():
    mean, spread, used = mean_and_spread(np.array([1.0, 1.1, 0.9, 1.05, 0.95, 50.0, np.nan]))
    assert mean == pytest.approx(1.0)
    assert used == 5
    assert spread == pytest.approx(np.std([1.0, 1.1, 0.9, 1.05, 0.95], ddof=1))
    assert mean_and_spread(np.array([3.0])) == (3.0, None, 1)
    assert np.isnan(mean_and_spread(np.array([np.nan]))[0])
    assert inlier_mask(np.full(4, 2.0)).all(), "values that agree are all kept"


def test_the_jackknife_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(1).normal(size=20)
    parts = np.array([np.delete(values, k).mean() for k in range(20)])
    assert jackknife(parts) == pytest.approx(values.std(ddof=1) / np.sqrt(20), abs=1e-12)
