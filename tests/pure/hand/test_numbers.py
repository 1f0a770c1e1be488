"""The functions of arrays against those of plain floats."""

import math

import numpy as np
import pytest

from knuckle.hand.scalar_math import ARRAY, SCALAR


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sines_and_cosines_of_arrays_are_those_of_floats(name):
    angles = np.concatenate([np.linspace(-7, 7, 20001), np.pi * np.arange(-4, 5) / 4, [1e-300, -0.0]])
    expected = [getattr(SCALAR, name)(angle) for angle in angles.tolist()]
    assert np.abs(getattr(ARRAY, name)(angles) - expected).max() < 5e-16
    assert math.isnan(getattr(ARRAY, name)(np.array([math.nan]))[0])
