"""Fingers that no marker shows for a while: they do as the others tell, and straight where these tell nothing."""

import numpy as np
import pytest

from knuckle.solvers.smoothing.occluded_fingers import MIN_FRAMES, fill_gaps

TIMES = np.arange(600) / 100


def moving(seed=0):
    """(F, 5, 3) rad: five digits that move half together and half on their own, at up to 1.5 Hz."""
    rng = np.random.default_rng(seed)

    def some(count):
        waves = [
            np.sin(2 * np.pi * rng.uniform(0.2, 1.5) * TIMES[:, None] + rng.uniform(0, 6, count)) for _ in range(3)
        ]
        return sum(waves) / 3

    together = some(1)
    return np.stack([together + 0.2 * some(3) for _ in range(5)], axis=1)


def hidden(digits, rows):
    seen = np.ones((600, 5), bool)
    for digit in digits:
        seen[rows, digit] = False
    return seen


@pytest.mark.parametrize("digits", [[2], [2, 3]])
def test_a_hidden_finger_follows_the_others(digits) -> None:
    """Against the straight way between the gap's ends, which is what the thumb gets."""
    angles, rows = moving(), slice(200, 280)
    seen = hidden(digits, rows)
    broken = np.where(seen[..., None], angles, 77.0)
    found = fill_gaps(broken, seen, TIMES)
    np.testing.assert_array_equal(found[seen], angles[seen])
    ends = [rows.start - 1, rows.stop]
    for digit in digits:
        straight = np.stack([np.interp(TIMES[rows], TIMES[ends], angles[ends, digit, dof]) for dof in range(3)], -1)
        off, plain = (np.abs(each - angles[rows, digit]).mean() for each in (found[rows, digit], straight))
        assert off < 0.4 * plain


def test_what_hides_in_a_gap_has_no_effect() -> None:
    angles, seen = moving(), hidden([1, 4], slice(100, 150))
    one, other = (fill_gaps(np.where(seen[..., None], angles, value), seen, TIMES) for value in (0.0, 55.0))
    np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("rows", [slice(0, 50), slice(550, 600)])
def test_at_the_ends_of_a_take_the_way_is_level_but_for_what_the_others_tell(rows) -> None:
    angles, seen = moving(), hidden([3], rows)
    found = fill_gaps(np.where(seen[..., None], angles, 9.0), seen, TIMES)
    held = angles[50 if rows.start == 0 else 549, 3]
    off, plain = np.abs(found[rows, 3] - angles[rows, 3]).mean(), np.abs(held - angles[rows, 3]).mean()
    assert off < 0.6 * plain


def test_a_digit_that_is_never_seen_and_one_that_always_is_stay() -> None:
    angles = moving()
    seen = hidden([0, 1], slice(None))
    np.testing.assert_array_equal(fill_gaps(angles, seen, TIMES), angles)


def test_the_thumb_and_fingers_of_short_takes_go_straight() -> None:
    angles, rows = moving(), slice(60, 100)
    for digit, frames in ((0, 600), (2, MIN_FRAMES)):
        seen = hidden([digit], rows)[:frames]
        found = fill_gaps(angles[:frames], seen, TIMES[:frames])
        assert np.abs(np.diff(found[rows, digit], 2, axis=0)).max() < 1e-9


def test_a_frame_without_any_digit_is_bridged() -> None:
    angles, seen = moving(), hidden(range(5), slice(300, 310))
    found = fill_gaps(np.where(seen[..., None], angles, 8.0), seen, TIMES)
    assert np.isfinite(found).all()
    assert np.abs(found - angles).max() < 0.2
