"""The named poses keep the limits and do what their names say."""

import numpy as np
import pytest

from knuckle.errors import HandError
from knuckle.hand.joints import JOINT_INDEX, Side
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.hand.poses import POSES, angles
from knuckle.hand.proportions import adult, build


def joint_positions(side: Side, name: str) -> np.ndarray:
    """(25, 3) mm."""
    hand = build(adult(side))
    return 1000 * joint_frames(hand, Pose(hand, np.eye(4)[None], angles(hand, name)[None]))[0, :, :3, 3]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", POSES)
def test_every_pose_is_within_the_limits_as_written(side: Side, name: str) -> None:
    hand = build(adult(side))
    found = angles(hand, name)
    for (joint, movement), degrees in POSES[name].items():
        dof = hand.dof(joint, movement)
        assert dof is not None, f"{joint} has no {movement}"
        assert found[dof] == pytest.approx(np.deg2rad(degrees)), f"{joint} {movement} is cut off by its limits"


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", ["pinch", "ok"])
def test_thumb_and_index_tips_meet(side: Side, name: str) -> None:
    at = joint_positions(side, name)
    gap = np.linalg.norm(at[JOINT_INDEX["thumb-tip"]] - at[JOINT_INDEX["index-finger-tip"]])
    assert gap < 5, f"{gap:.1f} mm > 5 mm"


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_fist_lays_the_thumb_over_the_index_and_middle_fingers(side: Side) -> None:
    at = joint_positions(side, "fist")
    index, middle = (at[JOINT_INDEX[f"{d}-finger-phalanx-intermediate"]] for d in ("index", "middle"))
    ip, tip = at[JOINT_INDEX["thumb-phalanx-distal"]], at[JOINT_INDEX["thumb-tip"]]
    assert ip[2] < index[2] - 8, "the thumb lies outside the fingers, palmwards of them"
    assert tip[2] < middle[2] - 8
    assert abs(tip[0] - middle[0]) < 10, "its tip over the middle finger"


def test_the_open_hand_is_at_zero_and_the_relaxed_one_at_ease() -> None:
    hand = build(adult("right"))
    assert not angles(hand, "open").any()
    np.testing.assert_array_equal(angles(hand, "relaxed"), hand.neutral)


def test_an_unknown_pose_is_told_with_those_there_are() -> None:
    with pytest.raises(HandError, match="no pose 'wave', only open, relaxed"):
        angles(build(adult("right")), "wave")
