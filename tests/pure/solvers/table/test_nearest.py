"""The nearest pose within limits, held against trying poses all over the limits."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from knuckle.solvers.planar.planar_chain import ChainMarker
from knuckle.solvers.table.linkage import linkage, tip
from knuckle.solvers.table.nearest_bend import TIE_TOLERANCE, limit_faces, nearest

from .chains import CHAINS, FINGER, chains, coupled, grid, up_to_tip

few = settings(max_examples=40, deadline=None)
POSES = {name: grid(chain, 61) for name, chain in CHAINS.items()}
PLACES = {name: tip(up_to_tip(chain).links, POSES[name]) for name, chain in CHAINS.items()}
DENSEST = 0.0012
"""m: no point of the reach is farther from one of these places than a grid's step moves the tip."""


@few
@given(name=chains, u=st.floats(-0.15, 0.15), v=st.floats(-0.15, 0.15))
def test_no_pose_within_the_limits_is_nearer(name, u, v):
    links = up_to_tip(CHAINS[name])
    goal = complex(u, v)
    found = nearest(limit_faces(links), np.array([goal]))
    assert (found >= links.limits[:, 0]).all()
    assert (found <= links.limits[:, 1]).all()
    apart = abs(tip(links.links, found)[0] - goal)
    tried = np.abs(PLACES[name] - goal).min()
    assert apart <= tried + 1e-9
    assert apart >= tried - 3 * DENSEST


@few
@example(name="finger", shares=(0.0, 0.0, 2.0**-8))
@given(name=chains, shares=st.tuples(*[st.floats(0, 1)] * 3))
def test_whatever_can_be_reached_is_reached(name, shares):
    """Nearly straight digits too: where the last joint could follow the middle one for 88 nm, it must not."""
    chain, links = CHAINS[name], up_to_tip(CHAINS[name])
    goal = tip(links.links, chain.limits[:, 0] + np.array(shares) * np.ptp(chain.limits, axis=1))
    found = nearest(limit_faces(links), goal[None])
    assert np.abs(tip(links.links, found) - goal) < 2 * TIE_TOLERANCE


@pytest.mark.parametrize("bone", [0, 1])
@pytest.mark.parametrize("goal", [0.02 + 0.03j, -0.05 - 0.01j, 0.2j, 0j])
def test_shorter_chains_are_brought_as_near_as_they_get(bone, goal):
    links = linkage(FINGER, ChainMarker(bone, float(FINGER.lengths[bone]), 0.003), np.zeros(3))
    found = nearest(limit_faces(links), np.array([goal]))
    first_two = [np.linspace(low, high, 400) for low, high in FINGER.limits[:2]]
    tried = tip(links.links, coupled(FINGER, *(each.ravel() for each in np.meshgrid(*first_two))))
    assert np.abs(tip(links.links, found) - goal)[0] <= np.abs(tried - goal).min() + 1e-9


@pytest.mark.parametrize("lengths", [(0.0, 0.0, 0.0), (0.04, 0.0, 0.0), (0.0, 0.02, 0.02)])
def test_bones_of_no_length_give_finite_poses_within_limits(lengths):
    chain = type(FINGER)(np.array(lengths), FINGER.limits, FINGER.ratio, FINGER.coupling_offset)
    links = up_to_tip(chain)
    found = nearest(limit_faces(links), np.array([0.0, 0.03 + 0.01j, -0.5]))
    assert np.isfinite(found).all()
    assert (found >= links.limits[:, 0]).all()
    assert (found <= links.limits[:, 1]).all()
