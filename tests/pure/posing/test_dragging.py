"""A drag brings what is dragged to where it is dragged, or straight towards it, and leaves all else as it was."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from knuckle.hand import kinematics
from knuckle.hand import rotations as rot
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, KNUCKLES
from knuckle.hand.kinematics import Pose, joint_position
from knuckle.hand.model import HandModel
from knuckle.hand.proportions import adult, build
from knuckle.posing.dragging import DRAGGABLE, WRIST, Drag, Pin, start_drag

Floats = NDArray[np.float64]

HANDS: dict[Any, HandModel] = {side: build(adult(side)) for side in ("left", "right")}
TIPS = {digit: joints[-1] for digit, joints in CHAIN_JOINTS.items()}
some = settings(max_examples=12, deadline=None)
sides, digits, seeds = st.sampled_from(["left", "right"]), st.sampled_from(DIGITS), st.integers(0, 9999)


def some_pose(hand: HandModel, seed: int, spread: float = 1.0) -> Pose:
    """A hand somewhere, bent as a person's: fingers along their couplings, no twist, so far from ease."""
    rng = np.random.default_rng(seed)
    low, high = hand.limits.T
    angles = hand.neutral + spread * (low + (0.1 + 0.8 * rng.random(hand.dofs)) * (high - low) - hand.neutral)
    angles[np.array(hand.movements) == "twist"] = 0.0
    for row in hand.couplings:
        middle, last = np.flatnonzero(row.coefficients)
        angles[middle] = max(angles[middle], 0.0)
        angles[last] = np.clip(-row.coefficients[middle] * angles[middle], low[last], high[last])
    root = np.eye(4)[None].copy()
    turn = rng.normal(size=4)
    root[0, :3, :3], root[0, :3, 3] = rot.to_matrix(turn / np.linalg.norm(turn)), rng.normal(size=3)
    return Pose(hand, root, angles[None])


def dofs_of(hand: HandModel, *names: str) -> list[int]:
    own = {JOINT_INDEX[joint] for digit in names for joint in CHAIN_JOINTS[digit]}
    return [dof for dof, joint in enumerate(hand.axis_joint.tolist()) if joint in own]


def as_bent(start: Pose, other: Pose, *names: str) -> Pose:
    """A pose with some digits bent as in another one."""
    angles = start.angles.copy()
    own = dofs_of(start.hand, *names)
    angles[0, own] = other.angles[0, own]
    return Pose(start.hand, start.root, angles)


def dragged(of: Drag, goal: Floats, steps: int = 12) -> Pose:
    """The pose after the mouse went straight to a goal."""
    last = None
    for part in np.linspace(0.0, 1.0, steps + 1):
        last = of.step(of.position + part * (goal - of.position), last)
    assert last is not None
    return last.pose


def apart(pose: Pose, joint: str, goal: Floats) -> float:
    """mm"""
    return 1000 * float(np.linalg.norm(joint_position(pose, joint)[0] - goal))


@some
@given(side=sides, joint=st.sampled_from(DRAGGABLE), seed=seeds)
def test_a_drag_to_where_it_is_changes_nothing(side: str, joint: str, seed: int) -> None:
    start = some_pose(HANDS[side], seed)
    of = start_drag(start, joint)
    pose = of.step(of.position).pose
    assert np.abs(pose.angles - start.angles).max() < 1e-9
    assert np.abs(pose.root - start.root).max() < 1e-9


@some
@given(side=sides, digit=digits, seed=seeds)
def test_a_fingertip_comes_to_where_it_can_be(side: str, digit: str, seed: int) -> None:
    start = some_pose(HANDS[side], seed)
    goal = joint_position(as_bent(start, some_pose(HANDS[side], seed + 1), digit), TIPS[digit])[0]
    off = apart(dragged(start_drag(start, TIPS[digit]), goal), TIPS[digit], goal)
    assert off < 0.5, f"{off:.2f} mm > 0.5 mm"


@some
@given(side=sides, digit=digits, seed=seeds, reach=st.floats(0.0, 1.0))
def test_only_the_digit_that_is_dragged_moves_and_inside_its_limits(
    side: str, digit: str, seed: int, reach: float
) -> None:
    start = some_pose(HANDS[side], seed)
    rng = np.random.default_rng(seed)
    of = start_drag(start, CHAIN_JOINTS[digit][1 + seed % 3])
    pose = dragged(of, of.position + reach * rng.normal(size=3))
    low, high = start.hand.limits.T
    assert np.all(pose.angles >= low - 1e-9) and np.all(pose.angles <= high + 1e-9)
    others = np.setdiff1d(np.arange(start.hand.dofs), dofs_of(start.hand, digit))
    assert np.array_equal(pose.angles[:, others], start.angles[:, others])
    assert np.array_equal(pose.root, start.root)
    assert of.joints == frozenset(JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit][:-1])


@some
@given(side=sides, digit=digits, seed=seeds)
def test_no_pose_is_much_nearer_to_what_is_out_of_reach(side: str, digit: str, seed: int) -> None:
    hand = HANDS[side]
    start, rng = some_pose(hand, seed), np.random.default_rng(seed)
    own, (low, high) = dofs_of(hand, digit), hand.limits.T
    of = start_drag(start, TIPS[digit])
    angles = np.repeat(start.angles, 500, axis=0)
    angles[:, own] = low[own] + rng.random((500, len(own))) * (high - low)[own]
    others = Pose(hand, np.repeat(start.root, 500, axis=0), angles)
    places = kinematics.joint_frames(hand, others)[:, JOINT_INDEX[TIPS[digit]], :3, 3]
    goal = places[0] + rng.normal(0.0, 0.015, 3)
    off = apart(dragged(of, goal), TIPS[digit], goal)
    other = 1000 * float(np.linalg.norm(places - goal, axis=1).min())
    assert off < other + 1.0, f"{off:.1f} mm, another pose {other:.1f} mm"


def test_a_finger_that_is_pulled_away_stretches_towards_the_mouse() -> None:
    hand = HANDS["right"]
    start = some_pose(hand, 3)
    for digit in DIGITS[1:]:
        base = joint_position(start, CHAIN_JOINTS[digit][0])[0]
        ahead = start.root[0, :3, :3] @ np.array([0.0, 1.0, 0.05])
        pose = dragged(start_drag(start, TIPS[digit]), base + 2.0 * ahead)
        way = joint_position(pose, TIPS[digit])[0] - base
        assert np.rad2deg(np.arccos(way @ ahead / np.linalg.norm(way) / np.linalg.norm(ahead))) < 3.0


@some
@given(side=sides, digit=digits, back=st.floats(0.01, 0.1))
def test_a_straight_digit_that_is_pushed_along_itself_bends(side: str, digit: str, back: float) -> None:
    hand = HANDS[side]
    start = Pose(hand, np.eye(4)[None], np.clip(np.zeros((1, hand.dofs)), *hand.limits.T))
    of = start_drag(start, CHAIN_JOINTS[digit][-1])
    along = kinematics.joint_frames(hand, start)[0, JOINT_INDEX[CHAIN_JOINTS[digit][-2]], :3, 1]
    goal = of.position - back * of.reach * along
    assert apart(dragged(of, goal), of.joint, goal) < 0.1, "mm"


@pytest.mark.parametrize("lean", [-20, 0, 5, 10, 20])
@pytest.mark.parametrize("digit", DIGITS[1:])
def test_a_straight_finger_that_is_pushed_back_bends_as_its_tendons_have_it(digit: str, lean: float) -> None:
    hand = HANDS["right"]
    start = Pose(hand, np.eye(4)[None], np.clip(np.zeros((1, hand.dofs)), *hand.limits.T))
    of = start_drag(start, TIPS[digit])
    along, back = kinematics.joint_frames(hand, start)[0, JOINT_INDEX[CHAIN_JOINTS[digit][2]], :3, 1:3].T
    way = -np.cos(np.deg2rad(lean)) * along + np.sin(np.deg2rad(lean)) * back
    pose = dragged(of, of.position + 0.35 * of.reach * way)
    pip, dip = np.rad2deg(pose.angles[0, dofs_of(hand, digit)[-2:]])
    assert pip > 30, "it does not bend back"
    assert abs(dip - 2 / 3 * pip) < 35, f"the last joint by {dip:.0f} degrees, the middle one by {pip:.0f}"


@some
@given(side=sides, digit=digits, seed=seeds, far=st.floats(0.005, 0.2))
def test_the_way_there_and_back_ends_where_it_began(side: str, digit: str, seed: int, far: float) -> None:
    start = some_pose(HANDS[side], seed)
    of = start_drag(start, TIPS[digit])
    way = np.random.default_rng(seed).normal(size=3)
    way *= far / np.linalg.norm(way)
    last = None
    for part in np.concatenate([np.linspace(0.0, 1.0, 20), np.linspace(1.0, 0.0, 20)]):
        last = of.step(of.position + part * way, last)
    assert last is not None
    assert np.abs(last.pose.angles - start.angles).max() < 1e-3


@some
@given(seed=seeds, digit=digits)
def test_the_other_hand_does_the_same_in_the_mirror(seed: int, digit: str) -> None:
    right, left = (replace(some_pose(HANDS[side], seed), root=np.eye(4)[None]) for side in ("right", "left"))
    way = np.random.default_rng(seed).normal(0.0, 0.03, 3)
    ends = [start_drag(pose, TIPS[digit]) for pose in (right, left)]
    poses = [
        dragged(of, of.position + way * flip)
        for of, flip in zip(ends, np.array([[1.0] * 3, [-1.0, 1.0, 1.0]]), strict=True)
    ]
    assert np.abs(poses[0].angles - poses[1].angles).max() < 1e-4


@some
@given(seed=seeds, side=sides, digit=digits)
def test_a_hand_elsewhere_and_of_another_size_does_the_same(seed: int, side: str, digit: str) -> None:
    start = some_pose(HANDS[side], seed)
    larger = build(adult(side, 10 * adult(side).size))  # type: ignore[arg-type]
    turn = rot.to_matrix(rot.from_axis_angle([0.6, 0.0, 0.8], 1.0))
    root = start.root.copy()
    root[0, :3, :3] = turn @ root[0, :3, :3]
    way = np.random.default_rng(seed).normal(0.0, 0.03, 3)
    of, other = start_drag(start, TIPS[digit]), start_drag(Pose(larger, root, start.angles), TIPS[digit])
    pose, same = dragged(of, of.position + way), dragged(other, other.position + 10 * turn @ way)
    assert np.abs(pose.angles - same.angles).max() < 1e-3


@some
@given(seed=seeds, side=sides, digit=digits, far=st.floats(0.02, 0.2))
def test_no_joint_leaps_under_a_mouse_that_does_not(seed: int, side: str, digit: str, far: float) -> None:
    start, rng = some_pose(HANDS[side], seed), np.random.default_rng(seed)
    of = start_drag(start, TIPS[digit])
    turns = np.linspace(0.0, 2 * np.pi, 60)[:, None]
    ways = sum(rng.normal(size=3) * np.sin(often * turns) / often for often in (1, 2, 3))
    ways *= far / np.abs(ways).max()
    last = of.step(of.position)
    for before, after in itertools.pairwise(ways):
        course = of.step(of.position + after, last)
        turned = float(np.rad2deg(np.abs(course.pose.angles - last.pose.angles).max()))
        way = 1000 * float(np.linalg.norm(after - before))
        assert turned < 4.0 + 14.0 * way, f"{turned:.0f} degrees for {way:.1f} mm"
        last = course


def test_the_last_joint_goes_with_the_one_before_it_unless_it_is_let_go() -> None:
    hand = HANDS["right"]
    start = Pose(hand, np.eye(4)[None], hand.neutral[None])
    _, pip, dip, tip = CHAIN_JOINTS["index-finger"]
    middle, last = hand.dof(pip, "flexion"), hand.dof(dip, "flexion")
    way = np.array([0.0, -0.03, -0.02])
    bent = [
        (course.pose.angles - start.angles)[0]
        for course in (
            start_drag(start, tip, coupled=c).step(joint_position(start, tip)[0] + way) for c in (True, False)
        )
    ]
    ratio = [of[last] / of[middle] for of in bent]
    assert ratio[0] == pytest.approx(2 / 3, abs=0.02)
    assert abs(ratio[1] - 2 / 3) > 0.1


@some
@given(seed=seeds, side=sides)
def test_the_palm_takes_the_hand_along(seed: int, side: str) -> None:
    start = some_pose(HANDS[side], seed)
    goal = np.random.default_rng(seed).normal(size=3)
    pose = start_drag(start, WRIST).step(goal).pose
    assert apart(pose, WRIST, goal) < 1e-3
    assert np.abs(pose.root[:, :3, :3] - start.root[:, :3, :3]).max() < 1e-9
    assert np.array_equal(pose.angles, start.angles)


@some
@given(seed=seeds, side=sides, knuckle=st.sampled_from(KNUCKLES), turn=st.floats(-1.0, 1.0))
def test_a_knuckle_turns_the_hand_about_its_wrist(seed: int, side: str, knuckle: str, turn: float) -> None:
    start, rng = some_pose(HANDS[side], seed), np.random.default_rng(seed)
    of = start_drag(start, knuckle)
    axis = rng.normal(size=3)
    turned = rot.rotate(rot.from_axis_angle(axis / np.linalg.norm(axis), turn), of.position - of.base)
    pose = dragged(of, of.base + (0.5 + rng.random()) * turned)
    assert apart(pose, knuckle, of.base + turned) < 0.1
    assert apart(pose, WRIST, of.base) < 1e-9
    assert np.array_equal(pose.angles, start.angles)


@some
@given(seed=seeds, side=sides, joint=st.sampled_from([WRIST, *KNUCKLES]), far=st.floats(0.0, 0.3))
def test_pins_hold_while_the_hand_moves(seed: int, side: str, joint: str, far: float) -> None:
    start, rng = some_pose(HANDS[side], seed, 0.6), np.random.default_rng(seed)
    pinned = rng.choice(DIGITS, 1 + seed % 5, replace=False)
    pins = [Pin(digit, joint_position(start, TIPS[digit])[0]) for digit in pinned]
    of = start_drag(start, joint, pins)
    way = rng.normal(size=3)
    pose = dragged(of, of.position + far * way / np.linalg.norm(way))
    for pin in pins:
        off = apart(pose, TIPS[pin.digit], pin.position)
        assert off < 0.5, f"{pin.digit} {off:.2f} mm > 0.5 mm"
    low, high = start.hand.limits.T
    assert np.all(pose.angles >= low - 1e-9) and np.all(pose.angles <= high + 1e-9)
    free = np.setdiff1d(np.arange(start.hand.dofs), dofs_of(start.hand, *pinned))
    assert np.array_equal(pose.angles[:, free], start.angles[:, free])


def test_the_palm_gets_where_it_is_dragged_though_fingers_are_pinned() -> None:
    for side, hand in HANDS.items():
        start = some_pose(hand, 5, 0.3)
        pins = [Pin(digit, joint_position(start, TIPS[digit])[0]) for digit in DIGITS[:2]]
        of = start_drag(start, WRIST, pins)
        towards = start.root[0, :3, :3] @ np.array([0.0, 0.012, 0.0])
        off = apart(dragged(of, of.position + towards), WRIST, of.position + towards)
        assert off < 0.5, f"{side} {off:.2f} mm > 0.5 mm"


def test_a_finger_that_is_pinned_stays_exactly_while_another_is_dragged() -> None:
    start = some_pose(HANDS["right"], 2)
    pins = [Pin(digit, joint_position(start, TIPS[digit])[0]) for digit in DIGITS]
    of = start_drag(start, TIPS["index-finger"], pins)
    pose = dragged(of, of.position + [0.0, 0.01, 0.02])
    assert of.digits == ("index-finger",) and apart(pose, TIPS["index-finger"], of.position) > 10.0


def test_a_finger_comes_to_a_pin_that_went_elsewhere() -> None:
    start = some_pose(HANDS["right"], 2, 0.5)
    there = joint_position(start, TIPS["thumb"])[0] + start.root[0, :3, :3] @ np.array([0.005, 0.0, -0.004])
    of = start_drag(start, TIPS["index-finger"], [Pin("thumb", there)])
    pose = dragged(of, of.position + [0.0, 0.005, 0.01])
    assert apart(pose, TIPS["thumb"], there) < 0.5


@pytest.mark.parametrize("led", ["thumb", "index-finger"])
def test_fingers_pinned_to_each_other_stay_so_whichever_is_dragged(led: str) -> None:
    start = some_pose(HANDS["right"], 4, 0.5)
    turn = start.root[0, :3, :3]
    gap = (joint_position(start, TIPS["thumb"])[0] - joint_position(start, TIPS["index-finger"])[0]) @ turn
    of = start_drag(start, TIPS[led], [Pin("thumb", gap, "index-finger")])
    for way in ([0.0, 0.0, -0.01], [0.3, 0.2, 0.3]):
        pose = dragged(of, of.position + turn @ np.array(way), 30)
        now = (joint_position(pose, TIPS["thumb"])[0] - joint_position(pose, TIPS["index-finger"])[0]) @ turn
        assert 1000 * np.linalg.norm(now - gap) < 0.5
        assert of.digits == ("thumb", "index-finger")


def test_a_wrist_that_went_elsewhere_than_asked_keeps_its_pins() -> None:
    start = some_pose(HANDS["right"], 5, 0.3)
    pins = [Pin(digit, joint_position(start, TIPS[digit])[0]) for digit in DIGITS[:3]]
    of = start_drag(start, WRIST, pins)
    asked = of.step(of.position + start.root[0, :3, :3] @ np.array([0.0, 0.01, 0.0]))
    stopped = start.root[0].copy()
    stopped[:3, 3] = (start.root[0, :3, 3] + asked.pose.root[0, :3, 3]) / 2
    pose = of.hold_pins(stopped, asked).pose
    assert np.array_equal(pose.root[0], stopped)
    assert max(apart(pose, TIPS[pin.digit], pin.position) for pin in pins) < 0.5
