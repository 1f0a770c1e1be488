"""Planar FABRIK's passes alone: FABRIK-CGA Algorithm 1, with the plane's nearest point and the algebra's."""

import numpy as np
import pytest

from knuckle.hand.scalar_math import SCALAR
from knuckle.solvers.conformal.cga_bend import nearest_in_plane
from knuckle.solvers.planar.planar_chain import Chain, ChainMarker, bones_to_marker, end_position
from knuckle.solvers.planar.planar_fabrik import Stopping, backward, bone_ends, forward, nearest_point, planar_fabrik

LENGTHS = np.array([0.045, 0.026, 0.02])
TIP = ChainMarker(2, 0.02)
FREE = Chain(LENGTHS, np.full((3, 2), [-np.pi, np.pi]), 2 / 3, 0.0)
STIFF = Chain(LENGTHS, np.deg2rad([[-10, 30], [40, 100], [-15, 20]]), 2 / 3, 0.0)
nearests = pytest.mark.parametrize("nearest", [nearest_point, nearest_in_plane])


def poses(chain, count, seed):
    """(N, 3) flexions all over the limits."""
    unit = np.random.default_rng(seed).random((count, 3))
    return chain.limits[:, 0] + unit * np.ptp(chain.limits, axis=1)


def ends(chain, flexions):
    """(N, 2) m"""
    return np.array([end_position(SCALAR, bones_to_marker(chain, TIP), tuple(each)) for each in flexions])


def textbook(joints, lengths, goal):
    """One forward and backward iteration of Aristidou and Lasenby's Algorithm 1, without limits."""
    joints = [goal if number == len(lengths) else joint for number, joint in enumerate(joints)]
    for number in reversed(range(len(lengths))):
        way = joints[number] - joints[number + 1]
        joints[number] = joints[number + 1] + lengths[number] * way / np.linalg.norm(way)
    joints[0] = np.zeros(2)
    for number, length in enumerate(lengths):
        way = joints[number + 1] - joints[number]
        joints[number + 1] = joints[number] + length * way / np.linalg.norm(way)
    return joints


@nearests
def test_without_limits_passes_are_the_textbooks(nearest):
    bones = bones_to_marker(FREE, TIP)
    for pose, goal in zip(poses(FREE, 20, 1) / 3, ends(FREE, poses(FREE, 20, 2)), strict=True):
        heading = np.cumsum(pose)
        steps = LENGTHS[:, None] * np.stack([np.cos(heading), np.sin(heading)], -1)
        joints = [np.zeros(2), *np.cumsum(steps, axis=0)]
        now = bone_ends(SCALAR, bones, tuple(pose))
        for _ in range(3):
            joints = textbook(joints, LENGTHS, goal)
            flexions, now = backward(SCALAR, bones, forward(SCALAR, bones, now, tuple(goal), nearest), tuple(goal))
            assert end_position(SCALAR, bones, flexions) == pytest.approx(joints[-1], abs=1e-12)
            assert now[-1] == pytest.approx(joints[-1], abs=1e-12)


@nearests
def test_without_limits_passes_arrive(nearest):
    """Slowly where the digit must be nearly straight for it."""
    bones, missed = bones_to_marker(FREE, TIP), []
    for pose, goal in zip(poses(FREE, 20, 3) / 3, ends(FREE, poses(FREE, 20, 4)), strict=True):
        now = bone_ends(SCALAR, bones, tuple(pose))
        for _ in range(200):
            flexions, now = backward(SCALAR, bones, forward(SCALAR, bones, now, tuple(goal), nearest), tuple(goal))
        missed.append(np.hypot(*np.subtract(end_position(SCALAR, bones, flexions), goal)))
    assert np.median(missed) < 1e-9
    assert max(missed) < 5e-4


@nearests
def test_where_limits_are_in_the_way_passes_bring_the_end_nearer(nearest):
    """Within tight limits the beginning misses every tenth place that can be reached; passes lead on from it."""
    goals = ends(STIFF, poses(STIFF, 1000, 5))
    start, passed = (
        np.asarray(
            planar_fabrik(STIFF, TIP, Stopping(1e-5, 1e-7, most), nearest).bend_frames(goals[:, 0], goals[:, 1], [])[3]
        )
        for most in (0, 60)
    )
    assert (start > 1e-5).mean() > 0.08
    assert (passed <= start + 1e-12).all()
    assert passed.mean() < 0.5 * start.mean()
    assert (passed < start - 1e-5).mean() > 0.05


@nearests
def test_out_of_reach_passes_come_nearer_to_the_nearest_pose(nearest):
    goals = np.random.default_rng(6).uniform(-0.1, 0.1, (400, 2))
    tried = ends(
        STIFF, np.stack(np.meshgrid(*(np.linspace(low, high, 25) for low, high in STIFF.limits)), -1).reshape(-1, 3)
    )
    least = np.linalg.norm(goals[:, None] - tried, axis=-1).min(1)
    start, passed = (
        np.asarray(
            planar_fabrik(STIFF, TIP, Stopping(1e-5, 1e-7, most), nearest).bend_frames(goals[:, 0], goals[:, 1], [])[3]
        )
        for most in (0, 60)
    )
    assert (passed - least).mean() < 0.7 * (start - least).mean()
