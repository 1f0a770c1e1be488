"""A stretch of another take begins and ends as the take into which it is put, and what that does inside has no part."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from knuckle.pipeline.corrections.correction import TimeRange
from knuckle.rig.keys.corrections.matched_motion import matched

Floats = NDArray[np.float64]
RATE = 100.0
TIMES = np.arange(0.0, 2.0, 1 / RATE)
SPAN = TimeRange(0.5, 1.5, 0.2, 0.3)
FIRST, LAST = 50, 150


def turning(axis: tuple[float, float, float], degrees: Floats) -> Floats:
    """Quaternions (F, 4) wxyz of turns about an axis."""
    unit = np.array(axis) / np.linalg.norm(axis)
    return np.asarray(Rotation.from_rotvec(np.radians(degrees)[:, None] * unit).as_quat(scalar_first=True))


def steps(q: Floats) -> Floats:
    """The turns (F - 1, 3) in rad from each frame to the next."""
    r = Rotation.from_quat(q, scalar_first=True)
    return np.asarray((r[:-1].inv() * r[1:]).as_rotvec())


def put_in(base: Floats, taken: Floats, span: TimeRange = SPAN) -> Floats:
    """The take with the stretch in it."""
    result = base.copy()
    result[FIRST : LAST + 1] = matched(taken, base, TIMES, span)[FIRST : LAST + 1]
    return result


BASE = turning((1.0, 0.2, 0.0), 30 + 20 * np.sin(2 * TIMES))
TAKEN = turning((0.8, 0.1, 0.5), 55 + 25 * np.cos(3 * TIMES))


def test_it_is_the_take_at_its_ends_and_the_other_between_the_blends() -> None:
    result = put_in(BASE, TAKEN)
    for row in (FIRST, LAST):
        np.testing.assert_allclose(np.abs((result[row] * BASE[row]).sum()), 1.0, atol=1e-12)
    inner = slice(FIRST + 20, LAST - 29)
    np.testing.assert_allclose(np.abs((result[inner] * TAKEN[inner]).sum(-1)), 1.0, atol=1e-12)


def test_it_does_not_pop() -> None:
    """The change of the turn from frame to frame, which a cut makes as large as the difference of the takes."""
    jolt = np.abs(np.diff(steps(put_in(BASE, TAKEN)), axis=0)).max()
    cut = np.abs(np.diff(steps(put_in(BASE, TAKEN, TimeRange(0.5, 1.5))), axis=0)).max()
    assert np.degrees(cut) > 20
    assert np.degrees(jolt) < 0.5


def test_what_is_wrong_inside_the_range_does_not_leak_into_the_blends() -> None:
    wrong = BASE.copy()
    wrong[FIRST + 1 : LAST] = turning((0.0, 1.0, 0.0), np.full(LAST - FIRST - 1, 80.0))
    np.testing.assert_array_equal(put_in(wrong, TAKEN), put_in(BASE, TAKEN))


@pytest.mark.parametrize("blend", [0.05, 0.2, 5.0])
def test_a_take_matched_to_itself_stays(blend: float) -> None:
    np.testing.assert_allclose(put_in(BASE, BASE, TimeRange(0.5, 1.5, blend, blend)), BASE, atol=1e-12)


def test_a_leap_of_the_take_before_the_range_does_not_throw_the_hand() -> None:
    """However fast the take turns at an end, the other is never further off than by 1.5 times what it differs there."""
    leaping = BASE.copy()
    leaping[:FIRST] = turning((0.0, 0.0, 1.0), np.full(FIRST, 90.0))
    gap = np.linalg.norm(steps(np.stack([TAKEN[FIRST], BASE[FIRST]]))[0])
    result = put_in(leaping, TAKEN)
    for row in range(FIRST, FIRST + 20):
        assert np.linalg.norm(steps(np.stack([TAKEN[row], result[row]]))[0]) < 1.5 * gap


def test_at_the_ends_of_the_recording_it_is_matched_without_frames_beyond() -> None:
    rows = slice(FIRST, LAST + 1)
    alone = matched(TAKEN[rows], BASE[rows], TIMES[rows], SPAN)
    np.testing.assert_allclose(np.abs((alone[[0, -1]] * BASE[[FIRST, LAST]]).sum(-1)), 1.0, atol=1e-12)


def test_a_rotation_is_the_same_with_its_quaternion_negated() -> None:
    expected = put_in(BASE, TAKEN)
    for result in (put_in(-BASE, TAKEN), put_in(BASE, -TAKEN)):
        np.testing.assert_allclose(np.abs((result * expected).sum(-1)), 1.0, atol=1e-12)


@pytest.mark.parametrize("blend", [0.2, 5.0])
def test_the_time_at_which_a_recording_starts_changes_nothing(blend: float) -> None:
    here, later = (
        matched(TAKEN, BASE, TIMES + start, TimeRange(0.5 + start, 1.5 + start, blend, blend)) for start in (0.0, 64.0)
    )
    np.testing.assert_allclose(later, here, atol=1e-9)


@pytest.mark.parametrize("blends", [(5.0, 5.0), (3.0, 0.5)])
def test_blends_longer_than_the_range_are_shortened_so_that_both_ends_stay(blends: tuple[float, float]) -> None:
    result = put_in(BASE, TAKEN, TimeRange(0.5, 1.5, *blends))
    for row in (FIRST, LAST):
        np.testing.assert_allclose(np.abs((result[row] * BASE[row]).sum()), 1.0, atol=1e-12)
