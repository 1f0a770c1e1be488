"""Several digits in one batch come out as each would alone, bit by bit."""

import numpy as np
import pytest

from knuckle.hand.model import Movement
from knuckle.hand.scalar_math import ARRAY
from knuckle.solvers.conformal.cga_bend import nearest_in_plane
from knuckle.solvers.planar.chain_batch import MissedGoals, bend_digits, descend
from knuckle.solvers.planar.closest_pose import DigitDof, coordinate_descent
from knuckle.solvers.planar.digit_steps import BendGoal
from knuckle.solvers.planar.planar_ccd import planar_ccd
from knuckle.solvers.planar.planar_chain import Chain, ChainMarker, MarkerHint
from knuckle.solvers.planar.planar_fabrik import Stopping, nearest_point, planar_fabrik
from knuckle.solvers.planar.planar_plan import PlanarBend

STOPPING = Stopping(1e-5, 1e-7, 60)
LONG, SHORT = np.array([0.045, 0.026, 0.02]), np.array([0.032, 0.018, 0.017])
STIFF, BACKWARDS = np.deg2rad([[-10, 30], [40, 100], [-15, 20]]), np.deg2rad([[-20, 90], [-30, 100], [-15, 60]])
CHAINS = (
    Chain(LONG, STIFF, 2 / 3, 0.0),
    Chain(SHORT, BACKWARDS, 2 / 3, 0.0),
    Chain(LONG, BACKWARDS, 0.0, 0.1),
    Chain(SHORT, STIFF, 1.36, -0.02),
)
MARKERS = tuple(ChainMarker(bone, 0.017, dorsal) for bone, dorsal in ((2, 0.0), (2, 0.006), (1, 0.004), (0, 0.0)))


def goals(rng, count):
    """Goals (N,) in the plane, some of them out of reach, and an inner marker that is seen now and then."""
    u, v, aside = rng.uniform(-0.1, 0.1, (3, count))
    near_u, near_v = rng.uniform(0.0, 0.05, (2, count))
    return BendGoal(u, v, aside, [MarkerHint(ChainMarker(1, 0.01), near_u, near_v, (rng.random(count) < 0.3) * 1.0)])


@pytest.mark.parametrize("marker", MARKERS)
def test_digits_bend_in_a_batch_as_they_do_alone(marker):
    rng = np.random.default_rng(1)
    bends: list[PlanarBend] = [planar_fabrik(chain, marker, STOPPING, nearest_point) for chain in CHAINS]
    bends += [planar_fabrik(chain, marker, STOPPING, nearest_in_plane) for chain in CHAINS]
    bends += [planar_ccd(chain, marker, STOPPING) for chain in CHAINS]
    given = [goals(rng, count) for count in (60, 1, 7, 40) * 3]
    together = bend_digits(bends, given)
    for bend, goal, found in zip(bends, given, together, strict=True):
        alone = bend.bend_frames(goal.u, goal.v, goal.hints)
        np.testing.assert_array_equal(found, alone)


def test_where_every_digit_reaches_its_goal_a_batch_is_what_they_are_alone():
    marker, ahead = ChainMarker(2, 0.02), np.full(3, 0.06)
    bends = [planar_fabrik(chain, marker, STOPPING) for chain in (CHAINS[1], CHAINS[2])]
    given = [BendGoal(ahead, 0.2 * ahead, 0.0 * ahead, [])] * 2
    for found, bend in zip(bend_digits(bends, given), bends, strict=True):
        np.testing.assert_array_equal(found, bend.bend_frames(ahead, 0.2 * ahead, []))


def test_digits_descend_in_a_batch_as_they_do_alone():
    """Fingers of other lengths and limits, and a thumb, whose joints move otherwise; other frames keep their angles."""
    rng = np.random.default_rng(2)
    digits = []
    for first in (0, 3, 6):
        movements: tuple[Movement, ...] = (
            ("twist", "flexion", "flexion") if first == 6 else ("abduction", "flexion", "flexion")
        )
        low, high, length = -rng.random(3), rng.random(3), 0.02 + 0.02 * rng.random(3)
        own = [
            DigitDof(first + k, movement, float(low[k]), float(high[k]), (0.0, float(length[k]), 0.0))
            for k, movement in enumerate(movements)
        ]
        digits.append(tuple(own))
    angles = rng.uniform(-1, 1, (50, 9))
    rows = [np.array([3, 4, 40]), np.array([0, 49]), np.array([7])]
    missed = [
        MissedGoals(dofs, of_digit, tuple(rng.uniform(-0.1, 0.1, (3, len(of_digit)))))
        for dofs, of_digit in zip(digits, rows, strict=True)
    ]
    expected = angles.copy()
    for dofs, of_digit, goal in missed:
        start = tuple(angles[of_digit, joint.dof] for joint in dofs)
        for joint, found in zip(dofs, coordinate_descent(ARRAY, dofs, start, goal, 20), strict=True):
            expected[of_digit, joint.dof] = found
    descend(missed, angles, 20)
    np.testing.assert_array_equal(angles, expected)
    descend([], angles, 20)
    np.testing.assert_array_equal(angles, expected)
