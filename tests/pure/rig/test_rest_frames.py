"""The joint frames of a rig at rest turn with the rig, however few digits it has."""

import numpy as np
import pytest

from knuckle.hand import rotations as rot
from knuckle.hand.joints import DIGIT_JOINTS, DIGITS, JOINT_INDEX, JOINTS, SIDES, Side, digit_of
from knuckle.hand.proportions import adult, build, rest_frames_in_wrist
from knuckle.rig.rest_frames import rest_rotations, rest_world

DIGITS_OF = {
    "five": DIGITS,
    "three": DIGITS[:3],
    "two fingers": DIGITS[1:3],
    "a mitten": ("thumb", "middle-finger"),
    "a mitten that begins its thumb late": ("thumb", "middle-finger"),
}


@pytest.mark.parametrize("name", DIGITS_OF)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("seed", range(4))
def test_a_rig_that_is_turned_has_its_frames_turned(name: str, side: Side, seed: int) -> None:
    points = rest_frames_in_wrist(adult(side))[:, :3, 3]
    rng = np.random.default_rng(seed)
    points += rng.normal(0, 0.002, points.shape)
    lacking = [joint != "wrist" and digit_of(joint) not in DIGITS_OF[name] for joint in JOINTS]
    if "late" in name:
        lacking[JOINTS.index("thumb-metacarpal")] = True
    points[lacking] = np.nan
    turn = rng.normal(size=4)
    matrix = rot.to_matrix(turn / np.linalg.norm(turn))
    hand = build(adult(side))
    there = ~np.array(lacking)
    standing, turned = rest_rotations(hand, points), rest_rotations(hand, points @ matrix.T + [1.0, 2.0, 3.0])
    assert np.abs(turned[there] - matrix @ standing[there]).max() < 1e-6
    # Its back is where a hand's is: the rig is an adult's, a little out of shape.
    assert standing[0, 2, 2] > np.cos(np.deg2rad(25))


@pytest.mark.parametrize(
    ("bend", "aside", "rolled"),
    [(5, 0, 0), (5, 45, 0), (30, 0, 0), (30, 45, 45), (30, -45, -45), (30, 80, 0), (30, 180, 0)],
)
@pytest.mark.parametrize("side", SIDES)
def test_a_finger_curls_in_the_plane_of_its_bend_if_that_is_one_in_which_fingers_curl(
    side: Side, bend: float, aside: float, rolled: float
) -> None:
    """aside: degrees from the plane in which the straight finger curls to the one in which it is bent."""
    hand = build(adult(side))
    straight = rest_world(hand)
    _, first, *beyond = (JOINT_INDEX[joint] for joint in DIGIT_JOINTS["index-finger"])
    x, _, z = straight[first, :3, :3].T

    def axis(degrees: float) -> np.ndarray:
        found: np.ndarray = np.cos(np.deg2rad(degrees)) * x + np.sin(np.deg2rad(degrees)) * z
        return found

    points = straight[:, :3, 3].copy()
    turn = rot.to_matrix(rot.from_axis_angle(axis(aside), np.deg2rad(-bend / 2)))
    for joint, *outer in (beyond, beyond[1:]):
        points[outer] = (points[outer] - points[joint]) @ turn.T + points[joint]
    bent = rest_rotations(hand, points)[first, :, 0]
    assert np.degrees(np.arccos(np.clip(bent @ axis(rolled), -1.0, 1.0))) < 1.0
