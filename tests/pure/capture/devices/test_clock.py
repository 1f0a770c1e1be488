"""Frames get moments that only go on, and are the device's own for as long as its clock does what clocks do."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from knuckle.capture.devices.device_clock import MIN_STEP_S, DeviceClock

TIMES = st.none() | st.floats(-1e6, 1e6)


def moments(reported: list[float | None], arrivals: list[float]) -> list[float]:
    clock = DeviceClock()
    return [clock.frame_time(*pair) for pair in zip(reported, arrivals, strict=True)]


@given(st.lists(st.tuples(TIMES, st.floats(0, 0.5)), min_size=2, max_size=40))
def test_they_only_go_on_and_never_faster_than_packets_and_the_clock_together(rows):
    reported, steps = [time for time, _ in rows], np.array([step for _, step in rows])
    found = np.diff(moments(reported, np.cumsum(steps).tolist()))
    assert np.all(found >= 0.99 * MIN_STEP_S)
    assert np.all(found <= np.cumsum(steps)[1:] + len(rows) * (MIN_STEP_S + 2.0))


def test_a_clock_that_goes_on_is_taken_as_it_is():
    reported = [5.0, 5.01, 5.02, 5.5, 6.0]
    assert moments(list(reported), [0.0, 0.02, 0.021, 0.6, 1.0]) == reported


def test_frames_without_a_time_lie_between_those_that_have_one():
    found = moments([1.0, None, 1.02, None, 1.04], [0.0, 0.013, 0.019, 0.031, 0.04])
    assert found[::2] == [1.0, 1.02, 1.04]
    np.testing.assert_allclose(found[1::2], [1.013, 1.032])


def test_a_clock_that_begins_anew_or_leaps_goes_on_by_arrival():
    np.testing.assert_allclose(
        moments([100.0, 100.01, 0.0, 0.01, 5000.0, 5000.01], [7.0, 7.01, 7.5, 7.51, 7.52, 7.53]),
        [100.0, 100.01, 100.5, 100.51, 100.52, 100.53],
    )


def test_a_clock_that_stands_still_is_none():
    np.testing.assert_allclose(moments([3.0] * 4, [0.0, 0.1, 0.2, 0.4]), [3.0, 3.1, 3.2, 3.4])
