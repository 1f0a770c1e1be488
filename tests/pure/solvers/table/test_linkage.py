"""A digit as three complex links: the thesis's five links in fewer."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from knuckle.solvers.planar.planar_chain import ChainMarker
from knuckle.solvers.table.linkage import exp_i, linkage, straight_tip, tip, two_link_angle

from .chains import FINGER, LENGTHS, THESIS, five_links, up_to_tip

angles = st.floats(-1.5, 2.0)
radii = st.floats(0.0, 0.012)


@given(flexions=st.tuples(angles, angles, angles), radii=st.tuples(st.just(0.0), radii, radii))
def test_three_complex_links_are_the_five_links_of_the_thesis(flexions, radii):
    there = tip(up_to_tip(FINGER, radii).links, np.array(flexions))
    expected = five_links(LENGTHS, radii, flexions)
    assert np.hypot(there.real - expected[0], there.imag - expected[1]) < 1e-15


@given(flexions=st.tuples(angles, angles, angles), radii=st.tuples(radii, radii, radii))
def test_a_knuckle_turns_below_the_marker_that_stands_still_over_it(flexions, radii):
    """Its hidden link leads from the marker to where the first bone begins, and turns with half its bend."""
    there = 1j * radii[0] + tip(up_to_tip(FINGER, radii).links, np.array(flexions))
    hidden = 2 * radii[0] * np.sin(flexions[0] / 2) * np.exp(0.5j * flexions[0])
    u, v = five_links(LENGTHS, radii, flexions)
    assert abs(there - hidden - (u + 1j * v)) < 1e-15


def test_a_marker_on_the_back_of_a_bone_rides_with_it():
    links = linkage(FINGER, ChainMarker(1, 0.010, 0.004), np.zeros(3)).links
    first, middle = 0.3, 0.8
    heading = np.array([first, first + middle])
    joint = LENGTHS[0] * np.exp(1j * heading[0])
    # Out of the back is away from the palm, to which the imaginary axis points.
    marker = joint + (0.010 - 0.004j) * np.exp(1j * heading[1])
    assert abs(tip(links, np.array([first, middle, 0.5])) - marker) < 1e-16


def test_the_reach_of_the_thesis_finger_grows_beyond_its_straight_length_as_it_bends():
    """Section 4.1: segments of 45.8, 20.1 and 20.0 mm, measured up to about 10 mm longer than their sum."""
    links = up_to_tip(FINGER, (0.0, 0.009, 0.007)).links
    scaled = [link.imag * 1j + length for link, length in zip(links, THESIS, strict=True)]
    bends = np.deg2rad(np.linspace(0, 90, 91))
    reach = np.abs(straight_tip(tuple(scaled), bends, 2 / 3 * bends))
    assert abs(reach[0] - 0.0859) < 1e-12
    assert reach.argmax() not in (0, 90)
    assert 0.0859 < reach.max() < 0.0959


@given(angle=angles, length=st.floats(0.001, 0.1), dorsal=st.floats(-0.01, 0.01), side=st.sampled_from([1.0, -1.0]))
def test_two_links_reach_a_distance_within_reach(angle, length, dorsal, side):
    first, second = 0.04 + 0.001j, complex(length, dorsal)
    distance = abs(first + second * np.exp(1j * angle))
    turn = two_link_angle(first, second, np.array([distance]), side)
    # Straight links lose half of the digits.
    assert abs(abs(first + second * exp_i(turn)[0]) - distance) < 1e-9


def test_two_links_out_of_reach_are_straight_or_folded():
    near, far = two_link_angle(0.04 + 0j, 0.02 + 0j, np.array([0.001, 1.0]), 1.0)
    assert (near, far) == (np.pi, 0.0)


def test_links_of_no_length_turn_by_nothing():
    assert two_link_angle(0j, 0j, np.array([0.0, 0.1]), 1.0).tolist() == [0.0, 0.0]
