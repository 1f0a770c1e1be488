"""Left or right from the shape alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knuckle.hand import kinematics, poses, rotations
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, KNUCKLES, TIPS
from knuckle.hand.labelling.handedness import handedness
from knuckle.hand.marker_sets import Spot, marker_set_named
from knuckle.hand.proportions import adult, build
from knuckle.hand.targets import assign

SETS = {
    "eight": [Spot(joint) for joint in ("wrist", KNUCKLES[0], KNUCKLES[3], *TIPS)],
    "full": [Spot("wrist"), *(Spot(joint) for digit in DIGITS for joint in CHAIN_JOINTS[digit])],
    "back of hand": list(marker_set_named("tip and middle").labels.values()),
}


def seen(side, spots, pose_name, seed):
    """(1, M, 3) the spots of a hand in a named pose, anywhere in the world."""
    hand = build(adult(side))
    labelled = {f"m{i}": spot for i, spot in enumerate(spots)}
    hand, targets = assign(hand, labelled, np.zeros(1), np.zeros((1, len(spots), 3)))
    rng = np.random.default_rng(seed)
    turn = rng.normal(size=4)
    root = np.eye(4)[None]
    root = root.copy()
    root[0, :3, :3] = rotations.to_matrix(turn / np.linalg.norm(turn))
    root[0, :3, 3] = rng.normal(size=3)
    pose = kinematics.Pose(hand, root, poses.angles(hand, pose_name)[None])
    return kinematics.site_positions(hand, kinematics.joint_frames(hand, pose))[:, targets.sites]


@settings(deadline=None)
@given(
    side=st.sampled_from(["left", "right"]),
    name=st.sampled_from(sorted(SETS)),
    pose_name=st.sampled_from(["relaxed", "fist", "pinch", "point", "open"]),
    seed=st.integers(0, 999),
)
def test_the_side_is_found_in_every_pose_and_place(side, name, pose_name, seed):
    found, sure = handedness(tuple(SETS[name]), seen(side, SETS[name], pose_name, seed))
    assert found == side
    assert sure > 0.15, f"only {sure:.2f} sure in the pose {pose_name}"


def test_nothing_is_reported_without_a_palm_or_without_fingers():
    places = seen("left", SETS["full"], "fist", 0)
    without_palm = places.copy()
    without_palm[:, 0] = np.nan
    without_palm[:, [5, 9, 13]] = np.nan
    assert handedness(tuple(SETS["full"]), without_palm) == (None, 0.0)
    palm = (SETS["eight"][0], SETS["eight"][1], SETS["eight"][2])
    assert handedness(palm, places[:, [0, 5, 17]]) == (None, 0.0)


@pytest.mark.parametrize("noise", [0.002, 0.005])
def test_noise_does_not_swap_hands(noise):
    rng = np.random.default_rng(4)
    for side in ("left", "right"):
        many = np.concatenate([seen(side, SETS["full"], "relaxed", seed) for seed in range(20)])
        assert handedness(tuple(SETS["full"]), many + rng.normal(0, noise, many.shape))[0] == side


def test_frames_of_both_sides_tell_none():
    """No hand changes its side: a few far-off positions of bad data must not outvote what the labels say."""
    right, left = ([seen(side, SETS["full"], "fist", seed) for seed in range(6)] for side in ("right", "left"))
    both = np.concatenate([right[0], right[1], right[2], 4 * left[3], 4 * left[4], 4 * left[5]])
    assert handedness(tuple(SETS["full"]), both) == (None, 0.0)
    assert handedness(tuple(SETS["full"]), np.concatenate(right + [left[0]]))[0] == "right"


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_hand_that_is_drawn_flat_has_no_side(side):
    """As in the rest pose of a skeleton, whose fingers lie in one plane but for a millimetre."""
    hand = build(adult(side))
    pose = kinematics.Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs)))
    joints = [hand.joints.index(spot.joint) for spot in SETS["full"]]
    flat = kinematics.joint_frames(hand, pose)[:, :, :3, 3][:, joints] * [1.0, 1.0, 0.0]
    for above in (-0.001, 0.0, 0.001):
        flat[0, 1:, 2] = above
        flat[0, [5, 9, 13, 17], 2] = 0.0
        assert handedness(tuple(SETS["full"]), flat) == (None, 0.0), above
