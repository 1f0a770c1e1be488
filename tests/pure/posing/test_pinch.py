"""Skin that is moved towards other skin stops where the two touch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from knuckle.posing.dragging.pinch import distance_to_contact, outward_normals

Floats = NDArray[np.float64]

SIZE = 0.19
"""m, of a hand."""


def ball(middle: Floats, radius: float, count: int = 150) -> Floats:
    """Points all over a ball, evenly: Fibonacci's spiral."""
    number = np.arange(count) + 0.5
    height, turn = 1 - 2 * number / count, np.pi * (1 + 5**0.5) * number
    across = np.sqrt(1 - height**2)
    return np.asarray(middle + radius * np.stack([across * np.cos(turn), across * np.sin(turn), height], axis=1))


@settings(max_examples=40, deadline=None)
@given(
    radii=st.tuples(st.floats(0.006, 0.010), st.floats(0.006, 0.010)),
    beside=st.floats(0.0, 0.006),
    far=st.floats(-0.03, 0.03),
    seed=st.integers(0, 999),
)
def test_two_balls_touch_where_their_radii_say(
    radii: tuple[float, float], beside: float, far: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    towards, side = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
    other = ball(rng.normal(size=3), radii[1])
    middle = other.mean(axis=0) + beside * side + far * towards
    moved = distance_to_contact(ball(middle, radii[0]), other, outward_normals(other), towards, SIZE)
    assert moved is not None
    met = float(np.linalg.norm(middle + moved * towards - other.mean(axis=0)))
    assert 1000 * abs(met - sum(radii)) < 0.5
    assert (middle + moved * towards - other.mean(axis=0)) @ towards < 0.0, "from the side that it comes from"


def test_what_passes_beside_does_not_touch() -> None:
    other = ball(np.zeros(3), 0.008)
    skin = ball(np.array([0.05, 0.0, 0.0]), 0.008)
    assert distance_to_contact(skin, other, outward_normals(other), np.array([0.0, 0.0, 1.0]), SIZE) is None


def test_normals_point_outwards() -> None:
    skin = ball(np.ones(3), 0.008)
    assert np.einsum("ni,ni->n", outward_normals(skin), (skin - 1.0) / 0.008) == pytest.approx(1.0, abs=0.02)
