"""Targets refuse what no solver could heed."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle.errors import HandError
from knuckle.hand.marker_sets import Spot
from knuckle.hand.proportions import adult, build
from knuckle.hand.targets import ARRAYS, Targets, assign


def targets() -> Targets:
    """Two targets over three frames, of every kind."""
    many, ones = (3, 2), np.ones((3, 2))
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (*many, 1))
    return Targets(
        np.arange(3.0), np.arange(2), np.ones((*many, 3)), ones, turns, ones, np.ones((*many, 3)), np.ones((*many, 3))
    )


def with_value(name: str, value: float, at: tuple[int, ...]) -> np.ndarray:
    """One of the arrays with another value."""
    array: np.ndarray = getattr(targets(), name).copy()
    array[at] = value
    return array


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(("name", "weights"), [(name, weights) for name, _, weights in ARRAYS if weights])
def test_what_is_not_finite_is_refused_where_it_has_a_weight(name, weights, value):
    bad = {name: with_value(name, value, (1, 0, 2))}
    with pytest.raises(HandError, match=rf"^targets: {name} of target 0 in frame 1 are not finite, expected"):
        replace(targets(), **bad)
    replace(targets(), **bad, **{weights: with_value(weights, 0.0, (1, 0))})


@pytest.mark.parametrize("name", [name for name, _, weights in ARRAYS if weights])
def test_what_is_not_finite_and_has_no_weight_becomes_zero(name):
    weights = {name: weights for name, _, weights in ARRAYS}[name]
    unknown = {name: with_value(name, np.nan, (1, 0, 2)), weights: with_value(weights, 0.0, (1, 0))}
    mended = replace(targets(), **unknown)
    array = getattr(mended, name)
    assert array[1, 0, 2] == 0
    assert np.array_equal(array[0], getattr(targets(), name)[0])


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("name", ["weights", "rotation_weights"])
def test_a_weight_is_a_number_of_at_least_zero(name, value):
    with pytest.raises(HandError, match=rf"^targets: {name} of target 1 in frame 2 is {value:g}, expected a number"):
        replace(targets(), **{name: with_value(name, value, (2, 1))})


def test_further_sites_are_asked_for_nothing():
    wider = targets().with_sites(np.array([7, 9]))
    assert wider.sites.tolist() == [0, 1, 7, 9]
    for name, width, _ in ARRAYS:
        array = getattr(wider, name)
        assert np.array_equal(array[:, :2], getattr(targets(), name))
        assert array[:, 2:].shape == (3, 2, *width)
        assert not array[:, 2:].any()


def test_a_part_has_the_frames_that_were_asked_for():
    part = targets().select(slice(1, 3))
    assert part.times.tolist() == [1.0, 2.0]
    for name, width, _ in ARRAYS:
        assert getattr(part, name).shape == (2, 2, *width)


@pytest.mark.parametrize("length", [0.0, 1e-200])
def test_a_quaternion_of_no_length_is_refused_where_it_has_a_weight(length):
    turns = with_value("rotations", length, (2, 1))
    with pytest.raises(HandError, match=r"^targets: rotations of target 1 in frame 2 are of length zero, expected"):
        replace(targets(), rotations=turns)
    replace(targets(), rotations=turns, rotation_weights=with_value("rotation_weights", 0.0, (2, 1)))


@pytest.mark.parametrize("known", [(), (0,), (0, 1)])
def test_rotations_are_targets_where_they_are_known(known):
    hand, spots = build(adult("right")), {"wrist": Spot("wrist"), "tip": Spot("index-finger-tip")}
    rotations = np.full((2, 2, 4), np.nan)
    rotations[0, list(known)] = [0.6, 0.8, 0.0, 0.0]
    _, found = assign(hand, spots, np.arange(2.0), np.ones((2, 2, 3)), rotations)
    if not known:
        assert found.rotations is None
        assert found.rotation_weights is None
    else:
        assert found.rotations is not None and found.rotation_weights is not None
        assert np.argwhere(found.rotation_weights).tolist() == [[0, column] for column in known]
        np.testing.assert_array_equal(found.rotations[0, list(known)], rotations[0, list(known)])
