"""Targets refuse what no solver could heed."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle.errors import HandError
from knuckle.hand.targets import ARRAYS, Targets


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


@pytest.mark.parametrize("length", [0.0, 1e-200])
def test_a_quaternion_of_no_length_is_refused_where_it_has_a_weight(length):
    turns = with_value("rotations", length, (2, 1))
    with pytest.raises(HandError, match=r"^targets: rotations of target 1 in frame 2 are of length zero, expected"):
        replace(targets(), rotations=turns)
    replace(targets(), rotations=turns, rotation_weights=with_value("rotation_weights", 0.0, (2, 1)))
