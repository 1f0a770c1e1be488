"""The functions of arrays against those of plain floats."""

import math

import numpy as np
import pytest

from knuckle.hand.finite_points import finite_points
from knuckle.hand.lengths import lengths, squared_lengths
from knuckle.hand.scalar_math import ARRAY, SCALAR


def test_sines_and_cosines_of_arrays_are_those_of_floats():
    angles = np.concatenate([np.linspace(-7, 7, 20001), np.pi * np.arange(-4, 5) / 4, [1e-300, -0.0]])
    expected = np.transpose([SCALAR.cos_sin(angle) for angle in angles.tolist()])
    assert np.abs(np.stack(ARRAY.cos_sin(angles)) - expected).max() < 5e-16
    assert np.isnan(ARRAY.cos_sin(np.array([math.nan]))).all()


def test_points_are_known_where_all_their_coordinates_are():
    points = np.zeros((4, 2, 3))
    points[0, 1, 0], points[1, 0, 1], points[2, 1, 2] = np.nan, np.inf, -np.inf
    assert finite_points(points).tolist() == [[True, False], [False, True], [True, False], [True, True]]


@pytest.mark.parametrize("threshold", [-1.0, 4.5, 10.0])
def test_either_of_two_ways_is_computed_in_its_own_frames_alone(threshold):
    values, seen = np.arange(10.0), []

    def root(pick):
        seen.append(pick(values))
        return (np.sqrt(pick(values) - threshold),)

    def pair(pick):
        seen.append(pick((values, 2.0))[0])
        return (pick((values, 2.0))[0] * 2.0,)

    above = values > threshold
    (found,) = ARRAY.compute_either(above, root, pair)
    np.testing.assert_array_equal(found[above], np.sqrt(values[above] - threshold))
    np.testing.assert_array_equal(found[~above], 2 * values[~above])
    assert sorted(np.concatenate(seen)) == values.tolist()
    for value, expected in zip(values.tolist(), found.tolist(), strict=True):
        ways = [lambda pick, x=value: pick(math.sqrt(max(x - threshold, 0.0))), lambda pick, x=value: pick(2.0 * x)]
        assert SCALAR.compute_either(value > threshold, *ways) == expected


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_lengths_are_those_of_numpy_bit_by_bit(kind):
    vectors = np.random.default_rng(3).normal(size=(40, 7, 3)).astype(kind)
    vectors[3, 2, 1], vectors[5, 6, 0], vectors[8] = np.nan, np.inf, 0.0
    found = lengths(vectors)
    assert found.dtype == kind
    np.testing.assert_array_equal(found, np.linalg.norm(vectors, axis=-1))
    np.testing.assert_allclose(squared_lengths(vectors), found * found, rtol=1e-6)
