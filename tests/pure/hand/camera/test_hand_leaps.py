"""A hand that leaps for a moment is false there; one that moves, or is elsewhere from then on, is not."""

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.hand import rotations as rot
from knuckle.hand.camera.hand_leaps import LEAP_COST, without_leaps

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

RATE, FRAMES = 30.0, 90
TIMES = np.arange(FRAMES) / RATE
DISTANCES = 0.5 + 0.2 * np.sin(2 * TIMES)
"""m, of a hand that moves by up to 0.4 m/s."""


def turning(degrees_per_second: float) -> Floats:
    """(F, 3, 3) of a hand that turns about its fingers."""
    return rot.to_matrix(rot.from_axis_angle([0.0, 1.0, 0.0], np.deg2rad(degrees_per_second) * TIMES))


def false_at(*frames: slice) -> Bools:
    false = np.zeros(FRAMES, np.bool_)
    for part in frames:
        false[part] = True
    return false


MOMENTS = {
    "first": false_at(slice(0, 9)),
    "within": false_at(slice(40, 46)),
    "last": false_at(slice(-8, None)),
    "often": false_at(slice(2, 4), slice(20, 25), slice(50, 51), slice(60, 70)),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_moment_at_twice_the_distance_is_left_out(moment: str) -> None:
    false = MOMENTS[moment]
    kept = without_leaps(TIMES, np.where(false, 2.0, 1.0) * DISTANCES, turning(90.0))
    assert (kept == ~false).all()


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_moment_of_the_back_for_the_palm_is_left_out(moment: str) -> None:
    false, rotations = MOMENTS[moment], turning(90.0)
    rotations[false] = rotations[false] @ rot.to_matrix(rot.from_axis_angle([0.0, 1.0, 0.0], np.pi))
    assert (without_leaps(TIMES, DISTANCES, rotations) == ~false).all()


def test_a_hand_that_moves_fast_is_kept() -> None:
    noise = np.exp(np.random.default_rng(0).normal(0, 0.03, FRAMES))
    fast = 0.5 + 0.2 * np.sin(8 * TIMES)  # up to 1.6 m/s
    assert without_leaps(TIMES, noise * fast, turning(700.0)).all()


def test_a_hand_that_stays_elsewhere_is_kept() -> None:
    later = np.arange(FRAMES) >= FRAMES // 2
    assert FRAMES // 2 > LEAP_COST
    assert without_leaps(TIMES, np.where(later, 1.0, 0.5), turning(90.0)).all()


def test_a_hand_that_was_not_seen_for_long_may_be_elsewhere() -> None:
    later = np.arange(FRAMES) >= FRAMES - 5
    times = TIMES + np.where(later, 0.4, 0.0)
    assert without_leaps(times, np.where(later, 2.0, 1.0) * DISTANCES, turning(0.0)).all()


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_frames(count: int) -> None:
    assert without_leaps(TIMES[:count], DISTANCES[:count], turning(90.0)[:count]).tolist() == [True] * count
