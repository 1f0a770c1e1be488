"""A hand of known bones is followed through the picture as its frames come."""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.hand.camera.camera_fit import CameraSettings
from knuckle.hand.camera.landmark_shape import mean_shape
from knuckle.hand.camera.live_tracker import MAX_PREDICTED, MAX_REFUSED, CameraTracker, TrackerState
from knuckle.hand.camera.picture_landmarks import PictureHand, PictureLandmarks
from knuckle.hand.camera.take_fit import LIMITS
from knuckle.hand.joints import SIDES, Side
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.hand.proportions import adult, build
from knuckle.tests.pure.hand.camera.test_camera_fit import LENGTH, RATE, ROWS, SIZE, VIEW, VIEWS, take

Floats = NDArray[np.float64]

SETTINGS = CameraSettings(VIEW, LENGTH)


def tracker(side: Side = "right", limits: Floats = LIMITS) -> CameraTracker:
    return CameraTracker(mean_shape(LENGTH), side, limits, SETTINGS)


def found(landmarks: PictureLandmarks) -> list[PictureHand | None]:
    pairs = zip(landmarks.points, landmarks.world, strict=True)
    return [PictureHand(points, world) if np.isfinite(points).all() else None for points, world in pairs]


def followed(of: CameraTracker, hands: Sequence[PictureHand | None], times: Floats) -> list[TrackerState]:
    assert hands[0] is not None
    states = [of.start(float(times[0]), SIZE, hands[0])]
    for at, hand in zip(times[1:], hands[1:], strict=True):
        states.append(of.follow(float(at), SIZE, hand, states[-1]))
    return states


def joints_of(of: CameraTracker, states: list[TrackerState]) -> Floats:
    """(F, 21, 3) m, of a mean hand of the same length."""
    hand = build(adult("right") if of.side == "right" else adult("right").mirrored())
    root = np.concatenate([of.root(state.filter.pose) for state in states])
    angles = np.concatenate([state.filter.pose.angles for state in states])
    joints: Floats = joint_frames(hand, Pose(hand, root, angles))[:, ROWS][..., :3, 3]
    return joints


def local_mm(joints: Floats, true: Floats) -> Floats:
    """(F,) mean distance of the joints relative to the wrist; the hands may differ in size by some per cent."""
    wrists = joints - joints[:, :1], true - true[:, :1]
    return np.asarray(
        1000 * np.linalg.norm(wrists[0] * (LENGTH / adult("right").size) - wrists[1], axis=-1).mean(axis=1)
    )


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("side", SIDES)
def test_exact_landmarks_are_followed(side: Side, view: str) -> None:
    landmarks, times, joints = take(side, view)
    one = tracker(side)
    states = followed(one, found(landmarks), times)
    apart = local_mm(joints_of(one, states), joints)
    assert apart[5:].mean() < 9, f"{apart[5:].mean():.1f} mm"
    wrist = joints_of(one, states)[:, 0]
    assert np.linalg.norm(wrist - joints[:, 0], axis=-1)[5:].max() < 0.035
    assert not any(state.predicted for state in states)


def test_a_frame_is_told_by_those_before_it_alone() -> None:
    landmarks, times, _ = take("right", "oblique")
    one, hands = tracker(), found(landmarks)
    every, some = followed(one, hands, times), followed(one, hands[:20], times[:20])
    np.testing.assert_array_equal(every[19].filter.pose.angles, some[19].filter.pose.angles)


def test_angles_stay_within_the_limits_that_are_given() -> None:
    narrow = LIMITS.copy()
    narrow[:, 0], narrow[:, 1] = np.maximum(LIMITS[:, 0], -0.1), np.minimum(LIMITS[:, 1], 0.4)
    landmarks, times, _ = take("right", "palm")
    for state in followed(tracker(limits=narrow), found(landmarks), times)[1:]:
        assert (state.filter.pose.angles >= narrow[:, 0] - 1e-9).all()
        assert (state.filter.pose.angles <= narrow[:, 1] + 1e-9).all()


def test_noise_of_pixels_shakes_joints_by_less() -> None:
    landmarks, times, _ = take("right", "palm")
    noise = np.random.default_rng(1).normal(0, 3, (len(times), 21, 2)) / [SIZE.width, SIZE.height]
    shaken = landmarks.points.copy()
    shaken[..., :2] += noise
    one = tracker()
    calm, noisy = (
        joints_of(one, followed(one, found(replace(landmarks, points=points)), times))
        for points in (landmarks.points, shaken)
    )
    moved = noisy - noisy[:, :1] - (calm - calm[:, :1])
    # 3 pixels are 1.5 mm at the hand.
    assert 1000 * np.linalg.norm(moved, axis=-1)[3:].mean() < 5


def test_frames_without_the_hand_are_predicted_and_then_held() -> None:
    landmarks, times, joints = take("right", "palm")
    hands = found(landmarks)
    gap = range(10, 30)
    states = followed(tracker(), [None if frame in gap else hand for frame, hand in enumerate(hands)], times)
    assert [state.predicted for state in states] == [frame in gap for frame in range(len(states))]
    last = 9 + int(MAX_PREDICTED * RATE)
    ahead = states[last].filter.pose.positions[0] - states[9].filter.pose.positions[0]
    true = joints[last, 0] - joints[9, 0]
    assert ahead @ true > 0.3 * true @ true, "the hand goes on as it moved"
    for state in states[last + 1 : 30]:
        np.testing.assert_array_equal(state.filter.pose.positions, states[last + 1].filter.pose.positions)
    back = local_mm(joints_of(tracker(), states), joints)[33:]
    assert back.mean() < 12


def test_a_leap_to_something_else_is_refused() -> None:
    landmarks, times, joints = take("right", "palm")
    points = landmarks.points.copy()
    points[20, :, :2] = points[20, ::-1, :2] + 0.05
    one, hands = tracker(), found(replace(landmarks, points=points))
    states = followed(one, hands, times)
    assert [frame for frame, state in enumerate(states) if state.predicted] == [20]
    assert local_mm(joints_of(one, states), joints)[20] < 20


@pytest.mark.parametrize("rate", [30.0, 4.0, 1.0])
def test_a_false_frame_is_refused_and_one_without_the_hand_predicted_at_any_rate(rate: float) -> None:
    landmarks, _, joints = take("right", "palm")
    one, hand = tracker(), found(landmarks)[20]
    assert hand is not None
    points = hand.points.copy()
    points[:, :2] = points[::-1, :2] + 0.05
    frames = [hand] * 20 + [replace(hand, points=points), hand, None, hand]
    states = followed(one, frames, np.arange(len(frames)) / rate)
    assert [frame for frame, state in enumerate(states) if state.predicted] == [20, 22]
    wrist = joints_of(one, states)[:, 0]
    assert np.linalg.norm(wrist[20:] - wrist[19], axis=-1).max() < 0.01
    assert local_mm(joints_of(one, states), joints[20:21])[20:].max() < 20


def test_a_hand_that_moved_meanwhile_is_found_again() -> None:
    """What is refused for long is where the hand is."""
    landmarks, times, joints = take("right", "palm")
    later, _, other = take("right", "back")
    points = landmarks.points.copy()
    points[10:] = later.points[10:]
    one = tracker()
    states = followed(one, found(replace(landmarks, points=points)), times)
    settled = 10 + int(MAX_REFUSED * RATE) + 5
    assert local_mm(joints_of(one, states), other)[settled:].mean() < 15
    assert local_mm(joints_of(one, states), joints)[:10].mean() < 15


@pytest.mark.parametrize("seed", range(3))
def test_what_is_no_hand_leaves_a_pose_within_limits(seed: int) -> None:
    random = np.random.default_rng(seed)
    one = tracker()
    hands = [PictureHand(random.uniform(-3, 3, (21, 3)), random.uniform(-1, 1, (21, 3))) for _ in range(30)]
    for state in followed(one, hands, np.cumsum(random.uniform(0.001, 0.5, 30))):
        pose = state.filter.pose
        assert np.isfinite(pose.positions).all() and np.isfinite(state.filter.covariance).all()
        assert ((pose.angles >= LIMITS[:, 0] - 1e-9) & (pose.angles <= LIMITS[:, 1] + 1e-9)).all()


def test_a_frame_takes_a_few_milliseconds() -> None:
    landmarks, times, _ = take("right", "palm")
    one, hands = tracker(), found(landmarks)
    started = time.thread_time()
    followed(one, hands, times)
    assert (time.thread_time() - started) / len(times) < 0.02
