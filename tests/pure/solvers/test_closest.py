"""The closest pose by turning one joint at a time, against every pose of a grid."""

from itertools import product

import numpy as np

from knuckle.hand.scalar_math import ARRAY, SCALAR
from knuckle.solvers.planar.closest_pose import DigitDof, coordinate_descent

LENGTH = 0.03274
ABDUCTION, TWIST, FLEXION = np.deg2rad([[-25, 15], [-15, 15], [-30, 90]]).tolist()
KNUCKLE = (
    DigitDof(0, "abduction", ABDUCTION[0], ABDUCTION[1], (0.0, 0.0, 0.0)),
    DigitDof(1, "twist", TWIST[0], TWIST[1], (0.0, 0.0, 0.0)),
    DigitDof(2, "flexion", FLEXION[0], FLEXION[1], (0.0, LENGTH, 0.0)),
)


def end(angles):
    """(N, 3) where a bone on a knuckle ends that turns by angles (N, 3): about Z, then Y, then -X."""
    abduction, twist, flexion = np.asarray(angles).T
    y, z = 0.03274 * np.cos(flexion), -0.03274 * np.sin(flexion)
    x, z = z * np.sin(twist), z * np.cos(twist)
    return np.stack(
        [x * np.cos(abduction) - y * np.sin(abduction), x * np.sin(abduction) + y * np.cos(abduction), z], -1
    )


def test_a_saddle_at_a_limit_is_left():
    """Bent by 90 degrees the bone can be turned aside and back up together, where neither helps alone."""
    goal = (-0.03150237348383973, -0.001198426605718431, -0.0434234746037442)
    found = coordinate_descent(SCALAR, KNUCKLE, (ABDUCTION[0], TWIST[1], FLEXION[1]), goal, 40)
    grid = np.array(list(product(*(np.linspace(turn.low, turn.high, 41) for turn in KNUCKLE))))
    nearest = np.linalg.norm(end(grid) - goal, axis=1).min()
    assert np.linalg.norm(end([found])[0] - goal) < nearest + 1e-6


def test_turning_alone_and_in_a_batch_is_the_same():
    rng = np.random.default_rng(4)
    angles = rng.choice([0.0, 0.5, 1.0], (200, 3)) * [turn.high - turn.low for turn in KNUCKLE]
    angles += [turn.low for turn in KNUCKLE]
    goals = end(angles) + rng.normal(0, 0.02, (200, 3))
    many = np.stack(coordinate_descent(ARRAY, KNUCKLE, tuple(angles.T), tuple(goals.T), 40), -1)
    for own, goal, found in zip(angles.tolist(), goals.tolist(), many, strict=True):
        assert np.abs(np.array(coordinate_descent(SCALAR, KNUCKLE, tuple(own), tuple(goal), 40)) - found).max() < 1e-9
