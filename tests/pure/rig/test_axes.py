"""What is drawn of a hand's axes: the ways of its tips against a bent hand's, at any scale, with joints missing."""

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.hand import kinematics, proportions
from knuckle.hand import rotations as rot
from knuckle.hand.joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX, JOINTS, KNUCKLES, SIDES, Side, digit_of
from knuckle.hand.kinematics import Pose
from knuckle.rig.hand_axes import CURL_FLEXION, HALF_HINGE_LENGTH, arrow_head, hand_axes

Floats = NDArray[np.float64]


def posed(side: Side, bend: float, root: Floats | None = None) -> Floats:
    """(J, 4, 4) the joints of a hand whose fingers bend so far in each joint, and its thumb in the last two."""
    hand = proportions.build(proportions.adult(side))
    angles = np.zeros((1, hand.dofs))
    for column, (joint, movement) in enumerate(zip(hand.axis_joint, hand.movements, strict=True)):
        if movement == "flexion" and hand.joints[joint] != "thumb-metacarpal":
            angles[0, column] = bend
    frames: Floats = kinematics.joint_frames(hand, Pose(hand, (np.eye(4) if root is None else root)[None], angles))[0]
    return frames


@pytest.mark.parametrize("side", SIDES)
def test_the_way_of_a_tip_is_where_the_hand_model_brings_it_when_it_bends(side: Side) -> None:
    straight = hand_axes(posed(side, 0.0))
    for step, share in ((0, 0.0), (6, 0.5), (12, 1.0)):
        bent = posed(side, share * CURL_FLEXION)
        for one in straight.digits:
            tip = bent[JOINT_INDEX[f"{one.digit}-tip"], :3, 3]
            np.testing.assert_allclose(one.tip_path[step], tip, atol=1e-9, err_msg=f"{one.digit} at {share:.0%}")


@pytest.mark.parametrize("side", SIDES)
def test_a_bent_hand_shows_how_it_goes_on_from_where_it_is(side: Side) -> None:
    bent = hand_axes(posed(side, 0.3))
    further = posed(side, 0.3 + CURL_FLEXION)
    for one in bent.digits:
        np.testing.assert_allclose(one.tip_path[-1], further[JOINT_INDEX[f"{one.digit}-tip"], :3, 3], atol=1e-9)


@pytest.mark.parametrize("side", SIDES)
def test_the_palm_normal_points_to_where_the_fingers_curl(side: Side) -> None:
    axes = hand_axes(posed(side, 0.0))
    normal = axes.normal[1] - axes.normal[0]
    for one in axes.digits[1:]:
        assert (one.tip_path[-1] - one.tip_path[0]) @ normal > 0, one.digit
    np.testing.assert_array_equal(axes.knuckles, posed(side, 0.0)[[JOINT_INDEX[name] for name in KNUCKLES], :3, 3])


def test_moved_turned_and_scaled_joints_give_the_axes_moved_turned_and_scaled() -> None:
    place = np.eye(4)
    place[:3, :3] = rot.to_matrix(rot.from_axis_angle(np.array([0.6, 0.0, 0.8]), 1.2))
    place[:3, 3] = (1.0, -2.0, 3.0)
    plain, moved = posed("left", 0.2), place @ posed("left", 0.2)
    moved[:, :3] *= 0.01
    for one, other in zip(hand_axes(plain).digits, hand_axes(moved).digits, strict=True):
        for part in ("joints", "hinges", "tip_path"):
            expected = 0.01 * (getattr(one, part) @ place[:3, :3].T + place[:3, 3])
            np.testing.assert_allclose(getattr(other, part), expected, atol=1e-9)


def test_hinges_lie_across_their_bones() -> None:
    frames = posed("right", 0.4)
    for one in hand_axes(frames).digits:
        bending = [JOINT_INDEX[joint] for joint in CHAIN_JOINTS[one.digit][:-1]]
        for joint, (start, end) in zip(bending, one.hinges, strict=True):
            assert abs((end - start) @ frames[joint, :3, 1]) < 1e-9
            np.testing.assert_allclose((start + end) / 2, frames[joint, :3, 3], atol=1e-12)
            assert 0.08 * 2 * HALF_HINGE_LENGTH < np.linalg.norm(end - start) < 0.12 * 2 * HALF_HINGE_LENGTH, (
                "a palm is about 0.1 m long"
            )


def test_joints_that_are_missing_are_left_out() -> None:
    frames = posed("right", 0.0)
    for joint in JOINTS:
        if digit_of(joint) == "ring-finger" or joint in {"thumb-metacarpal", "index-finger-metacarpal"}:
            frames[JOINT_INDEX[joint]] = np.nan
    axes = hand_axes(frames)
    assert [one.digit for one in axes.digits] == [digit for digit in DIGITS if digit != "ring-finger"]
    assert [len(one.joints) for one in axes.digits] == [3, 4, 5, 5]
    assert [len(one.hinges) for one in axes.digits] == [2, 3, 3, 3]
    assert len(axes.knuckles) == 3
    assert all(np.all(np.isfinite(one.tip_path)) for one in axes.digits)


@pytest.mark.parametrize("kind", ["nothing", "wrist", "tips", "one place", "no turn"])
def test_what_is_hardly_a_hand_is_drawn_as_far_as_it_goes(kind: str) -> None:
    frames = posed("left", 0.0)
    if kind == "nothing":
        frames[:] = np.nan
    elif kind == "wrist":
        frames[1:] = np.nan
    elif kind == "tips":
        frames[[JOINT_INDEX[joint] for joints in DIGIT_JOINTS.values() for joint in joints[:-1]]] = np.nan
    elif kind == "one place":
        frames[:, :3, 3] = 1.0
    else:
        frames[:, :3, :3] = 0.0
    axes = hand_axes(frames)
    assert all(np.all(np.isfinite(one.tip_path)) and np.all(np.isfinite(one.hinges)) for one in axes.digits)
    assert np.all(np.isfinite(axes.normal))


def test_an_arrow_head_is_of_its_size_and_in_its_plane() -> None:
    line = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0]])
    barb, end, other = arrow_head(line, np.array([3.0, 5.0, 0.0]), 0.1)
    np.testing.assert_array_equal(end, line[-1])
    for one in (barb, other):
        assert np.linalg.norm(one - end) == pytest.approx(0.1, rel=0.02)
        assert one[1] < end[1]
        assert one[2] == 0
    assert np.all(np.isfinite(arrow_head(line[:1].repeat(2, axis=0), np.zeros(3), 0.1)))
