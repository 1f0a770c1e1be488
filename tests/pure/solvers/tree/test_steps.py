"""The parts of a pass and of the finish, each against what it is defined by."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from knuckle.solvers.tree import TreeSettings, at_rest, goals_by_name, swing_twist_limits
from knuckle.solvers.tree.cost_derivatives import _series, cost_derivatives
from knuckle.solvers.tree.fabrik_passes import inward_pass
from knuckle.solvers.tree.goal_points import goal_points
from knuckle.solvers.tree.sphere_joint import nearest_on_spheres
from knuckle.solvers.tree.tree_kinematics import TreeProblems, forward_kinematics, measure
from knuckle.solvers.tree.tree_plan import make_plan
from knuckle.solvers.tree.tree_solver import _solve_rows

from .trees import ARM, FREE, TAIL, Y, loop, palm, turns_inside

few = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 9999)
X = np.array([[1.0, 0, 0]])


def length(vector):
    return np.linalg.norm(vector, axis=-1)


@few
@given(seed=seeds)
def test_where_two_spheres_meet_no_point_of_both_is_nearer(seed):
    rng = np.random.default_rng(seed)
    one, other, near = rng.normal(size=(3, 1, 3))
    both = rng.normal(size=(1, 3))
    radius, other_radius = float(length(both - one)[0]), float(length(both - other)[0])
    found = nearest_on_spheres(one, radius, other, other_radius, near, aside=X)
    assert length(found - one)[0] == pytest.approx(radius, abs=1e-12)
    assert length(found - other)[0] == pytest.approx(other_radius, abs=1e-12)
    # A point of both spheres, turned about the line through their centres, is all of their circle.
    axis = (other - one)[0] / length(other - one)
    circle = one + Rotation.from_rotvec(np.linspace(0, 2 * np.pi, 3601)[:, None] * axis).apply((both - one)[0])
    nearest = length(circle - near).min()
    assert nearest - 1e-5 < length(found - near)[0] < nearest + 1e-12


@pytest.mark.parametrize(("distance", "radii"), [(3.0, (1.0, 1.5)), (0.4, (1.0, 0.5)), (0.0, (1.0, 1.0))])
def test_where_two_spheres_do_not_meet_it_is_the_middle_of_their_centres(distance, radii):
    """Apart, one inside the other, and about one centre."""
    found = nearest_on_spheres(0 * X, radii[0], distance * X, radii[1], X + 1, aside=X)
    assert found == pytest.approx(distance / 2 * X)


def test_spheres_that_touch_meet_in_one_point():
    assert nearest_on_spheres(0 * X, 1.0, 3 * X, 2.0, X + 1, aside=X) == pytest.approx(X, abs=1e-7)
    assert nearest_on_spheres(0 * X, 3.0, X, 2.0, X + 1, aside=X) == pytest.approx(3 * X, abs=1e-7)


def test_from_the_axis_of_the_circle_the_side_asked_for_is_taken():
    up = np.array([[0.0, 3, 0]])
    found = nearest_on_spheres(0 * X, 1.0, np.sqrt(2) * X, 1.0, 0.3 * X, aside=up)
    assert found == pytest.approx(np.array([[np.sqrt(0.5), np.sqrt(0.5), 0]]))


def test_a_sub_base_is_wanted_at_the_weighted_centroid_of_what_its_ends_want():
    """Each end's way inwards as FABRIK has it, 1.21 written out for one joint after another.

    The root is free: from a pinned one the joint beside it would be known from both sides.
    """
    tree = replace(Y, root_free=True)
    goal = {"left": np.array([-1.0, 0.4, 2.6]), "right": np.array([1.3, 0.2, 1.9])}
    weight = {"left": 1.0, "right": 3.0}
    goals = goals_by_name(
        tree,
        {f"{name}-1-tip": goal[name][None] for name in goal},
        weights={f"{name}-1-tip": weight[name] for name in goal},
    )
    plan, rows = problem(tree, goals, np.zeros((1, len(tree.joints), 3)))
    posed = forward_kinematics(plan, rows.root_position, rows.angles)
    wanted, _ = inward_pass(plan, posed, rows)
    now = dict(zip(tree.joints, posed.points[0], strict=False))

    def inward(from_there, joint):
        return from_there + (now[joint] - from_there) / length(now[joint] - from_there)

    ends = {name: inward(inward(goal[name], f"{name}-1"), f"{name}-0") for name in goal}
    middle = sum(weight[name] * ends[name] for name in ends) / 4
    for joint, there in {
        "left-0": ends["left"],
        "right-0": ends["right"],
        "s1": inward(middle, "s1"),
        "s0": inward(inward(middle, "s1"), "s0"),
    }.items():
        assert wanted[0, tree.index(joint)] == pytest.approx(there, abs=1e-5), joint


def problem(skeleton, goals, turns):
    """The plan, and rows at turns (F, J, 3)."""
    sites = goal_points(skeleton, goals)
    plan = make_plan(skeleton, sites, np.full(len(sites.joints), True))
    origin = np.tile(skeleton.rest[0, :3, 3], (len(turns), 1))
    return plan, TreeProblems(origin, turns[:, plan.joints], sites.goals, sites.weights)


@few
@given(seed=seeds)
def test_errors_are_the_distances_of_the_ends_from_their_goals(seed):
    rng = np.random.default_rng(seed)
    goal, weight = rng.normal(size=(2, 3, 3)), {"left-1-tip": 1.0, "right-1-tip": 3.0}
    goals = goals_by_name(Y, dict(zip(weight, goal, strict=True)), weights=weight)
    plan, rows = problem(Y, goals, turns_inside(Y, 3, seed))
    cost, farthest, posed = measure(plan, rows)
    ends = posed.points[:, len(plan.links) :].swapaxes(0, 1)
    off = length(ends - rows.goals.swapaxes(0, 1))
    assert farthest == pytest.approx(off.max(axis=0))
    assert cost == pytest.approx(np.sqrt((rows.weights.T * off**2).sum(axis=0)))


def test_a_restart_never_ends_farther_from_the_goal():
    """However much nearer it must end to be taken: goals beyond the limits, each from a pose at random."""
    rng, frames = np.random.default_rng(11), 12
    goals = goals_by_name(ARM, {"arm-2-tip": 2.0 * rng.normal(size=(frames, 3))})
    plan, rows = problem(ARM, goals, turns_inside(ARM, frames, 12))
    errors = {}
    for number in (0, 3):
        tried = TreeSettings(restarts=number, restart_gain=0.05, passes=2, steps=10)
        errors[number] = measure(plan, _solve_rows(plan, rows, tried)[0])[0]
    assert (errors[3] <= errors[0] + 1e-6 * plan.reach).all()
    assert (errors[3] < errors[0] - 0.05 * plan.reach).any()


CASES = {
    "free": (FREE, ("free-2", "free-4-tip"), ()),
    "tail": (TAIL, ("tail-3", "tail-5-tip"), ("tail-4",)),
    "arm": (ARM, ("arm-2-tip",), ("arm-2",)),
    "palm": (palm(root_free=True), ("one-end-tip", "two-end-tip", "three"), ("two",)),
    "loop": (loop(), ("left-1-tip",), ()),
}


@few
@given(seed=seeds, name=st.sampled_from(sorted(CASES)))
def test_slope_and_curvature_are_those_of_half_the_squared_misses(seed, name):
    """By differences of the measured misses, over all turns and the place of a free root."""
    skeleton, ends, turned = CASES[name]
    rng = np.random.default_rng(seed)
    spin = Rotation.random(len(turned) or 1, rng=rng).as_quat(scalar_first=True)
    goals = goals_by_name(
        skeleton,
        {end: rng.normal(0, skeleton.reach / 2, (1, 3)) for end in ends},
        orientations={joint: spin[k : k + 1] for k, joint in enumerate(turned)},
        weights={ends[0]: 2.0},
    )
    plan, rows = problem(skeleton, goals, turns_inside(skeleton, 1, seed, widest=1.2))
    found = cost_derivatives(plan, forward_kinematics(plan, rows.root_position, rows.angles), rows)
    count = rows.angles.size
    free = np.concatenate([plan.free.ravel(), np.full(3 * plan.root_free, True)])

    def cost(change):
        """(K,) -> the cost of each of changes (K, unknowns)."""
        moved = rows.select(np.zeros(len(change), int))
        moved = replace(
            moved,
            angles=moved.angles + change[:, :count].reshape(-1, *rows.angles.shape[1:]),
            root_position=moved.root_position + (plan.reach * change[:, count:] if plan.root_free else 0.0),
        )
        return measure(plan, moved)[0] ** 2 / 2

    size, h = len(free), 1e-4
    steps = h * np.eye(size) * free[:, None]
    slope = (cost(steps) - cost(-steps)) / (2 * h)
    pairs = (steps[:, None] + steps[None]).reshape(-1, size)
    across = (steps[:, None] - steps[None]).reshape(-1, size)
    bend = (cost(pairs) - cost(across) - cost(-across) + cost(-pairs)).reshape(size, size) / (4 * h * h)
    scale = max(np.abs(bend).max(), np.abs(slope).max())
    assert np.abs(found.gradient[0] - slope)[free].max() < 1e-6 * scale
    ours = (found.gauss_newton + found.second_order)[0]
    assert np.abs(ours - bend)[free][:, free].max() < 1e-5 * scale


@few
@given(seed=seeds)
def test_the_nearest_swing_inside_a_cone_is_nearer_than_any_on_its_edge(seed):
    rng = np.random.default_rng(seed)
    widths, swing = rng.uniform(0.1, 2.5, 4), rng.normal(0, 1.5, 2)
    inside = swing_twist_limits.clamp_swing(widths, swing[None])[0]
    semi = np.where(swing >= 0, widths[:2], widths[2:])
    if ((swing / semi) ** 2).sum() <= 1:
        assert np.array_equal(inside, swing)
        return
    nearest, around = np.inf, np.linspace(0, 2 * np.pi, 20001)
    for _ in range(2):  # all around, then closely about the nearest
        edge = np.stack([np.cos(around), np.sin(around)], -1)
        edge *= np.where(edge >= 0, widths[:2], widths[2:])
        away = length(edge - swing)
        nearest, around = away.min(), around[away.argmin()] + np.linspace(-1e-3, 1e-3, 20001)
    assert nearest - 1e-6 < length(inside - swing) < nearest + 1e-6
    assert ((inside / np.where(inside >= 0, widths[:2], widths[2:])) ** 2).sum() <= 1


@few
@given(seed=seeds)
def test_turns_are_a_twist_and_then_the_shortest_swing(seed):
    rng = np.random.default_rng(seed)
    axes = Rotation.random(rng=rng).as_matrix()
    turns = rng.uniform(-2, 2, 3)
    swing = Rotation.from_rotvec(turns[0] * axes[:, 0] + turns[2] * axes[:, 2])
    whole = swing * Rotation.from_rotvec(turns[1] * axes[:, 1])
    assert swing_twist_limits.matrices(axes, turns) == pytest.approx(whole.as_matrix(), abs=1e-12)
    quaternion = swing_twist_limits.rotations(axes, turns)
    assert abs(quaternion @ whole.as_quat(scalar_first=True)) == pytest.approx(1, abs=1e-12)
    heading = whole.apply(axes[:, 1])
    assert swing_twist_limits.swing_to(axes, heading, turns) == pytest.approx(turns[::2], abs=1e-9)


def test_an_arm_at_rest_outside_its_limits_begins_at_the_nearest_inside():
    stiff = replace(ARM, limits=(ARM.limits[0], replace(ARM.limits[1], twist=(0.4, 2.0)), *ARM.limits[2:]))
    assert at_rest(stiff).angles[1, 1] == pytest.approx(0.4)


def test_the_coefficients_of_a_rotations_derivative_are_those_of_longer_numbers():
    """Also where they are a series, since the numbers cancel each other out."""
    angle = np.concatenate([np.linspace(0.005, 0.0499, 20), np.linspace(0.0501, 3.0, 20)])
    x = angle.astype(np.longdouble)
    first, second = (1 - np.cos(x)) / x**2, (x - np.sin(x)) / x**3
    slopes = (x * np.sin(x) - 2 * (1 - np.cos(x))) / x**4, (3 * np.sin(x) - x * np.cos(x) - 2 * x) / x**5
    for found, expected in zip(_series(angle), (first, second, *slopes), strict=True):
        np.testing.assert_allclose(found, expected.astype(float), rtol=1e-6)
