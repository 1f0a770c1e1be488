"""What is found of a skin beside a surface without measuring all of it is what measuring all of it finds."""

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.pipeline.contacts.contact_surface import ContactSurface
from knuckle.pipeline.contacts.nearest_skin import MAX_POINTS, POINTS_PER_DIGIT, min_distance, nearest_skin
from knuckle.tests.pure.pipeline.test_palm_at_rest import Ball, Slab

Floats = NDArray[np.float64]
SURFACES: dict[str, ContactSurface] = {"slab": Slab(0.05, np.eye(4)), "ball": Ball(np.array([0.0, 0.0, -0.06]), 0.06)}
WITHIN = 6e-3


def moving_skin(frames: int, seed: int) -> tuple[Floats, NDArray[np.int64]]:
    """Points (F, V, 3) m that move by some millimetres, more or less smoothly, near the origin; and their digits."""
    random = np.random.default_rng(seed)
    start = random.uniform([-0.05, -0.05, -0.01], [0.05, 0.05, 0.03], (700, 3))
    moves = np.cumsum(random.normal(0.0, 0.3e-3, (frames, 1, 3)), axis=0) + random.normal(0.0, 0.2e-3, (frames, 700, 3))
    return start + moves, random.integers(0, 5, 700)


@pytest.mark.parametrize("name", SURFACES)
@pytest.mark.parametrize("frames", [1, 2, 16, 70])
def test_the_nearest_points_are_those_of_all(name: str, frames: int) -> None:
    surface, (points, digit) = SURFACES[name], moving_skin(frames, frames)
    counts = np.arange(frames) % 7 != 3
    feet, outwards, far = (each.reshape(frames, 700, -1) for each in surface.nearest(points.reshape(-1, 3)))
    least = far[counts, :, 0].min(axis=0)
    best = set(np.argsort(least)[:MAX_POINTS].tolist())
    for each in range(5):
        own = np.flatnonzero(digit == each)
        best |= set(own[np.argsort(least[own])[:POINTS_PER_DIGIT]].tolist())
    expected = sorted((row for row in best if least[row] < WITHIN), key=lambda row: float(least[row]))
    found = nearest_skin(surface, points, counts, digit, WITHIN)
    assert found.columns.tolist() == expected
    np.testing.assert_array_equal(found.distances, far[:, expected, 0])
    np.testing.assert_array_equal(found.feet, feet[:, expected])
    np.testing.assert_array_equal(found.outwards, outwards[:, expected])
    assert min_distance(surface, points) == far.min()


def test_without_frames_or_points_nothing_is_near() -> None:
    surface, (points, digit) = SURFACES["slab"], moving_skin(4, 0)
    found = nearest_skin(surface, points, np.zeros(4, bool), digit, WITHIN)
    assert found.feet.shape == (4, 0, 3) and found.distances.shape == (4, 0) and not len(found.columns)
    assert min_distance(surface, points[:, :0]) == 0.0
