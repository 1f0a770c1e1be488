"""A hand with skin markers that is followed frame by frame, against hands whose joints are known."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from knuckle.hand.calibration.skin_markers.pose_fit import Poses
from knuckle.hand.calibration.skin_markers.skin_fit import COLUMNS, FLEXION
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.solvers.skin_markers import pose_model_of, to_worn_side
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


HELD = 12
"""Frames in which a pose is held until the next one."""
PINKY, PINKY_TIP = 4, 14
"""Row of the digit, and of its tip's marker."""
BENDS = COLUMNS[1:][:, FLEXION[:2]].ravel()
"""Columns of the fingers' MCP and PIP flexion."""


def calm(hand):
    """The hand as of a performer who moves slowly, with markers that are known to half a millimetre."""
    poses = replace(hand.poses, change=0.01 * hand.poses.covariance)
    return replace(hand, poses=poses, markers=replace(hand.markers, spreads=np.full((18, 3), 0.0005)))


def held_poses(hand, count, aside):
    """Markers of poses that are held, a little finger's tip so far (3,) m aside, and the poses' angles."""
    model, random = pose_model_of(hand), np.random.default_rng(0)
    angles = np.tile(model.mean, (count, 1))
    for columns in COLUMNS[1:]:
        pip = random.uniform(0, 100, count)
        bends = np.stack([random.uniform(-10, 85, count), pip, 0.6 * pip], axis=1)
        angles[:, columns[FLEXION]] = np.deg2rad(bends)
    angles = np.repeat(np.clip(angles, *model.limits.T), HELD, axis=0)
    still = Poses(np.tile(np.eye(3), (len(angles), 1, 1)), np.zeros((len(angles), 3)), angles)
    positions = to_worn_side(hand, model, still).markers
    positions[:, PINKY_TIP] += aside
    return positions, angles


@pytest.mark.parametrize("aside", [0.0, 0.005, 0.03])
def test_fingers_are_bent_as_they_are_soon_after_a_cut_though_a_marker_slipped(aside):
    """The prediction keeps fingers where they were, with markers that seem to have slipped."""
    hand = calm(take("right").worn)
    positions, angles = held_poses(hand, 5, [aside, 0.0, 0.0])
    found = followed(hand, 0.01 * np.arange(len(positions)), positions)
    off = np.rad2deg(np.abs(np.concatenate([poses.angles for poses in found]) - angles))[:, BENDS].max(axis=1)
    late = off.reshape(-1, HELD)[:, -3:]
    assert np.mean(late > 25) < 0.1, f"{late.round()} degrees"


def test_a_digit_of_which_a_marker_slipped_for_good_is_searched_now_and_then(monkeypatch):
    hand = take("right").worn
    positions = np.repeat(held_poses(hand, 1, [0.03, 0.0, 0.0])[0][:1], 40, axis=0)
    searched = []

    def counted(model, digit, *args, **choices):
        searched.append(digit)

    monkeypatch.setattr("knuckle.solvers.skin_tracker.search_digit", counted)
    followed(hand, 0.01 * np.arange(40), positions)
    assert set(searched) == {PINKY}
    assert len(searched) == 1 + (40 - DOUBTFUL_FRAMES) // SEARCH_EVERY


def test_a_marker_that_slipped_and_flickers_is_searched_too(monkeypatch):
    hand = take("right").worn
    positions = np.repeat(held_poses(hand, 1, [0.03, 0.0, 0.0])[0][:1], 20, axis=0)
    positions[2::3, PINKY_TIP] = np.nan
    searched = []
    monkeypatch.setattr(
        "knuckle.solvers.skin_tracker.search_digit", lambda _, digit, *args, **choices: searched.append(digit)
    )
    followed(hand, 0.01 * np.arange(20), positions)
    assert set(searched) == {PINKY}


def test_a_hand_whose_markers_sit_where_they_were_fitted_is_never_searched(monkeypatch):
    known = take("left")
    monkeypatch.setattr("knuckle.solvers.skin_tracker.search_digit", None)
    followed(known.worn, known.times, known.positions)
