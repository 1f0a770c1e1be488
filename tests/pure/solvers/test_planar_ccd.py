"""Coordinate descent in a digit's plane: no sweep moves away, sweeps end where no joint alone brings the end nearer."""

import numpy as np
import pytest

from knuckle.hand.scalar_math import ARRAY, SCALAR
from knuckle.solvers.ccd import Ccd
from knuckle.solvers.planar.planar_ccd import planar_ccd, sweep
from knuckle.solvers.planar.planar_chain import ChainMarker
from knuckle.solvers.planar.planar_fabrik import Stopping
from knuckle.solvers.solver import limit_excess

from .hands import EIGHT, targets_at
from .test_planar_following import HAND, motion
from .test_planar_passes import FREE, STIFF, TIP, ends, poses

STOPPING = Stopping(1e-5, 1e-8, 200)
STEPS = np.linspace(-1, 1, 301)


def distances(chain, flexions, goals):
    return np.linalg.norm(ends(chain, flexions) - goals, axis=-1)


def test_each_joint_alone_is_rotated_to_where_the_end_is_nearest():
    """Against a grid over each joint's range: after a sweep the first joint, which was last, cannot do better."""
    bend = planar_ccd(STIFF, TIP, STOPPING)
    low, high = bend.bones.limits[0]
    for pose, goal in zip(poses(STIFF, 12, 1), ends(STIFF, poses(STIFF, 12, 2)), strict=True):
        moved = np.array(sweep(SCALAR, bend, tuple(pose), tuple(goal), None))
        tried = np.tile(moved, (len(STEPS), 1))
        tried[:, 0] = low + (high - low) * (STEPS + 1) / 2
        assert distances(STIFF, moved[None], goal)[0] <= distances(STIFF, tried, goal).min() + 1e-9
        assert distances(STIFF, moved[None], goal)[0] <= distances(STIFF, pose[None], goal)[0] + 1e-12


def test_a_middle_joint_that_carries_the_last_one_ends_where_both_together_can_do_no_better():
    """Where sweeps end, no bend of the coupled pair brings the end nearer, whatever the first joint's limits."""
    bend = planar_ccd(STIFF, TIP, STOPPING)
    own = bend.own_coupling()
    (_, high), (low_last, high_last) = bend.bones.limits[1:]
    for goal in ends(STIFF, poses(STIFF, 10, 3)):
        first, middle, last = 0.2, own.straight + 0.1, 0.0
        for _ in range(200):
            first, middle, last = sweep(SCALAR, bend, (first, middle, last), tuple(goal), own)
        bends = own.straight + (high - own.straight) * (STEPS + 1) / 2
        pairs = np.clip(own.ratio * bends + own.coupling_offset, low_last, high_last)
        tried = np.stack([np.full_like(bends, first), bends, pairs], -1)
        near = distances(STIFF, tried, goal)[np.abs(bends - middle) < 0.1]
        assert distances(STIFF, np.array([[first, middle, last]]), goal)[0] <= near.min() + 1e-6
        assert last == pytest.approx(np.clip(own.ratio * middle + own.coupling_offset, low_last, high_last), abs=1e-12)


def test_the_pose_of_the_coupling_is_found_by_more_sweeps_the_straighter_it_is():
    """Its known weakness: each sweep gains less near a straight digit, since its joints all move the end alike."""
    bend = planar_ccd(FREE, TIP, STOPPING)
    own, middle = bend.own_coupling(), np.deg2rad([45.0, 22.0, 11.0])
    true = np.stack([0 * middle + 0.4, middle, own.ratio * middle + own.coupling_offset], -1)
    found = bend.descend(ARRAY, tuple(ends(FREE, true).T), own)
    assert found.error.max() < 1e-4
    assert np.abs(np.stack(found[:3], -1) - true)[:2].max() < np.deg2rad(0.5)
    assert (np.diff(found.sweeps) > 0).all()
    assert 1 < found.sweeps[0] < 40


def test_a_goal_at_a_starting_pose_takes_no_sweep():
    bend = planar_ccd(FREE, TIP, STOPPING)
    own, middle = bend.own_coupling(), np.deg2rad([2.0, 16.0, 64.0])
    true = np.stack([0 * middle + 0.4, middle, own.ratio * middle + own.coupling_offset], -1)
    found = bend.descend(ARRAY, tuple(ends(FREE, true).T), own)
    assert found.error.max() < 1e-9 and not found.sweeps.any()


@pytest.mark.parametrize("end", [TIP, ChainMarker(1, 0.02), ChainMarker(2, 0.01, 0.005)])
def test_sweeps_in_a_batch_and_alone_are_the_same(end):
    bend, rng = planar_ccd(STIFF, end, STOPPING), np.random.default_rng(4)
    goals = rng.uniform(-0.1, 0.1, (40, 2))
    many = np.stack(bend.bend_frames(goals[:, 0], goals[:, 1], []), -1)
    for (u, v), found in zip(goals.tolist(), many, strict=True):
        assert list(bend.bend_frame(u, v, [])) == pytest.approx(found.tolist(), abs=1e-9)


def test_a_moving_hand_is_followed_within_limits_in_pieces_and_sweeps_are_counted():
    targets, solver = targets_at(HAND, motion(40, 7), EIGHT), Ccd(mode="follow", sweeps=0)
    pose, state = solver.solve(HAND, targets)
    assert not limit_excess(HAND, pose.angles).any()
    assert state.passes is not None
    assert state.passes.shape == (40, 5) and state.passes.mean() > 1
    first, half = solver.solve(HAND, targets.select(slice(0, 17)))
    second, _ = solver.solve(HAND, targets.select(slice(17, 40)), half)
    assert np.array_equal(np.concatenate([first.angles, second.angles]), pose.angles)


def test_fewer_sweeps_leave_the_tips_farther_off():
    targets, left = targets_at(HAND, motion(40, 8), EIGHT), []
    for most in (1, 5, 200):
        pose, _ = Ccd(plane_sweeps=most, sweeps=0).solve(HAND, targets)
        off = targets_at(HAND, pose, EIGHT).positions - targets.positions
        left.append(np.linalg.norm(off[:, 3:], axis=-1).mean())
    assert left[0] > left[1] > left[2]
