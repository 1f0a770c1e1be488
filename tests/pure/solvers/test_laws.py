"""What every solver must keep, whatever its method."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knuckle.hand import kinematics, rotations
from knuckle.solvers import SOLVERS, chunks
from knuckle.solvers.solver import StateOfPose, limit_excess, residuals

from .hands import EIGHT, FULL, HANDS, natural, poses, sides, targets_at

pytestmark = pytest.mark.parametrize("name", sorted(SOLVERS))
few = settings(max_examples=10, deadline=None)
fewest = settings(max_examples=5, deadline=None)
"""Where a law solves the same frames several times."""
COUNT = 24
"""Frames with joints at their limits."""
marker_sets = st.sampled_from([EIGHT, FULL])


def noisy(targets, seed, spread=0.02):
    """The same targets, thrown about by centimetres: not every one can be reached."""
    noise = np.random.default_rng(seed).normal(0, spread, targets.positions.shape)
    return replace(targets, positions=targets.positions + noise)


@few
@given(data=st.data(), side=sides, names=marker_sets)
def test_sites_of_a_pose_are_reached_again(name, data, side, names):
    hand = HANDS[side]
    targets = targets_at(hand, data.draw(poses(hand)), names)
    pose, _ = SOLVERS[name]().solve(hand, targets)
    tips = residuals(hand, targets, pose)[:, -5:] if names is EIGHT else residuals(hand, targets, pose)
    assert tips.max() < 1e-3, f"{1000 * tips.max():.3f} mm > 1 mm"


@fewest
@given(data=st.data(), side=sides, seed=st.integers(0, 99), cut=st.integers(1, 5))
def test_solving_in_pieces_gives_the_same_poses(name, data, side, seed, cut):
    hand, solver = HANDS[side], SOLVERS[name]()
    targets = noisy(targets_at(hand, data.draw(poses(hand, 6)), FULL), seed)
    weights = targets.weights * (np.random.default_rng(seed).random(targets.weights.shape) > 0.3)
    targets = replace(targets, weights=weights)
    whole, after = solver.solve(hand, targets)
    first, state = solver.solve(hand, targets.select(slice(0, cut)))
    second, _ = solver.solve(hand, targets.select(slice(cut, 6)), state)
    if isinstance(after, StateOfPose):
        between = after.before(cut, whole)
        assert np.abs(between.angles - state.angles).max() < 1e-9
        assert np.abs(between.root - state.root).max() < 1e-9
        third, _ = solver.solve(hand, targets.select(slice(cut, 6)), between)
        assert np.abs(third.angles - second.angles).max() < 1e-9
    angles = np.concatenate([first.angles, second.angles])
    assert np.abs(angles - whole.angles).max() < 1e-9
    assert np.abs(np.concatenate([first.root, second.root]) - whole.root).max() < 1e-9


@fewest
@given(data=st.data(), side=sides, seed=st.integers(0, 99), names=marker_sets, spread=st.sampled_from([0, 0.001, 0.02]))
def test_solving_frame_by_frame_gives_the_poses_of_the_batch(name, data, side, seed, names, spread):  # noqa: PLR0917
    hand, solver = HANDS[side], SOLVERS[name]()
    targets = noisy(targets_at(hand, data.draw(poses(hand, 6)), names), seed, spread)
    weights = targets.weights * (np.random.default_rng(seed).random(targets.weights.shape) > 0.2 * (seed % 2))
    targets = replace(targets, weights=weights)
    whole, _ = solver.solve(hand, targets)
    state = None
    for frame in range(6):
        pose, state = solver.solve(hand, targets.select(slice(frame, frame + 1)), state)
        assert np.abs(pose.angles[0] - whole.angles[frame]).max() < 1e-9
        assert np.abs(pose.root[0] - whole.root[frame]).max() < 1e-9


@pytest.mark.parametrize(("names", "seed"), [(EIGHT, 1), (FULL, 2)])
def test_joints_at_their_limits_are_solved_alone_as_in_a_batch(name, seed, names):
    """Straight digits and joints at the ends of their ranges, where rounding would choose between two answers."""
    hand, rng = HANDS["right"], np.random.default_rng(seed)
    fractions = rng.random((COUNT, hand.dofs))
    fractions = np.where(rng.random(fractions.shape) < 0.5, np.round(fractions), fractions)
    root = np.tile(np.eye(4), (COUNT, 1, 1))
    root[:, :3, 3] = 0.4
    targets = targets_at(hand, kinematics.Pose(hand, root, natural(hand, fractions)), names)
    # Half of the frames without noise, and a third of the markers missing in every other one.
    spread = np.repeat([0.0, 0.02], COUNT // 2)[:, None, None]
    missing = (rng.random(targets.weights.shape) < 0.3) & (np.arange(COUNT) % 2 > 0)[:, None]
    positions = targets.positions + rng.normal(0, 1, targets.positions.shape) * spread
    targets = replace(targets, positions=positions, weights=np.where(missing, 0.0, targets.weights))
    solver = SOLVERS[name]()
    whole, _ = solver.solve(hand, targets)
    state = None
    for frame in range(COUNT):
        pose, state = solver.solve(hand, targets.select(slice(frame, frame + 1)), state)
        assert np.abs(pose.angles[0] - whole.angles[frame]).max() < 1e-8


@few
@given(data=st.data(), side=sides, seed=st.integers(0, 99))
def test_limits_hold_and_quaternions_are_unit(name, data, side, seed):
    hand = HANDS[side]
    targets = noisy(targets_at(hand, data.draw(poses(hand)), FULL), seed, 0.1)
    pose, _ = SOLVERS[name]().solve(hand, targets)
    assert np.rad2deg(limit_excess(hand, pose.angles).max()) < np.rad2deg(1e-9)
    assert np.abs(np.linalg.norm(pose.rotations, axis=-1) - 1).max() < 1e-12
    assert np.isfinite(pose.root).all()


@few
@given(data=st.data(), side=sides, seed=st.integers(0, 999), names=marker_sets)
def test_limits_hold_where_a_rig_leaves_joints_little_room_or_none(name, data, side, seed, names):
    own, rng = HANDS[side], np.random.default_rng(seed)
    ends = np.sort(rng.random((2, own.dofs)), axis=0)
    ends[1] = np.where(rng.random(own.dofs) < 0.3, ends[0], ends[1])
    low, high = own.limits[:, 0] + ends * np.ptp(own.limits, axis=1)
    narrow = replace(own, limits=np.stack([low, high], axis=1), neutral=np.clip(own.neutral, low, high), couplings=())
    pose, _ = SOLVERS[name]().solve(narrow, targets_at(own, data.draw(poses(own)), names))
    worst = np.rad2deg(limit_excess(narrow, pose.angles).max())
    assert worst < np.rad2deg(1e-9), f"{worst:.2g} degrees outside"
    assert np.isfinite(pose.root).all()


@few
@given(data=st.data(), side=sides, seed=st.integers(0, 99))
def test_moving_all_targets_moves_the_root_and_nothing_else(name, data, side, seed):
    hand, solver = HANDS[side], SOLVERS[name]()
    targets = noisy(targets_at(hand, data.draw(poses(hand)), FULL), seed, 0.002)
    move = np.eye(4)
    axis = np.random.default_rng(seed).normal(size=4)
    move[:3, :3] = rotations.to_matrix(axis / np.linalg.norm(axis))
    move[:3, 3] = [0.3, -0.2, 0.9]
    moved = replace(targets, positions=targets.positions @ move[:3, :3].T + move[:3, 3])
    here, _ = solver.solve(hand, targets)
    there, _ = solver.solve(hand, moved)
    assert np.abs(there.angles - here.angles).max() < 1e-6
    assert np.abs(there.root - move @ here.root).max() < 1e-9


def test_neither_chunks_nor_threads_change_a_pose(name, monkeypatch):
    hand, rng = HANDS["left"], np.random.default_rng(4)
    truth = kinematics.Pose(hand, np.tile(np.eye(4), (50, 1, 1)), natural(hand, rng.random((50, hand.dofs))))
    targets = noisy(targets_at(hand, truth, FULL), seed=5)
    targets = replace(targets, weights=(rng.random(targets.weights.shape) > 0.2).astype(float))
    whole, _ = SOLVERS[name]().solve(hand, targets)
    monkeypatch.setattr(chunks, "CHUNK_FRAMES", 7)
    cut, _ = SOLVERS[name]().solve(hand, targets)
    assert np.abs(cut.angles - whole.angles).max() < 1e-9
    assert np.abs(cut.root - whole.root).max() < 1e-9


@few
@given(data=st.data(), side=sides)
def test_couplings_hold_where_only_the_tips_are_known(name, data, side):
    hand = HANDS[side]
    truth = data.draw(poses(hand))
    pose, _ = SOLVERS[name]().solve(hand, targets_at(hand, truth, EIGHT))
    low, high = hand.limits.T
    for row in hand.couplings:
        middle, last = np.flatnonzero(row.coefficients)
        follows = np.clip(-row.coefficients[middle] * pose.angles[:, middle], low[last], high[last])
        assert np.rad2deg(np.abs(pose.angles[:, last] - follows).max()) < 0.5


@fewest
@given(data=st.data(), side=sides, seed=st.integers(0, 99))
def test_a_target_without_weight_has_no_effect(name, data, side, seed):
    hand, solver = HANDS[side], SOLVERS[name]()
    targets = targets_at(hand, data.draw(poses(hand)), FULL)
    rng = np.random.default_rng(seed)
    weights = (rng.random(targets.weights.shape) > 0.3).astype(float)
    nonsense = np.where(weights[..., None] > 0, targets.positions, rng.normal(0, 9, targets.positions.shape))
    one, _ = solver.solve(hand, replace(targets, weights=weights))
    other, _ = solver.solve(hand, replace(targets, weights=weights, positions=nonsense))
    unknown = np.where(weights[..., None] > 0, targets.positions, np.nan)
    third, _ = solver.solve(hand, replace(targets, weights=weights, positions=unknown))
    for pose in (other, third):
        assert np.array_equal(one.angles, pose.angles)
        assert np.array_equal(one.root, pose.root)


@few
@given(data=st.data(), side=sides)
def test_inputs_are_not_changed(name, data, side):
    hand = HANDS[side]
    targets = targets_at(hand, data.draw(poses(hand)), FULL)
    before = targets.positions.copy(), targets.weights.copy(), targets.sites.copy()
    SOLVERS[name]().solve(hand, targets)
    for array, copy in zip((targets.positions, targets.weights, targets.sites), before, strict=True):
        assert np.array_equal(array, copy)


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_fingertip_out_of_reach_is_pointed_at(name, side):
    """The closest pose is the straight finger towards the target."""
    hand = HANDS[side]
    still = kinematics.Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs)))
    targets = targets_at(hand, still, EIGHT)
    middle = hand.joints.index("middle-finger-phalanx-proximal")
    tip = EIGHT.index("middle-finger-tip")
    frames = kinematics.joint_frames(hand, still)[0]
    ahead = frames[middle, :3, 1] * 0.9 - frames[middle, :3, 2] * 0.4
    positions = targets.positions.copy()
    positions[0, tip] = frames[middle, :3, 3] + ahead
    targets = replace(targets, positions=positions)
    pose, _ = SOLVERS[name]().solve(hand, targets)
    solved = kinematics.joint_frames(hand, pose)[0]
    reached = solved[hand.joints.index("middle-finger-tip"), :3, 3] - solved[middle, :3, 3]
    off = np.arctan2(np.linalg.norm(np.cross(reached, ahead)), reached @ ahead)
    assert np.rad2deg(off) < 0.1
    ends = [hand.joints.index(f"middle-finger-{part}") for part in ("phalanx-intermediate", "phalanx-distal", "tip")]
    length = np.linalg.norm(hand.rest[ends, :3, 3], axis=1).sum()
    assert abs(np.linalg.norm(reached) - length) < 1e-5


@few
@given(data=st.data(), side=sides)
def test_markers_all_lost_keep_the_last_pose(name, data, side):
    hand, solver = HANDS[side], SOLVERS[name]()
    targets = targets_at(hand, data.draw(poses(hand, 3)), FULL)
    weights = targets.weights.copy()
    weights[1:] = 0.0
    pose, _ = solver.solve(hand, replace(targets, weights=weights))
    assert np.array_equal(pose.angles[1:], np.repeat(pose.angles[:1], 2, axis=0))
    assert np.array_equal(pose.root[1:], np.repeat(pose.root[:1], 2, axis=0))


@pytest.mark.parametrize("names", [EIGHT, FULL])
def test_targets_on_the_root_and_on_each_other_give_a_finite_pose(name, names):
    hand = HANDS["right"]
    still = kinematics.Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs)))
    targets = targets_at(hand, still, names)
    for positions in (np.zeros_like(targets.positions), np.ones_like(targets.positions)):
        pose, _ = SOLVERS[name]().solve(hand, replace(targets, positions=positions))
        assert np.isfinite(pose.angles).all()
        assert np.isfinite(pose.root).all()
        assert limit_excess(hand, pose.angles).max() < 1e-9
