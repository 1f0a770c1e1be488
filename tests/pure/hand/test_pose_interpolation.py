"""Poses between frames, against scipy's Slerp and numpy's interp."""

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from knuckle.hand import proportions
from knuckle.hand.kinematics import Pose
from knuckle.hand.pose_interpolation import interpolate_pose

HAND = proportions.build(proportions.adult("right"))


def some_take(frames: int) -> tuple[Pose, np.ndarray]:
    rng = np.random.default_rng(1)
    root = np.tile(np.eye(4), (frames, 1, 1))
    root[:, :3, :3] = Rotation.random(frames, random_state=2).as_matrix()
    root[:, :3, 3] = rng.normal(size=(frames, 3))
    return Pose(HAND, root, rng.normal(size=(frames, len(HAND.limits)))), np.cumsum(rng.uniform(0.1, 2.0, frames))


def test_between_frames():
    pose, times = some_take(9)
    wanted = np.random.default_rng(3).uniform(times[0], times[-1], 50)
    found = interpolate_pose(pose, times, wanted)
    turned = Slerp(times, Rotation.from_matrix(pose.root[:, :3, :3]))(wanted).as_matrix()
    assert np.allclose(found.root[:, :3, :3], turned, atol=1e-7)
    for column in range(3):
        assert np.allclose(found.root[:, column, 3], np.interp(wanted, times, pose.root[:, column, 3]))
    for dof in range(pose.angles.shape[1]):
        assert np.allclose(found.angles[:, dof], np.interp(wanted, times, pose.angles[:, dof]))


def test_on_frames_and_beyond_them():
    pose, times = some_take(4)
    found = interpolate_pose(pose, times, np.array([times[0] - 1, *times, times[-1] + 1]))
    rows = [0, 0, 1, 2, 3, 3]
    assert np.allclose(found.root, pose.root[rows], atol=1e-7) and np.allclose(found.angles, pose.angles[rows])


def test_a_single_frame():
    pose, times = some_take(1)
    assert np.allclose(interpolate_pose(pose, times, np.array([0.0, 5.0])).angles, pose.angles[[0, 0]])
