"""A hand with skin markers that is followed frame by frame, against hands whose joints are known."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from knuckle.hand.calibration.skin_markers.pose_fit import Poses
from knuckle.hand.calibration.skin_markers.skin_fit import COLUMNS, FLEXION
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.solvers.skin_markers import pose_model_of, unmirrored
from knuckle.solvers.skin_tracker import DOUBTFUL_FRAMES, SEARCH_EVERY, SkinTracker
from knuckle.tests.pure.hand.skin_people import made

FRAMES = 120
AFTER_CUT = 1
"""Frames after the first of a cut in which the hand is to be found again."""


@cache
def take(side):
    """A take with 0.5 mm of noise."""
    return made(side, frames=FRAMES, noise=0.0005)


def followed(hand, times, positions):
    """The poses (F,) of a take that is fed frame by frame."""
    tracker, state, found = SkinTracker(hand), None, []
    for time, markers in zip(times, positions, strict=True):
        poses, state = tracker.solve(float(time), markers, state)
        found.append(poses)
    return found


def joint_errors(known, found):
    """(F, J) mm from the joints of a known pose to those found."""
    root, angles = (np.concatenate([getattr(poses, name) for poses in found]) for name in ("root", "angles"))
    model = known.worn.model
    away = joint_frames(model, Pose(model, root, angles)) - joint_frames(known.pose.hand, known.pose)[: len(found)]
    return 1000 * np.linalg.norm(away[..., :3, 3], axis=-1)


@pytest.mark.parametrize("side", ["right", "left"])
def test_joints_are_met_in_every_frame(side):
    known = take(side)
    off = joint_errors(known, followed(known.worn, known.times, known.positions))
    assert off.mean() < 1.0, f"{off.mean():.2f} mm"
    assert off.mean(axis=1).max() < 2.0, f"frame {off.mean(axis=1).argmax()}: {off.mean(axis=1).max():.2f} mm"


def test_limits_hold_whatever_the_markers_are():
    known = take("right")
    noise = np.random.default_rng(4).normal(0, 0.03, (20, 18, 3))
    found = followed(known.worn, known.times[:20], known.positions[:20] + noise)
    angles = np.concatenate([poses.angles for poses in found])
    low, high = known.worn.model.limits.T
    assert np.all((angles >= low - 1e-9) & (angles <= high + 1e-9))


def test_a_hidden_finger_goes_on_and_is_met_again_when_it_is_seen():
    known = take("right")
    hidden = known.positions.copy()
    hidden[40:50, 3:6] = np.nan
    found = followed(known.worn, known.times, hidden)
    off = 1000 * np.linalg.norm(np.concatenate([p.markers for p in found]) - known.positions, axis=-1)
    assert off[40:50, 3:6].mean() < 25.0
    others = [marker for marker in range(18) if marker not in (3, 4, 5)]
    assert off[40:50, others].mean() < 1.5
    assert off[51:, 3:6].mean() < 1.5, f"{off[51:, 3:6].mean():.2f} mm"


def test_a_hand_that_is_lost_stays_and_is_found_again_elsewhere():
    known = take("left")
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    away = known.positions[60:80] @ turn.T + [1.0, 2.0, 3.0]
    lost = np.concatenate([known.positions[:20], np.full((5, 18, 3), np.nan), away])
    found = followed(known.worn, np.arange(len(lost)) / 100, lost)
    for poses in found[20:25]:
        np.testing.assert_allclose(poses.root, found[19].root, atol=1e-12)
    off = 1000 * np.linalg.norm(np.concatenate([poses.markers for poses in found[25:]]) - away, axis=-1)
    assert off.mean() < 1.5, f"{off.mean():.2f} mm"


def test_a_hand_is_found_again_soon_after_a_cut():
    known = take("right")
    pieces = np.concatenate([np.arange(start, start + AFTER_CUT + 1) for start in (0, 45, 90, 15, 60, 105, 30, 75)])
    found = followed(known.worn, 0.01 * np.arange(len(pieces)), known.positions[pieces])
    off = 1000 * np.linalg.norm(np.concatenate([p.markers for p in found]) - known.positions[pieces], axis=-1)
    last = off.mean(axis=1)[AFTER_CUT :: AFTER_CUT + 1]
    assert last.max() < 1.5, f"{last.round(2)} mm"


def test_a_marker_that_is_never_seen_does_not_count():
    known = take("right")
    without = known.positions[:20].copy()
    without[:, 4] = np.nan
    spreads = known.worn.markers.spreads.copy()
    spreads[4] = 1e6
    weightless = replace(known.worn, markers=replace(known.worn.markers, spreads=spreads))
    one, other = (
        followed(hand, known.times[:20], markers)[-1].angles
        for hand, markers in ((known.worn, without), (weightless, known.positions[:20]))
    )
    np.testing.assert_allclose(one, other, atol=1e-3)


PINKY, PINKY_TIP = 4, 14
"""Row of the digit, and of its tip's marker."""


def fist_with_a_marker_aside(hand, frames, aside):
    """Markers of a fist that holds still, the little finger's tip so far (3,) m aside; and the fist's angles."""
    model = pose_model_of(hand)
    angles = model.mean.copy()
    for columns in COLUMNS[1:]:
        angles[columns[FLEXION]] = np.deg2rad([80.0, 75.0, 45.0])
    angles = np.clip(angles, *model.limits.T)
    pose = Poses(np.eye(3)[None], np.zeros((1, 3)), angles[None])
    positions = np.repeat(unmirrored(hand, model, pose).markers, frames, axis=0)
    positions[:, PINKY_TIP] += aside
    return positions, angles


def straightened(hand, angles, state):
    """A tracker's state that believes the little finger of these angles to be straight."""
    own = COLUMNS[PINKY, FLEXION]
    wrong = angles.copy()
    wrong[own] = 0.0
    return replace(state, angles=replace(state.angles, mean=wrong, covariance=1e-4 * np.eye(len(wrong))))


@pytest.mark.parametrize("aside", [0.0, 0.005, 0.01])
def test_a_fists_little_finger_that_is_believed_straight_bends_soon(aside):
    hand = take("right").worn
    positions, angles = fist_with_a_marker_aside(hand, 2 * DOUBTFUL_FRAMES, [aside, 0.0, 0.0])
    tracker = SkinTracker(hand)
    _, state = tracker.solve(0.0, positions[0])
    state = straightened(hand, angles, state)
    for number, markers in enumerate(positions[1:]):
        poses, state = tracker.solve(0.01 * (number + 1), markers, state)
    off = np.rad2deg(np.abs(poses.angles[0] - angles))[COLUMNS[PINKY, FLEXION[:2]]]
    assert off.max() < 15.0, f"{off.round()} degrees"


def test_a_digit_of_which_a_marker_slipped_for_good_is_searched_now_and_then(monkeypatch):
    hand = take("right").worn
    positions, _ = fist_with_a_marker_aside(hand, 40, [0.03, 0.0, 0.0])
    searched = []

    def counted(model, digit, *args, **choices):
        searched.append(digit)

    monkeypatch.setattr("knuckle.solvers.skin_tracker.search_digit", counted)
    followed(hand, 0.01 * np.arange(40), positions)
    assert set(searched) == {PINKY}
    assert len(searched) == 1 + (40 - DOUBTFUL_FRAMES) // SEARCH_EVERY


def test_a_hand_whose_markers_sit_where_they_were_fitted_is_never_searched(monkeypatch):
    known = take("left")
    monkeypatch.setattr("knuckle.solvers.skin_tracker.search_digit", None)
    followed(known.worn, known.times, known.positions)
