"""A hand of known pose before a known camera comes back from its projected landmarks."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.errors import HandError
from knuckle.hand import poses
from knuckle.hand import rotations as rot
from knuckle.hand.calibration.skin_markers.chain import marker_positions
from knuckle.hand.camera.camera_fit import (
    CameraHand,
    CameraSettings,
    _without_false_frames,
    fit_camera_hand,
    start_state,
)
from knuckle.hand.camera.landmark_shape import length_of, mean_shape
from knuckle.hand.camera.landmark_table import landmark_offsets
from knuckle.hand.camera.motion import MotionPrior
from knuckle.hand.camera.picture_landmarks import LANDMARK_JOINTS, PictureLandmarks, PictureSize
from knuckle.hand.camera.take_fit import TakeEquations, TakeFitProblem
from knuckle.hand.generators import run_to_end
from knuckle.hand.jacobians import ROOT_DOFS
from knuckle.hand.joints import JOINT_INDEX, SIDES, Side
from knuckle.hand.kinematics import joint_frames
from knuckle.hand.mirror import POINT_SIGNS
from knuckle.hand.proportions import adult, build

Floats = NDArray[np.float64]

SIZE = PictureSize(1280, 720)
VIEW, LENGTH, RATE, FRAMES = 60.0, 0.19, 30.0, 40
ROWS = [JOINT_INDEX[joint] for joint in LANDMARK_JOINTS]
VIEWS = {"palm": 180.0, "back": 0.0, "oblique": 130.0}
"""Degrees about the fingers; at 0 the back is to the camera."""


def take(side: Side, view: str) -> tuple[PictureLandmarks, Floats, Floats]:
    """Landmarks of a hand that closes and opens while it turns and moves; times; its joints (F, 21, 3) m."""
    hand = build(adult("right"))
    part = (1 - np.cos(np.linspace(0, 2 * np.pi, FRAMES)))[:, None] / 2
    angles = poses.angles(hand, "relaxed") + part * (poses.angles(hand, "grip-ball") - poses.angles(hand, "relaxed"))
    upright = np.diag([1.0, -1.0, -1.0])
    swing = rot.to_matrix(rot.from_axis_angle([0.0, 0.0, 1.0], np.linspace(-0.3, 0.3, FRAMES)))
    rotations = swing @ upright @ rot.to_matrix(rot.from_axis_angle([0.0, 1.0, 0.0], np.deg2rad(VIEWS[view])))
    positions = np.stack([np.linspace(-0.1, 0.1, FRAMES), np.full(FRAMES, 0.1), np.linspace(0.5, 0.6, FRAMES)], axis=1)
    shape = mean_shape(LENGTH)
    bare = replace(shape, offsets=shape.offsets - landmark_offsets() * length_of(shape))
    marks, joints = (
        marker_positions(one, angles).positions.transpose(2, 1, 0) @ rotations.swapaxes(1, 2) + positions[:, None]
        for one in (shape, bare)
    )
    if side == "left":
        marks, joints = marks * POINT_SIGNS, joints * POINT_SIGNS
    return landmarks_of(marks), np.arange(FRAMES) / RATE, joints


def landmarks_of(marks: Floats) -> PictureLandmarks:
    """What a perfect detector tells of landmarks (F, 21, 3) m: their picture, and their depths behind the wrist."""
    focal = SIZE.focal_length(VIEW)
    tangent = marks[..., :2] / marks[..., 2:]
    points = tangent * focal / [SIZE.width, SIZE.height] + 0.5
    depth = (marks[..., 2] - marks[:, :1, 2]) / marks[..., 2].mean(axis=1, keepdims=True) * focal / SIZE.width
    world = marks - marks.mean(axis=1, keepdims=True)
    return PictureLandmarks(SIZE, np.concatenate([points, depth[..., None]], axis=-1), world)


def fit(landmarks: PictureLandmarks, times: Floats, length: float = LENGTH) -> CameraHand:
    return run_to_end(fit_camera_hand(landmarks, times, CameraSettings(VIEW, length)))


def joints_of(hand: CameraHand) -> Floats:
    joints: Floats = joint_frames(hand.pose.hand, hand.pose)[:, ROWS][..., :3, 3]
    return joints


def errors_mm(hand: CameraHand, joints: Floats) -> Floats:
    return np.asarray(1000 * np.linalg.norm(joints_of(hand) - joints, axis=-1))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("side", SIDES)
def test_exact_landmarks_give_the_pose_back(side: Side, view: str) -> None:
    landmarks, times, joints = take(side, view)
    hand = fit(landmarks, times)
    assert hand.side == side
    assert hand.known.all() and hand.found.all()
    local = joints_of(hand) - joints_of(hand)[:, :1] - (joints - joints[:, :1])
    # Priors of pose and motion count even if the landmarks are exact.
    assert 1000 * np.linalg.norm(local, axis=-1).mean() < 7.5
    assert errors_mm(hand, joints)[:, 0].max() < 25


def test_bones_are_constant_and_as_long_as_reported() -> None:
    landmarks, times, _ = take("right", "palm")
    hand = fit(landmarks, times, length=0.17)
    joints = joints_of(hand)
    lengths = np.linalg.norm(joints[:, 9:13] - joints[:, [0, 9, 10, 11]], axis=-1)
    assert np.ptp(lengths, axis=0).max() < 1e-9
    assert abs(lengths[0].sum() - 0.17) < 1e-3


def test_a_larger_hand_is_farther_away() -> None:
    landmarks, times, joints = take("right", "palm")
    larger = joints_of(fit(landmarks, times, length=1.2 * LENGTH))
    assert np.abs(larger[:, 0, 2] / (1.2 * joints[:, 0, 2]) - 1).max() < 0.06


def test_angles_stay_within_limits() -> None:
    landmarks, times, _ = take("left", "oblique")
    shaken = replace(landmarks, points=landmarks.points + np.random.default_rng(0).normal(0, 0.01, (FRAMES, 21, 3)))
    hand = fit(shaken, times)
    low, high = hand.pose.hand.limits.T
    assert ((hand.pose.angles >= low - 1e-9) & (hand.pose.angles <= high + 1e-9)).all()


def test_noise_of_pixels_moves_joints_by_little() -> None:
    landmarks, times, _ = take("right", "palm")
    noise = np.random.default_rng(1).normal(0, 3, (FRAMES, 21, 2)) / [SIZE.width, SIZE.height]
    shaken = landmarks.points.copy()
    shaken[..., :2] += noise
    calm, noisy = joints_of(fit(landmarks, times)), joints_of(fit(replace(landmarks, points=shaken), times))
    moved = noisy - noisy[:, :1] - (calm - calm[:, :1])
    # 3 pixels are 1.5 mm at the hand.
    assert 1000 * np.linalg.norm(moved, axis=-1).mean() < 4


def test_a_short_gap_is_predicted_and_a_long_one_is_not() -> None:
    landmarks, times, joints = take("right", "palm")
    points = landmarks.points.copy()
    points[10:14] = np.nan
    points[22:39] = np.nan
    hand = fit(replace(landmarks, points=points), times)
    assert not hand.found[10:14].any() and hand.known[10:14].all()
    assert errors_mm(hand, joints)[10:14].mean() < 25
    assert not hand.known[22:39].any() and hand.known[[21, 39]].all()


def test_a_frame_of_another_hand_does_not_count() -> None:
    landmarks, times, _ = take("right", "palm")
    points = landmarks.points.copy()
    points[20, :, :2] = points[20, ::-1, :2] + 0.05
    alone, disturbed = fit(landmarks, times), fit(replace(landmarks, points=points), times)
    assert np.flatnonzero(~disturbed.found).tolist() == [20], "predicted, and marked so"
    assert 1000 * np.linalg.norm(joints_of(disturbed) - joints_of(alone), axis=-1)[20].mean() < 15


@pytest.mark.parametrize("frames", [slice(0, 6), slice(15, 20)])
def test_fingers_that_are_taken_for_a_hand_do_not_count(frames: slice) -> None:
    landmarks, times, joints = take("right", "palm")
    points, tip = landmarks.points.copy(), landmarks.points[frames, 12:13]
    points[frames] = tip + 0.4 * (points[frames] - tip)
    hand = fit(replace(landmarks, points=points), times)
    assert np.flatnonzero(~hand.found).tolist() == list(range(FRAMES))[frames]
    assert errors_mm(hand, joints)[hand.known, 0].max() < 25


def test_world_landmarks_serve_where_the_picture_has_no_depths() -> None:
    landmarks, times, joints = take("left", "back")
    flat = landmarks.points * [1, 1, 0]
    hand = fit(replace(landmarks, points=flat), times)
    assert hand.side == "left"
    local = joints_of(hand) - joints_of(hand)[:, :1] - (joints - joints[:, :1])
    assert 1000 * np.linalg.norm(local, axis=-1).mean() < 8


def test_a_single_frame_is_fitted() -> None:
    landmarks, times, joints = take("right", "oblique")
    hand = fit(landmarks.select(slice(5, 6)), times[5:6])
    assert errors_mm(hand, joints[5:6]).mean() < 40


def test_no_hand_is_reported() -> None:
    landmarks, times, _ = take("right", "palm")
    with pytest.raises(HandError, match="no frame"):
        fit(replace(landmarks, points=np.full_like(landmarks.points, np.nan)), times)


def test_the_equations_of_a_take_are_the_derivatives_of_its_cost() -> None:
    """By the wrist's position and the angles, beside the pose that the fit begins with."""
    landmarks, times, _ = take("right", "oblique")
    rows, rng, step = slice(0, 5), np.random.default_rng(1), 1e-6
    state, sighting = start_state(
        landmarks.select(np.arange(5)), "right", mean_shape(LENGTH), CameraSettings(VIEW, LENGTH)
    )
    problem = TakeFitProblem(sighting, MotionPrior(times[rows]), None)
    angles = state.poses.angles + rng.normal(0.0, 0.02, state.poses.angles.shape)
    state = replace(state, poses=replace(state.poses, angles=angles))
    gradient = -2 * TakeEquations.of(problem, state).rhs

    def cost(name: str, frame: int, column: int, by: float) -> float:
        values = getattr(state.poses, name).copy()
        values[frame, column] += by
        return problem.cost(replace(state, poses=replace(state.poses, **{name: values})))

    for name, first, count in (("positions", 0, 3), ("angles", ROOT_DOFS, 6)):
        for frame, column in ((0, 0), (2, 1), (4, count - 1), (3, 2)):
            slope = (cost(name, frame, column, step) - cost(name, frame, column, -step)) / (2 * step)
            assert slope == pytest.approx(gradient[frame, first + column], rel=1e-3, abs=1e-4 * np.abs(gradient).max())


def test_a_frame_that_is_some_times_as_far_off_as_usual_is_left_out() -> None:
    landmarks, times, _ = take("right", "back")
    settings = CameraSettings(VIEW, LENGTH)
    state, sighting = start_state(landmarks.select(np.arange(9)), "right", mean_shape(LENGTH), settings)
    lines = sighting.lines.copy()
    lines[4] += [0.02, -0.016]
    problem = TakeFitProblem(replace(sighting, lines=lines), MotionPrior(times[:9]), None)
    assert np.flatnonzero(~_without_false_frames(problem, state).sighting.seen).tolist() == [4]
