"""The arm: what it reaches, how it is held within its limits, and what it does where no arm can."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from knuckle.hand import rotations as rot
from knuckle.solvers import arm as arms
from knuckle.solvers.arm import Arm, ArmPose, human
from knuckle.solvers.arm.ball_joints import ball_joint
from knuckle.solvers.tree import SkeletonError, SwingTwistLimit, cone, swing_twist_limits

optimize = pytest.importorskip("scipy.optimize")
Rotation = pytest.importorskip("scipy.spatial.transform").Rotation

N = 8
few = settings(deadline=None, max_examples=5)
seeds = st.integers(0, 2**32 - 1)
RIGHT, FREE = human(0.30, 0.25, "right"), Arm(0.30, 0.25)
STIFF = Arm(0.30, 0.25, cone(1.0, 0.6, 0.5, 0.9, (-0.6, 0.8)), (0.2, 2.0), cone(0.7, 0.4, 0.6, 0.3, (-0.5, 0.4)))


def turned(limit, random, count):
    """(count, 4) turns within a limit."""
    within = ball_joint(limit, "joint")
    turns = swing_twist_limits.clamp(within.cone, within.twist, random.uniform(-3, 3, (count, 3)))
    return rot.from_matrix(swing_twist_limits.matrices(within.axes, turns * random.uniform(0, 1, (count, 1))))


def posed(arm, random, count=N):
    """An arm within its limits, its shoulder anywhere and turned any way."""
    pose = ArmPose(
        turned(arm.shoulder, random, count),
        random.uniform(*arm.elbow, count),
        turned(arm.wrist, random, count),
        np.zeros(count),
    )
    base = np.tile(np.eye(4), (count, 1, 1))
    quaternions = random.normal(size=(count, 4))
    base[:, :3, :3] = rot.to_matrix(quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True))
    base[:, :3, 3] = random.normal(size=(count, 3))
    return pose, base, world_of(arm, pose, base)


def world_of(arm, pose, base):
    """(F, 3, 4, 4) as `arms.frames`, by scipy, one bone after another."""
    base = np.broadcast_to(base if np.ndim(base) > 1 else at(base)[0], (len(pose), 4, 4))
    turn, place = Rotation.from_matrix(base[:, :3, :3]), base[:, :3, 3]
    bend = Rotation.from_rotvec(pose.elbow[:, None] * [1.0, 0, 0])
    hand = Rotation.from_quat(pose.wrist, scalar_first=True) * Rotation.from_quat(arm.hand, scalar_first=True)
    world = np.tile(np.eye(4), (len(pose), 3, 1, 1))
    own = (Rotation.from_quat(pose.shoulder, scalar_first=True), bend, hand)
    for k, (step, local) in enumerate(zip((0, arm.upper, arm.fore), own, strict=True)):
        place = place + turn.apply([0, step, 0])
        turn = turn * local
        world[:, k, :3, :3], world[:, k, :3, 3] = turn.as_matrix(), place
    return world


def at(*places):
    frames = np.tile(np.eye(4), (len(places), 1, 1))
    frames[:, :3, 3] = places
    return frames


def off(a, b):
    return np.abs(np.asarray(a) - np.asarray(b)).max()


def away(a, b):
    return np.linalg.norm(a[..., :3, 3] - b[..., :3, 3], axis=-1)


@few
@given(seeds, st.sampled_from([RIGHT, FREE, STIFF]))
def test_the_frames_are_those_of_forward_kinematics(seed, arm):
    pose, base, world = posed(arm, np.random.default_rng(seed))
    assert off(arms.frames(arm, pose, base), world) < 1e-12


@few
@given(seeds)
def test_the_excess_is_none_within_limits_and_some_outside(seed):
    random = np.random.default_rng(seed)
    pose, _, _ = posed(STIFF, random)
    assert arms.excess(STIFF, pose).max() < 1e-9
    anyhow = Rotation.random(N, rng=random)
    moved = ArmPose(anyhow.as_quat(scalar_first=True), pose.elbow + 3, pose.wrist, pose.swivel)
    reported = arms.excess(STIFF, moved)
    assert np.array_equal(reported[:, 0] > 1e-9, outside(STIFF.shoulder, anyhow) > 1e-9)
    assert off(reported[:, 1], pose.elbow + 3 - STIFF.elbow[1]) < 1e-12


@few
@given(seeds, st.sampled_from([RIGHT, FREE, STIFF, human(0.28, 0.24, "left")]))
def test_an_arm_whose_elbow_is_seen_is_solved_back(seed, arm):
    pose, base, world = posed(arm, np.random.default_rng(seed))
    found, _ = arms.solve(arm, world[:, 2], base, pole=world[:, 1, :3, 3])
    assert off(world_of(arm, found, base)[:, 2], world[:, 2]) < 1e-9
    bent = pose.elbow > 0.01  # a straight arm's elbow tells no plane
    assert off(world_of(arm, found, base)[bent], world[bent]) < 1e-9
    assert arms.excess(arm, found).max() < 1e-9


@few
@given(seeds, st.sampled_from([RIGHT, STIFF]))
def test_where_some_elbow_keeps_the_limits_the_wrist_is_reached_within_them(seed, arm):
    random = np.random.default_rng(seed)
    _, base, world = posed(arm, random)
    found, _ = arms.solve(arm, world[:, 2], base, pole=base[:, :3, 3] + random.normal(size=(N, 3)))
    reached = world_of(arm, found, base)
    assert off(reached[:, 2], world[:, 2]) < 1e-9
    assert arms.excess(arm, found).max() < 1e-9
    assert off(away(reached[:, 0], reached[:, 1]), arm.upper) < 1e-12
    assert off(away(reached[:, 1], reached[:, 2]), arm.fore) < 1e-12


@few
@given(seeds)
def test_the_swivel_is_the_poles_or_the_nearest_to_it_that_keeps_the_limits(seed):
    """Every degree of the circle, the free arm turned about the line from shoulder to wrist by scipy.

    Each frame alone, as the frame before has a say. Limits that hold over less than the 3 degrees at which the circle
    is looked at may be missed.
    """
    random = np.random.default_rng(seed)
    _, base, world = posed(STIFF, random, 6)
    pole = base[:, :3, 3] + random.normal(size=(6, 3))
    freely, _ = arms.solve(FREE, world[:, 2], base, pole)
    ring = np.deg2rad(np.arange(-180, 181))
    for k in range(6):
        way = base[k, :3, :3].T @ (world[k, 2, :3, 3] - base[k, :3, 3])
        upper = Rotation.from_rotvec(ring[:, None] * way / np.linalg.norm(way)) * quaternion(freely.shoulder[k])
        hand = Rotation.from_matrix(base[k, :3, :3].T @ world[k, 2, :3, :3])
        wrist = (upper * Rotation.from_rotvec([freely.elbow[k], 0, 0])).inv() * hand
        held = (outside(STIFF.shoulder, upper) < 1e-9) & (outside(STIFF.wrist, wrist) < 1e-9)
        wide = held & np.roll(held, 1) & np.roll(held, -1) & np.roll(held, 2) & np.roll(held, -2)
        row = slice(k, k + 1)
        found, _ = arms.solve(STIFF, world[row, 2], base[row], pole[row])
        chosen = abs(found.swivel[0])
        assert not wide.any() or chosen < np.abs(ring[wide]).min() + 1e-9


def quaternion(q):
    return Rotation.from_quat(q, scalar_first=True)


def outside(limit, turn):
    """(F,) how far turns of scipy leave a cone about +Y: swing by where Y goes, twist by what is left without it."""
    up = np.array([0.0, 1.0, 0.0])
    across = np.cross(up, turn.apply(up))
    sine = np.linalg.norm(across, axis=-1)
    swing = across * (np.arctan2(sine, turn.apply(up) @ up) / np.maximum(sine, 1e-300))[:, None]
    twist = (Rotation.from_rotvec(swing).inv() * turn).as_rotvec() @ up
    x, z = swing[:, 0], swing[:, 2]
    a, b = np.where(x >= 0, limit.cone[0], limit.cone[2]), np.where(z >= 0, limit.cone[1], limit.cone[3])
    beyond = np.hypot(x / a, z / b) - 1
    return np.maximum(np.maximum(beyond, 0), np.maximum(np.maximum(twist - limit.twist[1], limit.twist[0] - twist), 0))


@few
@given(seeds, st.sampled_from([RIGHT, FREE, STIFF]), st.floats(1.001, 10))
def test_too_far_a_target_is_pointed_at_as_straight_as_the_elbow_goes(seed, arm, beyond):
    random = np.random.default_rng(seed)
    _, base, world = posed(arm, random)
    shoulder = base[:, :3, 3]
    target = world[:, 2].copy()
    way = target[:, :3, 3] - shoulder
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    target[:, :3, 3] = shoulder + beyond * (arm.upper + arm.fore) * way
    free = Arm(arm.upper, arm.fore, elbow=arm.elbow)
    found, _ = arms.solve(free, target, base)
    reach = np.sqrt(arm.upper**2 + arm.fore**2 + 2 * arm.upper * arm.fore * np.cos(arm.elbow[0]))
    assert off(world_of(free, found, base)[:, 2, :3, 3], shoulder + reach * way) < 1e-9
    assert off(world_of(free, found, base)[:, 2, :3, :3], target[:, :3, :3]) < 1e-9
    assert off(found.elbow, arm.elbow[0]) < 1e-7


def test_too_near_a_target_is_folded_towards_as_far_as_the_elbow_goes():
    target = at((0, 0.02, 0.01), (0, 0, 0), (1e-9, 0, 0))
    found, _ = arms.solve(RIGHT, target, np.zeros(3))
    near = np.sqrt(0.30**2 + 0.25**2 + 2 * 0.30 * 0.25 * np.cos(RIGHT.elbow[1]))
    assert off(found.elbow, RIGHT.elbow[1]) < 1e-12
    assert off(np.linalg.norm(world_of(RIGHT, found, np.zeros(3))[:, 2, :3, 3], axis=1), near) < 1e-12
    assert arms.excess(RIGHT, found).max() < 1e-9


def test_an_arm_that_folds_flat_can_bring_its_wrist_to_its_shoulder():
    folding = Arm(0.3, 0.3, elbow=(0.0, np.pi))
    found, _ = arms.solve(folding, at((0, 0, 0)), np.zeros(3))
    assert np.linalg.norm(world_of(folding, found, np.zeros(3))[0, 2, :3, 3]) < 1e-6


def test_where_no_swivel_keeps_the_shoulders_limits_no_arm_within_them_comes_nearer():
    random = np.random.default_rng(11)
    target = at(*random.normal(size=(6, 3)) * 0.3)
    found, _ = arms.solve(STIFF, target, np.eye(4))
    miss = away(world_of(STIFF, found, np.eye(4))[:, 2], target)
    assert arms.excess(STIFF, found).max() < 1e-9
    assert (miss > 1e-3).any()
    within = ball_joint(STIFF.shoulder, "shoulder")

    def missed(x, goal):
        turn = rot.from_matrix(
            swing_twist_limits.matrices(within.axes, swing_twist_limits.clamp(within.cone, within.twist, x[None, :3]))
        )
        pose = ArmPose(turn, np.clip(x[3:], *STIFF.elbow), rot.IDENTITY[None], np.zeros(1))
        return np.linalg.norm(world_of(STIFF, pose, np.eye(4))[0, 2, :3, 3] - goal)

    for goal, ours in zip(target[:, :3, 3], miss, strict=True):
        for _ in range(3):
            begin = [*random.uniform(-0.5, 0.5, 3), 1.0]
            theirs = optimize.minimize(missed, begin, (goal,), "Nelder-Mead", options={"maxiter": 600}).fun
            assert ours < theirs + 1e-6


MIRROR = np.diag([-1.0, 1.0, 1.0, 1.0])


def test_an_arms_mirrored_twin_misses_a_mirrored_wrist_by_as_much():
    random = np.random.default_rng(11)
    places = random.normal(size=(80, 3))
    target = at(*places / np.linalg.norm(places, axis=1, keepdims=True) * random.uniform(0.1, 0.5, (80, 1)))
    misses = []
    for arm, wrist in ((RIGHT, target), (human(0.30, 0.25, "left"), MIRROR @ target @ MIRROR)):
        found, _ = arms.solve(arm, wrist, np.zeros(3))
        misses.append(away(world_of(arm, found, np.zeros(3))[:, 2], wrist))
    assert (misses[0] > 1e-3).sum() > 20
    assert off(*misses) < 1e-6


def test_of_many_arms_within_the_limits_none_brings_the_wrist_nearer():
    random = np.random.default_rng(12)
    tried = turned(RIGHT.shoulder, random, 100_000)
    pose = ArmPose(tried, random.uniform(*RIGHT.elbow, len(tried)), np.tile(rot.IDENTITY, (len(tried), 1)), tried[:, 0])
    wrists = world_of(RIGHT, pose, np.zeros(3))[:, 2, :3, 3]
    places = random.normal(size=(60, 3)) * 0.2
    found, _ = arms.solve(RIGHT, at(*places), np.zeros(3))
    miss = away(world_of(RIGHT, found, np.zeros(3))[:, 2], at(*places))
    assert (miss > 1e-3).sum() > 10
    for place, ours in zip(places, miss, strict=True):
        assert ours < np.linalg.norm(wrists - place, axis=1).min() + 1e-6


def test_where_only_the_hand_cannot_be_turned_so_far_the_wrist_is_still_in_its_place():
    frozen = Arm(0.3, 0.25, wrist=cone(0.1, 0.1, 0.1, 0.1, (-0.1, 0.1)))
    target = at((0.1, 0.3, 0.2), (-0.2, 0.2, 0.1))
    target[:, :3, :3] = rot.to_matrix(
        rot.from_axis_angle(np.array([[0.6, 0.8, 0.0], [0.0, 0.6, 0.8]]), np.array([3.0, 2.5]))
    )
    found, _ = arms.solve(frozen, target, np.zeros(3))
    assert away(world_of(frozen, found, np.zeros(3))[:, 2], target).max() < 1e-12
    assert arms.excess(frozen, found).max() < 1e-9
    # No swivel leaves the hand less to turn.
    way = target[:, :3, 3] / np.linalg.norm(target[:, :3, 3], axis=1, keepdims=True)
    for k in range(2):
        poles = rot.rotate(rot.from_axis_angle(way[k], np.linspace(0, 2 * np.pi, 91)), np.array([0.3, -0.2, 0.5]))
        freely, _ = arms.solve(Arm(0.3, 0.25), np.repeat(target[k : k + 1], 91, 0), np.zeros(3), pole=poles)
        left = ball_joint(frozen.wrist, "wrist").excess(rot.to_matrix(freely.wrist)).min()
        at_swivel = rot.multiply(rot.conjugate(found.wrist[k]), _wish(frozen, found, target, k))
        assert 2 * np.arccos(min(1.0, abs(at_swivel[0]))) < left * np.pi


def _wish(arm, pose, target, k):
    """The wrist's turn that would bring the hand to its target."""
    fore = world_of(arm, pose, np.zeros(3))[k, 1, :3, :3]
    return rot.from_matrix(fore.T @ target[k, :3, :3])


@few
@given(seeds, hnp.arrays(int, 3, elements=st.integers(0, N)))
def test_solving_in_pieces_gives_the_poses_of_solving_at_once(seed, cuts):
    random = np.random.default_rng(seed)
    _, base, world = posed(STIFF, random)
    target = world[:, 2].copy()
    target[random.uniform(size=N) < 0.2, 0, 3] = np.nan
    target[random.uniform(size=N) < 0.2, :3, 3] *= 1.1
    whole, _ = arms.solve(STIFF, target, base)
    state, pieces = None, []
    for piece in np.split(np.arange(N), sorted(cuts)):
        pose, state = arms.solve(STIFF, target[piece], base[piece], state=state)
        pieces.append(pose)
    for name in ("shoulder", "elbow", "wrist", "swivel"):
        assert np.array_equal(np.concatenate([getattr(pose, name) for pose in pieces]), getattr(whole, name))


def test_a_frame_that_was_not_seen_keeps_the_last_pose_and_before_the_first_the_arm_is_straight():
    target = np.repeat(at((0.1, 0.3, 0.2)), 4, 0)
    target[[0, 2, 3], 0, 3] = np.nan
    found, _ = arms.solve(RIGHT, target, np.zeros(3))
    assert found.elbow[0] == 0
    assert np.array_equal(found.shoulder[0], rot.IDENTITY)
    for k in (2, 3):
        assert np.array_equal(found.shoulder[k], found.shoulder[1])
        assert found.elbow[k] == found.elbow[1] > 0


def test_an_arm_that_was_never_seen_rests_within_its_limits():
    bent = Arm(
        0.3, 0.25, SwingTwistLimit((0.4,) * 4, (0.3, 0.9)), (0.2, 2.0), SwingTwistLimit((0.4,) * 4, (-0.9, -0.3))
    )
    found, _ = arms.solve(bent, at((np.nan, 0, 0)), np.zeros(3))
    assert arms.excess(bent, found).max() < 1e-9
    assert found.elbow == pytest.approx(0.2)


def test_a_pole_in_line_with_the_arm_or_not_seen_gives_way_to_the_arms_own():
    target = at((0.1, 0.3, 0.2), (0.1, 0.3, 0.2))
    own, _ = arms.solve(FREE, target, np.zeros(3))
    found, _ = arms.solve(FREE, target, np.zeros(3), pole=np.array([[0.05, 0.15, 0.1], [np.nan, 0, 0]]))
    assert off(found.shoulder, own.shoulder) < 1e-12


def test_an_arm_along_its_own_pole_still_bends_some_way():
    target = at(0.4 * np.array([0, 1, -1]) / np.sqrt(2), 0.4 * np.array([0, -1, 1]) / np.sqrt(2))
    found, _ = arms.solve(FREE, target, np.zeros(3))
    assert off(world_of(FREE, found, np.zeros(3))[:, 2], target) < 1e-9


@few
@given(seeds)
def test_what_moves_shoulder_wrist_and_pole_alike_turns_no_joint(seed):
    random = np.random.default_rng(seed)
    _, base, world = posed(RIGHT, random)
    pole = base[:, :3, 3] + random.normal(size=(N, 3))
    move = posed(RIGHT, random, 1)[1][0]
    here, _ = arms.solve(RIGHT, world[:, 2], base, pole)
    there, _ = arms.solve(RIGHT, move @ world[:, 2], move @ base, pole @ move[:3, :3].T + move[:3, 3])
    for one, other in ((here.shoulder, there.shoulder), (here.wrist, there.wrist)):
        assert np.abs((one * other).sum(1)).min() > 1 - 1e-12
    assert off(here.elbow, there.elbow) < 1e-7


def test_the_elbow_goes_on_from_the_frame_before_where_two_ways_round_are_as_near():
    """A wall of limits stands where the pole is and moves a little to and fro: the elbow stays on one side of it."""
    arm = Arm(0.3, 0.25, cone(0.3, np.pi, np.pi, np.pi, (-np.pi, np.pi)))
    to_and_fro = 0.02 * np.sin(np.linspace(0, 20, 200))
    target = at(*np.stack([to_and_fro, np.full(200, 0.2), np.full(200, 0.3)], -1))
    found, _ = arms.solve(arm, target, np.zeros(3), pole=np.array([0.0, -0.5, 1.0]))
    assert (np.abs(found.swivel) > 0.1).all()
    elbow = world_of(arm, found, np.zeros(3))[:, 1, :3, 3]
    assert np.linalg.norm(np.diff(elbow, axis=0), axis=1).max() < 0.02
    assert arms.excess(arm, found).max() < 1e-9


@few
@given(seeds)
def test_the_seven_angles_are_the_quaternions_of_the_paper(seed):
    pose, _, _ = posed(FREE, np.random.default_rng(seed))
    x, y, z = np.eye(3)
    angles = pose.angles
    for (first, second, third), whole in ((angles[:, :3].T, pose.shoulder), (angles[:, 4:].T, pose.wrist)):
        product = rot.multiply(
            rot.multiply(rot.from_axis_angle(z, first), rot.from_axis_angle(x, second)), rot.from_axis_angle(y, third)
        )
        assert np.abs((product * whole).sum(1)).min() > 1 - 1e-12
    assert np.array_equal(angles[:, 3], pose.elbow)


def test_the_angles_of_an_arm_along_its_first_axis_still_make_up_its_rotation():
    x, y, _ = np.eye(3)
    upright = rot.multiply(
        rot.from_axis_angle(x, np.array([np.pi / 2, -np.pi / 2])), rot.from_axis_angle(y, np.array([0.4, -0.7]))
    )
    angles = ArmPose(upright, np.zeros(2), np.tile(rot.IDENTITY, (2, 1)), np.zeros(2)).angles
    product = rot.multiply(rot.from_axis_angle(x, angles[:, 1]), rot.from_axis_angle(y, angles[:, 2]))
    assert np.array_equal(angles[:, 0], np.zeros(2))
    assert np.abs((product * upright).sum(1)).min() > 1 - 1e-12


def test_a_persons_elbow_bends_forwards_and_its_left_arm_mirrors_its_right():
    forwards = at((0.05, 0.3, 0.3))
    right, _ = arms.solve(human(0.3, 0.25, "right"), forwards, np.zeros(3))
    left, _ = arms.solve(human(0.3, 0.25, "left"), at((-0.05, 0.3, 0.3)), np.zeros(3))
    mirror = np.array([1.0, 1.0, -1.0, -1.0])
    assert np.abs((right.shoulder * mirror * left.shoulder).sum(1)).min() > 1 - 1e-12
    assert right.elbow == pytest.approx(left.elbow, abs=1e-12)
    elbow = world_of(RIGHT, right, np.zeros(3))[0, 1, :3, 3]
    assert elbow[2] < 0.15 + 0.05  # behind the line from shoulder to wrist
    assert elbow[1] > 0.15


def test_inputs_are_not_changed():
    _, base, world = posed(STIFF, np.random.default_rng(12))
    given_wrist, given_base, pole = world[:, 2].copy(), base.copy(), base[:, :3, 3] + 1
    before = pole.copy()
    arms.solve(STIFF, given_wrist, given_base, pole)
    assert np.array_equal(given_wrist, world[:, 2])
    assert np.array_equal(given_base, base)
    assert np.array_equal(pole, before)


def test_a_take_of_no_frames_has_no_poses_and_keeps_its_state():
    pose, state = arms.solve(RIGHT, np.zeros((0, 4, 4)), np.eye(4))
    assert len(pose) == 0
    assert state.last.elbow == 0


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Arm(0.0, 0.25), "upper is 0.0 m"),
        (lambda: Arm(0.3, float("nan")), "fore is nan m"),
        (lambda: Arm(0.3, 0.25, elbow=(1.0, 0.5)), "the elbow bends from 1.0 to 0.5 rad"),
        (lambda: Arm(0.3, 0.25, elbow=(-0.5, 0.5)), "the elbow bends from -0.5 to 0.5 rad"),
        (lambda: Arm(0.3, 0.25, pole=(0.0, 0.0, 0.0)), r"the pole is \(0.0, 0.0, 0.0\)"),
        (lambda: Arm(0.3, 0.25, pole=(0.0, float("inf"), 0.0)), r"the pole is \(0.0, inf, 0.0\)"),
        (lambda: Arm(0.3, 0.25, hand=(float("nan"), 0.0, 0.0, 0.0)), r"rest rotation is \(nan, 0.0, 0.0, 0.0\)"),
        (lambda: Arm(0.3, 0.25, hand=(0.0, 0.0, 0.0, 0.0)), r"rest rotation is \(0.0, 0.0, 0.0, 0.0\)"),
        (lambda: human(0.3, 0.25, "both"), "its side is 'both'"),
        (lambda: arms.solve(RIGHT, at((0, 0.3, 0.1)), np.zeros((2, 2))), r"the shoulder has the shape \(2, 2\)"),
        (lambda: arms.solve(Arm(0.3, 0.25, cone(9, 0, 0, 0)), at((0, 0.3, 0.1)), np.zeros(3)), "shoulder: the cone"),
    ],
)
def test_an_arm_that_contradicts_itself_is_reported_in_a_sentence(make, sentence):
    with pytest.raises(SkeletonError, match=sentence):
        make()
