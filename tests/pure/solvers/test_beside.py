"""Markers that sit beside the plane in which a digit bends."""

import numpy as np
import pytest

from knuckle import solvers
from knuckle.hand.joints import TIPS
from knuckle.hand.marker_sets import Spot
from knuckle.hand.proportions import adult, build
from knuckle.hand.targets import assign
from knuckle.solvers.solver import residuals
from knuckle.tests.pure.hand.calibration.test_calibration_motion import moving
from knuckle.tests.pure.hand.people import EIGHT


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("solver", ["fabrik", "cga"])
def test_a_fingertips_marker_beside_the_plane_is_met(side, solver):
    """A centimetre aside, also on a thumb whose second joint bends sideways and takes the marker with it."""
    hand = adult(side)
    spots = tuple(Spot(spot.joint, (0.01, 0.0, 0.005)) if spot.joint in TIPS else spot for spot in EIGHT)
    places = moving(hand, spots, 60, noise=0.0)
    named = {f"m{i}": spot for i, spot in enumerate(spots)}
    model, targets = assign(build(hand), named, np.arange(60) / 60, places)
    off = 1000 * residuals(model, targets, solvers.make(solver, {}).solve(model, targets)[0])[:, 3:]
    assert np.median(off) < 0.05, f"{np.median(off):.2f} mm > 0.05 mm"
    assert np.quantile(off, 0.95) < 1.0, f"{np.quantile(off, 0.95):.2f} mm > 1 mm"
