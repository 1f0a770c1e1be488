"""Frames brought to rest: each limb's step and its end against other libraries, and targets of every kind."""

from dataclasses import replace

import daqp
import numpy as np
import pytest
from scipy.optimize import least_squares

from knuckle.hand import jacobians, kinematics, rotations
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import HandModel
from knuckle.hand.scalar_math import ARRAY, SCALAR
from knuckle.solvers.dynamical import Dynamical
from knuckle.solvers.dynamical.limb_kinematics import evaluate, normal_equations, rotation_error, second_order_term
from knuckle.solvers.dynamical.limb_step import solve_box_qp
from knuckle.solvers.dynamical.limb_targets import many_frames, one_frame, site_targets
from knuckle.solvers.dynamical.limbs import LimbWeights, split_into_limbs
from knuckle.solvers.solver import State, limit_excess, residuals

from ..hands import FULL, HANDS, natural, targets_at

HAND = HANDS["left"]
WEIGHTS = LimbWeights(0.03, 0.003)


def random_pose(hand: HandModel, frames: int, seed: int) -> Pose:
    """Anywhere within limits, with the wrist anywhere."""
    rng = np.random.default_rng(seed)
    root = np.tile(np.eye(4), (frames, 1, 1))
    turn = rng.normal(size=(frames, 4))
    root[:, :3, :3] = rotations.to_matrix(turn / np.linalg.norm(turn, axis=1, keepdims=True))
    root[:, :3, 3] = rng.normal(size=(frames, 3))
    return Pose(hand, root, hand.limits[:, 0] + np.ptp(hand.limits, axis=1) * rng.random((frames, hand.dofs)))


def with_turns(hand, pose, names, seed=None):
    """Places and turns of some joints; the turns by random rotations off where a seed is given."""
    targets = targets_at(hand, pose, names)
    frames = kinematics.joint_frames(hand, pose)
    turns = rotations.from_matrix(frames[:, [hand.sites[site].joint for site in targets.sites], :3, :3])
    if seed is not None:
        noise = np.random.default_rng(seed).normal(size=turns.shape) * 0.05 + rotations.IDENTITY
        turns = rotations.multiply(turns, noise / np.linalg.norm(noise, axis=-1, keepdims=True))
    return replace(targets, rotations=turns, rotation_weights=np.ones(targets.weights.shape))


@pytest.mark.parametrize("tilted", [False, True])
def test_a_limbs_matrices_are_those_of_the_whole_hands_jacobians(tilted):
    """Both ways of counting, one frame and many; joints may turn about any axis."""
    hand = HAND
    if tilted:
        axes = hand.axes + np.random.default_rng(0).normal(0, 0.3, hand.axes.shape)
        hand = replace(hand, axes=axes / np.linalg.norm(axes, axis=1, keepdims=True))
    pose, goal = random_pose(hand, 12, 1), random_pose(hand, 12, 2)
    targets = with_turns(hand, Pose(hand, pose.root, goal.angles), FULL)
    placed = jacobians.pose_joints(hand, pose.root, pose.angles)
    moves, turns = (each[..., 6:] for each in placed.jacobians(targets.sites))
    joints = [hand.sites[site].joint for site in targets.sites]
    missed = targets.positions - placed.site_positions(targets.sites)
    wrong = rotations.to_matrix(targets.rotations) @ placed.rotations[:, joints].swapaxes(-1, -2)
    # R R̂ᵀ is the sum over their columns of r r̂ᵀ, and the axial vector of sk(r r̂ᵀ) is r̂ × r / 2.
    axial = np.cross(placed.rotations[:, joints], rotations.to_matrix(targets.rotations), axis=-2).sum(-1) / 2
    near = np.trace(wrong, axis1=-2, axis2=-1) > 1
    square = np.einsum("ftik,ftil->fkl", moves, moves) + 0.03**2 * np.einsum("ftik,ftil->fkl", turns, turns)
    for limb in split_into_limbs(hand, targets.sites.tolist(), WEIGHTS):
        # Beyond a right angle the error of a turn is another than the axial vector.
        alike = np.flatnonzero(near[:, [site.target for site in limb.sites]].all(axis=1))
        assert len(alike) >= 2
        pull = np.einsum("ftik,fti->fk", moves, missed) + 0.03**2 * np.einsum("ftik,fti->fk", turns, axial)
        own = site_targets(ARRAY, limb, many_frames(targets, pose.root))
        found = evaluate(ARRAY, limb, list(pose.angles[:, limb.hand_dofs].T), own)
        lower, right = normal_equations(limb, found, own, 1.0)
        for i, dof in enumerate(limb.hand_dofs):
            assert np.abs(right[i] - pull[:, dof])[alike].max() < 1e-12
            for j in range(i + 1):
                assert np.abs(lower[i][j] - square[:, dof, limb.hand_dofs[j]])[alike].max() < 1e-12
        for frame in alike.tolist():
            one = site_targets(SCALAR, limb, one_frame(targets, pose.root[frame], frame))
            alone = normal_equations(
                limb, evaluate(SCALAR, limb, pose.angles[frame, limb.hand_dofs].tolist(), one), one, 1.0
            )
            assert np.abs(np.array(alone[1]) - np.array(right)[:, frame]).max() < 1e-12


def test_ways_bend_as_differences_of_the_slopes_say():
    pose = random_pose(HAND, 1, 3)
    targets = targets_at(HAND, random_pose(HAND, 1, 4), FULL)
    for limb in split_into_limbs(HAND, targets.sites.tolist(), WEIGHTS):
        own = site_targets(SCALAR, limb, one_frame(targets, pose.root[0]))
        at = pose.angles[0, limb.hand_dofs].tolist()

        def slopes(angles, limb=limb, own=own):
            return -np.array(normal_equations(limb, evaluate(SCALAR, limb, angles, own), own, 1.0)[1])

        posed = evaluate(SCALAR, limb, at, own)
        square = normal_equations(limb, posed, own, 1.0)[0]
        bends = second_order_term(limb, posed, own)
        for i in range(len(at)):
            ahead, behind = list(at), list(at)
            ahead[i] += 1e-6
            behind[i] -= 1e-6
            change = (slopes(ahead) - slopes(behind)) / 2e-6
            for j in range(i, len(at)):
                assert change[j] == pytest.approx(square[j][i] + bends[j][i], abs=1e-8)


def test_steps_within_bounds_are_those_of_daqp():
    rng = np.random.default_rng(5)
    ended = 0
    for _ in range(500):
        count = int(rng.integers(1, 7))
        root = rng.normal(size=(rng.integers(1, 9), count)) * rng.choice([0.02, 1.0])
        square = root.T @ root + 1e-3 * np.eye(count)
        right = rng.normal(size=count)
        low, high = -rng.random(count) * (rng.random(count) > 0.2), rng.random(count) * (rng.random(count) > 0.2)
        lower = [square[i, : i + 1].tolist() for i in range(count)]
        found = solve_box_qp(lower, right.tolist(), low.tolist(), high.tolist())
        if found is None:
            continue
        truth = daqp.solve(square, -right, np.zeros((0, count)), high, low)[0]
        assert np.abs(np.array(found) - truth).max() < 1e-8
        ended += 1
    assert ended > 490, "the others are handed to the method that always ends"


def test_the_error_of_a_turn_is_the_axial_vector_up_to_a_right_angle_and_one_beyond_it():
    rng = np.random.default_rng(6)
    axis = rng.normal(size=(400, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    angle = np.concatenate([rng.uniform(0, np.pi, 390), np.full(5, np.pi), np.full(5, np.pi - 1e-9)])
    found = rotations.to_matrix(rotations.from_axis_angle(rng.permutation(axis), rng.uniform(0, 3, 400)))
    wanted = rotations.to_matrix(rotations.from_axis_angle(axis, angle)) @ found
    columns = [tuple(tuple(each[:, i, j] for i in range(3)) for j in range(3)) for each in (wanted, found)]
    error, square = rotation_error(ARRAY, *columns)
    length = np.where(angle < np.pi / 2, np.sin(angle), 1.0)
    along = np.stack(error, -1)
    assert np.abs(np.linalg.norm(along, axis=1) - length).max() < 1e-6
    # Half a turn goes either way about its axis.
    same = np.abs((along * axis).sum(1)) if angle[-1] > 3 else None
    assert np.abs(same - length).max() < 1e-6
    steps = np.argsort(angle)
    assert np.all(np.diff(square[steps]) > -1e-9)


def test_places_out_of_reach_end_where_bounded_least_squares_do():
    """Perhaps in another pose, but nowhere a twentieth farther off than scipy's."""
    truth = random_pose(HAND, 12, 7)
    targets = targets_at(HAND, Pose(HAND, truth.root, natural(HAND, np.full((12, HAND.dofs), 0.5))), FULL)
    noise = np.random.default_rng(8).normal(0, 0.01, targets.positions.shape)
    noise[:, [i for i, site in enumerate(FULL) if site == "wrist" or site.endswith("proximal")]] = 0
    targets = replace(targets, positions=targets.positions + noise)
    hand = replace(HAND, couplings=())
    pose, _ = Dynamical(end_weight=1.0).solve(hand, targets)
    for frame in range(12):
        one = targets.select(slice(frame, frame + 1))

        def off(angles, one=one, frame=frame):
            placed = jacobians.pose_joints(hand, pose.root[frame : frame + 1], angles[None])
            return (one.positions - placed.site_positions(one.sites)).ravel()

        best = least_squares(off, hand.neutral, bounds=hand.limits.T, xtol=1e-12, ftol=1e-12)
        mine = (off(pose.angles[frame]) ** 2).sum()
        assert mine < 2 * best.cost * 1.05


def test_the_end_of_a_digit_is_met_where_its_markers_contradict_each_other():
    """Bones ten per cent too long, all joints seen: fingertips are met and fingers stay bent, as the others show."""
    bent = np.full((1, HAND.dofs), 0.5)
    truth = Pose(HAND, np.eye(4)[None], natural(HAND, bent))
    rest = HAND.rest.copy()
    outer = [joint for joint, name in enumerate(HAND.joints) if name.endswith(("intermediate", "distal", "tip"))]
    rest[outer, :3, 3] *= 1.1
    longer = replace(HAND, rest=rest)
    targets = targets_at(HAND, truth, FULL)
    ends = [FULL.index(name) for name in FULL if name.endswith("tip")]

    def missed(end):
        pose, _ = Dynamical(end_weight=end).solve(longer, targets)
        return residuals(longer, targets, pose)[0, ends].mean()

    assert missed(30.0) < 0.1 * missed(1.0)


def test_turns_alone_are_met():
    pose = random_pose(HAND, 8, 9)
    targets = with_turns(HAND, pose, FULL[1:])
    targets = replace(targets, weights=0 * targets.weights, positions=np.full(targets.positions.shape, np.nan))
    found, _ = Dynamical().solve(HAND, targets, State(pose.root[0], HAND.neutral))
    same = slice(0, 1)
    assert np.abs(found.angles[same] - pose.angles[same]).max() < 1e-3
    assert limit_excess(HAND, found.angles).max() == 0


def test_places_and_turns_together_place_the_wrist():
    pose = random_pose(HAND, 8, 10)
    targets = with_turns(HAND, pose, ("wrist", *FULL[-5:]))
    found, _ = Dynamical().solve(HAND, targets)
    assert np.abs(found.root - pose.root).max() < 1e-9


def test_turns_that_are_off_are_met_as_pieces_and_frame_by_frame():
    pose = random_pose(HAND, 6, 11)
    targets = with_turns(HAND, pose, FULL, seed=12)
    weights = (np.random.default_rng(13).random(targets.weights.shape) > 0.4).astype(float)
    targets = replace(targets, weights=weights, rotation_weights=np.roll(weights, 1, axis=1))
    whole, _ = Dynamical().solve(HAND, targets)
    state = None
    for frame in range(6):
        one, state = Dynamical().solve(HAND, targets.select(slice(frame, frame + 1)), state)
        assert np.abs(one.angles[0] - whole.angles[frame]).max() < 1e-9
        assert np.abs(one.root[0] - whole.root[frame]).max() < 1e-9


def test_a_take_of_no_frames_or_no_targets_is_solved():
    targets = targets_at(HAND, random_pose(HAND, 2, 14), FULL)
    for mode in ("settle", "follow"):
        solver = Dynamical(mode=mode)
        assert len(solver.solve(HAND, targets.select(slice(0, 0)))[0]) == 0
        nothing = replace(
            targets, sites=targets.sites[:0], positions=targets.positions[:, :0], weights=targets.weights[:, :0]
        )
        pose, _ = solver.solve(HAND, nothing, State(np.eye(4), HAND.neutral))
        assert np.array_equal(pose.angles, np.tile(HAND.neutral, (2, 1)))


def test_residuals_of_noise_are_no_larger_than_the_noise():
    truth = random_pose(HAND, 20, 15)
    targets = targets_at(HAND, Pose(HAND, truth.root, natural(HAND, np.full((20, HAND.dofs), 0.4))), FULL)
    noise = np.random.default_rng(16).normal(0, 0.001, targets.positions.shape)
    targets = replace(targets, positions=targets.positions + noise)
    pose, _ = Dynamical().solve(HAND, targets)
    assert np.sqrt((residuals(HAND, targets, pose) ** 2).mean()) < np.sqrt((noise**2).sum(-1).mean())
