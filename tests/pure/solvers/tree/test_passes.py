"""FABRIK's passes by themselves, without the steps and the other restarts that finish them."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle.solvers.tree import TreeSettings, chain, goals_by_name, solve
from knuckle.solvers.tree.fabrik_passes import inward_pass
from knuckle.solvers.tree.tree_kinematics import forward_kinematics

from .test_laws import miss, reached
from .test_steps import problem
from .trees import UP, limit_excess, loop, posed, turns_inside


def passes_alone(most):
    return TreeSettings(follow=False, near=0.0, stall=0.0, passes=most, steps=0, restarts=0)


def missed(name, most, frames=40):
    """(F,) parts of the reach, and the poses."""
    skeleton, goals = reached(name, 1, frames)
    pose, _ = solve(skeleton, goals, settings=passes_alone(most))
    assert limit_excess(skeleton, pose.rotations) < 1e-9
    return miss(pose, goals) / skeleton.reach


@pytest.mark.parametrize("name", ["free", "uneven", "two ends"])
def test_without_limits_passes_alone_arrive(name):
    """FABRIK converges for every goal within reach; and each pass leaves a part of what the one before it left."""
    start, some, many = (missed(name, most) for most in (0, 4, 60))
    assert np.median(start) > 0.5
    assert np.median(some) < 0.01
    assert many.max() < 1e-3


@pytest.mark.parametrize(("name", "part"), [("tail", 0.75), ("arm", 0.1), ("inner places", 0.2)])
def test_within_limits_passes_alone_arrive_often_and_come_nearer_always(name, part):
    """FABRIK with limits may end short of a goal; never farther than it began."""
    start, many = missed(name, 0), missed(name, 60)
    assert (many < 1e-3).mean() >= part
    assert (many <= start).all()
    assert np.median(many) < 0.2 * np.median(start)


def test_a_joint_that_is_known_from_both_sides_is_found_in_one_pass():
    """Of two bones between a pinned root and a goal: where the two spheres meet (FABRIK-CGA 3.3)."""
    skeleton = chain("two", UP[:3])
    positions, _ = posed(skeleton, turns_inside(skeleton, 40, 5))
    goals = goals_by_name(skeleton, {skeleton.joints[-1]: positions[:, -1]})
    pose, _ = solve(skeleton, goals, settings=passes_alone(1))
    assert miss(pose, goals).max() < 1e-8
    nearest, _ = solve(skeleton, goals, settings=replace(passes_alone(1), intersect_spheres=False))
    assert np.median(miss(nearest, goals)) > 1e-3, "Algorithm 1 alone takes more passes"


def test_joints_that_close_a_loop_are_wanted_in_one_place_on_both_bones_spheres():
    skeleton = loop()
    goals = goals_by_name(skeleton, {"left-1-tip": np.array([[0.2, 1.8, 0.3]])})
    plan, rows = problem(skeleton, goals, 0.2 * turns_inside(skeleton, 1, 3))
    posed = forward_kinematics(plan, rows.root_position, rows.angles)
    wanted, _ = inward_pass(plan, posed, rows)
    count = len(plan.links)
    assert len(plan.loop_pairs) == 1
    one, other = plan.loop_pairs[0]
    assert np.array_equal(wanted[:, count + one], wanted[:, count + other])
    for site in (one, other):
        joint = plan.site_joints[site]
        above = posed.points[:, plan.links[joint].parent]
        length = np.linalg.norm(plan.rest_offsets[joint])
        assert np.linalg.norm(wanted[:, count + site] - above, axis=-1) == pytest.approx(length, abs=1e-9)
