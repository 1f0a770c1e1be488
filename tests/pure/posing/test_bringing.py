"""A hand on an arm brought along courses: its end is on them where lengths and limits let it, else straight towards."""

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.hand import kinematics, poses, proportions
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, SIDES, Side
from knuckle.hand.kinematics import Pose, joint_position
from knuckle.hand.model import HandModel
from knuckle.posing.following import (
    End,
    GuideSphere,
    Shoulder,
    Tool,
    along_line,
    around_sphere,
    reach_with_digit,
    solve_path,
)
from knuckle.posing.following.digit_reach import bring_tip, touch_digit
from knuckle.solvers import arm as arms
from knuckle.solvers.solver import limit_excess

Floats = NDArray[np.float64]
MM = 1e-3
PARTS = np.linspace(0.0, 1.0, 25)
ARM = arms.Arm(0.29, 0.25)


def hand_of(side: Side) -> HandModel:
    return proportions.build(proportions.adult(side))


def placed(place: tuple[float, float, float]) -> Floats:
    frame = np.eye(4)
    frame[:3, 3] = place
    return frame


def tool(hand: HandModel, angles: Floats, joint: str) -> Tool:
    return Tool(placed((0.1, 0.35, 0.1)), joint_position(Pose.at_origin(hand, angles[None]), joint)[0])


@pytest.mark.parametrize("joint", ["wrist", "index-finger-tip", "thumb-tip"])
@pytest.mark.parametrize("side", SIDES)
def test_on_a_line_in_reach_the_end_is_on_it_and_no_digit_moves(side: Side, joint: str) -> None:
    hand = hand_of(side)
    angles = poses.angles(hand, "point")
    held = tool(hand, angles, joint)
    course = along_line(held, held.position, np.array([-0.2, 0.05, 0.1]), PARTS)
    found = solve_path(hand, angles, End(joint), course, Shoulder(ARM, np.eye(4)))
    assert found.distances.max() < 1e-9
    np.testing.assert_array_equal(found.pose.angles, np.tile(angles, (len(PARTS), 1)))
    frames = kinematics.joint_frames(hand, found.pose)
    np.testing.assert_allclose(frames[:, hand.joints.index(joint), :3, 3], course.ends, atol=1e-9)


def test_around_a_ball_the_tip_is_on_it() -> None:
    hand = hand_of("right")
    angles = poses.angles(hand, "point")
    held = tool(hand, angles, "index-finger-tip")
    course = around_sphere(held, GuideSphere((0.1, 0.42, 0.2), 0.05), np.array([0.0, 0.0, 2 * np.pi]), PARTS)
    found = solve_path(hand, angles, End("index-finger-tip"), course, Shoulder(ARM, np.eye(4)))
    off = np.abs(np.linalg.norm(found.ends - [0.1, 0.42, 0.2], axis=1) - 0.05)
    assert off.max() < 1e-9, f"{off.max() / MM} mm"


@pytest.mark.parametrize("digit", DIGITS)
@pytest.mark.parametrize("side", SIDES)
def test_a_curled_finger_reaches_out_where_the_arm_ends(side: Side, digit: str) -> None:
    """The arm is straight a little short of the goal; the finger opens as far as it must, and no other moves."""
    hand = hand_of(side)
    angles = poses.angles(hand, "relaxed")
    joint = CHAIN_JOINTS[digit][-1]
    length = float(np.linalg.norm(joint_position(Pose.at_origin(hand, angles[None]), joint)[0]))
    own = [dof for dof in range(hand.dofs) if hand.joints[int(hand.axis_joint[dof])] in CHAIN_JOINTS[digit]]
    any_angles = np.random.default_rng(5).uniform(hand.limits[:, 0], hand.limits[:, 1], (4000, hand.dofs))
    longest = float(np.linalg.norm(joint_position(Pose.at_origin(hand, any_angles), joint), axis=1).max())
    assert longest > length
    far = np.linspace(-0.02, 0.8 * (longest - length), 13) + ARM.upper + ARM.fore + length
    held = tool(hand, angles, joint)
    course = along_line(
        held, np.array([0.0, far[0], 0.0]), np.array([0.0, far[-1] - far[0], 0.0]), np.linspace(0, 1, 13)
    )
    found = solve_path(hand, angles, End(joint), course, Shoulder(ARM, np.eye(4)))
    assert found.distances.max() < 0.1 * MM, f"{found.distances / MM}"
    assert {"circle", "outside"} <= set(found.cases), "it is the finger that reaches the last of them"
    assert limit_excess(hand, found.pose.angles).max() < 1e-9
    others = [dof for dof in range(hand.dofs) if dof not in own]
    np.testing.assert_array_equal(found.pose.angles[:, others], np.tile(angles[others], (13, 1)))
    steps = np.abs(np.diff(found.pose.angles, axis=0)).max()
    assert steps < np.deg2rad(25), f"{np.rad2deg(steps)} degrees between two steps 2 mm apart"


def test_out_of_reach_arm_and_finger_are_straight_towards_the_goal() -> None:
    hand = hand_of("right")
    angles = poses.angles(hand, "point")
    goal = np.array([0.3, 1.4, 0.5])
    held = tool(hand, angles, "index-finger-tip")
    course = along_line(held, goal, np.zeros(3), np.zeros(1))
    found = solve_path(hand, angles, End("index-finger-tip"), course, Shoulder(ARM, np.eye(4)))
    assert found.cases == ("outside",)
    way, end = goal / np.linalg.norm(goal), found.ends[0]
    aside = np.linalg.norm(end - (end @ way) * way)
    assert aside < 0.1 * MM, f"{aside / MM} mm beside the line from the shoulder to the goal"
    finger = np.linalg.norm(found.ends[0] - found.pose.root[0, :3, 3])
    assert np.linalg.norm(end) == pytest.approx(ARM.upper + ARM.fore + finger, abs=1e-6)
    np.testing.assert_allclose(found.pose.root[0, :3, 3], (ARM.upper + ARM.fore) * way, atol=1e-6)


def test_a_hand_that_hangs_on_nothing_goes_along() -> None:
    hand = hand_of("left")
    angles = poses.angles(hand, "ok")
    held = tool(hand, angles, "pinky-finger-tip")
    course = along_line(held, np.array([5.0, 5.0, 5.0]), np.array([1.0, 0.0, 0.0]), PARTS)
    found = solve_path(hand, angles, End("pinky-finger-tip"), course, None)
    assert found.distances.max() < 1e-12 and set(found.cases) == {"inside"}


@pytest.mark.parametrize("name", ["fist", "relaxed", "spread"])
@pytest.mark.parametrize("digit", DIGITS)
def test_a_tip_that_stays_keeps_a_pose_that_the_solver_would_not_choose(digit: str, name: str) -> None:
    hand = hand_of("right")
    angles = poses.angles(hand, name).copy()
    last = hand.dof(CHAIN_JOINTS[digit][2], "flexion")
    assert last is not None
    angles[last] = hand.limits[last].mean()
    tip = joint_position(Pose.at_origin(hand, angles[None]), CHAIN_JOINTS[digit][-1])
    np.testing.assert_allclose(bring_tip(hand, digit, angles, tip)[0], angles, atol=1e-9)
    beside = bring_tip(hand, digit, angles, tip + [[0.0, -1e-4, 0.0]])
    assert np.abs(beside - angles).max() < np.deg2rad(3), "0.1 mm beside it the pose is beside it"


@pytest.mark.parametrize("digit", DIGITS)
@pytest.mark.parametrize("side", SIDES)
def test_a_digit_alone_reaches_what_another_pose_of_it_reaches(side: Side, digit: str) -> None:
    hand = hand_of(side)
    angles, joint = poses.angles(hand, "relaxed"), CHAIN_JOINTS[digit][-1]
    goals = np.concatenate(
        [
            joint_position(Pose.at_origin(hand, poses.angles(hand, name)[None]), joint)
            for name in ("open", "point", "ok")
        ]
    )
    root = placed((0.4, 0.2, 0.1))
    found = reach_with_digit(hand, root, angles, End(joint), goals + root[:3, 3])
    assert found.distances.max() < 0.5 * MM, f"{found.distances / MM}"
    assert limit_excess(hand, found.pose.angles).max() < 1e-9
    np.testing.assert_array_equal(found.pose.root, np.tile(root, (3, 1, 1)))


def test_the_case_of_a_digit_is_told_by_its_lengths() -> None:
    hand = hand_of("right")
    angles = poses.angles(hand, "relaxed")
    straight = poses.angles(hand, "open")
    base = joint_position(Pose.at_origin(hand, straight[None]), CHAIN_JOINTS["index-finger"][0])[0]
    way = joint_position(Pose.at_origin(hand, straight[None]), CHAIN_JOINTS["index-finger"][-1])[0] - base
    found = touch_digit(hand, "index-finger", angles, base + way * [[0.0], [0.45], [0.95], [1.0], [1.3]])
    assert found.cases == ("near", "inside", "circle", "tangent", "outside")
    assert found.distances[-1] == pytest.approx(0.3 * np.linalg.norm(way))
    out = reach_with_digit(hand, np.eye(4), angles, End("index-finger-tip"), (base + 1.3 * way)[None])
    bearing = (out.ends[0] - base) @ way / np.linalg.norm(out.ends[0] - base) / np.linalg.norm(way)
    assert bearing > 1 - 1e-6, "straight towards it"
    assert out.distances[0] == pytest.approx(0.3 * np.linalg.norm(way), abs=0.05 * MM)


def test_an_end_that_is_seen_beside_its_joint_is_brought_there() -> None:
    """A person turned the last bone as no hand does: what touches is where the tip is seen."""
    hand = hand_of("right")
    angles = poses.angles(hand, "point")
    end = End("index-finger-tip", np.array([0.004, -0.003, 0.008]))
    held = Tool(placed((0.1, 0.35, 0.1)), end.positions(hand, angles[None])[0])
    course = along_line(held, held.position, np.array([-0.2, 0.05, 0.1]), PARTS)
    found = solve_path(hand, angles, end, course, Shoulder(ARM, np.eye(4)))
    model = joint_position(Pose.at_origin(hand, found.pose.angles), end.joint) + end.offset
    seen = (found.pose.root[:, :3, :3] @ model[..., None])[..., 0] + found.pose.root[:, :3, 3]
    np.testing.assert_allclose(seen, course.ends, atol=1e-9)


def test_steps_that_are_not_finite_keep_the_arm_where_it_is() -> None:
    hand = hand_of("right")
    angles = poses.angles(hand, "point")
    held = tool(hand, angles, "index-finger-tip")
    course = along_line(held, held.position, np.array([0.1, np.nan, 0.0]), np.array([0.0, 1.0]))
    found = solve_path(hand, angles, End("index-finger-tip"), course, Shoulder(ARM, np.eye(4)))
    assert found.cases[1] == "unknown"
    assert np.isfinite(found.pose.root).all()
    assert np.isfinite(found.pose.angles).all()
