"""How the distance of a digit's end falls as it bends, and how its goal is reached with the first joint held."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from knuckle.errors import HandError
from knuckle.hand.rotations import from_axis_angle, to_matrix
from knuckle.hand.scalar_math import SCALAR
from knuckle.solvers.planar.planar_chain import Chain, ChainMarker, bones_to_marker, end_position, marker_position
from knuckle.solvers.planar.planar_hand import digits
from knuckle.solvers.planar.planar_reach import bend_with_fixed_first, squared_distance

from .hands import HANDS

LIMITS = np.array([[-0.5, 1.5], [0.0, 1.9], [0.0, 1.2]])
BONES = bones_to_marker(Chain(np.array([0.045, 0.026, 0.02]), LIMITS, 2 / 3, 0.0), ChainMarker(2, 0.02))


def test_a_straight_digit_bends_its_last_joint_too_whatever_rounding_made_of_its_lead():
    for coupling_offset in (0.0, 1e-15, -1e-15):
        square, _, curve = squared_distance(SCALAR, BONES, 0.0, coupling_offset)
        bend = 1e-3
        u, v = end_position(SCALAR, BONES, (0.0, bend, 2 / 3 * bend))
        assert abs((square - u * u - v * v) / bend**2 - curve) < 1e-3 * curve


@example(first=0.5, middle=1e-6, last=-3e-6)
@given(first=st.floats(-0.5, 1.5), middle=st.floats(0.0, 1.9), last=st.floats(-0.25, 0.35))
def test_with_its_first_joint_held_a_digit_reaches_whatever_it_can(first, middle, last):
    """Where both ways to bend the other two come within 0.1 µm, the one that reaches the goal is taken."""
    limits = np.array([[-0.5, 1.5], [0.0, 1.9], [-0.25, 0.35]])
    bones = bones_to_marker(Chain(np.array([0.045, 0.026, 0.02]), limits, 2 / 3, 0.0), ChainMarker(2, 0.02))
    assert bend_with_fixed_first(SCALAR, bones, end_position(SCALAR, bones, (first, middle, last)), first)[3] < 1e-9


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
