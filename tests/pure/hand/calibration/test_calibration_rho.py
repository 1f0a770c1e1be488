"""ρ, the slope of DIP on PIP, measured straight from markers."""

import numpy as np
import pytest
from scipy import stats

from knuckle.hand.calibration.dip_coupling import measure_rho, rho_slope
from knuckle.hand.calibration.marker_angles import flexions
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, TIPS
from knuckle.hand.marker_sets import Spot
from knuckle.tests.pure.hand.people import BACK, FULL, bends, posed, someone

TRUE = np.array([0.0, 0.4, 0.55, 0.7, 0.9])
PAIRS = tuple(
    Spot(joint, (0.0, along, 0.008))
    for digit in DIGITS[1:]
    for joint in CHAIN_JOINTS[digit][:3]
    for along in (0.003, 0.014)
)
"""Two markers on the back of each bone of the fingers."""


def found(side, spots, angles, digit, noise=0.0):
    hand = someone(side)
    bent = flexions(hand, spots, posed(hand, spots, angles, noise), digit)
    return measure_rho(digit, bent[:, 1], bent[:, 2])


def test_it_is_the_slope_of_the_least_squares_line():
    rng = np.random.default_rng(1)
    pip, dip = rng.uniform(0, 1.5, 60), rng.uniform(0, 1, 60)
    assert rho_slope(pip, dip) == pytest.approx(stats.linregress(pip, dip).slope, abs=1e-12)
    assert rho_slope(pip, dip) == pytest.approx(np.polyfit(pip, dip, 1)[0], abs=1e-12)


@pytest.mark.parametrize("side", ["left", "right"])
def test_angles_of_markers_on_the_joints_are_those_of_the_hand(side):
    angles, hand = bends(200, TRUE), someone(side)
    places = posed(hand, FULL, angles)
    for row, digit in enumerate(DIGITS[1:], 1):
        off = np.rad2deg(np.abs(flexions(hand, FULL, places, digit) - angles[:, row]).max())
        assert off < 1e-6, f"{digit}: {off:.2g} degrees > 1e-6"


def test_angles_of_two_markers_a_bone_are_those_of_the_hand():
    angles, hand = bends(100, TRUE), someone("right")
    places = posed(hand, PAIRS, angles)
    for row, digit in enumerate(DIGITS[1:], 1):
        assert np.abs(flexions(hand, PAIRS, places, digit) - angles[:, row]).max() < 1e-6


def test_joints_that_bend_backwards_have_angles_below_zero():
    hand, angles = someone("left"), np.full((1, 5, 3), -0.2)
    assert np.allclose(flexions(hand, FULL, posed(hand, FULL, angles), "ring-finger"), -0.2)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(("noise", "limit"), [(0.0, 1e-6), (0.0005, 0.02), (0.001, 0.04)])
def test_rho_is_found_under_noise(side, noise, limit):
    for row, digit in enumerate(DIGITS[1:], 1):
        one = found(side, FULL, bends(360, TRUE), digit, noise)
        assert one.value is not None
        off = abs(one.value - TRUE[row])
        assert off < limit, f"{digit}: {off:.4f} > {limit}"


def test_its_spread_tells_how_far_off_it_may_be():
    """Over many clips, the spread is what the values really scatter by, within a factor of 2."""
    values: list[float] = []
    spreads: list[float] = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        pip = np.deg2rad(45 + 40 * np.sin(np.linspace(0, 20, 300)))
        one = measure_rho("index-finger", pip, 0.6 * pip + rng.normal(0, np.deg2rad(6), 300))
        assert one.value is not None and one.spread is not None
        values.append(one.value)
        spreads.append(one.spread)
    assert 0.5 < np.mean(spreads) / np.std(values) < 2


def test_frames_far_off_the_line_do_not_count():
    pip = np.deg2rad(45 + 40 * np.sin(np.linspace(0, 20, 300)))
    dip = 0.6 * pip
    wild = np.random.default_rng(3).random(300) < 0.2
    dip[wild] += np.deg2rad(70)
    one = measure_rho("index-finger", pip, dip)
    assert one.value == pytest.approx(0.6, abs=1e-9)
    assert one.frames == 300 - wild.sum()


def test_gaps_do_not_count():
    pip = np.deg2rad(45 + 40 * np.sin(np.linspace(0, 20, 300)))
    dip = 0.6 * pip
    pip[::3], dip[1::3] = np.nan, np.nan
    one = measure_rho("index-finger", pip, dip)
    assert one.value == pytest.approx(0.6)
    assert one.frames == 100


@pytest.mark.parametrize(
    ("pip", "dip", "reason"),
    [
        (np.full(300, np.nan), np.zeros(300), "no markers show how far"),
        (np.linspace(0, 1, 12), np.linspace(0, 0.6, 12), "12 of the 30 frames needed"),
        (np.linspace(0, 0.2, 300), np.linspace(0, 0.1, 300), "bends through 11 degrees, 20 are needed"),
        (np.full(300, 0.5), np.full(300, 0.3), "bends through 0 degrees"),
        (np.linspace(0, 1, 300), np.zeros(300), "does not follow the PIP"),
        (np.linspace(0, 1, 300), -np.linspace(0, 1, 300), r"does not follow the PIP \(slope -1.00"),
        (np.linspace(0, 1, 300), 3 * np.linspace(0, 1, 300), r"does not follow the PIP \(slope 3.00"),
    ],
)
def test_what_cannot_be_decided_is_not_guessed(pip, dip, reason):
    one = measure_rho("index-finger", pip, dip)
    assert one.value is None
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(one.how)


@pytest.mark.parametrize("spots", [tuple(map(Spot, TIPS)), BACK])
def test_tips_and_middles_do_not_tell_it(spots):
    assert found("right", spots, bends(200, TRUE), "index-finger").value is None
