"""How much of the statistics of the angles counts while a shape is fitted, by how far each digit moves."""

import numpy as np
import pytest

from knuckle.hand.calibration.skin_markers.pose_shares import MOVING_SHARE, NOISY, PRECISE, coverage, pose_shares
from knuckle.hand.calibration.skin_markers.skin_fit import COLUMNS, DOFS, FLEXION, HAS
from knuckle.hand.joints import DIGITS

FRAMES = 200
WORN = np.repeat(np.arange(len(DIGITS)), 3)
"""(15,) Three markers on each digit."""


def bent(*digits):
    """Angles (F, D) rad of a hand whose named digits go from straight to bent by 90 degrees and back."""
    angles = np.zeros((FRAMES, DOFS))
    wave = np.deg2rad(90) * (1 - np.cos(np.linspace(0, 4 * np.pi, FRAMES))) / 2
    for digit in digits:
        angles[:, COLUMNS[DIGITS.index(digit), FLEXION]] = wave[:, None]
    return angles


def of_digit(values, digit):
    row = DIGITS.index(digit)
    return values[COLUMNS[row, HAS[row]]]


def test_a_still_hand_keeps_all_of_the_prior():
    shares = pose_shares(bent(), WORN, PRECISE)
    assert shares.prior == pytest.approx(np.ones(DOFS))
    assert np.all(coverage(bent()) == 0)


def test_prior_and_covariance_of_a_moving_hand_count_alike():
    """Their effects on its levers cancel only then."""
    shares = pose_shares(bent(*DIGITS), WORN, PRECISE)
    assert shares.prior == pytest.approx(np.full(DOFS, MOVING_SHARE))
    assert shares.covariance == pytest.approx(MOVING_SHARE)


@pytest.mark.parametrize("digit", DIGITS)
def test_digits_that_are_still_keep_the_prior(digit):
    shares = pose_shares(bent(digit), WORN, PRECISE)
    assert of_digit(shares.prior, digit) == pytest.approx(MOVING_SHARE)
    for other in set(DIGITS) - {digit}:
        assert of_digit(shares.prior, other) == pytest.approx(1.0)


def test_with_noisy_markers_all_digits_count_as_still():
    noisy, still = pose_shares(bent(*DIGITS), WORN, NOISY), pose_shares(bent(), WORN, NOISY)
    assert noisy.prior == pytest.approx(still.prior)
    assert noisy.covariance == pytest.approx(still.covariance)


def test_where_a_digit_has_one_marker_all_keep_the_prior():
    """One marker does not tell the bones of a digit from its angles."""
    assert pose_shares(bent(*DIGITS), WORN[2:], PRECISE).prior == pytest.approx(1.0)


def test_a_share_of_a_precision_widens_its_covariance_and_keeps_correlations():
    random = np.random.default_rng(0)
    root = random.normal(size=(DOFS, DOFS))
    precision = root @ root.T + np.eye(DOFS)
    weakened = pose_shares(bent(*DIGITS), WORN, PRECISE).scale_precision(precision)
    assert np.linalg.inv(weakened) == pytest.approx(np.linalg.inv(precision) / MOVING_SHARE)
