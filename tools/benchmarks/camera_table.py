"""Measures hand/camera/landmark_table.json: where a detector's landmarks lie on a hand, and how hands are usually held.

    python tools/benchmarks/camera_table.py

Offsets: of the videos that tune (camera_takes.py), for each landmark the point in the frame of its bone whose
projection is nearest to it, by iterated least squares with Cauchy's weights. Poses: mean and covariance of a headset's
poses, but for those that the video "headset" shows, which tests.
"""

import json

import numpy as np
from camera_data import hand_length, landmarks, true_joints
from camera_takes import ANGLE_OF_VIEW, BUILD, VIDEOS, Video, truth
from numpy.typing import NDArray
from skin_hands import SHAPES
from skin_motions import FRAMES, POSE_FRAMES, headset_angles
from skin_takes import ROOT

from knuckle import capture
from knuckle.hand.camera.picture_landmarks import LANDMARK_JOINTS
from knuckle.hand.joints import JOINT_INDEX, PARENTS

Floats = NDArray[np.float64]

TABLE = ROOT / "hand" / "camera" / "landmark_table.json"
HALF_WEIGHT = 0.008
"""m at the hand, the miss at which a landmark has half its weight."""
ITERATIONS = 6
ZERO_OFFSET_WEIGHT = 1e2 / 1e6
"""Weight that keeps an offset at zero where nothing is seen of it."""
TEST_SEED = 1
"""The headset's poses of this order test, see skin_motions.py."""


def carriers() -> list[int]:
    """Return the joint (21,) whose frame carries each landmark: that of the bone which ends there, or begins at a
    knuckle."""
    joints = [JOINT_INDEX[joint] for joint in LANDMARK_JOINTS]
    first = [number == 0 or number % 4 == 1 for number in range(len(joints))]
    return [joint if begins else PARENTS[joint] for joint, begins in zip(joints, first, strict=True)]


def views(video: Video) -> tuple[Floats, Floats, Floats, float]:
    """Return lines of sight (F, 21, 2), joints (F, 21, 3) m, their carriers' rotations (F, 21, 3, 3) and the hand's
    length."""
    (BUILD / video.name / "landmarks.json").write_text(json.dumps(landmarks(video)))
    hand = capture.read(BUILD / video.name / "landmarks.json").pictures[0].widened()
    rotations = truth(video).joints[:, carriers()][..., :3, :3].copy()
    if video.hand >= len(SHAPES):
        # MakeHuman's hands are left ones: their offsets are those of a right hand mirrored in X.
        rotations[..., 0] *= -1
    joints = true_joints(video)
    return hand.sight_lines(ANGLE_OF_VIEW), joints, rotations, hand_length(joints)


def offset(seen: list[tuple[Floats, Floats, Floats, float]], landmark: int) -> Floats:
    """Return the offset (3,) of a landmark, as a fraction of the hand's length."""
    found = np.zeros(3)
    for _ in range(ITERATIONS):
        matrix, rhs = ZERO_OFFSET_WEIGHT * np.eye(3), -ZERO_OFFSET_WEIGHT * found
        for lines, joints, rotations, length in seen:
            rotated = length * rotations[:, landmark]
            x, y, z = np.moveaxis(joints[:, landmark] + rotated @ found, -1, 0)
            tangent = np.stack([x / z, y / z], axis=-1)
            misses = (lines[:, landmark] - tangent) * joints[:, landmark, 2:]
            known = np.isfinite(misses).all(axis=1)
            rows = (rotated[:, :2] - tangent[..., None] * rotated[:, 2:])[known]
            misses = misses[known]
            weights = 1 / (1 + (misses**2).sum(axis=1) / HALF_WEIGHT**2)
            matrix += np.einsum("f,fij,fik->jk", weights, rows, rows)
            rhs += np.einsum("f,fij,fi->j", weights, rows, misses)
        found = found + np.linalg.solve(matrix, rhs)
    return found


def usual_poses() -> Floats:
    """Return a headset's poses (44, 26) rad, but for those that test."""
    poses = headset_angles()
    tests = np.random.default_rng(TEST_SEED).permutation(len(poses))[: FRAMES // POSE_FRAMES + 1]
    return np.delete(poses, tests, axis=0)


def main() -> None:
    """Measure and write."""
    seen = [views(video) for video in VIDEOS if video.tunes]
    offsets = {joint: np.round(offset(seen, number), 4).tolist() for number, joint in enumerate(LANDMARK_JOINTS)}
    own = np.rad2deg(usual_poses())
    table = {
        "offsets": offsets,
        "pose_mean": np.round(own.mean(axis=0), 1).tolist(),
        "pose_covariance": np.round(np.cov(own.T)).astype(int).tolist(),
    }
    TABLE.write_text(json.dumps(table, separators=(",", ":")) + "\n")
    print(*(f"{joint}: {row}" for joint, row in offsets.items()), sep="\n")


if __name__ == "__main__":
    main()
