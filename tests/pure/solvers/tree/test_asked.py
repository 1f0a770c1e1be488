"""What can be asked of a tree: orientations, several ends, inner places, pins, loops, a root that moves."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from knuckle.errors import RecipeError
from knuckle.solvers.tree import (
    RestBone,
    TreeSettings,
    ball,
    chain,
    cone,
    from_bones,
    goals_by_name,
    hinge,
    solve,
    solve_from,
    swing_twist_limits,
)

from .trees import ARM, FREE, TAIL, UP, Y, independent, limit_excess, loop, palm, posed, turns_inside

APART = TreeSettings(follow=False)


def world_quaternions(turned):
    return turned.as_quat(scalar_first=True)


def angles_off(skeleton, pose, joint, wanted):
    """(F,) rad between a joint's turn in the world and the one asked for."""
    _, turned = independent(skeleton, pose.root, pose.rotations)
    return (turned[skeleton.index(joint)].inv() * wanted).magnitude()


@pytest.mark.parametrize(("skeleton", "joint"), [(FREE, "free-4"), (ARM, "arm-2"), (TAIL, "tail-5")])
def test_an_end_comes_to_its_place_turned_as_asked(skeleton, joint):
    frames = 40
    positions, turned = posed(skeleton, turns_inside(skeleton, frames, 3))
    tip, wanted = positions[:, -1], turned[skeleton.index(joint)]
    goals = goals_by_name(skeleton, {skeleton.joints[-1]: tip}, orientations={joint: world_quaternions(wanted)})
    pose, _ = solve(skeleton, goals, settings=APART)
    off = np.linalg.norm(pose.positions[:, -1] - tip, axis=-1) > 1e-4 * skeleton.reach
    off |= angles_off(skeleton, pose, joint, wanted) > 1e-3
    assert off.sum() <= 1, f"{off.sum()} of {frames} not there"
    assert limit_excess(skeleton, pose.rotations) < 1e-9


def test_an_orientation_alone_turns_the_joints_above_where_its_own_limits_end():
    """The wrist twists by 80 degrees; the shoulder does the rest."""
    wanted = Rotation.from_rotvec([[1.9, 0.0, 0.0]])
    goals = goals_by_name(
        ARM, {}, orientations={"arm-2": world_quaternions(wanted * posed(ARM, np.zeros((1, 4, 3)))[1][2])}
    )
    pose, _ = solve(ARM, goals)
    assert angles_off(ARM, pose, "arm-2", wanted * posed(ARM, np.zeros((1, 4, 3)))[1][2])[0] < 1e-4


def test_of_two_ends_that_cannot_both_arrive_the_heavier_comes_nearer():
    wide = {"left-1-tip": np.array([[-4.0, 0, 2]]), "right-1-tip": np.array([[4.0, 0, 2]])}
    even, _ = solve(Y, goals_by_name(Y, wide))
    left, _ = solve(Y, goals_by_name(Y, wide, weights={"left-1-tip": 9.0}))
    miss = {
        name: [float(np.linalg.norm(pose.positions[0, Y.index(name)] - wide[name][0])) for pose in (even, left)]
        for name in wide
    }
    assert miss["left-1-tip"][0] == pytest.approx(miss["right-1-tip"][0], abs=1e-5)
    assert miss["left-1-tip"][1] < miss["left-1-tip"][0] - 0.1
    assert miss["right-1-tip"][1] > miss["right-1-tip"][0] + 0.1


def test_two_ends_share_the_sub_base_between_them():
    """Goals 2 m out on either side and 1 m up: by symmetry the sub-base stays on the axis, and both are reached."""
    both = {"left-1-tip": np.array([[-1.9, 0, 1.0]]), "right-1-tip": np.array([[1.9, 0, 1.0]])}
    pose, _ = solve(Y, goals_by_name(Y, both))
    for name, goal in both.items():
        assert np.linalg.norm(pose.positions[0, Y.index(name)] - goal[0]) < 1e-4
    assert np.array_equal(pose.positions[0, Y.index("left-0")], pose.positions[0, Y.index("right-0")])


def test_a_joint_between_two_known_ones_is_where_the_spheres_meet_nearest_to_where_it_was():
    """Bones of 1 m from the origin to (√2, 0, 0): the elbow lies on a circle of radius 1/√2 about (1/√2, 0, 0)."""
    two = chain("two", np.array([[0, 0, 0], [0.6, 0.8, 0], [1.6, 0.8, 0]]))
    pose, _ = solve(two, goals_by_name(two, {"two-1-tip": np.array([[np.sqrt(2), 0, 0]])}))
    assert pose.positions[0, 1] == pytest.approx([np.sqrt(0.5), np.sqrt(0.5), 0], abs=1e-5)


def test_every_second_joint_known_gives_the_others():
    turns = turns_inside(FREE, 20, 8, widest=1.0)
    positions, _ = posed(FREE, turns)
    names = ["free-2", "free-4", "free-4-tip"]
    pose, _ = solve(FREE, goals_by_name(FREE, {name: positions[:, FREE.index(name)] for name in names}), settings=APART)
    assert np.linalg.norm(pose.positions - positions, axis=-1)[:, [2, 4, 5]].max() < 1e-4


def test_a_point_beside_a_joint_can_be_asked_for():
    turns = turns_inside(ARM, 10, 2)
    positions, turned = posed(ARM, turns)
    offset = np.array([0.01, 0.05, 0.02])
    goals = goals_by_name(ARM, {"arm-2": positions[:, 2] + turned[2].apply(offset)})
    goals = replace(goals, offsets=offset[None])
    pose, _ = solve(ARM, goals, settings=APART)
    _, found = independent(ARM, pose.root, pose.rotations)
    there = pose.positions[:, 2] + found[2].apply(offset)
    assert np.linalg.norm(there - goals.positions[:, 0], axis=-1).max() < 1e-4 * ARM.reach


def test_a_pinned_joint_is_held_where_another_goal_pulls_it_away():
    goals = {"free-2": np.array([[1.0, 1, 0]]), "free-4-tip": np.array([[9.0, 0, 0]])}
    held, _ = solve(FREE, goals_by_name(FREE, goals, pinned=("free-2",)))
    even, _ = solve(FREE, goals_by_name(FREE, goals))
    at = FREE.index("free-2")
    assert np.linalg.norm(held.positions[0, at] - goals["free-2"]) < 1e-3
    assert np.linalg.norm(even.positions[0, at] - goals["free-2"]) > 0.1


@pytest.mark.parametrize("limit", [None, cone(0.7, 0.7, 0.7, 0.7, (-0.5, 0.5))])
def test_a_loop_closes_while_its_end_is_led(limit):
    skeleton = loop(limit)
    goal = np.array([0, 1.7, 0]) + np.random.default_rng(4).uniform(-0.25, 0.25, (20, 3))
    goals = goals_by_name(skeleton, {"left-1-tip": goal})
    pose, _ = solve(skeleton, goals, settings=APART)
    left, right = (pose.positions[:, skeleton.index(name)] for name in ("left-1-tip", "right-1-tip"))
    assert np.linalg.norm(left - right, axis=-1).max() < 1e-3
    assert np.linalg.norm(left - goal, axis=-1).max() < 1e-3
    assert limit_excess(skeleton, pose.rotations) < 1e-9


def test_a_loop_stays_closed_when_its_end_is_pulled_out_of_reach():
    skeleton = loop()
    pose, _ = solve(skeleton, goals_by_name(skeleton, {"left-1-tip": np.array([[0.5, 9.0, 0]])}))
    left, right = (pose.positions[0, skeleton.index(name)] for name in ("left-1-tip", "right-1-tip"))
    assert np.linalg.norm(left - right) < 5e-3


def test_a_free_root_goes_along_and_a_pinned_one_stays():
    for free in (True, False):
        skeleton = palm(root_free=free)
        positions, _ = posed(skeleton, turns_inside(skeleton, 8, 1, widest=0.8))
        shift = np.array([3.0, -2.0, 1.0]) * free
        names = ["one-end-tip", "two-end-tip", "three-end-tip", "one", "three"]
        goals = goals_by_name(skeleton, {name: positions[:, skeleton.index(name)] + shift for name in names})
        pose, _ = solve(skeleton, goals, settings=APART)
        missed = np.linalg.norm(pose.positions[:, goals.joints] - goals.positions, axis=-1).max(1)
        assert np.sort(missed)[-2] < 1e-4 * skeleton.reach
        assert np.array_equal(pose.positions[:, 0], np.zeros((8, 3))) != free


def test_the_base_carries_the_tree():
    root = np.tile(np.eye(4), (3, 1, 1))
    root[:, :3, 3] = np.array([[0, 0, 0], [0.1, 0, 0], [0.2, 0.1, 0]])
    goal = np.array([[0.3, 0.3, 0.1]] * 3)
    pose, _ = solve(ARM, goals_by_name(ARM, {"arm-2-tip": goal}, root=root))
    assert np.array_equal(pose.positions[:, 0], root[:, :3, 3])
    assert np.linalg.norm(pose.positions[:, -1] - goal, axis=-1).max() < 1e-5


def test_hinges_in_one_point_are_a_shoulder():
    """Bones without length: three hinges that share a place do what one ball does."""
    at = (0.0, 0.0, 0.0)
    shoulder = from_bones(
        [
            RestBone("x", None, at, at, hinge(-2, 2)),
            RestBone("z", "x", at, at, hinge(-2, 2, (0, 0, 1))),
            RestBone("upper", "z", at, (0, 1, 0), hinge(-2, 2, (0, 1, 0))),
            RestBone("lower", "upper", (0, 1, 0), (0, 2, 0), hinge(0, 2.5)),
        ]
    )
    positions, _ = posed(shoulder, turns_inside(shoulder, 40, 6))
    pose, _ = solve(shoulder, goals_by_name(shoulder, {"lower-tip": positions[:, -1]}), settings=APART)
    missed = np.linalg.norm(pose.positions[:, -1] - positions[:, -1], axis=-1)
    assert (missed > 2e-4).sum() <= 1


def test_a_cone_wider_than_a_right_angle_lets_the_bone_behind_its_parent():
    """150 degrees to one side, 20 to the other: the four quarters are ellipses in angles, not on a plane."""
    one = chain("one", UP[:2], cone(np.deg2rad(150), np.deg2rad(20), 0.3, 0.3))
    behind = posed(one, np.array([[[np.deg2rad(140), 0, 0], [0, 0, 0]]]))[0][:, -1]
    pose, _ = solve(one, goals_by_name(one, {"one-0-tip": behind}))
    assert np.linalg.norm(pose.positions[0, -1] - behind[0]) < 1e-6
    mirrored = behind * [1, 1, -1]
    pose, _ = solve(one, goals_by_name(one, {"one-0-tip": mirrored}))
    assert np.linalg.norm(pose.angles[0, 0, ::2]) > 0.3
    assert limit_excess(one, pose.rotations) < 1e-9


def test_a_ball_above_a_hinge_twists_as_far_as_it_may_to_bring_the_hinge_into_the_plane():
    limb = chain("limb", UP[:3], [ball(twist=(-0.5, 0.5)), hinge(0, 2.5)])
    positions, _ = posed(limb, turns_inside(limb, 40, 5))
    pose, _ = solve(limb, goals_by_name(limb, {"limb-1-tip": positions[:, -1]}), settings=APART)
    assert np.linalg.norm(pose.positions[:, -1] - positions[:, -1], axis=-1).max() < 1e-4
    assert np.abs(pose.angles[:, 0, 1]).max() <= 0.5


def test_a_frame_that_begins_near_its_goal_arrives_from_there_and_what_is_not_asked_for_stays():
    turns = turns_inside(ARM, 20, 9)
    positions, _ = posed(ARM, turns)
    near = turns + np.random.default_rng(9).normal(0, 0.02, turns.shape)
    goals = goals_by_name(ARM, {ARM.joints[-1]: positions[:, -1]}, weights={ARM.joints[-1]: np.arange(20) % 4 > 0})
    pose = solve_from(ARM, goals, near)
    assert limit_excess(ARM, pose.rotations) < 1e-6
    asked = np.arange(20) % 4 > 0
    assert np.linalg.norm(pose.positions[asked, -1] - positions[asked, -1], axis=-1).max() < 1e-5 * ARM.reach
    kept = swing_twist_limits.clamp(ARM.cone, ARM.twist, near)[~asked]
    assert np.array_equal(pose.angles[~asked], kept)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"tolerance": float("nan")}, "settings: tolerance is nan, expected a number from 0 to 1e"),
        ({"passes": -3}, "settings: passes is -3, expected a whole number from 0 to"),
        ({"steps": 2.5}, "settings: steps is 2.5, expected a whole number"),
        ({"stall": 1.5}, "settings: stall is 1.5, expected a number from 0 to 1"),
        ({"follow": 1}, "settings: follow is 1, expected true or false"),
    ],
)
def test_settings_that_cannot_be_are_reported_in_a_sentence(setting, sentence):
    with pytest.raises(RecipeError, match=sentence):
        TreeSettings(**setting)
