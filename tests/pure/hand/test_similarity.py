"""A hand that is moved, rotated and scaled: all of it is where the similarity takes it."""

import numpy as np
from scipy.spatial.transform import Rotation

from knuckle.hand import kinematics, similarity
from knuckle.hand.joints import CHAIN_JOINTS
from knuckle.hand.kinematics import Pose
from knuckle.hand.marker_sets import Spot
from knuckle.hand.proportions import adult, build
from knuckle.hand.targets import Targets, assign

FACTOR, ROTATION, SHIFT = 1.7, Rotation.from_rotvec([0.3, -0.8, 0.5]).as_matrix(), np.array([0.4, -1.2, 0.7])
MATRIX = np.eye(4)
MATRIX[:3, :3], MATRIX[:3, 3] = FACTOR * ROTATION, SHIFT


def there(points):
    return FACTOR * points @ ROTATION.T + SHIFT


def test_sites_and_joints_of_a_moved_pose_are_the_moved_ones():
    rng = np.random.default_rng(1)
    joints = [joint for chain in CHAIN_JOINTS.values() for joint in chain]
    spots = {joint: Spot(joint, tuple(rng.uniform(-0.01, 0.01, 3).tolist())) for joint in joints}
    hand, _ = assign(build(adult("left")), spots, np.zeros(1), np.zeros((1, len(spots), 3)))
    root = np.eye(4)
    root[:3, :3], root[:3, 3] = Rotation.from_rotvec([1.0, 0.2, -0.4]).as_matrix(), rng.normal(size=3)
    low, high = hand.limits.T
    posed = Pose(hand, root[None], rng.uniform(low, high)[None])
    moved = similarity.pose(posed, similarity.model(hand, FACTOR), MATRIX)
    frames = [kinematics.joint_frames(each.hand, each) for each in (posed, moved)]
    sites = [kinematics.site_positions(each.hand, at) for each, at in zip((posed, moved), frames, strict=True)]
    np.testing.assert_allclose(sites[1], there(sites[0]), atol=1e-12)
    np.testing.assert_allclose(frames[1][..., :3, 3], there(frames[0][..., :3, 3]), atol=1e-12)
    np.testing.assert_allclose(frames[1][..., :3, :3], ROTATION @ frames[0][..., :3, :3], atol=1e-12)


def test_targets_move_with_their_rotations_and_velocities():
    rng, frames = np.random.default_rng(2), 3
    turns, weights = Rotation.random(frames, rng=rng), np.ones((frames, 1))
    vectors = rng.normal(size=(3, frames, 1, 3))
    asked = Targets(
        np.arange(frames) / 10,
        np.zeros(1, np.int64),
        vectors[0],
        weights,
        turns.as_quat(scalar_first=True)[:, None],
        weights,
        vectors[1],
        vectors[2],
    )
    found = similarity.targets(asked, MATRIX)
    np.testing.assert_allclose(found.positions, there(vectors[0]), atol=1e-12)
    assert found.velocities is not None and found.angular_velocities is not None
    np.testing.assert_allclose(found.velocities, there(vectors[1]) - SHIFT, atol=1e-12)
    np.testing.assert_allclose(found.angular_velocities, vectors[2] @ ROTATION.T, atol=1e-12)
    assert found.rotations is not None
    matrices = Rotation.from_quat(found.rotations[:, 0], scalar_first=True).as_matrix()
    np.testing.assert_allclose(matrices, ROTATION @ turns.as_matrix(), atol=1e-12)
