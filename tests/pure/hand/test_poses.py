"""The named poses keep the limits and couplings and do what their names say."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from knuckle.errors import HandError
from knuckle.hand import mirror
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, SIDES, Side
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.hand.poses import GROUPS, POSES, angles, named, names_in_group
from knuckle.hand.proportions import adult, build

ROWS = json.loads((Path(__file__).parents[3] / "hand" / "poses.json").read_text())["poses"]
OUT: dict[str, set[str]] = {
    "point": {"index"},
    "victory": {"index", "middle"},
    "ok": {"middle", "ring", "pinky"},
    "letter-b": {"index", "middle", "ring", "pinky"},
    "letter-d": {"index"},
    "letter-f": {"middle", "ring", "pinky"},
    "letter-i": {"pinky"},
    "letter-l": {"thumb", "index"},
    "letter-u": {"index", "middle"},
    "letter-w": {"index", "middle", "ring"},
    "letter-y": {"thumb", "pinky"},
    "thumbs-up": {"thumb"},
    "letter-a": set(),
    "letter-e": set(),
    "fist": set(),
}
"""Pose -> the digits that it stretches out, as the sign alphabet and everybody has them."""


def joint_positions(side: Side, name: str) -> np.ndarray:
    """(25, 3) mm."""
    hand = build(adult(side))
    return 1000 * joint_frames(hand, Pose(hand, np.eye(4)[None], angles(hand, name)[None]))[0, :, :3, 3]


def test_there_is_a_library_with_words_for_each_pose() -> None:
    assert len(POSES) >= 20 and len(POSES) == len(ROWS), "no name twice"
    for pose in POSES.values():
        assert pose.group in GROUPS and pose.label
        assert pose.about.endswith(".") and pose.about[0].isupper()
    assert [name for group in GROUPS for name in names_in_group(group)] == list(POSES), "group by group"
    assert {name.removeprefix("letter-").upper() for name in names_in_group("letters")} >= set("ABCDEFILOUWXY")


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", POSES)
def test_every_pose_is_within_the_limits_as_written(side: Side, name: str) -> None:
    hand = build(adult(side))
    found = angles(hand, name)
    for (joint, movement), degrees in named(name).degrees.items():
        dof = hand.dof(joint, movement)
        assert dof is not None, f"{joint} has no {movement}"
        assert found[dof] == pytest.approx(np.deg2rad(degrees)), f"{joint} {movement} is cut off by its limits"


@pytest.mark.parametrize("name", POSES)
def test_every_pose_keeps_the_couplings(name: str) -> None:
    hand = build(adult("right"))
    for row in hand.couplings:
        off = np.rad2deg(row.coefficients @ angles(hand, name))
        assert np.rad2deg(row.lower) - 1e-9 <= off <= np.rad2deg(row.upper) + 1e-9, f"{off:.2f} degrees"


@pytest.mark.parametrize("name", POSES)
def test_the_left_hand_is_the_right_one_in_the_mirror(name: str) -> None:
    right = joint_positions("right", name)
    np.testing.assert_allclose(joint_positions("left", name), right * mirror.POINT_SIGNS, atol=1e-9)


@pytest.mark.parametrize("name", OUT)
def test_those_digits_are_stretched_that_the_pose_is_known_by(name: str) -> None:
    at = joint_positions("right", name)
    others = [at[JOINT_INDEX[f"{digit}-{part}"]] for digit in DIGITS[2:] for part in ("phalanx-proximal", "tip")]
    seen = set()
    for digit in DIGITS:
        chain = [at[JOINT_INDEX[joint]] for joint in CHAIN_JOINTS[digit]]
        straight = np.linalg.norm(chain[-1] - chain[0]) / sum(np.linalg.norm(b - a) for a, b in pairwise(chain))
        # A thumb that lies on the fingers is straight as well: it is out when its tip is away from all others.
        away = digit != "thumb" or min(np.linalg.norm(chain[-1] - place) for place in others) > 80
        if straight > 0.95 and away:
            seen.add(digit.removesuffix("-finger"))
    assert seen == OUT[name]


def apart(name: str, one: str, other: str) -> float:
    """mm between two fingertips."""
    at = joint_positions("right", name)
    return float(np.linalg.norm(at[JOINT_INDEX[f"{one}-finger-tip"]] - at[JOINT_INDEX[f"{other}-finger-tip"]]))


def test_fingers_that_are_together_are_nearer_than_those_that_are_apart() -> None:
    assert apart("letter-u", "index", "middle") < apart("victory", "index", "middle") - 20
    neighbours = list(pairwise(["index", "middle", "ring", "pinky"]))
    together, open_, spread = ([apart(name, *two) for two in neighbours] for name in ("letter-b", "open", "spread"))
    assert np.all(np.array(together) < open_) and np.all(np.array(open_) < spread)


@pytest.mark.parametrize("name", ["fist", "letter-i", "point", "letter-x", "victory", "letter-u", "letter-w"])
def test_the_thumb_lies_over_the_fingers_and_not_through_them(name: str) -> None:
    over = {"fist": "index", "letter-i": "index", "point": "middle", "letter-x": "middle", "letter-w": "pinky"}
    for side in SIDES:
        at = joint_positions(side, name)
        finger = at[JOINT_INDEX[f"{over.get(name, 'ring')}-finger-phalanx-intermediate"]]
        tip = at[JOINT_INDEX["thumb-tip"]]
        assert tip[2] < finger[2] - 8, f"{side}: {finger[2] - tip[2]:.1f} mm palmwards of it, not 8"


def test_the_open_hand_is_at_zero() -> None:
    assert not angles(build(adult("right")), "open").any()


def test_an_unknown_pose_is_reported_with_those_there_are() -> None:
    with pytest.raises(HandError, match="no pose 'wave', only open, relaxed"):
        angles(build(adult("right")), "wave")
