"""How deep flesh is in flesh in pose problems: derivatives against differences, and what is allowed."""

import numpy as np
import pytest

from knuckle.hand import kinematics, poses, proportions
from knuckle.hand.flesh import Flesh
from knuckle.hand.kinematics import Pose
from knuckle.solvers.pose_problem import PoseProblem, Separation, angles_of, solve

HAND = proportions.build(proportions.adult("right"))
FLESH = Flesh.of(HAND)


def random_poses(count: int) -> np.ndarray:
    """Poses inside the limits, many of which are in themselves."""
    low, high = HAND.limits.T
    share = np.random.default_rng(5).uniform(0.3, 1.0, (count, HAND.dofs))
    angles: np.ndarray = low + share * (high - low)
    return angles


def test_derivatives_are_those_of_differences() -> None:
    # Radii that grow along a bone change a little more, which the derivatives leave out.
    flesh = Flesh.of(HAND, np.full((5, 4), 0.009))
    separation = Separation(flesh, np.full((20, flesh.pairs.shape[1]), 1e-3))
    angles, step = random_poses(20), 1e-6
    excess, slopes = separation.excess(HAND, angles)
    assert (excess[:, 0] > 1e-3).sum() > 8, "the poses are in themselves"
    cost = 0.5 * (excess**2).sum(axis=1)
    gradient = (excess[..., None] * slopes).sum(axis=1)
    for dof in range(HAND.dofs):
        turned = angles.copy()
        turned[:, dof] += step
        after = 0.5 * (separation.excess(HAND, turned)[0] ** 2).sum(axis=1)
        assert (after - cost) / step == pytest.approx(gradient[:, dof], abs=1e-3 * np.abs(gradient).max())


def test_a_solved_pose_is_as_deep_as_allowed() -> None:
    start = Pose.at_origin(HAND, poses.angles(HAND, "pinch")[None])
    allowed = np.full((1, FLESH.pairs.shape[1]), -0.004)
    allowed[:, FLESH.parts[0] != 0] = np.inf
    solved = solve(PoseProblem.of(start, angles_of(HAND, ("thumb",)), separation=Separation(FLESH, allowed))).pose
    assert Separation(FLESH, allowed).excess(HAND, start.angles)[0].max() > 0.003
    assert Separation(FLESH, allowed).excess(HAND, solved.angles)[0].max() < 1e-4
    fingers = angles_of(HAND, ("index-finger", "middle-finger", "ring-finger", "pinky-finger")) - 6
    assert (solved.angles[:, fingers] == start.angles[:, fingers]).all()
    assert kinematics.joint_frames(HAND, solved).shape == (1, 25, 4, 4)


def test_derivatives_of_pairs_to_close_are_those_of_differences_too() -> None:
    flesh = Flesh.of(HAND, np.full((5, 4), 0.009))
    of_tips = (flesh.pairs == 2).any(axis=0) & (flesh.pairs == 5).any(axis=0)
    closed = np.tile(of_tips, (20, 1))
    separation = Separation(flesh, np.where(closed, 0.0, np.inf), closed)
    angles, step = 0.5 * random_poses(20), 1e-6
    excess, slopes = separation.excess(HAND, angles)
    assert (excess.min(axis=1) < -0.005).sum() > 8, "tips are apart"
    cost, gradient = 0.5 * (excess**2).sum(axis=1), (excess[..., None] * slopes).sum(axis=1)
    for dof in range(HAND.dofs):
        turned = angles.copy()
        turned[:, dof] += step
        after = 0.5 * (separation.excess(HAND, turned)[0] ** 2).sum(axis=1)
        assert (after - cost) / step == pytest.approx(gradient[:, dof], abs=1e-3 * np.abs(gradient).max())


def test_pairs_to_close_come_together_and_part() -> None:
    """The tips of thumb and index finger, apart in an open hand and in each other in a pinch."""
    of_tips = (FLESH.pairs == 2).any(axis=0) & (FLESH.pairs == 5).any(axis=0)
    angles = np.stack([poses.angles(HAND, name) for name in ("relaxed", "pinch")])
    closed = np.tile(of_tips, (2, 1))
    separation = Separation(FLESH, np.where(closed, -0.002, np.inf), closed)
    start, free = Pose.at_origin(HAND, angles), angles_of(HAND, ("thumb", "index-finger"))
    solved = solve(PoseProblem.of(start, free, separation=separation)).pose
    before, after = (separation.excess(HAND, each.angles)[0] for each in (start, solved))
    assert before.min(axis=1)[0] < -0.005 and before.max(axis=1)[1] > 0.001
    assert np.abs(after).max() < 1e-4


def test_what_is_allowed_everywhere_changes_nothing() -> None:
    start = Pose.at_origin(HAND, random_poses(6))
    nothing = Separation(FLESH, np.full((6, FLESH.pairs.shape[1]), np.inf))
    problem = PoseProblem.of(start, angles_of(HAND, ("thumb", "index-finger")), separation=nothing)
    assert solve(problem).pose.angles == pytest.approx(start.angles, abs=1e-12)
