"""What the solver of trees keeps, whatever it is asked for."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from knuckle.solvers.tree import SkeletonError, TreeSettings, at_rest, chain, goals_by_name, solve

from .trees import (
    ARM,
    FINGER,
    FREE,
    HINGES,
    TAIL,
    UNEVEN,
    UP,
    Y,
    independent,
    limit_excess,
    loop,
    palm,
    posed,
    turns_inside,
)

few = settings(max_examples=6, deadline=None)
seeds = st.integers(0, 9999)
APART = TreeSettings(follow=False)
QUICK = TreeSettings(follow=False, restarts=2)
ENDS = {
    "free": (FREE, ("free-4-tip",)),
    "uneven": (UNEVEN, ("uneven-3-tip",)),
    "finger": (FINGER, ("finger-3-tip",)),
    "hinges": (HINGES, ("hinges-3-tip",)),
    "tail": (TAIL, ("tail-5-tip",)),
    "arm": (ARM, ("arm-2-tip",)),
    "two ends": (Y, ("left-1-tip", "right-1-tip")),
    "inner places": (TAIL, ("tail-3", "tail-5-tip")),
    "palm": (palm(), ("one-end-tip", "two-end-tip", "three-end-tip", "one", "three")),
    "loop": (loop(), ("left-1-tip",)),
}
trees = st.sampled_from(sorted(ENDS))


def goals_of(skeleton, ends, positions, **more):
    return goals_by_name(skeleton, {name: positions[:, skeleton.index(name)] for name in ends}, **more)


def reached(name, seed, frames=4):
    """A skeleton and goals at the ends of poses inside its limits."""
    skeleton, ends = ENDS[name]
    positions, _ = posed(skeleton, turns_inside(skeleton, frames, seed))
    return skeleton, goals_of(skeleton, ends, positions)


def thrown(name, seed, frames=3):
    """A skeleton and goals anywhere: most cannot be reached."""
    skeleton, ends = ENDS[name]
    rng = np.random.default_rng(seed)
    return skeleton, goals_by_name(skeleton, {end: rng.normal(0, skeleton.reach * 0.6, (frames, 3)) for end in ends})


def miss(pose, goals):
    """(F,) the farthest miss of each frame."""
    return np.linalg.norm(pose.positions[:, goals.joints] - goals.positions, axis=-1).max(1)


@few
@given(seed=seeds, name=st.sampled_from(["free", "uneven", "two ends"]))
def test_without_limits_every_place_that_can_be_reached_is(seed, name):
    skeleton, goals = reached(name, seed, 40)
    pose, _ = solve(skeleton, goals, settings=APART)
    assert miss(pose, goals).max() < 1e-4 * skeleton.reach


@few
@given(seed=seeds, name=st.sampled_from(["finger", "hinges", "tail", "arm", "inner places", "palm"]))
def test_within_limits_nearly_every_place_that_can_be_reached_is(seed, name):
    skeleton, goals = reached(name, seed, 40)
    pose, _ = solve(skeleton, goals, settings=APART)
    missed = miss(pose, goals) > 1e-4 * skeleton.reach
    assert missed.mean() <= 0.05, f"{missed.sum()} of 40 not reached"


@few
@given(seed=seeds, name=trees)
def test_limits_and_lengths_hold_and_the_rotations_give_the_positions(seed, name):
    skeleton, goals = thrown(name, seed)
    pose, _ = solve(skeleton, goals)
    positions, _ = independent(skeleton, pose.root, pose.rotations)
    assert np.abs(positions - pose.positions).max() < 1e-12
    assert limit_excess(skeleton, pose.rotations) < 1e-9
    assert np.abs(np.linalg.norm(pose.rotations, axis=-1) - 1).max() < 1e-12
    steps = pose.positions[:, 1:] - pose.positions[:, list(skeleton.parents[1:])]
    assert np.abs(np.linalg.norm(steps, axis=-1) - skeleton.lengths[1:]).max() < 1e-12


@few
@given(seed=seeds, name=trees, cut=st.integers(0, 3), follow=st.booleans())
def test_solving_in_pieces_gives_the_same_poses(seed, name, cut, follow):
    skeleton, goals = thrown(name, seed)
    lost = np.random.default_rng(seed).random(goals.weights.shape) < 0.3
    goals = replace(goals, weights=np.where(lost, 0.0, goals.weights))
    setting = TreeSettings(follow=follow, restarts=2)
    whole, last = solve(skeleton, goals, settings=setting)
    first, state = solve(skeleton, goals.select(slice(0, cut)), settings=setting)
    second, end = solve(skeleton, goals.select(slice(cut, 3)), state, setting)
    assert np.abs(np.concatenate([first.rotations, second.rotations]) - whole.rotations).max() < 1e-9
    assert np.abs(end.angles - last.angles).max() < 1e-9


@few
@example(seed=35, name="loop")
@given(seed=seeds, name=trees)
def test_one_frame_does_not_change_another(seed, name):
    skeleton, goals = thrown(name, seed)
    together, _ = solve(skeleton, goals, settings=QUICK)
    for frame in range(2):
        alone, _ = solve(skeleton, goals.select(slice(frame, frame + 1)), settings=QUICK)
        assert np.abs(alone.rotations - together.rotations[frame]).max() < 1e-9


@few
@given(seed=seeds, name=trees)
def test_a_rigid_move_of_everything_moves_the_base_and_nothing_else(seed, name):
    skeleton, goals = reached(name, seed)
    rng = np.random.default_rng(seed)
    move = np.eye(4)
    move[:3, :3], move[:3, 3] = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
    moved = replace(goals, positions=goals.positions @ move[:3, :3].T + move[:3, 3], root=move @ goals.root)
    here, _ = solve(skeleton, goals, settings=APART)
    there, _ = solve(skeleton, moved, settings=APART)
    assert np.abs(there.rotations - here.rotations).max() < 1e-6
    assert np.abs(there.positions - (here.positions @ move[:3, :3].T + move[:3, 3])).max() < 1e-6


@few
@given(seed=seeds, name=trees)
def test_a_goal_without_weight_has_no_effect(seed, name):
    skeleton, goals = reached(name, seed)
    rng = np.random.default_rng(seed)
    weights = (rng.random(goals.weights.shape) > 0.4).astype(float)
    nonsense = np.where(weights[..., None] > 0, goals.positions, np.nan)
    one, _ = solve(skeleton, replace(goals, weights=weights))
    other, _ = solve(skeleton, replace(goals, weights=weights, positions=nonsense))
    assert np.array_equal(one.rotations, other.rotations)


@few
@given(seed=seeds, name=trees)
def test_only_how_weights_compare_counts(seed, name):
    skeleton, goals = thrown(name, seed, 2)
    one, _ = solve(skeleton, goals, settings=QUICK)
    other, _ = solve(skeleton, replace(goals, weights=goals.weights * 1024), settings=QUICK)
    assert np.abs(one.rotations - other.rotations).max() < 1e-9


def test_inputs_are_not_changed():
    skeleton, goals = thrown("palm", 0)
    names = ("positions", "weights", "orientations", "root", "offsets", "joints")
    before = {name: getattr(goals, name).copy() for name in names}
    state = at_rest(skeleton)
    turns = state.angles.copy()
    solve(skeleton, goals, state)
    assert all(np.array_equal(getattr(goals, name), copy) for name, copy in before.items())
    assert np.array_equal(state.angles, turns)


@few
@given(seed=seeds)
def test_a_place_out_of_reach_is_pointed_at_by_a_straight_chain(seed):
    rng = np.random.default_rng(seed)
    goal = rng.normal(size=(8, 3))
    goal *= UNEVEN.reach * rng.uniform(1, 9, (8, 1)) / np.linalg.norm(goal, axis=-1, keepdims=True)
    pose, _ = solve(UNEVEN, goals_by_name(UNEVEN, {"uneven-3-tip": goal}), settings=APART)
    towards = goal / np.linalg.norm(goal, axis=-1, keepdims=True)
    along = np.cumsum(UNEVEN.lengths)
    assert np.abs(pose.positions - along[:, None] * towards[:, None]).max() < 1e-9


@few
@given(seed=seeds)
def test_a_place_too_near_is_approached_as_far_as_the_longest_bone_lets(seed):
    """Bones of 1, 0.22, 3 and 0.54 m end no nearer to their root than 3 − 1.76 m."""
    goal = np.random.default_rng(seed).normal(0, 0.3, (8, 3))
    nearest = 2 * UNEVEN.lengths.max() - UNEVEN.lengths.sum()
    pose, _ = solve(UNEVEN, goals_by_name(UNEVEN, {"uneven-3-tip": goal}), settings=APART)
    distance = np.linalg.norm(goal, axis=-1)
    assert (
        np.abs(np.linalg.norm(pose.positions[:, -1] - goal, axis=-1) - np.maximum(nearest - distance, 0)).max() < 1e-5
    )


def test_a_place_in_the_root_itself_is_solved():
    pose, _ = solve(FREE, goals_by_name(FREE, {"free-4-tip": np.zeros((1, 3))}))
    assert np.linalg.norm(pose.positions[0, -1]) < 1e-4
    pose, _ = solve(UNEVEN, goals_by_name(UNEVEN, {"uneven-3-tip": np.zeros((1, 3))}))
    assert np.linalg.norm(pose.positions[0, -1]) == pytest.approx(2 * UNEVEN.lengths.max() - UNEVEN.lengths.sum())


def test_a_place_straight_behind_is_reached():
    """The chain points along +Y; antiparallel tells no axis to turn about."""
    for goal in ([0, -5.0, 0], [0, -3.0, 0], [0, -9.0, 0]):
        pose, _ = solve(FREE, goals_by_name(FREE, {"free-4-tip": np.array([goal])}))
        left = max(abs(goal[1]) - 5, 0)
        assert np.linalg.norm(pose.positions[0, -1] - goal) == pytest.approx(left, abs=1e-4)


def test_a_straight_finger_bends_to_a_place_on_its_own_line():
    """The dead end of FABRIK with hinges: nothing tells which way to bend."""
    goals = goals_by_name(FINGER, {"finger-3-tip": np.array([[0, 0.115, 0]])})
    pose, _ = solve(FINGER, goals)
    assert miss(pose, goals)[0] < 1e-6


@few
@given(seed=seeds)
def test_a_joint_without_limits_is_not_twisted(seed):
    """Each turn is the shortest that points the bone: no part of it is about the bone."""
    skeleton, goals = thrown("free", seed, 12)
    pose, _ = solve(skeleton, goals)
    assert np.abs(pose.rotations[..., 2]).max() < 1e-12


def test_a_slow_target_is_followed_without_jumps():
    time = np.linspace(0, 1, 80)[:, None]
    goal = [0.35, 0.2, 0.0] + 0.15 * np.hstack([np.sin(6 * time), np.cos(6 * time), np.sin(4 * time)])
    goals = goals_by_name(ARM, {"arm-2-tip": goal})
    pose, _ = solve(ARM, goals)
    speed = np.linalg.norm(np.diff(goal, axis=0), axis=-1).max()
    moved = np.linalg.norm(np.diff(pose.positions, axis=0), axis=-1).max()
    assert miss(pose, goals).max() < 1e-5 * ARM.reach
    assert moved < 2 * speed, f"a joint moves {moved / speed:.1f} times as fast as the target"


def test_joints_that_nothing_asks_for_keep_their_last_turns():
    goals = goals_by_name(Y, {"left-1-tip": np.array([[-1.0, 1, 2]] * 2), "right-1-tip": np.array([[1.0, 1, 2]] * 2)})
    lost = replace(goals, weights=np.array([[1.0, 1.0], [1.0, 0.0]]))
    for follow in (True, False):
        pose, _ = solve(Y, lost, settings=TreeSettings(follow=follow))
        right = [Y.index("right-0"), Y.index("right-1")]
        assert np.array_equal(pose.angles[1, right], pose.angles[0, right])
    none = replace(goals, weights=np.zeros((2, 2)))
    _, state = solve(Y, goals)
    pose, after = solve(Y, none, state)
    assert np.array_equal(pose.angles[1], state.angles)
    assert np.array_equal(after.angles, state.angles)


def test_no_frames_give_no_poses():
    pose, state = solve(FREE, goals_by_name(FREE, {"free-4-tip": np.zeros((0, 3))}))
    assert len(pose) == 0
    assert np.array_equal(state.angles, at_rest(FREE).angles)


def test_a_number_that_is_none_is_reported():
    goals = goals_by_name(
        FREE, {"free-4-tip": np.full((3, 3), np.nan)}, weights={"free-4-tip": np.array([0.0, 1.0, 0.0])}
    )
    with pytest.raises(SkeletonError, match="frame 1, free-4-tip"):
        solve(FREE, goals)
    with pytest.raises(SkeletonError, match="below zero"):
        solve(FREE, goals_by_name(FREE, {"free-4-tip": np.zeros((1, 3))}, weights={"free-4-tip": -1.0}))
    with pytest.raises(SkeletonError, match="'hand', expected one of free-0"):
        goals_by_name(FREE, {"hand": np.zeros((1, 3))})
    with pytest.raises(SkeletonError, match=r"shape \(2, 2\)"):
        goals_by_name(FREE, {"free-4-tip": np.zeros((2, 2))})
    with pytest.raises(SkeletonError, match="unit"):
        solve(FREE, goals_by_name(FREE, {}, orientations={"free-4": np.array([[2.0, 0, 0, 0]])}))


def test_a_skeleton_without_any_length_is_solved():
    lengthless = chain("dot", UP[:3] * 0)
    pose, _ = solve(lengthless, goals_by_name(lengthless, {"dot-1-tip": np.ones((1, 3))}))
    assert np.array_equal(pose.positions, np.zeros((1, 3, 3)))
