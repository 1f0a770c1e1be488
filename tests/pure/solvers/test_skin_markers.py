"""The laws of the solver for markers on the skin, on hands whose joints are known."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from knuckle.hand.calibration.skin_markers import fit
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.solvers.skin_markers import SkinSolver
from knuckle.solvers.smoothing.smoothing_kinds import SMOOTHINGS
from knuckle.tests.pure.hand.skin_people import SPOTS, made

SOLVER = SkinSolver()


@cache
def fitted(side):
    """A take with 0.5 mm of noise, and the hand fitted to its first half."""
    take = made(side, frames=400, noise=0.0005)
    return take, fit(take.positions[:200], 100.0, SPOTS, side)


def solved(side, positions, times=None, state=None):
    take, worn = fitted(side)
    return SOLVER.solve(worn, take.times[: len(positions)] if times is None else times, positions, state)


def joints_of(worn, poses):
    return joint_frames(worn.model, Pose(worn.model, poses.root, poses.angles))[:, 1:, :3, 3]


@pytest.mark.parametrize("side", ["right", "left"])
def test_joints_of_frames_that_were_not_fitted_are_met(side):
    """Each joint of a made hand has a rhythm of its own: that people bend theirs together helps less here."""
    take, worn = fitted(side)
    poses, _ = solved(side, take.positions[200:])
    known = joint_frames(take.pose.hand, take.pose)[200:, 1:, :3, 3]
    off = 1000 * np.linalg.norm(joints_of(worn, poses) - known, axis=-1)
    assert off.mean() < 4.2, f"joints are {off.mean():.2f} mm off on average"
    left = 1000 * np.linalg.norm(poses.markers - take.positions[200:], axis=-1)
    assert left.mean() < 2.0, f"markers are {left.mean():.2f} mm off on average, 0.8 mm are noise"


def test_solving_in_pieces_is_solving_at_once():
    take, worn = fitted("right")
    whole, last = solved("right", take.positions[:60])
    state, roots, angles = None, [], []
    for start, end in ((0, 1), (1, 2), (2, 25), (25, 60)):
        piece, state = SOLVER.solve(worn, take.times[start:end], take.positions[start:end], state)
        roots.append(piece.root)
        angles.append(piece.angles)
    np.testing.assert_allclose(np.concatenate(angles), whole.angles, atol=1e-9)
    np.testing.assert_allclose(np.concatenate(roots), whole.root, atol=1e-9)
    assert state is not None
    np.testing.assert_allclose(state.angles.mean, last.angles.mean, atol=1e-9)


def test_a_rigid_move_of_all_markers_moves_the_root_alone():
    take, _ = fitted("left")
    move = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    before, _ = solved("left", take.positions[:20])
    after, _ = solved("left", take.positions[:20] @ move.T + [1.0, 2.0, 3.0])
    np.testing.assert_allclose(after.angles, before.angles, atol=1e-6)
    np.testing.assert_allclose(after.root[:, :3, 3], before.root[:, :3, 3] @ move.T + [1.0, 2.0, 3.0], atol=1e-7)


def test_limits_hold_whatever_the_markers_are():
    take, worn = fitted("right")
    poses, _ = solved("right", take.positions[:30] + np.random.default_rng(4).normal(0, 0.03, (30, 18, 3)))
    low, high = worn.model.limits.T
    assert np.all((poses.angles >= low - 1e-9) & (poses.angles <= high + 1e-9))
    np.testing.assert_allclose(np.linalg.det(poses.root[:, :3, :3]), 1.0, atol=1e-9)


def test_a_marker_without_weight_has_no_effect():
    take, worn = fitted("right")
    spreads = worn.markers.spreads.copy()
    spreads[4] = 1e6
    weightless = replace(worn, markers=replace(worn.markers, spreads=spreads))
    moved, gone = take.positions[:20].copy(), take.positions[:20].copy()
    moved[:, 4] += 0.05
    gone[:, 4] = np.nan
    times = take.times[:20]
    np.testing.assert_allclose(
        SOLVER.solve(weightless, times, moved)[0].angles, SOLVER.solve(worn, times, gone)[0].angles, atol=1e-3
    )


def test_a_hidden_tip_does_not_snap():
    take, _ = fitted("right")
    hidden = take.positions[200:300].copy()
    hidden[40:50, 5] = np.nan
    away = np.linalg.norm(solved("right", hidden)[0].markers[:, 5] - take.positions[200:300, 5], axis=1)
    assert 1000 * away[40:50].max() < 15.0, f"{1000 * away[40:50].max():.1f} mm"


def test_a_hand_that_is_lost_stays_where_it_was():
    take, _ = fitted("right")
    lost = take.positions[:20].copy()
    lost[10:] = np.nan
    poses, _ = solved("right", lost)
    assert np.isfinite(poses.root).all() and np.isfinite(poses.angles).all()
    np.testing.assert_allclose(poses.root[10:], np.tile(poses.root[9], (10, 1, 1)), atol=1e-12)


def test_a_marker_that_slipped_leaves_the_others_alone():
    take, _ = fitted("right")
    slipped = take.positions[:40].copy()
    slipped[:, 7] += [0.0, 0.0, 0.06]
    usual, other = solved("right", take.positions[:40])[0], solved("right", slipped)[0]
    others = [m for m in range(18) if m // 3 != 2]
    away = 1000 * np.linalg.norm(usual.markers - other.markers, axis=-1)[:, others]
    assert away.max() < 3.0, f"{away.max():.2f} mm"


def test_with_the_frames_after_hidden_fingers_are_nearer_and_come_back_without_a_jump():
    take, worn = fitted("right")
    times, seen = take.times[200:300], take.positions[200:300]
    hidden, fingers = seen.copy(), slice(6, 12)
    hidden[40:50, fingers] = np.nan
    found = {
        "before": SOLVER.solve(worn, times, hidden)[0].markers,
        "all": SOLVER.solve_take(worn, times, hidden).markers,
    }
    away = {name: 1000 * np.linalg.norm(found[name] - seen, axis=-1)[40:50, fingers].mean() for name in found}
    assert away["all"] < 0.7 * away["before"], str(away)
    steps = {name: np.linalg.norm(np.diff(found[name], axis=0), axis=-1)[49, fingers].max() for name in found}
    assert steps["all"] < 0.5 * steps["before"], str(steps)


def test_a_hand_that_is_lost_is_carried_to_where_it_comes_back():
    take, worn = fitted("left")
    times, lost = take.times[:60], take.positions[:60] + np.arange(60)[:, None, None] * [0.0, 0.002, 0.0]
    lost[20:40] = np.nan
    poses = SOLVER.solve_take(worn, times, lost)
    steps = np.linalg.norm(np.diff(poses.root[:, :3, 3], axis=0), axis=1)
    assert steps[19:40].max() < 3 * np.median(steps), f"{1000 * steps.max():.1f} mm a frame"


@pytest.mark.parametrize(("name", "looks_ahead"), [("off", True), ("live", False), ("whole", True)])
def test_of_the_smoothings_live_alone_does_without_later_frames(name, looks_ahead):
    take, worn = fitted("right")
    times, first = take.times[:30], take.positions[:30]
    later = first.copy()
    later[20:] = take.positions[120:130]
    beginning = np.zeros((30, worn.poses.mean.size))
    smoothing = SMOOTHINGS[name]()
    one, other = (smoothing.solve_skin(worn, times, markers, beginning).angles[:20] for markers in (first, later))
    assert np.allclose(one, other, atol=1e-9) != looks_ahead
