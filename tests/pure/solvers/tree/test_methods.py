"""Methods to compare with FABRIK on trees: coordinate descent, damped least squares and dynamical IK."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle.solvers.dynamical.limb_step import StepLimit
from knuckle.solvers.tree import TreeSettings, chain, cone, fixed, goals_by_name, hinge, solve
from knuckle.solvers.tree.ccd_sweep import ccd_sweep
from knuckle.solvers.tree.tree_kinematics import forward_kinematics, measure
from knuckle.solvers.tree.tree_solver import METHODS
from knuckle.solvers.tree.velocity_step import damped_step, dynamical_step

from .test_laws import ENDS, miss, reached, thrown
from .test_steps import problem
from .trees import ARM, TAIL, UP, Y, independent, limit_excess, loop, palm, posed, turns_inside

OTHERS = ("ccd", "jacobian", "dynamical")
others = pytest.mark.parametrize("method", OTHERS)
FAST = StepLimit(0.5, 20.0)


def alone(method, most=60, **more):
    """A method without refinement and restarts."""
    return TreeSettings(method=method, near=0.0, stall=0.0, passes=most, steps=0, restarts=0, **more)


@others
@pytest.mark.parametrize("name", sorted(ENDS))
def test_limits_hold_and_no_frame_ends_farther_off_than_it_began(method, name):
    skeleton, goals = thrown(name, 3)
    pose, start = (solve(skeleton, goals, settings=alone(method, most, follow=False))[0] for most in (8, 0))
    assert limit_excess(skeleton, pose.rotations) < 1e-9
    assert pose.iterations is not None and start.iterations is not None
    assert pose.iterations.max() in range(1, 9) and not start.iterations.any()
    if len(goals.joints) == 1 and not skeleton.loops:
        assert (miss(pose, goals) <= miss(start, goals) + 1e-12).all()


@others
@pytest.mark.parametrize(("name", "part"), [("free", 1.0), ("tail", 0.75), ("arm", 0.4)])
def test_most_goals_in_reach_are_reached_alone_and_nearly_all_with_the_finish(method, name, part):
    skeleton, goals = reached(name, 1, 12)
    pose, _ = solve(skeleton, goals, settings=alone(method, 100, follow=False))
    assert (miss(pose, goals) < 1e-3 * skeleton.reach).mean() >= part
    finished, _ = solve(skeleton, goals, settings=TreeSettings(method=method, follow=False))
    assert (miss(finished, goals) < 1e-4 * skeleton.reach).mean() >= 0.95


@others
@pytest.mark.parametrize("follow", [True, False])
def test_solving_in_pieces_gives_the_same_poses(method, follow):
    skeleton, goals = thrown("palm", 5, 3)
    setting = TreeSettings(method=method, follow=follow, passes=6, restarts=0, steps=3)
    whole, _ = solve(skeleton, goals, settings=setting)
    first, state = solve(skeleton, goals.select(slice(0, 1)), settings=setting)
    second, _ = solve(skeleton, goals.select(slice(1, 3)), state, settings=setting)
    assert np.abs(np.concatenate([first.angles, second.angles]) - whole.angles).max() < 1e-9
    counted = [each.iterations for each in (first, second, whole) if each.iterations is not None]
    assert np.array_equal(np.concatenate(counted[:2]), counted[2])


@pytest.mark.parametrize("skeleton", [TAIL, ARM, Y, palm(root_free=True), loop()], ids=lambda each: each.joints[0])
def test_no_sweep_moves_farther_from_the_goals(skeleton):
    ends = {skeleton.joints[-1]: 0.5 * skeleton.reach * np.random.default_rng(1).normal(size=(20, 3))}
    plan, rows = problem(skeleton, goals_by_name(skeleton, ends), turns_inside(skeleton, 20, 2))
    pinned = replace(plan, root_free=False)
    for _ in range(5):
        error, _, frames = measure(plan, rows)
        rows = ccd_sweep(pinned, frames, rows)
        assert (measure(plan, rows)[0] <= error + 1e-9 * skeleton.reach).all()


def test_a_hinge_is_rotated_to_where_the_end_is_nearest():
    """Against a grid over its range: the root is rotated last, so that nothing moves after it."""
    skeleton = chain("two", UP[:3], [hinge(-0.5, 1.0), hinge(0.0, 2.0)])
    goals = goals_by_name(skeleton, {"two-1-tip": np.array([[0.0, 0.6, 1.0], [0.3, -1.0, -1.5], [0.1, 1.4, 0.2]])})
    plan, rows = problem(skeleton, goals, turns_inside(skeleton, 3, 4))
    swept = ccd_sweep(plan, measure(plan, rows)[2], rows)
    error, tried = measure(plan, swept)[0], []
    for angle in np.linspace(-0.5, 1.0, 500):
        angles = swept.angles.copy()
        angles[:, 0, 1] = angle
        tried.append(measure(plan, replace(swept, angles=angles))[0])
    assert (error <= np.min(tried, axis=0) + 1e-9).all()


def test_a_damped_step_is_that_of_the_slopes_of_forward_kinematics():
    """(JᵀJ + λ²)⁻¹ Jᵀe with J by differences; inside the limits, a small step."""
    goals = goals_by_name(ARM, {"arm-2-tip": posed(ARM, 0.5 * turns_inside(ARM, 1, 6))[0][:, -1] + 0.01})
    plan, rows = problem(ARM, goals, 0.5 * turns_inside(ARM, 1, 6))
    start, free = rows.angles[0], plan.free

    def end(angles):
        return forward_kinematics(plan, rows.root_position, angles[None]).points[0, len(plan.links)]

    slopes = []
    for joint, angle in np.argwhere(free):
        ahead, behind = start.copy(), start.copy()
        ahead[joint, angle] += 1e-6
        behind[joint, angle] -= 1e-6
        slopes.append((end(ahead) - end(behind)) / 2e-6)
    jacobian, error = np.array(slopes).T, rows.goals[0, 0] - end(start)
    square = jacobian.T @ jacobian + (0.05 * plan.reach) ** 2 * np.eye(len(slopes))
    expected = np.linalg.solve(square, jacobian.T @ error)
    moved = damped_step(plan, forward_kinematics(plan, rows.root_position, rows.angles), rows, 0.05)
    assert (moved.angles[0] - start)[free] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("gain", [0.1, 0.5])
def test_errors_decay_by_the_gain_of_dynamical(gain):
    """Near the goal and far from limits, where J holds for the whole step: it leaves 1 − K dt of the error."""
    at = 0.4 * turns_inside(TAIL, 5, 7)
    goals = goals_by_name(TAIL, {"tail-5-tip": posed(TAIL, at)[0][:, -1] + [1e-3, -1e-3, 5e-4]})
    plan, rows = problem(TAIL, goals, at)
    before, _, frames = measure(plan, rows)
    after, _, _ = measure(plan, dynamical_step(plan, frames, rows, gain, FAST))
    assert after / before == pytest.approx(1 - gain, abs=0.02)


@pytest.mark.parametrize("gain", [0.2, 0.1, 0.05])
def test_small_gains_of_dynamical_reach_the_goals_in_as_many_steps_as_errors_decay_by_them(gain):
    """Errors decay by (1 − K dt)^n from a start a reach or so away; `stall` is the default."""
    skeleton, goals = reached("tail", 3, 8)
    setting = TreeSettings(method="dynamical", gain=gain, near=0.0, passes=400, steps=0, restarts=0, follow=False)
    pose, _ = solve(skeleton, goals, settings=setting)
    assert miss(pose, goals).max() < 1e-6 * skeleton.reach
    assert pose.iterations == pytest.approx(np.log(1e-6) / np.log(1 - gain), rel=0.1)


def test_dynamical_slows_down_towards_a_limit():
    """A step goes at most v dt tanh(k times what is left), and never beyond."""
    skeleton = chain("one", UP[:2], hinge(0.0, 1.0))
    goals = goals_by_name(skeleton, {"one-0-tip": np.array([[0.0, -1.0, 0.1]])})
    for left in (0.5, 0.05, 0.005):
        angles = np.zeros((1, 2, 3))
        angles[0, 0, 1] = 1.0 - left
        plan, rows = problem(skeleton, goals, angles)
        moved = dynamical_step(plan, measure(plan, rows)[2], rows, 1.0, FAST)
        step = float((moved.angles - rows.angles)[0, 0, 1])
        assert step == pytest.approx(min(0.5 * np.tanh(20 * left), left), rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "joint", [fixed(), hinge(0, 0), cone(0, 0, 0, 0, twist=(0, 0))], ids=["fixed", "hinge", "cone"]
)
def test_a_goal_above_which_no_joint_can_move_leaves_the_rest_pose(method, joint):
    skeleton = chain("arm", UP[:4], [joint, hinge(0, 1), hinge(0, 1)])
    goals = goals_by_name(skeleton, {"arm-1": np.array([[0.5, 0.0, 1.0]])})
    pose, _ = solve(skeleton, goals, settings=TreeSettings(method=method))
    assert np.abs(pose.angles).max() < 1e-12
    assert pose.positions[0, :4] == pytest.approx(UP[:4], abs=1e-12)


@others
def test_an_orientation_is_turned_to(method):
    _, turned = posed(TAIL, 0.5 * turns_inside(TAIL, 4, 8))
    goals = goals_by_name(TAIL, {}, orientations={"tail-5": turned[5].as_quat(scalar_first=True)})
    pose, _ = solve(TAIL, goals, settings=alone(method, 100, follow=False))
    _, solved = independent(TAIL, pose.root, pose.rotations)
    assert np.median((solved[5].inv() * turned[5]).magnitude()) < 0.01


@others
def test_a_free_root_goes_along_and_a_loop_is_closed(method):
    hand = palm(root_free=True)
    ends = ("one-end-tip", "two-end-tip", "three-end-tip")
    at, _ = posed(hand, 0.3 * turns_inside(hand, 3, 9))
    goals = goals_by_name(hand, {name: at[:, hand.index(name)] + [5.0, 1.0, -2.0] for name in ends})
    pose, _ = solve(hand, goals, settings=alone(method, 60, follow=False))
    assert np.median(miss(pose, goals)) < 0.05, "they began 5 m off"
    closed = loop()
    met, _ = solve(
        closed, goals_by_name(closed, {"left-1-tip": np.array([[0.1, 1.9, 0.1]])}), settings=alone(method, 40)
    )
    left, right = (met.positions[0, closed.index(f"{side}-1-tip")] for side in ("left", "right"))
    assert np.linalg.norm(left - right) < 0.02
