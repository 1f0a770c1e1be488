"""Joint radii from markers on the skin, against hands whose bones turn about centres below it."""

import numpy as np
import pytest

from knuckle.hand.calibration.dip_coupling import measure_rho
from knuckle.hand.calibration.joint_radii import measure_radii, radii_by_size
from knuckle.hand.joints import DIGITS, TIPS
from knuckle.hand.marker_sets import Spot
from knuckle.hand.proportions import adult
from knuckle.tests.pure.hand.people import FULL, bends, on_skin, posed, someone

RHO = np.array([0.5, 0.4, 0.55, 0.7, 0.8])


def thick(hand, seed=2):
    """(5, 3) m, radii that differ from the usual ones by up to 20 %."""
    return radii_by_size(hand) * np.random.default_rng(seed).uniform(0.8, 1.2, (5, 3))


@pytest.mark.parametrize(("noise", "limit"), [(0.0, 0.001), (0.0005, 0.8)])
def test_radii_are_found_and_with_them_the_angles(noise, limit):
    hand = someone("right")
    true, angles = thick(hand), bends(120 if noise == 0 else 300, RHO)
    places = on_skin(hand, true, angles, noise)
    for row, digit in enumerate(DIGITS):
        found, bent = measure_radii(hand, FULL, places, digit)
        off = np.abs([one.value for one in found] - 1000 * true[row]).max()
        assert off < limit, f"{digit}: {off:.2f} mm > {limit} mm"
        assert all(one.spread is not None and one.spread < limit for one in found)
        # The slope of the markers' own angles is off by up to 0.07: the skin slides.
        assert bent is not None
        assert measure_rho(digit, bent[:, 1], bent[:, 2], smoothing=1).value == pytest.approx(
            RHO[row], abs=1e-4 if noise == 0 else 0.03
        )


def test_a_left_hand_has_the_same_radii():
    hand = someone("left")
    found, _ = measure_radii(hand, FULL, on_skin(hand, thick(hand), bends(120, RHO)), "ring-finger")
    assert [one.value for one in found] == pytest.approx(1000 * thick(hand)[3], abs=0.01)


def test_wild_frames_hardly_move_them():
    hand = someone("right")
    places = on_skin(hand, thick(hand), bends(300, RHO), 0.0002)
    rng = np.random.default_rng(4)
    places[rng.random(300) < 0.05] += rng.normal(0, 0.02, (1, 21, 3))
    found, _ = measure_radii(hand, FULL, places, "index-finger")
    assert np.abs([one.value for one in found] - 1000 * thick(hand)[1]).max() < 1.0


@pytest.mark.parametrize(
    ("spots", "angles", "reason"),
    [
        (FULL, bends(200, RHO), "do not move as on the skin"),
        (FULL, np.full((200, 5, 3), 0.2), "circular joints|would make it|parts of the clip disagree"),
        (FULL, bends(12, RHO), "12 of the 30 frames needed"),
        ((Spot("wrist"), *map(Spot, TIPS)), bends(200, RHO), "too few markers"),
    ],
)
def test_markers_that_cannot_tell_leave_the_radii_of_the_size(spots, angles, reason):
    """Markers in the joints, a hand that keeps still, a short clip, fingertips alone."""
    hand = someone("right")
    found, bent = measure_radii(hand, spots, posed(hand, spots, angles, 0.0003), "index-finger")
    assert bent is None
    assert [one.value for one in found] == pytest.approx(1000 * radii_by_size(hand)[1])
    for one in found:
        with pytest.raises(AssertionError, match=f"by the hand's size: .*({reason})"):
            raise AssertionError(one.how)


def test_radii_grow_with_the_hand_and_shrink_towards_the_tip():
    small, large = radii_by_size(adult("right", 0.15)), radii_by_size(adult("left", 0.30))
    assert np.allclose(large, 2 * small)
    assert (np.diff(small[1:], axis=1) < 0).all()
    # Half the depth of an index finger's PIP joint is 8 to 10 mm in adults.
    assert 0.007 < radii_by_size(adult("right"))[1, 1] < 0.010
