"""One digit's table: what it reaches, how it couples, and how it tells forwards from backwards."""

import numpy as np
import pytest
from hypothesis import given, settings

from knuckle.solvers.planar.dip_offset import OFFSET_PENALTY_M
from knuckle.solvers.planar.planar_chain import ChainMarker, MarkerHint
from knuckle.solvers.table.linkage import linkage, straight_tip, tip, two_link_angle
from knuckle.solvers.table.table_bend import planar_table
from knuckle.solvers.table.uniform_table import build

from .chains import BACKWARDS, CHAINS, FINGER, chains, coupled, grid, shares, up_to_tip

few = settings(max_examples=50, deadline=None)


def table_of(chain, radii=(0.0, 0.0, 0.0), bone=2):
    return planar_table(chain, ChainMarker(bone, float(chain.lengths[bone])), np.array(radii))


TABLES = {name: table_of(chain) for name, chain in CHAINS.items()}


def many(table, goals, hints=()):
    goals = np.atleast_1d(goals)
    *flexions, error = table.bend_frames(goals.real.copy(), goals.imag.copy(), list(hints))
    return np.stack(flexions, -1), error


def seen_at(chain, rider, flexions):
    places = tip(linkage(chain, rider, np.zeros(3)).links, flexions)
    return MarkerHint(rider, places.real, places.imag, np.ones(len(places)))


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_every_coupled_pose_that_bends_forwards_is_found_again(name):
    chain, table = CHAINS[name], TABLES[name]
    peak = build(up_to_tip(chain)).forwards.bends[0]
    middle = np.linspace(peak, chain.limits[1, 1], 20001)
    truth = coupled(chain, np.linspace(chain.limits[0, 0], chain.limits[0, 1], 20001), middle)
    found, error = many(table, tip(table.linkage.links, truth))
    missed = np.abs(tip(table.linkage.links, found) - tip(table.linkage.links, truth)).max()
    assert missed < 1e-9, f"{missed:.1e} m > 1e-9 m"
    assert error.max() < 1e-9
    # Straight fingers lose digits: the tip moves by the square of the bend.
    bent = middle > peak + 0.01
    assert np.abs(found - truth)[bent].max() < 1e-8


@few
@given(name=chains, first=shares, middle=shares)
def test_one_frame_is_solved_as_many_are(name, first, middle):
    chain, table = CHAINS[name], TABLES[name]
    share = np.array([first, middle])
    truth = coupled(chain, *(chain.limits[:2, 0] + share * np.ptp(chain.limits[:2], axis=1)))
    goal = tip(table.linkage.links, truth)
    one = table.bend_frame(goal.real, goal.imag, [])
    flexions, error = many(table, goal)
    assert np.abs(np.array(one) - [*flexions[0], error[0]]).max() < 1e-9


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_goals_anywhere_are_met_as_nearly_as_the_limits_let(name):
    chain, table = CHAINS[name], TABLES[name]
    rng = np.random.default_rng(7)
    goals = rng.uniform(-0.15, 0.15, (200, 2)) @ [1, 1j]
    found, error = many(table, goals)
    assert (found >= chain.limits[:, 0]).all()
    assert (found <= chain.limits[:, 1]).all()
    places = tip(table.linkage.links, found)
    assert np.abs(np.abs(places - goals) - error).max() < 1e-8
    tried = tip(table.linkage.links, grid(chain, 31))
    assert (error <= np.abs(tried[:, None] - goals).min(0) + 1e-7).all()


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_the_lookup_agrees_with_trying_every_bend(name):
    """The thesis's own way, with 1/500 of a degree: the nearest entry of a list of distances."""
    chain, table = CHAINS[name], TABLES[name]
    peak = build(table.linkage).forwards.bends[0]
    tried = np.arange(peak, chain.limits[1, 1], np.deg2rad(0.002))
    last = table.linkage.coupled_flexion(tried)
    distances = np.abs(straight_tip(table.linkage.links, tried, last))
    rng = np.random.default_rng(3)
    asked = rng.uniform(distances[-1], distances[0] * 0.999, 300)
    nearest_entry = tried[np.abs(distances[:, None] - asked).argmin(0)]
    found, _ = many(table, asked * np.exp(0.9j))
    free = np.abs(found[:, 2] - table.linkage.coupled_flexion(found[:, 1])) < 1e-9
    assert free.sum() > 150
    off = np.rad2deg(np.abs(found[free, 1] - nearest_entry[free]).max())
    assert off < 0.01, f"{off:.4f} degrees > 0.01"


def test_with_joint_radii_the_farthest_reach_is_bent_and_both_sides_of_it_are_tabled():
    table = build(up_to_tip(FINGER, (0.0, 0.009, 0.007)))
    assert np.deg2rad(3) < table.forwards.bends[0] < np.deg2rad(40)
    assert table.farthest > FINGER.lengths.sum()
    assert not table.backwards.empty
    assert abs(table.backwards.bends[-1] - FINGER.limits[1, 0]) < 1e-9
    assert abs(table.forwards.bends[-1] - FINGER.limits[1, 1]) < 1e-9


def test_a_finger_bent_backwards_is_told_by_its_inner_joint():
    truth = np.array([[0.2, -0.3, -0.2], [0.2, 0.3, 0.2]])
    table = TABLES["backwards"]
    goals = tip(table.linkage.links, truth)
    for riders in ([ChainMarker(0, 0.0398)], [ChainMarker(0, 0.0398), ChainMarker(1, 0.0224)]):
        found, error = many(table, goals, [seen_at(BACKWARDS, rider, truth) for rider in riders])
        assert error.max() < 1e-9
        assert (np.sign(found[:, 1]) == [-1, 1]).all()
        off = np.rad2deg(np.abs(found - truth).max())
        assert off < (1e-6 if len(riders) == 2 else 1.5), f"{off:.3f} degrees"


def test_a_finger_bent_backwards_is_told_by_what_its_knuckle_can_do():
    """At a knuckle's lower limit only a finger that is bent backwards gets its tip so high."""
    truth = coupled(BACKWARDS, BACKWARDS.limits[0, 0] + 0.02, np.array([-0.15]))
    table = TABLES["backwards"]
    found, error = many(table, tip(table.linkage.links, truth))
    assert error.max() < 1e-9
    assert np.abs(found - truth).max() < 1e-6


def test_both_inner_joints_tell_a_last_joint_that_does_not_follow():
    rng = np.random.default_rng(5)
    low, high = FINGER.limits.T
    truth = rng.uniform(low, high, (300, 3))
    table = TABLES["finger"]
    hints = [seen_at(FINGER, ChainMarker(bone, float(FINGER.lengths[bone])), truth) for bone in (0, 1)]
    found, error = many(table, tip(table.linkage.links, truth), hints)
    assert error.max() < 1e-8
    assert np.abs(found - truth).max() < 1e-6


def test_one_inner_joint_is_heeded_as_well_as_any_bend_of_the_last_joint_could():
    """Against trying them all: misplaced by as little as the price of leaving the coupling lets it."""
    rng = np.random.default_rng(6)
    table, rider = TABLES["finger"], ChainMarker(0, float(FINGER.lengths[0]))
    for truth in rng.uniform(FINGER.limits[:, 0], FINGER.limits[:, 1], (30, 3)):
        goal = tip(table.linkage.links, truth)
        hint = seen_at(FINGER, rider, truth[None])

        def price(flexions, seen=hint):
            apart = np.abs(FINGER.lengths[0] * np.exp(1j * flexions[..., 0]) - seen.u - 1j * seen.v)
            return apart**2 + (OFFSET_PENALTY_M * table.linkage.coupling_deviation(flexions)) ** 2

        found, error = many(table, goal, [hint])
        assert error.max() < 1e-8
        last = np.linspace(FINGER.limits[2, 0], FINGER.limits[2, 1], 4000)
        outer = table.linkage.links[1] + table.linkage.links[2] * np.exp(1j * last)
        middle = two_link_angle(table.linkage.links[0], outer, np.full(4000, abs(goal)), 1.0)
        first = np.angle(goal) - np.angle(table.linkage.links[0] + outer * np.exp(1j * middle))
        tried = np.stack([first, middle, last], -1)
        within = ((tried >= FINGER.limits[:, 0]) & (tried <= FINGER.limits[:, 1])).all(1)
        off = np.abs(tip(table.linkage.links, tried) - goal) < 1e-9
        best = price(tried[within & off]).min()
        assert price(found)[0] < best + 0.001**2, (
            f"{1000 * np.sqrt(price(found)[0]):.2f} mm, {1000 * np.sqrt(best):.2f} mm"
        )


def test_a_rider_before_the_tip_leaves_the_rest_to_the_coupling():
    truth = coupled(FINGER, 0.4, np.array([0.2, 0.9, 1.6]))
    middle = table_of(FINGER, bone=1)
    found, _ = many(middle, tip(middle.linkage.links, truth))
    assert np.abs(found - truth).max() < 1e-7
    first = table_of(FINGER, bone=0)
    found, _ = many(first, tip(first.linkage.links, truth))
    assert np.abs(found[:, 0] - 0.4).max() < 1e-12
    assert np.isnan(found[:, 1:]).all()


@pytest.mark.parametrize("goal", [0j, 1e-320 + 0j, 1e3 + 1e3j, -0.0859 + 0j])
def test_odd_goals_give_finite_poses_within_limits(goal):
    for name, table in TABLES.items():
        found, error = many(table, goal)
        assert np.isfinite(found).all()
        assert np.isfinite(error).all()
        assert (found >= CHAINS[name].limits[:, 0]).all()
        assert (found <= CHAINS[name].limits[:, 1]).all()


@pytest.mark.parametrize("lengths", [(0.0, 0.0, 0.0), (0.04, 0.0, 0.0), (0.0, 0.02, 0.02), (0.04, 0.02, 0.0)])
def test_bones_of_no_length_give_finite_poses(lengths):
    chain = type(FINGER)(np.array(lengths), FINGER.limits, FINGER.ratio, FINGER.coupling_offset)
    found, _ = many(table_of(chain), np.array([0j, 0.03 + 0.01j, -0.5 + 0j]))
    assert np.isfinite(found).all()


def test_no_frames_give_no_poses():
    found, error = many(TABLES["finger"], np.zeros(0, complex))
    assert found.shape == (0, 3)
    assert error.shape == (0,)


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_whatever_the_lookup_of_one_frame_finds_is_a_pose_within_limits_that_meets_the_goal(name):
    """Of goals all over the plane, on both sides of where the coupling ends and of the farthest reach."""
    chain, table = CHAINS[name], TABLES[name]
    rng = np.random.default_rng(4)
    low, high = chain.limits.T
    poses = coupled(chain, rng.uniform(low[0], high[0], 1500), rng.uniform(low[1], high[1], 1500))
    ends = np.concatenate([low + rng.uniform(size=(500, 3)) * (high - low), poses])
    goals = tip(table.linkage.links, ends) + 0.0005 * rng.normal(size=(len(ends), 2)) @ [1, 1j]
    found = [table.scalar.read(goal.real, goal.imag) for goal in goals]
    read = np.array([row is not None for row in found])
    assert read.mean() > 0.3
    flexions = np.array([row for row in found if row is not None])
    angles, error = flexions[:, :3], flexions[:, 3]
    assert (angles >= low - 1e-12).all() and (angles <= high + 1e-12).all()
    np.testing.assert_allclose(angles[:, 2], coupled(chain, *angles[:, :2].T)[:, 2], atol=1e-6)
    missed = np.abs(tip(table.linkage.links, angles) - goals[read])
    np.testing.assert_allclose(missed, error, atol=2e-7)
