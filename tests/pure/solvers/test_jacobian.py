"""The Jacobian methods: against scipy's bounded least squares, and against what each classic promises."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from knuckle.errors import HandError, RecipeError
from knuckle.hand import jacobians, kinematics
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import Coupling, Site
from knuckle.hand.targets import Targets
from knuckle.solvers.jacobian import Jacobian, steps
from knuckle.solvers.jacobian.jacobian_solver import METHODS
from knuckle.solvers.jacobian.parts import SPLITS
from knuckle.solvers.jacobian.residual_rows import TWIST_POSTURE_FACTOR
from knuckle.solvers.solver import limit_excess, residuals

from .hands import EIGHT, FULL, HANDS, natural, targets_at

PALM = ("wrist", *(joints[0] for joints in CHAIN_JOINTS.values()))


def random_targets(side, names, noise, frames=6, seed=0):
    """Natural poses of a hand that stands in the world's origin, seen with so much noise, m, but for the palm."""
    hand, rng = HANDS[side], np.random.default_rng(seed)
    pose = Pose(hand, np.tile(np.eye(4), (frames, 1, 1)), natural(hand, rng.uniform(0.05, 0.95, (frames, hand.dofs))))
    targets = targets_at(hand, pose, names)
    moving = np.array([name not in PALM for name in names])[:, None]
    noisy = targets.positions + rng.normal(0, noise, targets.positions.shape) * moving
    return hand, pose, replace(targets, positions=noisy)


def turned(hand, pose, targets, noise, seed=0):
    """The targets with the turns of their joints as well, seen with so much noise, rad."""
    joints = [hand.sites[site].joint for site in targets.sites]
    turns = kinematics.joint_frames(hand, pose)[:, joints, :3, :3]
    shaken = Rotation.from_rotvec(np.random.default_rng(seed).normal(0, noise, (turns[..., 0].size // 3, 3)))
    quaternions = (shaken * Rotation.from_matrix(turns.reshape(-1, 3, 3))).as_quat(scalar_first=True)
    weights = np.full(targets.weights.shape, 0.5)
    return replace(targets, rotations=quaternions.reshape(*weights.shape, 4), rotation_weights=weights)


def ranges(hand):
    """(D,) rad away from the posture that count alike."""
    return np.ptp(hand.limits, axis=1) / np.where(np.array(hand.movements) == "twist", TWIST_POSTURE_FACTOR, 1.0)


def misses(solver, hand, targets, frame, angles):
    """Every residual of one frame by forward kinematics alone, as scipy wants them."""
    frames = kinematics.joint_frames(hand, Pose(hand, np.eye(4)[None], angles[None]))
    at = kinematics.site_positions(hand, frames)[0, targets.sites]
    rows = [np.sqrt(targets.weights[frame])[:, None] * (at - targets.positions[frame])]
    if targets.rotations is not None:
        found = frames[0, [hand.sites[site].joint for site in targets.sites], :3, :3]
        wanted = Rotation.from_quat(targets.rotations[frame], scalar_first=True)
        turns = (wanted * Rotation.from_matrix(found).inv()).as_rotvec()
        rows.append(solver.rotation_weight * np.sqrt(targets.rotation_weights[frame])[:, None] * turns)
    rows += [solver.coupling_weight * (row.coefficients @ angles - row.lower) for row in hand.couplings]
    rows.append(solver.posture_weight * (angles - hand.neutral) / ranges(hand))
    return np.concatenate([np.ravel(row) for row in rows])


@pytest.mark.parametrize(("names", "noise", "turns"), [(EIGHT, 0.0, None), (FULL, 0.004, None), (EIGHT, 0.02, 0.1)])
@pytest.mark.parametrize("side", ["left", "right"])
def test_no_cost_is_above_that_of_scipys_bounded_least_squares(side, names, noise, turns):
    """scipy begins from the posture and from our answer: neither start finds a cost that is lower by a millionth."""
    hand, truth, targets = random_targets(side, names, noise, frames=3)
    if turns is not None:
        targets = turned(hand, truth, targets, turns)
    solver = Jacobian()
    pose, _ = solver.solve(hand, targets)
    assert np.abs(pose.root - np.eye(4)).max() < 1e-9
    low, high = hand.limits.T
    for frame in range(len(targets)):

        def cost(angles, frame=frame):
            return misses(solver, hand, targets, frame, angles)

        ours = (cost(pose.angles[frame]) ** 2).sum()
        for start in (hand.neutral, pose.angles[frame]):
            inside = np.clip(start, low + 1e-9, high - 1e-9)
            found = least_squares(cost, inside, bounds=(low, high), xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=60)
            assert ours <= 2 * found.cost * (1 + 1e-6) + 1e-15, f"{ours:.9g} > {2 * found.cost:.9g}"


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_posture_is_followed_only_where_no_target_feels_it(side):
    """What is left of the way to the posture lies in the rows of targets, couplings and limits that hold."""
    hand, _, targets = random_targets(side, EIGHT, 0.0)
    pose, _ = Jacobian().solve(hand, targets)
    slopes = jacobians.pose_joints(hand, pose.root, pose.angles).jacobians(targets.sites)[0][..., 6:]
    for frame, angles in enumerate(pose.angles):
        touching = np.flatnonzero((angles <= hand.limits[:, 0]) | (angles >= hand.limits[:, 1]))
        rows = [slopes[frame].reshape(-1, hand.dofs), *(row.coefficients[None] for row in hand.couplings)]
        felt = np.concatenate([*rows, np.eye(hand.dofs)[touching]])
        pull = (angles - hand.neutral) / ranges(hand) ** 2
        unfelt = pull - np.linalg.pinv(felt, rcond=1e-6) @ (felt @ pull)
        assert np.abs(unfelt).max() < 1e-9 * np.abs(pull).max()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_comes_near_exact_tips_and_breaks_no_limit(method):
    """The transpose converges slowly and stops at limits: a centimetre on average is what the thesis lets one hope."""
    hand, _, targets = random_targets("right", EIGHT, 0.0, frames=20)
    pose, _ = Jacobian(method=method, iterations=200).solve(hand, targets)
    assert limit_excess(hand, pose.angles).max() == 0
    missed = residuals(hand, targets, pose)[:, -5:]
    assert missed.mean() < (0.002 if method == "transpose" else 1e-4), f"{1000 * missed.mean():.3f} mm"


def test_the_pseudo_inverse_is_that_of_numpy_and_homing_stays_in_the_null_space():
    rng = np.random.default_rng(2)
    slopes, errors, home = rng.normal(size=(50, 6, 4)), rng.normal(size=(50, 4)), rng.normal(size=(50, 6))
    jacobian = slopes.swapaxes(-1, -2)
    inverse = np.linalg.pinv(jacobian)
    step = steps.singular_value_step(slopes, errors, "pseudo-inverse", 1.0, home)
    expected = inverse @ errors[..., None] + (np.eye(6) - inverse @ jacobian) @ home[..., None]  # thesis (3.9)
    assert np.abs(step - expected[..., 0]).max() < 1e-12


def test_damping_is_a_ridge_and_filtering_leaves_large_singular_values_alone():
    rng = np.random.default_rng(3)
    slopes, errors, none = rng.normal(size=(50, 6, 9)), rng.normal(size=(50, 9)), np.zeros((50, 6))
    ridge = np.linalg.solve(slopes @ slopes.swapaxes(-1, -2) + 0.25 * np.eye(6), slopes @ errors[..., None])[..., 0]
    damped = steps.singular_value_step(slopes, errors, "damped", 0.5, none)
    assert np.abs(damped - ridge).max() < 1e-12
    exact = steps.singular_value_step(slopes, errors, "pseudo-inverse", 0.5, none)
    filtered = steps.singular_value_step(slopes, errors, "filtered", 1e-6, none)
    assert np.abs(filtered - exact).max() < 1e-12
    flat = slopes.copy()
    flat[:, 0] = 1e-9 * flat[:, 1]
    steep = steps.singular_value_step(flat, errors, "filtered", 0.01, none)
    assert np.abs(steep).max() < 1e3, "a singular direction is damped, not divided by"


def test_the_transpose_is_as_long_as_brings_the_linear_error_nearest_to_zero():
    rng = np.random.default_rng(4)
    slopes, errors = rng.normal(size=(50, 6, 4)), rng.normal(size=(50, 4))
    step = steps.transpose_step(slopes, errors)
    effect = (step[:, None] @ slopes)[:, 0]
    assert np.abs(((errors - effect) * effect).sum(-1)).max() < 1e-12
    pull = (slopes @ errors[..., None])[..., 0]
    assert (
        np.abs(step / np.linalg.norm(step, axis=1, keepdims=True) - pull / np.linalg.norm(pull, axis=1)[:, None]).max()
        < 1e-12
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_coupling_that_must_hold_holds_for_every_target(method):
    hand, _, targets = random_targets("right", FULL, 0.03)
    hand = replace(hand, couplings=tuple(replace(row, soft=False) for row in hand.couplings))
    pose, _ = Jacobian(method=method, iterations=30).solve(hand, targets)
    for row in hand.couplings:
        assert np.abs(pose.angles @ row.coefficients - row.lower).max() < 1e-9
    assert limit_excess(hand, pose.angles).max() < 1e-9


def test_couplings_that_must_hold_outside_the_limits_are_reported():
    hand, _, targets = random_targets("right", EIGHT, 0.0)
    coefficients = np.zeros(hand.dofs)
    coefficients[8] = 1.0
    impossible = Coupling(coefficients, 9.0, 9.5, soft=False)
    with pytest.raises(HandError, match="no angles within limits satisfy the 1 hard coupling"):
        Jacobian().solve(replace(hand, couplings=(impossible,)), targets)


def test_settings_that_are_none_are_reported():
    for wrong in ({"damping": float("nan")}, {"method": "newton"}, {"posture_weight": 0.0}, {"iterations": 0}):
        with pytest.raises(RecipeError, match="solver jacobian"):
            Jacobian(**wrong)


@pytest.mark.parametrize("parts", SPLITS)
def test_however_the_hand_is_cut_exact_turns_are_found(parts):
    """A glove: the turn of every phalanx and of the wrist, no place at all."""
    hand = HANDS["left"]
    rng = np.random.default_rng(5)
    root = np.tile(np.eye(4), (4, 1, 1))
    root[:, :3, :3] = Rotation.random(4, random_state=5).as_matrix()
    truth = Pose(hand, root, natural(hand, rng.uniform(0.05, 0.95, (4, hand.dofs))))
    names = ("wrist", *(joint for digit in DIGITS for joint in CHAIN_JOINTS[digit][:3]))
    targets = turned(hand, truth, targets_at(hand, truth, names), 0.0)
    targets = replace(targets, weights=np.zeros_like(targets.weights))
    pose, _ = Jacobian(parts=parts).solve(hand, targets)
    assert np.rad2deg(np.abs(pose.angles - truth.angles)).max() < 0.1
    assert np.abs(pose.root - root).max() < 1e-9


def test_a_floating_wrist_is_found_from_the_fingers_alone():
    hand, _, targets = random_targets("right", FULL, 0.0)
    move = np.eye(4)
    move[:3, :3], move[:3, 3] = Rotation.from_rotvec([0.4, -0.8, 1.1]).as_matrix(), [0.5, -0.2, 1.0]
    fingers = np.array([name not in PALM and "proximal" not in name for name in FULL])
    moved = replace(
        targets, positions=targets.positions @ move[:3, :3].T + move[:3, 3], weights=targets.weights * fingers
    )
    pose, _ = Jacobian(floating=True).solve(hand, moved)
    assert 1000 * np.nanmax(residuals(hand, moved, pose)) < 0.1


@pytest.mark.parametrize("parts", SPLITS)
@pytest.mark.parametrize("floating", [False, True])
def test_no_frame_and_no_target_give_what_there_is(parts, floating):
    hand, solver = HANDS["right"], Jacobian(parts=parts, floating=floating)
    none = Targets(np.empty(0), np.array([4]), np.empty((0, 1, 3)), np.empty((0, 1)))
    pose, state = solver.solve(hand, none)
    assert len(pose) == 0 and np.array_equal(state.angles, hand.neutral)
    empty = Targets(np.zeros(2), np.empty(0, int), np.empty((2, 0, 3)), np.empty((2, 0)))
    turns = replace(empty, rotations=np.empty((2, 0, 4)), rotation_weights=np.empty((2, 0)))
    for targets in (empty, turns):
        pose, _ = solver.solve(hand, targets)
        assert np.array_equal(pose.angles, np.tile(hand.neutral, (2, 1)))
        assert np.array_equal(pose.root, np.tile(np.eye(4), (2, 1, 1)))


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("frames", [1, 3])
def test_three_places_in_a_line_leave_the_turn_about_it_to_the_wrists_own(floating, frames):
    hand, wrist = HANDS["right"], HANDS["right"].site_index("wrist")
    joint = hand.sites[wrist].joint
    spots = {"a": 0.02, "b": 0.04, "c": 0.06}
    marked = hand.with_sites(tuple(Site(name, joint, (0.0, y, 0.0)) for name, y in spots.items()))
    sites = np.array([*(marked.site_index(name) for name in spots), wrist])
    root = np.tile(np.eye(4), (frames, 1, 1))
    root[:, :3, :3] = Rotation.random(frames, random_state=6).as_matrix()
    at_ease = Pose(marked, root, np.tile(hand.neutral, (frames, 1)))
    positions = kinematics.site_positions(marked, kinematics.joint_frames(marked, at_ease))[:, sites]
    weights = np.tile([1.0, 1.0, 1.0, 0.0], (frames, 1))
    targets = turned(marked, at_ease, Targets(np.arange(frames) / 100, sites, positions, weights), 0.0)
    targets = replace(targets, rotation_weights=1.0 - weights)
    pose, _ = Jacobian(floating=floating).solve(marked, targets)
    assert np.abs(pose.root - root).max() < 1e-6


def test_the_length_of_a_quaternion_asked_for_does_not_matter():
    hand, truth, targets = random_targets("right", FULL, 0.0)
    targets = turned(hand, truth, targets, 0.05)
    doubled = replace(targets, rotations=2.0 * targets.rotations)
    (found, _), (again, _) = (Jacobian().solve(hand, each) for each in (targets, doubled))
    assert np.abs(again.angles - found.angles).max() < 1e-9


def test_a_soft_coupling_pulls_where_it_is_violated_and_changes_nothing_within_its_bounds():
    hand, _, targets = random_targets("right", EIGHT, 0.002, frames=1)
    bent = hand.dof("ring-finger-phalanx-proximal", "flexion")
    tie = np.eye(hand.dofs)[bent]
    free, within, violated = (
        Jacobian().solve(replace(hand, couplings=(*hand.couplings, *rows)), targets)[0].angles
        for rows in ((), (Coupling(tie, -9.0, 9.0),), (Coupling(tie, 1.5, 9.0),))
    )
    np.testing.assert_allclose(within, free, atol=1e-9)
    assert (violated[:, bent] > free[:, bent] + 0.01).all()
