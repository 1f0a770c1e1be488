"""How the distance of a digit's end falls as it bends, and how its goal is reached with the first joint held."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from knuckle.errors import HandError
from knuckle.hand.kinematics import Pose
from knuckle.hand.rotations import from_axis_angle, to_matrix
from knuckle.hand.scalar_math import SCALAR
from knuckle.solvers import SOLVERS
from knuckle.solvers.planar.planar_chain import Chain, ChainMarker, bones_to_marker, end_position, marker_position
from knuckle.solvers.planar.planar_hand import digits
from knuckle.solvers.planar.planar_reach import bends_with_fixed_first, squared_distance

from .hands import FULL, HANDS, targets_at

LIMITS = np.array([[-0.5, 1.5], [0.0, 1.9], [0.0, 1.2]])
BONES = bones_to_marker(Chain(np.array([0.045, 0.026, 0.02]), LIMITS, 2 / 3, 0.0), ChainMarker(2, 0.02))


def test_a_straight_digit_bends_its_last_joint_too_whatever_rounding_made_of_its_lead():
    for lead in (0.0, 1e-15, -1e-15):
        square, _, curve = squared_distance(SCALAR, BONES, 0.0, lead)
        bend = 1e-3
        u, v = end_position(SCALAR, BONES, (0.0, bend, 2 / 3 * bend))
        assert abs((square - u * u - v * v) / bend**2 - curve) < 1e-3 * curve


@example(first=0.5, middle=1e-6, last=-3e-6)
@given(first=st.floats(-0.5, 1.5), middle=st.floats(0.0, 1.9), last=st.floats(-0.25, 0.35))
def test_with_its_first_joint_held_a_digit_reaches_whatever_it_can(first, middle, last):
    """One of the two ways to bend the other two does."""
    limits = np.array([[-0.5, 1.5], [0.0, 1.9], [-0.25, 0.35]])
    bones = bones_to_marker(Chain(np.array([0.045, 0.026, 0.02]), limits, 2 / 3, 0.0), ChainMarker(2, 0.02))
    bends = bends_with_fixed_first(SCALAR, bones, end_position(SCALAR, bones, (first, middle, last)), first)
    assert min(bend[3] for bend in bends) < 1e-9


@pytest.mark.parametrize("bent", [True, False])
def test_a_digit_that_is_not_straight_at_rest_is_refused(bent):
    """Whether a bone is turned against its parent, or beside its line."""
    hand = HANDS["right"]
    rest, joint = hand.rest.copy(), "ring-finger-phalanx-distal"
    if bent:
        rest[hand.joints.index(joint), :3, :3] = to_matrix(from_axis_angle([1.0, 0.0, 0.0], 0.1))
    else:
        rest[hand.joints.index(joint), 0, 3] = 0.001
    with pytest.raises(HandError, match=f"right hand: {joint} is not straight on from its parent at zero angles"):
        digits(replace(hand, rest=rest))
    assert len(digits(hand)) == 5


@pytest.mark.parametrize("bone", [0, 1, 2])
def test_a_marker_is_along_its_bone_and_out_of_its_back(bone):
    """In the plane as complex numbers: u is real, v towards the palm."""
    lengths, flexions = np.array([0.045, 0.026, 0.02]), np.array([0.3, 0.9, 0.5])
    headings = np.exp(1j * np.cumsum(flexions))
    marker = ChainMarker(bone, 0.012, 0.007)
    expected = (lengths[:bone] * headings[:bone]).sum() + (0.012 - 0.007j) * headings[bone]
    found = marker_position(SCALAR, Chain(lengths, LIMITS, 2 / 3, 0.0), marker, tuple(flexions.tolist()))
    assert complex(*found) == pytest.approx(expected)


@pytest.mark.parametrize("one_by_one", [True, False])
@pytest.mark.parametrize("side", ["left", "right"])
def test_of_two_bends_that_reach_the_tip_the_inner_markers_choose(side, one_by_one):
    """A thumb at the limit of its first joint, which is 4° narrower than the performer's, straightens its last one.

    The tip can be reached with the last joint bent either way; the marker there tells that it is bent backwards.
    """
    hand = HANDS[side]
    first, middle, last = (
        hand.dof(f"thumb-{joint}", "flexion") for joint in ("metacarpal", "phalanx-proximal", "phalanx-distal")
    )
    angles = np.tile(hand.neutral, (60, 1))
    angles[:, first] = hand.limits[first, 0] - np.deg2rad(4)
    angles[:, middle] = np.deg2rad(np.linspace(14, 26, 60))
    angles[:, last] = np.deg2rad(np.linspace(-20, -8, 60))
    truth = Pose(hand, np.tile(np.eye(4), (60, 1, 1)), angles)
    targets, state, solved = targets_at(hand, truth, FULL), None, []
    for frame in range(60) if one_by_one else ():
        pose, state = SOLVERS["fabrik"]().solve(hand, targets.select(slice(frame, frame + 1)), state)
        solved.append(pose.angles[0])
    at_once = SOLVERS["fabrik"]().solve(hand, targets)[0].angles
    found = np.rad2deg(np.array(solved) if one_by_one else at_once)[:, [middle, last]]
    assert np.abs(np.diff(found, axis=0)).max() < 4.0
    assert found[:, 1].max() < 0.0
