"""How the distance of a digit's end falls as it bends, about the corner where its last joint leaves a limit."""

import numpy as np

from knuckle.hand.scalar_math import ONE
from knuckle.solvers.planar.planar_chain import Chain, ChainMarker, bones_to, end_at
from knuckle.solvers.planar.planar_reach import falling

LIMITS = np.array([[-0.5, 1.5], [0.0, 1.9], [0.0, 1.2]])
BONES = bones_to(Chain(np.array([0.045, 0.026, 0.02]), LIMITS, 2 / 3, 0.0), ChainMarker(2, 0.02))


def test_a_straight_digit_bends_its_last_joint_too_whatever_rounding_made_of_its_lead():
    for lead in (0.0, 1e-15, -1e-15):
        square, _, curve = falling(ONE, BONES, 0.0, lead)
        bend = 1e-3
        u, v = end_at(ONE, BONES, (0.0, bend, 2 / 3 * bend))
        assert abs((square - u * u - v * v) / bend**2 - curve) < 1e-3 * curve
