"""The rotation that turns places on the palm to where they are seen."""

import numpy as np
import pytest

from knuckle.hand import rotations
from knuckle.hand.scalar_math import ARRAY, SCALAR
from knuckle.solvers.planar.palm_pose import attitude, fit_roots, palm_markers

from .hands import FULL, HANDS

COUNT = 400


def turned(seed):
    """(N, 3, 3) rotations."""
    q = np.random.default_rng(seed).normal(size=(COUNT, 4))
    return rotations.to_matrix(q / np.linalg.norm(q, axis=1, keepdims=True))


def products(values, size=1.0):
    """Matrices (N, 3, 3) of these singular values, the third below zero where they mirror."""
    return size * turned(1) @ np.diag(values) @ turned(2)


def found(b):
    """(N, 3, 3) and (N,) of all at once."""
    rows, reported = attitude(ARRAY, [[b[:, i, j] for j in range(3)] for i in range(3)])
    return np.moveaxis(np.array(rows), -1, 0), reported


NEAR = [(1.0, 0.3, -0.3 * (1 - apart)) for apart in (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 0.1)]


@pytest.mark.parametrize("values", [(1, 0.5, 0.2), (1, 0.5, -0.2), (1, 0.5, 0), (1, 1, 1), (1, 1, -0.9), *NEAR])
@pytest.mark.parametrize("size", [1e-4, 1.0])
def test_it_is_a_rotation_and_none_has_a_greater_trace(values, size):
    """The greatest is the sum of the singular values; with s₂ + s₃ = 0 many rotations have it."""
    b = products(values, size)
    turns, _ = found(b)
    assert np.abs(turns @ np.swapaxes(turns, 1, 2) - np.eye(3)).max() < 1e-9
    assert np.linalg.det(turns).min() > 0
    assert np.abs((turns * b).sum((1, 2)) - size * sum(values)).max() < 1e-9 * size


@pytest.mark.parametrize("values", [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 0.3, -0.3)])
def test_where_a_turn_is_open_it_says_so_and_gives_a_rotation(values):
    b = products(values)
    with np.errstate(all="raise"):
        turns, reported = found(b)
    assert not reported.any()
    assert np.abs(turns @ np.swapaxes(turns, 1, 2) - np.eye(3)).max() < 1e-9


@pytest.mark.parametrize("values", [(1.0, 0.5, 0.2), (1.0, 0.5, 0.0), (1.0, 0.3, -0.299)])
def test_where_the_turn_is_known_it_says_so(values):
    assert found(products(values))[1].all()


@pytest.mark.parametrize("values", [(1.0, 0.5, 0.2), (1.0, 0.3, -0.3 * (1 - 1e-5)), (1.0, 0.0, 0.0)])
def test_one_matrix_is_answered_as_many_are(values):
    b = products(values)
    turns, reported = found(b)
    for matrix, turn, sure in zip(b, turns, reported, strict=True):
        alone, alone_sure = attitude(SCALAR, matrix.tolist())
        assert np.abs(np.array(alone) - turn).max() < 1e-6
        assert bool(alone_sure) == sure


def test_markers_with_any_noise_leave_the_palm_rigid():
    """Five centimetres, as of swapped labels."""
    hand = HANDS["right"]
    palm = palm_markers(hand, [hand.site_index(name) for name in FULL])
    positions = palm.rest_positions + np.random.default_rng(3).normal(0, 0.05, (100000, *palm.rest_positions.shape))
    turns = fit_roots(palm, positions, np.ones(positions.shape[:2]))[:, :3, :3]
    assert np.abs(turns @ np.swapaxes(turns, 1, 2) - np.eye(3)).max() < 1e-9
