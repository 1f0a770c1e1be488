"""Every solver of takes drags a hand: to where the mouse is, inside limits, with pins held, and back as it was."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from knuckle.hand import rotations as rot
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.hand.kinematics import Pose, joint_position
from knuckle.posing.algebra_shapes import Tracer
from knuckle.posing.dragging import DRAG_SOLVERS, LABELS, NEAREST, WRIST, Drag, DragStep, Pin, start_drag
from knuckle.solvers import SOLVERS
from knuckle.tests.pure.posing.test_dragging import (
    HANDS,
    TIPS,
    Floats,
    apart,
    as_bent,
    digits,
    dofs_of,
    seeds,
    sides,
    some_pose,
)

few = settings(max_examples=4, deadline=None)
# They now and then go over to another bend at once.
LEAPING = {"jacobian", "whole-hand", "pair-wise"}
solvers = pytest.mark.parametrize("solver", DRAG_SOLVERS)


def crooked(start: Pose, seed: int) -> Pose:
    """The same hand with the bones of its digits turned by some degrees against each other, as rigs have them."""
    rng, rest = np.random.default_rng(seed), np.array(start.hand.rest)
    for joint in (start.hand.joints.index(name) for names in CHAIN_JOINTS.values() for name in names[1:3]):
        turn = np.eye(4)
        turn[:3, :3] = rot.to_matrix(rot.from_axis_angle(rot.unit_vector(rng.normal(size=3)), 0.1))
        rest[joint] = rest[joint] @ turn
    return Pose(replace(start.hand, rest=rest), start.root, start.angles)


def led(of: Drag, ways: Floats) -> list[DragStep]:
    """What each step came to, of ways (N, 3) m from where it began."""
    courses: list[DragStep] = []
    for way in ways:
        courses.append(of.step(of.position + way, courses[-1] if courses else None))
    return courses


def test_nearest_and_all_solvers_of_takes_can_be_chosen() -> None:
    assert list(DRAG_SOLVERS) == list(LABELS) == [NEAREST, *SOLVERS]


@solvers
@few
@given(side=sides, digit=digits, seed=seeds)
def test_a_tip_comes_to_where_it_can_be_inside_limits_and_no_joint_leaps(
    solver: str, side: str, digit: str, seed: int
) -> None:
    hand = HANDS[side]
    start = some_pose(hand, seed)
    goal = joint_position(as_bent(start, some_pose(hand, seed + 1), digit), TIPS[digit])[0]
    of = start_drag(start, TIPS[digit], solver=DRAG_SOLVERS[solver](hand))
    way = goal - of.position
    courses = led(of, np.linspace(0.05, 1.0, 20)[:, None] * way)
    assert apart(courses[-1].pose, TIPS[digit], goal) < 0.5
    low, high = hand.limits.T
    others = np.setdiff1d(np.arange(hand.dofs), dofs_of(hand, digit))
    for course in courses:
        assert np.all(course.pose.angles >= low - 1e-9) and np.all(course.pose.angles <= high + 1e-9)
        assert np.array_equal(course.pose.angles[:, others], start.angles[:, others])
        assert np.array_equal(course.pose.root, start.root)
    turned = np.rad2deg(np.abs(np.diff([course.pose.angles[0] for course in courses], axis=0)).max())
    assert solver in LEAPING or turned < 4.0 + 14.0 * 1000 * float(np.linalg.norm(way)) / 20


@solvers
@few
@given(side=sides, digit=digits, seed=seeds, far=st.floats(0.005, 0.2))
def test_back_where_it_began_all_is_as_it_was(solver: str, side: str, digit: str, seed: int, far: float) -> None:
    start = some_pose(HANDS[side], seed)
    way = far * rot.unit_vector(np.random.default_rng(seed).normal(size=3))
    of = start_drag(start, TIPS[digit], solver=DRAG_SOLVERS[solver](start.hand))
    parts = np.concatenate([np.linspace(0.0, 1.0, 8), np.linspace(1.0, 0.0, 8)])
    courses = led(of, parts[:, None] * way)
    assert np.abs(courses[0].pose.angles - start.angles).max() < 1e-9
    assert np.abs(courses[-1].pose.angles - start.angles).max() < 1e-3


@solvers
@few
@given(side=sides, digit=digits, seed=seeds)
def test_the_tip_that_is_seen_comes_there_on_a_rig_whose_bones_are_not_in_a_plane(
    solver: str, side: str, digit: str, seed: int
) -> None:
    hand = HANDS[side]
    start = crooked(some_pose(hand, seed), seed)
    goal = joint_position(as_bent(start, some_pose(hand, seed + 1, 0.7), digit), TIPS[digit])[0]
    of = start_drag(start, TIPS[digit], solver=DRAG_SOLVERS[solver](hand))
    course = led(of, np.linspace(0.1, 1.0, 10)[:, None] * (goal - of.position))[-1]
    reached = apart(course.pose, TIPS[digit], goal)
    # What one hand reaches the other need not: then the nearest pose of all is no better either.
    best = apart(led(start_drag(start, TIPS[digit]), (goal - of.position)[None])[-1].pose, TIPS[digit], goal)
    assert reached < best + 0.5, f"{reached:.2f} mm, {best:.2f} mm"


@solvers
@few
@example(side="left", seed=247, joint=WRIST)
@given(side=sides, seed=seeds, joint=st.sampled_from([WRIST, "middle-finger-phalanx-proximal"]))
def test_pins_hold_while_the_hand_moves(solver: str, side: str, seed: int, joint: str) -> None:
    start = some_pose(HANDS[side], seed, 0.5)
    pins = [Pin(digit, joint_position(start, TIPS[digit])[0]) for digit in DIGITS[: 1 + seed % 3]]
    of = start_drag(start, joint, pins, solver=DRAG_SOLVERS[solver](start.hand))
    way = 0.03 * rot.unit_vector(np.random.default_rng(seed).normal(size=3))
    for course in led(of, np.linspace(0.0, 1.0, 5)[:, None] * way):
        assert max(apart(course.pose, TIPS[pin.digit], pin.position) for pin in pins) < 0.5
        stopped = course.pose.root[0].copy()
        stopped[:3, 3] = (stopped[:3, 3] + start.root[0, :3, 3]) / 2
        held = of.hold_pins(stopped, course).pose
        assert np.array_equal(held.root[0], stopped)


@solvers
def test_fingers_pinned_to_each_other_stay_so(solver: str) -> None:
    start = some_pose(HANDS["right"], 4, 0.5)
    turn = start.root[0, :3, :3]

    def between(pose: Pose) -> Floats:
        way: Floats = (joint_position(pose, TIPS["thumb"])[0] - joint_position(pose, TIPS["index-finger"])[0]) @ turn
        return way

    pins = [Pin("thumb", between(start), "index-finger")]
    of = start_drag(start, TIPS["index-finger"], pins, solver=DRAG_SOLVERS[solver](start.hand))
    for course in led(of, np.linspace(0.0, 1.0, 8)[:, None] * (turn @ [0.01, -0.02, -0.03])):
        assert 1000 * np.linalg.norm(between(course.pose) - between(start)) < 0.5


@few
@given(side=sides, digit=digits, seed=seeds)
def test_what_the_algebra_shows_of_a_drag_by_cga_is_what_was_computed(side: str, digit: str, seed: int) -> None:
    hand = HANDS[side]
    start = crooked(some_pose(hand, seed), seed)
    of = start_drag(start, TIPS[digit], solver=DRAG_SOLVERS["cga"](hand))
    way = np.random.default_rng(seed).normal(0.0, 0.02, 3)
    for course in led(of, np.linspace(0.2, 1.0, 5)[:, None] * way):
        goals = of.tip_targets(course)
        assert list(goals) == [digit]
        shown = Tracer(hand).solved(Pose(hand, course.pose.root, course.pose.angles), digit, goals[digit])
        assert np.abs(shown.angles - course.pose.angles).max() < 1e-6
