"""How sites move and turn: against finite differences, another library's rotations, and rigid motion itself."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from knuckle.hand import jacobians, kinematics
from knuckle.hand.model import HandModel, Site
from knuckle.hand.proportions import adult, build

SITES = (Site("back", 7, (0.01, 0.02, 0.005)), Site("nail", 13, (0.0, 0.01, 0.004)), Site("palm", 0, (0.02, 0.03, 0)))


def random_axes(seed):
    """A hand whose every axis points anywhere, with markers beside joints and a root that does not start at zero."""
    rng = np.random.default_rng(seed)
    hand = build(adult("left" if seed % 2 else "right")).with_sites(SITES)
    axes = rng.normal(size=hand.axes.shape)
    return replace(hand, axes=axes / np.linalg.norm(axes, axis=1, keepdims=True))


def turning_root():
    """The same with degrees of freedom in the wrist itself, three in one joint."""
    hand = random_axes(7)
    axes = np.concatenate([np.eye(3), hand.axes])
    return HandModel(
        side=hand.side,
        joints=hand.joints,
        parents=hand.parents,
        rest=hand.rest,
        movements=("abduction", "twist", "flexion", *hand.movements),
        axes=axes,
        axis_joint=np.concatenate([[0, 0, 0], hand.axis_joint]),
        limits=np.concatenate([np.tile([-1.0, 1.0], (3, 1)), hand.limits]),
        neutral=np.concatenate([np.zeros(3), hand.neutral]),
        couplings=(),
        sites=hand.sites,
    )


HANDS = {"axes any": random_axes(0), "left": build(adult("left")).with_sites(SITES), "turning root": turning_root()}


def anywhere(hand, frames=5, seed=3):
    rng = np.random.default_rng(seed)
    root = np.tile(np.eye(4), (frames, 1, 1))
    root[:, :3, :3] = Rotation.random(frames, random_state=seed).as_matrix()
    root[:, :3, 3] = rng.normal(size=(frames, 3))
    return root, rng.uniform(-2, 2, (frames, hand.dofs))


@pytest.mark.parametrize("hand", HANDS.values(), ids=HANDS)
def test_joints_and_sites_are_where_forward_kinematics_puts_them(hand):
    root, angles = anywhere(hand)
    frames = kinematics.joint_frames(hand, kinematics.Pose(hand, root, angles))
    placed = jacobians.pose_joints(hand, root, angles)
    assert np.abs(placed.rotations - frames[..., :3, :3]).max() < 1e-12
    assert np.abs(placed.positions - frames[..., :3, 3]).max() < 1e-12
    every = np.arange(len(hand.sites))
    assert np.abs(placed.site_positions(every) - kinematics.site_positions(hand, frames)).max() < 1e-12


@pytest.mark.parametrize("hand", HANDS.values(), ids=HANDS)
def test_jacobians_are_the_slopes_of_forward_kinematics(hand):
    """Central differences; a step of 1e-5 leaves about 1e-10 of curvature and 1e-11 of rounding."""
    root, angles = anywhere(hand)
    sites = np.array([len(hand.sites) - 1, 4, 25, 9, 26, 0, 24])
    moves, turns = jacobians.pose_joints(hand, root, angles).jacobians(sites)
    joints = [hand.sites[site].joint for site in sites]
    for column in range(6 + hand.dofs):
        step = np.zeros((len(root), 6 + hand.dofs))
        step[:, column] = 1e-5
        ends = [jacobians.pose_joints(hand, *jacobians.integrate(root, angles, sign * step)) for sign in (1, -1)]
        moved = (ends[0].site_positions(sites) - ends[1].site_positions(sites)) / 2e-5
        turned = Rotation.from_matrix(
            (ends[0].rotations[:, joints] @ ends[1].rotations[:, joints].swapaxes(-1, -2)).reshape(-1, 3, 3)
        ).as_rotvec()
        assert np.abs(moves[..., column] - moved).max() < 1e-9
        assert np.abs(turns[..., column] - turned.reshape(turns.shape[:3]) / 2e-5).max() < 1e-9


def test_a_rigid_move_of_the_hand_turns_its_jacobians_along():
    hand = HANDS["axes any"]
    root, angles = anywhere(hand)
    move = np.eye(4)
    move[:3, :3], move[:3, 3] = Rotation.random(random_state=1).as_matrix(), [1, 2, 3]
    sites = np.arange(len(hand.sites))
    here, turns = jacobians.pose_joints(hand, root, angles).jacobians(sites)
    there, turned = jacobians.pose_joints(hand, move @ root, angles).jacobians(sites)
    assert np.abs(there[..., 6:] - move[:3, :3] @ here[..., 6:]).max() < 1e-12
    assert np.abs(turned[..., 6:] - move[:3, :3] @ turns[..., 6:]).max() < 1e-12


def pairs(seed=0):
    """Rotations and others any way from them, from none at all to just below half a turn."""
    rng = np.random.default_rng(seed)
    angles = np.concatenate([[0, 1e-14, 1e-9, 1e-4, np.pi - 1e-6], rng.uniform(0, 3.1, 200)])
    axes = rng.normal(size=(len(angles), 3))
    turn = Rotation.from_rotvec(axes / np.linalg.norm(axes, axis=1, keepdims=True) * angles[:, None])
    found = Rotation.random(len(angles), random_state=seed)
    return turn, found, turn * found


def test_the_turn_that_is_missing_is_scipys_rotation_vector():
    turn, found, wanted = pairs()
    assert np.abs(jacobians.rotation_errors(wanted.as_matrix(), found.as_matrix()) - turn.as_rotvec()).max() < 1e-9


def test_half_a_turn_is_missing_about_the_right_axis_and_finite():
    wanted = Rotation.from_rotvec(np.pi * np.eye(3)).as_matrix()
    errors = jacobians.rotation_errors(wanted, np.broadcast_to(np.eye(3), (3, 3, 3)))
    assert np.abs(np.abs(errors) - np.pi * np.eye(3)).max() < 1e-9


def test_a_wrist_that_is_turned_for_long_stays_a_rotation():
    hand = HANDS["left"]
    root, angles = anywhere(hand, 2)
    start, step = root.copy(), np.zeros((2, 6 + hand.dofs))
    step[0, 3:6] = 2 * np.pi / 10_000 * np.array([0.6, 0.0, 0.8])
    for _ in range(10_000):
        root, angles = jacobians.integrate(root, angles, step)
    assert np.abs(root[:, :3, :3] @ root[:, :3, :3].swapaxes(-1, -2) - np.eye(3)).max() < 1e-12
    assert np.abs(root - start).max() < 1e-10, "a whole turn in small steps, and none at all, lead back"
