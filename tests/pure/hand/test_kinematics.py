"""Forward kinematics: against a hand written down by others, and against what fingers do."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle.hand import kinematics
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, JOINTS, PARENTS
from knuckle.hand.model import Site
from knuckle.hand.proportions import adult, build
from knuckle.hand.rotations import to_matrix, unit_vectors


def posed(hand, degrees):
    """(J, 3) m, the joints with the wrist at the origin."""
    angles = np.zeros((1, hand.dofs))
    for (joint, movement), value in degrees.items():
        angles[0, hand.dof(joint, movement)] = np.deg2rad(value)
    return kinematics.joint_frames(hand, kinematics.Pose(hand, np.eye(4)[None], angles))[0, :, :3, 3]


def test_parents_come_first_and_there_are_25_joints():
    assert len(JOINTS) == 25
    assert all(parent < index for index, parent in enumerate(PARENTS))
    assert JOINTS[0] == "wrist" and JOINTS[4] == "thumb-tip" and JOINTS[24] == "pinky-finger-tip"


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("digit", DIGITS[1:])
def test_flexing_moves_a_fingertip_to_the_palm_and_abducting_to_the_thumb(side, digit):
    hand = build(adult(side))
    tip = JOINT_INDEX[f"{digit}-tip"]
    straight = posed(hand, {})[tip]
    for joint in CHAIN_JOINTS[digit][:3]:
        assert (posed(hand, {(joint, "flexion"): 30}) - straight)[tip, 2] < -0.005
    aside = posed(hand, {(CHAIN_JOINTS[digit][0], "abduction"): 10})[tip] - straight
    assert aside[0] * (1 if side == "left" else -1) > 0.005


def test_the_left_hand_is_the_mirror_image_of_the_right():
    angles = {("index-finger-phalanx-proximal", "abduction"): 9, ("thumb-metacarpal", "twist"): 12}
    angles |= {("thumb-metacarpal", "flexion"): 20, ("ring-finger-phalanx-intermediate", "flexion"): 60}
    left, right = (posed(build(adult(side)), angles) for side in ("left", "right"))
    assert np.abs(left * [-1, 1, 1] - right).max() < 1e-12


def test_bones_keep_their_lengths():
    hand = build(adult("right", 0.2))
    rng = np.random.default_rng(1)
    angles = rng.uniform(hand.limits[:, 0], hand.limits[:, 1], (50, hand.dofs))
    frames = kinematics.joint_frames(hand, kinematics.Pose(hand, np.tile(np.eye(4), (50, 1, 1)), angles))
    places = frames[..., :3, 3]
    for index, parent in enumerate(PARENTS[1:], 1):
        bones = np.linalg.norm(places[:, index] - places[:, parent], axis=-1)
        assert np.ptp(bones) < 1e-12
    assert adult("right", 0.2).size == pytest.approx(0.2)


def test_frames_of_a_long_take_are_the_products_along_each_finger():
    """Also where the frames that are computed together end, and wherever the wrist is."""
    hand, count = build(adult("left")), kinematics.FRAMES_AT_ONCE + 3
    rng = np.random.default_rng(4)
    root = np.tile(np.eye(4), (count, 1, 1))
    root[:, :3, :3], root[:, :3, 3] = to_matrix(unit_vectors(rng.normal(size=(count, 4)))), rng.normal(size=(count, 3))
    pose = kinematics.Pose(hand, root, rng.uniform(hand.limits[:, 0], hand.limits[:, 1], (count, hand.dofs)))
    frames = kinematics.joint_frames(hand, pose)
    for frame in (0, count - 4, count - 3, count - 1):
        for joint, parent in enumerate(hand.parents):
            expected = (root[frame] if parent < 0 else frames[frame, parent]) @ hand.rest[joint]
            for dof in np.flatnonzero(hand.axis_joint == joint):
                cross = np.cross(np.eye(3), hand.axes[dof])
                sine, cosine = np.sin(pose.angles[frame, dof]), np.cos(pose.angles[frame, dof])
                expected[:3, :3] = expected[:3, :3] @ (np.eye(3) + sine * cross + (1 - cosine) * cross @ cross)
            np.testing.assert_allclose(frames[frame, joint], expected, atol=1e-12)
    np.testing.assert_allclose(to_matrix(kinematics.world_rotations(hand, pose)), frames[..., :3, :3], atol=1e-12)
    moved = pose.joints_in_wrist @ root[:, :3, :3].transpose(0, 2, 1) + root[:, None, :3, 3]
    np.testing.assert_allclose(moved, frames[..., :3, 3], atol=1e-12)
    np.testing.assert_allclose(pose.joints_in_world, moved, atol=1e-12)
    aside = replace(hand, sites=(*hand.sites[:3], Site("aside", 8, (0.003, 0.01, 0.008)), *hand.sites[3:]))
    for sites in (np.array([2, 3, 0, 7]), np.array([1, 4]), np.array([3]), np.array([], int)):
        expected = kinematics.site_positions(aside, frames, sites)
        np.testing.assert_allclose(kinematics.posed_sites(aside, pose, sites), expected, atol=1e-12)


def test_joints_of_the_standard_hand_are_where_its_own_formulas_put_them(standard):
    """The standard hand problem has its own forward kinematics, written independently of ours."""
    hand, bench = standard.runner.standard_hand(), standard.hand
    q = np.random.default_rng(0).uniform(bench.LO, bench.HI, (200, 5, 5))
    angles = np.zeros((200, hand.dofs))
    for digit, column, dof in standard.runner.columns(hand):
        angles[:, dof] = q[:, digit, column]
    frames = kinematics.joint_frames(hand, kinematics.Pose(hand, np.tile(np.eye(4), (200, 1, 1)), angles))
    chains = np.array([[JOINT_INDEX[joint] for joint in CHAIN_JOINTS[name]] for name in DIGITS])
    assert np.abs(frames[..., :3, 3][:, chains] - bench.fk(q)[0] / 1000).max() < 1e-9
