"""The tracker as published, mode `follow` of fabrik and cga: FABRIK-CGA section 3.4, (3.9), Algorithm 1 with limits."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle.hand import kinematics
from knuckle.hand.joints import CHAIN_JOINTS
from knuckle.hand.kinematics import Pose
from knuckle.hand.scalar_math import SCALAR
from knuckle.solvers.conformal.cga_bend import nearest_in_plane
from knuckle.solvers.conformal.cga_solver import Cga
from knuckle.solvers.fabrik import Fabrik
from knuckle.solvers.planar.following import bend_from
from knuckle.solvers.planar.planar_chain import bones_to_marker
from knuckle.solvers.planar.planar_fabrik import (
    Stopping,
    bone_ends,
    forward,
    forward_within_limits,
    nearest_point,
    planar_fabrik,
)
from knuckle.solvers.solver import limit_excess

from .hands import EIGHT, HANDS, natural, targets_at
from .test_planar_passes import FREE, STIFF, TIP, ends, poses

HAND = HANDS["right"]
KINDS = {"fabrik": Fabrik, "cga": Cga}
STOPPING = Stopping(1e-5, 1e-7, 60)
kinds = pytest.mark.parametrize("kind", sorted(KINDS))
nearests = pytest.mark.parametrize("nearest", [nearest_point, nearest_in_plane])


def motion(frames: int, seed: int) -> Pose:
    """A hand at 100 Hz whose angles swing, each at a rate of its own."""
    random, times = np.random.default_rng(seed), np.arange(frames)[:, None] / 100
    rates, phases = random.uniform(0.2, 0.8, HAND.dofs), random.uniform(0, 2 * np.pi, HAND.dofs)
    angles = natural(HAND, 0.5 + 0.3 * np.sin(2 * np.pi * rates * times + phases))
    return Pose(HAND, np.tile(np.eye(4), (frames, 1, 1)), angles)


@nearests
def test_a_pose_that_meets_its_target_stays_to_the_bit(nearest):
    """Whatever of the many: FABRIK's result is close to where it begins, where settle has its own."""
    bend = planar_fabrik(STIFF, TIP, STOPPING, nearest)
    for pose, goal in zip(poses(STIFF, 50, 1), ends(STIFF, poses(STIFF, 50, 1)), strict=True):
        (first, middle, last, error), passes = bend_from(bend, tuple(goal), tuple(pose))
        assert (first, middle, last, passes) == (*pose, 0)
        assert error < 1e-12


@nearests
def test_a_target_that_moves_a_little_is_followed_by_a_little(nearest):
    """In limits that leave room, an end that goes 2 mm further is met, and no joint leaves for another branch."""
    bend = planar_fabrik(STIFF, TIP, STOPPING, nearest)
    low, high = np.deg2rad([[-5, 45, -10], [25, 95, 15]])
    middle = low + (high - low) * np.random.default_rng(2).random((50, 3))
    met = []
    for pose, end in zip(middle, ends(STIFF, middle), strict=True):
        goal = end + 0.002 * np.array([np.cos(pose[2] * 20), np.sin(pose[2] * 20)])
        (*flexions, error), passes = bend_from(bend, tuple(goal), tuple(pose))
        met.append(error < 1e-5)
        assert 0 < passes <= 2 * STOPPING.passes
        assert np.hypot(*(ends(STIFF, np.array([flexions]))[0] - goal)) == pytest.approx(error, abs=1e-9)
        assert not met[-1] or np.abs(np.subtract(flexions, pose)).max() < np.deg2rad(20)
    assert np.mean(met) > 0.9


def test_without_limits_the_inward_pass_is_the_textbooks():
    bones = bones_to_marker(FREE, TIP)
    for pose, goal in zip(poses(FREE, 20, 3) / 3, ends(FREE, poses(FREE, 20, 4)), strict=True):
        now = bone_ends(SCALAR, bones, tuple(pose))
        limited = forward_within_limits(bones, now, tuple(goal), nearest_point)
        assert np.allclose(limited, forward(SCALAR, bones, now, tuple(goal), nearest_point), atol=1e-12)


def test_the_inward_pass_keeps_lengths_and_the_outer_joints_limits():
    bones = bones_to_marker(STIFF, TIP)
    for pose, goal in zip(poses(STIFF, 100, 5), ends(STIFF, poses(STIFF, 100, 6)), strict=True):
        now = bone_ends(SCALAR, bones, tuple(pose))
        joints = np.array([*forward_within_limits(bones, now, tuple(goal), nearest_point), goal])
        outer = np.diff(joints, axis=0)
        assert np.linalg.norm(outer, axis=1) == pytest.approx(bones.lengths[1:])
        heading = np.arctan2(outer[:, 1], outer[:, 0])
        low, high = bones.limits[2]
        assert low - 1e-9 <= np.angle(np.exp(1j * (heading[1] - heading[0]))) <= high + 1e-9


def test_a_target_out_of_reach_takes_one_pass_in_its_direction():
    """Algorithm 1, lines 1.4 to 1.9: without limits the digit is a line to it."""
    (*flexions, error), passes = bend_from(planar_fabrik(FREE, TIP, STOPPING), (0.1, 0.1), (0.3, 0.2, 0.1))
    assert flexions == pytest.approx([np.pi / 4, 0.0, 0.0])
    assert error == pytest.approx(np.hypot(0.1, 0.1) - sum(FREE.lengths))
    assert passes == 2, "one from the pose, one from the bent digit"


def test_joints_rotated_by_the_planes_rotor_are_where_the_passes_begin():
    """(3.9), by a rotation matrix: abduction alone rotates a finger's plane about the palm's normal."""
    before = natural(HAND, np.full((1, HAND.dofs), 0.6))
    after, abduction = before.copy(), HAND.dof(CHAIN_JOINTS["index-finger"][0], "abduction")
    after[0, abduction] += 0.2
    joints = [HAND.joints.index(joint) for joint in CHAIN_JOINTS["index-finger"]]
    frames = kinematics.joint_frames(HAND, Pose(HAND, np.tile(np.eye(4), (2, 1, 1)), np.concatenate([before, after])))
    old, new = frames[:, joints][..., :3, 3]
    normals = [np.cross(points[2] - points[0], points[3] - points[0]) for points in (old, new)]
    poles = [normal / np.linalg.norm(normal) for normal in normals]
    axis = np.cross(*poles)
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    rotor = np.eye(3) + cross + cross @ cross / (1 + poles[0] @ poles[1])
    assert old[0] + (old - old[0]) @ rotor.T == pytest.approx(new, abs=1e-9)


@kinds
def test_a_moving_hand_is_followed_within_limits_and_in_pieces(kind):
    truth = motion(60, 7)
    targets, solver = targets_at(HAND, truth, EIGHT), KINDS[kind](mode="follow")
    pose, state = solver.solve(HAND, targets)
    assert not limit_excess(HAND, pose.angles).any()
    assert state.passes.shape == (60, 5) and state.passes.mean() > 1
    reached = kinematics.joint_frames(HAND, pose)[:, :, :3, 3] - kinematics.joint_frames(HAND, truth)[:, :, :3, 3]
    tips = [HAND.joints.index(chain[-1]) for chain in CHAIN_JOINTS.values()]
    assert np.median(np.linalg.norm(reached[:, tips], axis=-1)) < 1e-5
    first, half = solver.solve(HAND, targets.select(slice(0, 23)))
    second, _ = solver.solve(HAND, targets.select(slice(23, 60)), half)
    assert np.array_equal(np.concatenate([first.angles, second.angles]), pose.angles)


@kinds
def test_a_hand_that_stands_still_takes_no_more_passes(kind):
    """Of what is met: its joints stay to the bit, though other bends meet the targets as well."""
    still = targets_at(HAND, Pose(HAND, np.eye(4)[None], natural(HAND, np.full((1, HAND.dofs), 0.55))), EIGHT)
    still = replace(
        still,
        times=np.arange(3) / 100,
        **{each: np.repeat(getattr(still, each), 3, axis=0) for each in ("positions", "weights")},
    )
    pose, state = KINDS[kind](mode="follow").solve(HAND, still)
    assert not state.passes[1:].any()
    assert pose.angles[2] == pytest.approx(pose.angles[1], abs=1e-12)


@kinds
def test_passes_alone_and_a_digit_that_is_not_seen(kind):
    """A digit without targets keeps its pose and takes no pass."""
    targets = targets_at(HAND, motion(20, 8), EIGHT)
    weights = targets.weights.copy()
    weights[10:, 4] = 0.0
    pose, state = KINDS[kind](mode="follow", sweeps=0).solve(HAND, replace(targets, weights=weights))
    index = [HAND.dof(joint, "flexion") for joint in CHAIN_JOINTS["index-finger"][:3]]
    assert not state.passes[10:, 1].any()
    assert np.array_equal(pose.angles[10:, index], np.repeat(pose.angles[9:10, index], 10, axis=0))
