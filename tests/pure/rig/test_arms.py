"""Arms above a wrist, of which it is known where elbow and shoulder are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from knuckle.rig.detection.arms import arm_above

Floats = NDArray[np.float64]
HAND = 0.19


def turned(way: Floats, degrees: float, rng: np.random.Generator) -> Floats:
    """A direction so many degrees from another, to any side."""
    side = np.cross(way, rng.normal(size=3))
    result: Floats = np.cos(np.deg2rad(degrees)) * way + np.sin(np.deg2rad(degrees)) * side / np.linalg.norm(side)
    return result


def limb(start: Floats, way: Floats, length: float, pieces: int, rng: np.random.Generator) -> list[Floats]:
    """Where the pieces of a limb begin, from its far end upwards; divided anywhere."""
    cuts = np.sort(rng.uniform(0.15, 0.85, pieces - 1)) if pieces > 1 else np.array([])
    return [start + cut * length * way for cut in (*cuts, 1.0)]


@given(
    seed=st.integers(0, 10_000),
    pieces=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    bent=st.floats(8.0, 60.0),
    metre=st.sampled_from([1.0, 100.0, 0.01]),
)
def test_elbow_and_shoulder_are_found_among_twist_bones_collarbone_and_spine(
    seed: int, pieces: tuple[int, int], bent: float, metre: float
) -> None:
    rng = np.random.default_rng(seed)
    fore, upper = 0.255 * rng.uniform(0.85, 1.2), 0.29 * rng.uniform(0.85, 1.2)
    way = turned(np.array([1.0, 0.0, 0.0]), rng.uniform(0, 180), rng)
    heads = [np.zeros(3), *limb(np.zeros(3), way, fore, pieces[0], rng)]
    elbow = len(heads) - 1
    on = turned(way, bent, rng)
    heads += limb(heads[-1], on, upper, pieces[1], rng)
    shoulder = len(heads) - 1
    across = turned(on, 40.0, rng)
    heads += [heads[-1] + 0.17 * across, heads[-1] + 0.17 * across + 0.1 * turned(across, 80.0, rng)]
    found = arm_above(metre * np.array(heads), metre * HAND, [None] * len(heads))
    assert found == (elbow, shoulder)


def test_names_tell_where_proportions_do_not() -> None:
    heads = np.array([[0.0, 0.0, 0.0], [0.25, 0.0, 0.0], [0.5, 0.0, 0.0], [0.75, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert arm_above(heads, HAND, [None] * 5) == (1, 2)
    assert arm_above(heads, HAND, [None, "fore", "fore", "upper", "upper"]) in ((2, 4), (1, 3))


def test_of_bones_that_begin_in_one_place_the_outermost_is_taken() -> None:
    heads = np.array([[0, 0, 0], [0, 0, 0], [0.26, 0, 0], [0.26, 0, 0], [0.55, 0.05, 0], [0.55, 0.05, 0]], float)
    assert arm_above(heads, HAND, [None] * 6) == (2, 4)


@pytest.mark.parametrize(
    "heads",
    [
        [[0, 0, 0]],
        [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
        [[0, 0, 0], [0.25, 0, 0]],
        [[0, 0, 0], [0.01, 0, 0], [0.02, 0, 0]],
        [[0, 0, 0], [5.0, 0, 0], [9.0, 0, 0]],
    ],
    ids=["alone", "all in one place", "one bone", "far too short", "far too long"],
)
def test_what_is_like_no_arm_is_none(heads: list[list[float]]) -> None:
    assert arm_above(np.array(heads, float), HAND, [None] * len(heads)) is None
