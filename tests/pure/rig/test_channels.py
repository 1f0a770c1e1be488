"""What a bone is set to means the rotation that was asked for, and is the nearest such to what there is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from knuckle.hand import rotations as rot
from knuckle.rig.rotation_channels import EULER_ORDERS, from_eulers, nearest_values

Floats = NDArray[np.float64]

MODES = ("QUATERNION", "AXIS_ANGLE", *EULER_ORDERS)


def meant(values: Floats, mode: str) -> Floats:
    """(3, 3) the rotation that a channel's values mean."""
    if mode == "QUATERNION":
        return rot.to_matrix(values / np.linalg.norm(values))
    if mode == "AXIS_ANGLE":
        return rot.to_matrix(rot.from_axis_angle(values[1:], values[0]))
    turned: Floats = from_eulers(values[None], mode)[0]
    return turned


@given(st.integers(0, 10_000), st.sampled_from(MODES))
def test_the_nearest_values_mean_the_same_rotation(seed: int, mode: str) -> None:
    rng = np.random.default_rng(seed)
    asked = rng.normal(size=4)
    asked /= np.linalg.norm(asked)
    now = rng.normal(size=3 if mode in EULER_ORDERS else 4) * 3
    np.testing.assert_allclose(meant(nearest_values(asked, mode, now), mode), rot.to_matrix(asked), atol=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_a_small_turn_changes_little_wherever_the_channel_stands(mode: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        now = rng.uniform(-6, 6, size=3)
        if mode == "QUATERNION":
            now = rng.normal(size=4)
            now /= np.linalg.norm(now)
        elif mode == "AXIS_ANGLE":
            axis = rng.normal(size=3)
            now = np.array([rng.choice([-1, 1]) * rng.uniform(0.5, 6), *(axis / np.linalg.norm(axis))])
        elif abs(np.cos(now[list(EULER_ORDERS[0]).index(mode[1])])) < 0.2:
            continue  # near the lock of its angles, a small turn is a large change
        turn = rot.from_matrix(meant(now, mode)[None])[0]
        if mode == "AXIS_ANGLE" and abs(np.sin(now[0] / 2)) < 0.2:
            continue  # near no turn at all, its axis is anything
        after = nearest_values(rot.multiply(turn, rot.from_axis_angle(np.array([0.6, 0.0, 0.8]), 0.01)), mode, now)
        assert np.abs(after - now).max() < 0.1, f"{now} -> {after}"
