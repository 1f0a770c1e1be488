"""Laws of the wrist's motion through gaps."""

import numpy as np
import pytest

from knuckle.hand import rotations as rot
from knuckle.solvers.wrist_gaps import fill_wrist_gaps

TIMES = np.arange(60) / 100
LOCATED = np.ones(60, bool)
LOCATED[20:45] = False
AXIS = np.array([0.36, 0.48, 0.8])


def moving():
    """A wrist that moves and turns steadily."""
    return rot.to_matrix(rot.from_axis_angle(np.tile(AXIS, (60, 1)), 2.0 * TIMES)), np.outer(TIMES, [0.5, -0.2, 0.1])


def hidden():
    """The same with nonsense where it is not located."""
    orientations, positions = moving()
    positions[~LOCATED], orientations[~LOCATED] = 9.0, np.eye(3)
    return orientations, positions


def filled():
    orientations, positions = hidden()
    return fill_wrist_gaps(orientations, positions, TIMES, LOCATED)


def test_located_frames_stay():
    orientations, positions = moving()
    found = filled()
    np.testing.assert_array_equal(found[0][LOCATED], orientations[LOCATED])
    np.testing.assert_array_equal(found[1][LOCATED], positions[LOCATED])


def test_it_goes_from_one_end_to_the_other_without_a_jump():
    """No step in the gap is more than three times the steady one, and the ends are left as they were approached."""
    orientations, positions = filled()
    steps = np.linalg.norm(np.diff(positions, axis=0), axis=1)
    assert steps.max() < 3 * steps[0]
    assert steps[19] == pytest.approx(steps[0], rel=0.2)
    assert steps[44] == pytest.approx(steps[0], rel=0.2)
    turned = np.einsum("fij,fij->f", orientations[1:], orientations[:-1])
    angles = np.arccos(np.clip((turned - 1) / 2, -1, 1))
    assert angles.max() < 3 * angles[0]
    np.testing.assert_allclose(orientations @ orientations.swapaxes(1, 2), np.tile(np.eye(3), (60, 1, 1)), atol=1e-12)


def test_time_backwards_is_the_same_motion_backwards():
    orientations, positions = hidden()
    forward = fill_wrist_gaps(orientations, positions, TIMES, LOCATED)
    backward = fill_wrist_gaps(orientations[::-1], positions[::-1], -TIMES[::-1], LOCATED[::-1])
    np.testing.assert_allclose(backward[0][::-1], forward[0], atol=1e-9)
    np.testing.assert_allclose(backward[1][::-1], forward[1], atol=1e-9)


def test_a_rigid_move_of_the_world_moves_the_gap_along():
    orientations, positions = hidden()
    turn, shift = rot.to_matrix(rot.from_axis_angle(np.array([0.0, 0.6, 0.8]), 1.0)), np.array([1.0, -2.0, 0.5])
    there = fill_wrist_gaps(turn @ orientations, positions @ turn.T + shift, TIMES, LOCATED)
    here = fill_wrist_gaps(orientations, positions, TIMES, LOCATED)
    np.testing.assert_allclose(there[0], turn @ here[0], atol=1e-9)
    np.testing.assert_allclose(there[1], here[1] @ turn.T + shift, atol=1e-9)


def test_before_the_first_and_after_the_last_located_frame_it_stays():
    orientations, positions = moving()
    located = np.zeros(60, bool)
    located[10:12] = True
    found = fill_wrist_gaps(orientations, positions, TIMES, located)
    assert np.ptp(found[1][:11], axis=0).max() == 0 and np.ptp(found[1][11:], axis=0).max() == 0
    np.testing.assert_array_equal(found[0][-1], orientations[11])


@pytest.mark.parametrize("located", [np.zeros(60, bool), np.ones(60, bool)])
def test_nothing_changes_where_no_frame_or_every_frame_is_located(located):
    orientations, positions = moving()
    found = fill_wrist_gaps(orientations, positions, TIMES, located)
    np.testing.assert_array_equal(found[0], orientations)
    np.testing.assert_array_equal(found[1], positions)
