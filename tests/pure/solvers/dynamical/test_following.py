"""The paper's way: from frame to frame at the gain, by measured velocities, within limits that close."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from knuckle.errors import RecipeError
from knuckle.hand import kinematics, rotations
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import Coupling
from knuckle.solvers.dynamical import Dynamical
from knuckle.solvers.solver import State, limit_excess, residuals

from ..hands import FULL, HANDS, natural, targets_at

HAND = HANDS["right"]
BOTH = pytest.mark.parametrize("floating", [False, True])


def still(hand, fractions, frames):
    """One pose for some frames."""
    angles = natural(hand, np.full((1, hand.dofs), fractions))
    return Pose(hand, np.tile(np.eye(4), (frames, 1, 1)), np.repeat(angles, frames, axis=0))


def waving(frames=120, rate=200.0):
    """A hand that turns, moves and bends, at some frames a second; and how fast its joints do."""
    phase = np.linspace(0, 2 * np.pi, frames)
    fractions = 0.5 + 0.3 * np.sin(phase[:, None] + np.arange(HAND.dofs) % 5)
    root = np.tile(np.eye(4), (frames, 1, 1))
    root[:, :3, :3] = rotations.to_matrix(rotations.from_axis_angle(np.array([0.0, 0.6, 0.8]), 0.5 * np.sin(phase)))
    root[:, 0, 3] = 0.1 * np.sin(phase)
    targets = targets_at(HAND, Pose(HAND, root, natural(HAND, fractions)), FULL)
    return replace(targets, times=np.arange(frames) / rate)


def turned(hand, pose, joints):
    """The turns of some joints as targets at 100 Hz, nothing else."""
    frames = kinematics.joint_frames(hand, pose)
    sites = [hand.site_index(joint) for joint in joints]
    turns = rotations.from_matrix(frames[:, [hand.sites[site].joint for site in sites], :3, :3])
    targets = targets_at(hand, pose, joints)
    return replace(
        targets, weights=0 * targets.weights, rotations=turns, rotation_weights=np.ones(targets.weights.shape)
    )


@BOTH
@pytest.mark.parametrize("gain", [5.0, 20.0, 100.0])
def test_what_is_missed_falls_as_the_gain_says(gain, floating):
    """exp(-K t) of a small error, whatever the rate of the frames."""
    begin, goal = still(HAND, 0.5, 20), still(HAND, 0.505, 20)
    solver = Dynamical(mode="follow", gain=gain, floating=floating, damping=1e-6, max_speed=1000, coupling_weight=0)
    targets = targets_at(HAND, goal, FULL)
    state = State(begin.root[0], begin.angles[0])
    pose, _ = solver.solve(HAND, targets, state)
    first = residuals(HAND, targets.select(slice(0, 1)), Pose(HAND, begin.root[:1], begin.angles[:1]))
    missed = np.linalg.norm(residuals(HAND, targets, pose), axis=1) / np.linalg.norm(first)
    expected = np.exp(-gain * (np.arange(20) + 1) / 100)
    assert np.abs(missed - expected).max() < 0.02


@BOTH
def test_a_wrong_turn_falls_as_the_papers_feedback_says(floating):
    """θ' = −K sin θ has the solution tan(θ/2) = tan(θ0/2) exp(−K t)."""
    begin = still(HAND, 0.5, 300)
    root = begin.root.copy()
    root[:, :3, :3] = Rotation.from_rotvec([0.0, 0.0, 1.2]).as_matrix()
    targets = turned(HAND, Pose(HAND, root, begin.angles), ("wrist",))
    targets = replace(targets, times=np.arange(300) / 5000)
    solver = Dynamical(mode="follow", gain=30.0, floating=floating, damping=1e-6)
    pose, _ = solver.solve(HAND, targets, State(begin.root[0], begin.angles[0]))
    left = Rotation.from_matrix(pose.root[:, :3, :3].swapaxes(1, 2) @ root[:, :3, :3]).magnitude()
    expected = 2 * np.arctan(np.tan(0.6) * np.exp(-30 * (np.arange(300) + 1) / 5000))
    assert np.abs(left - expected).max() < 2e-3


@BOTH
def test_measured_velocities_take_the_lag_away(floating):
    targets = waving()
    velocities = np.gradient(targets.positions, targets.times, axis=0)
    solver = Dynamical(mode="follow", gain=10.0, floating=floating)
    without = residuals(HAND, targets, solver.solve(HAND, targets)[0])[30:]
    targets = replace(targets, velocities=velocities)
    with_them = residuals(HAND, targets, solver.solve(HAND, targets)[0])[30:]
    assert without.mean() > 0.005
    assert with_them.mean() < 0.05 * without.mean()


@BOTH
def test_a_wrist_that_turns_steadily_is_followed_without_lag(floating):
    """Integration on SO(3), against scipy's."""
    frames, spin = 150, np.array([0.4, -1.0, 2.0])
    times = np.arange(frames) / 100
    truth = Rotation.from_rotvec(times[:, None] * spin)
    begin = still(HAND, 0.5, frames)
    root = begin.root.copy()
    root[:, :3, :3] = truth.as_matrix()
    targets = turned(HAND, Pose(HAND, root, begin.angles), ("wrist",))
    targets = replace(targets, angular_velocities=np.tile(spin, (frames, 1, 1)))
    solver = Dynamical(mode="follow", gain=2.0, floating=floating, damping=1e-6)
    pose, _ = solver.solve(HAND, targets)
    assert (Rotation.from_matrix(pose.root[:, :3, :3]) * truth.inv()).magnitude().max() < 1e-6
    assert np.abs(np.linalg.det(pose.root[:, :3, :3]) - 1).max() < 1e-12


@BOTH
@pytest.mark.parametrize("max_speed", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("slope", [0.5, 20.0, 1000.0])
def test_no_step_crosses_a_limit_and_none_is_too_fast(floating, max_speed, slope):
    rng = np.random.default_rng(3)
    targets = waving(60)
    targets = replace(targets, positions=targets.positions + rng.normal(0, 0.1, targets.positions.shape))
    solver = Dynamical(mode="follow", gain=1e4, max_speed=max_speed, slope=slope, floating=floating)
    pose, _ = solver.solve(HAND, targets, State(np.eye(4), HAND.neutral))
    assert limit_excess(HAND, pose.angles).max() == 0
    speed = np.abs(np.diff(pose.angles, axis=0)).max() * 200
    assert speed <= max_speed * (1 + 1e-9)
    # The paper's bound holds in every frame: slower the nearer the limit.
    low, high = HAND.limits.T
    towards = np.where(np.diff(pose.angles, axis=0) > 0, high - pose.angles[:-1], pose.angles[:-1] - low)
    assert np.all(np.abs(np.diff(pose.angles, axis=0)) * 200 <= max_speed * np.tanh(slope * towards) + 1e-9)


@BOTH
def test_couplings_that_must_hold_do_in_every_frame(floating):
    rows = tuple(Coupling(row.coefficients, row.lower, row.upper, soft=False) for row in HAND.couplings)
    hand = replace(HAND, couplings=rows)
    begin = hand.neutral.copy()
    for row in rows:
        middle, last = np.flatnonzero(row.coefficients)
        begin[last] = -row.coefficients[middle] * begin[middle]
    targets = waving(60)
    noise = np.random.default_rng(1).normal(0, 0.02, targets.positions.shape)
    targets = replace(targets, positions=targets.positions + noise)
    pose, _ = Dynamical(mode="follow", floating=floating).solve(hand, targets, State(np.eye(4), begin))
    for row in rows:
        assert np.abs(pose.angles @ row.coefficients - row.lower).max() < 1e-9
    settled, _ = Dynamical().solve(hand, targets)
    for row in rows:
        assert np.abs(settled.angles @ row.coefficients - row.lower).max() < 1e-9
    assert limit_excess(hand, settled.angles).max() < 1e-9


@BOTH
def test_pieces_follow_as_the_whole(floating):
    targets, solver = waving(40), Dynamical(mode="follow", floating=floating, gain=10.0)
    whole, _ = solver.solve(HAND, targets)
    state, angles, roots = None, [], []
    for begin, end in ((0, 1), (1, 13), (13, 40)):
        pose, state = solver.solve(HAND, targets.select(slice(begin, end)), state)
        angles.append(pose.angles)
        roots.append(pose.root)
    assert np.array_equal(np.concatenate(angles), whole.angles)
    assert np.abs(np.concatenate(roots) - whole.root).max() < 1e-9


@BOTH
def test_more_steps_of_a_frame_come_to_the_same_place(floating):
    """The gain is per second, not per step."""
    targets = waving(60)
    one, many = (
        Dynamical(mode="follow", floating=floating, gain=20.0, substeps=count).solve(HAND, targets)[0]
        for count in (1, 10)
    )
    assert residuals(HAND, targets, many).mean() == pytest.approx(residuals(HAND, targets, one).mean(), rel=0.05)


@BOTH
def test_a_hand_turned_by_half_a_turn_turns_back(floating):
    """The paper's feedback is zero there; ours keeps its length from a right angle on."""
    begin = still(HAND, 0.5, 100)
    root = begin.root.copy()
    root[:, :3, :3] = np.diag([-1.0, 1.0, -1.0])
    targets = turned(HAND, Pose(HAND, root, begin.angles), ("wrist",))
    solver = Dynamical(mode="follow", gain=20.0, floating=floating)
    pose, _ = solver.solve(HAND, targets, State(begin.root[0], begin.angles[0]))
    assert np.abs(pose.root[-1] - root[-1]).max() < 1e-3


@BOTH
def test_nothing_asked_for_keeps_the_pose(floating):
    targets = waving(5)
    targets = replace(targets, weights=0 * targets.weights)
    pose, _ = Dynamical(mode="follow", floating=floating).solve(HAND, targets, State(np.eye(4), HAND.neutral))
    assert np.array_equal(pose.angles, np.tile(HAND.neutral, (5, 1)))
    assert np.array_equal(pose.root, np.tile(np.eye(4), (5, 1, 1)))


@BOTH
def test_time_that_stands_still_or_goes_back_moves_nothing(floating):
    targets = waving(3)
    solver = Dynamical(mode="follow", floating=floating)
    first, state = solver.solve(HAND, targets.select(slice(2, 3)))
    pose, _ = solver.solve(HAND, targets.select(slice(0, 1)), state)
    assert np.array_equal(pose.angles, first.angles)
    assert np.abs(pose.root - first.root).max() < 1e-12


@BOTH
def test_a_state_from_later_on_is_no_frame_before(floating):
    """As a take is begun from the frame that shows most: the hand is where its first frame has it at once."""
    targets = waving(60)
    solver = Dynamical(mode="follow", floating=floating)
    _, later = solver.solve(HAND, targets.select(slice(50, 51)))
    pose, _ = solver.solve(HAND, targets.select(slice(0, 2)), later)
    assert residuals(HAND, targets.select(slice(0, 2)), pose)[0].max() < 1e-3


@pytest.mark.parametrize("change", [{"gain": float("nan")}, {"gain": -1.0}, {"mode": "float"}, {"substeps": 0}])
def test_bad_settings_are_reported(change):
    with pytest.raises(RecipeError, match=f"{next(iter(change))} is .*expected"):
        Dynamical(**change)


def test_a_floating_wrist_needs_a_frame_before():
    with pytest.raises(RecipeError, match="expected mode 'follow'"):
        Dynamical(floating=True)
