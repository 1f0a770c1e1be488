"""The palm from three markers, from two and from fewer."""

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knuckle.hand import rotations
from knuckle.hand.joints import KNUCKLES
from knuckle.hand.targets import Targets
from knuckle.solvers.cga.generated import Vector
from knuckle.solvers.cga.nearest_points import nearest_on_circle
from knuckle.solvers.cga.objects import subtract
from knuckle.solvers.conformal import Cga
from knuckle.solvers.conformal.cga_palm import ConformalPalmFactory
from knuckle.solvers.conformal.sphere_intersection import intersect_spheres
from knuckle.solvers.conformal.three_marker_palm import palm_plane
from knuckle.solvers.planar.palm_pose import palm_markers
from knuckle.solvers.solver import State

from ..hands import EIGHT, HANDS, poses, sides, targets_at

few = settings(deadline=None, max_examples=25)
PQR = (KNUCKLES[0], KNUCKLES[3], "wrist")
"""The paper's markers: p and q on knuckles, r on the wrist."""
HAND = HANDS["right"]


def palm(share=0.1, names=PQR):
    return ConformalPalmFactory(share)(HAND, [HAND.site_index(name) for name in names])


def moves(seed, count=200):
    """Rigid moves (N, 4, 4) all over the world."""
    random = np.random.default_rng(seed)
    q = random.normal(size=(count, 4))
    move = np.tile(np.eye(4), (count, 1, 1))
    move[:, :3, :3] = rotations.to_matrix(q / np.linalg.norm(q, axis=1, keepdims=True))
    move[:, :3, 3] = random.uniform(-2, 2, (count, 3))
    return move


def seen(found, move, noise=0.0, seed=0):
    """What of the palm's markers is seen when the hand is moved so."""
    here = found.palm.rest_positions
    positions = np.einsum("fij,nj->fni", move[:, :3, :3], here) + move[:, None, :3, 3]
    positions = positions + np.random.default_rng(seed).normal(0, noise, positions.shape)
    count = len(move)
    return Targets(np.arange(count) / 100, np.arange(len(here)), positions, np.ones((count, len(here))))


def test_three_markers_tell_where_the_palm_is():
    found, move = palm(), moves(1)
    assert np.abs(found.roots(seen(found, move), np.eye(4)) - move).max() < 1e-9


def test_joints_of_the_palm_are_found_where_it_has_them():
    """Each from two of the markers, their spheres and the palm's plane."""
    found = palm()
    assert len(found.three_markers.joints) == 3
    markers = tuple(Vector(*place) for place in found.palm.rest_points)
    plane, reported = palm_plane(*markers)
    assert reported
    assert (
        np.abs(np.array(found.three_markers.find_joints(markers, plane)) - found.three_markers.rest_points[3:]).max()
        < 1e-12
    )


def test_one_frame_is_solved_as_many_are():
    found = palm()
    targets = seen(found, moves(2), noise=0.003)
    roots = found.roots(targets, np.eye(4))
    for frame in range(len(targets)):
        alone = found.roots(targets.select(slice(frame, frame + 1)), np.eye(4))
        assert np.abs(alone[0] - roots[frame]).max() < 1e-9


def test_markers_alone_lay_the_palm_by_least_squares():
    """Of three markers the plane and the turn in it are the least squares' (Kabsch's)."""
    found, move = palm(share=0.0), moves(3)
    targets = seen(found, move, noise=0.003)
    expected = rotations.fit_rigid(
        np.broadcast_to(found.palm.rest_positions, targets.positions.shape), targets.positions, targets.weights
    )
    assert np.abs(found.roots(targets, np.eye(4)) - expected).max() < 1e-9


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_joints_found_from_the_markers_move_a_noisy_palm_by_little(share):
    """By less than the noise itself."""
    found, plain, move = palm(share), palm(0.0), moves(4)
    targets = seen(found, move, noise=0.001)
    apart = found.roots(targets, np.eye(4))[:, :3, 3] - plain.roots(targets, np.eye(4))[:, :3, 3]
    assert np.linalg.norm(apart, axis=1).mean() < 0.001


@pytest.mark.parametrize("positions", [np.zeros((1, 3, 3)), np.array([[[0.0, 0, 0], [0.03, 0, 0], [0.09, 0, 0]]])])
def test_markers_seen_in_one_place_or_in_a_line_leave_a_palm_that_is_rigid(positions):
    found = palm()
    targets = replace(seen(found, np.eye(4)[None]), positions=positions)
    for wanted in (targets, replace(seen(found, moves(5, 4)), positions=np.repeat(positions, 4, axis=0))):
        with np.errstate(all="raise"):
            root = found.roots(wanted, np.eye(4))
        assert np.abs(root[:, :3, :3] @ np.swapaxes(root[:, :3, :3], 1, 2) - np.eye(3)).max() < 1e-9


def test_three_places_in_a_line_or_two_in_one_tell_no_plane():
    a, b, c = Vector(0.0, 0.0, 0.0), Vector(0.05, 0.0, 0.0), Vector(0.09, 0.0, 0.0)
    for places in ((a, b, c), (a, a, b), (a, b, b), (a, a, a)):
        plane, reported = palm_plane(*places)
        assert not reported
        assert np.isfinite(np.array(plane)).all()


def lost(targets, frames, marks):
    """The same targets, some markers lost in some frames."""
    weights = targets.weights.copy()
    weights[np.ix_(frames, marks)] = 0.0
    return replace(targets, weights=weights)


@pytest.mark.parametrize("mark", [0, 1, 2])
def test_two_markers_turn_the_palm_about_their_line_as_little_as_they_may(mark):
    """Both are met, and of all turns about their line it is that in which the third place moves least beside them."""
    found, last = palm(), moves(6, 40)
    random = np.random.default_rng(7)
    for before in last:
        nudge = rotations.to_matrix(rotations.from_axis_angle([0.0, 0.6, 0.8], random.uniform(0.1, 1.0)))
        move = before.copy()
        move[:3, :3] = nudge @ before[:3, :3]
        move[:3, 3] += random.normal(0, 0.1, 3)
        targets = lost(seen(found, move[None]), [0], [mark])
        root = found.roots(targets, before)[0]
        two = [m for m in range(3) if m != mark]
        at = found.palm.rest_positions[two]
        goal = targets.positions[0, two]
        assert np.abs(at @ root[:3, :3].T + root[:3, 3] - goal).max() < 1e-9
        line = (at[1] - at[0]) / np.linalg.norm(at[1] - at[0])
        third = max(found.joints, key=lambda joint: np.linalg.norm(np.cross(line, joint - at[0])))
        gone = goal.mean(0) - (before[:3, :3] @ at.mean(0) + before[:3, 3])
        was = before[:3, :3] @ third + before[:3, 3] + gone
        turns = rotations.to_matrix(
            rotations.from_axis_angle(np.broadcast_to(line, (720, 3)), np.linspace(0, 2 * np.pi, 720))
        )
        arms = np.einsum("ij,kjl,l->ki", root[:3, :3], turns, np.array(third) - at[0]) + goal[0]
        away = np.linalg.norm(arms - was, axis=1)
        assert away[0] < away.min() + 1e-9


def test_two_markers_at_other_lengths_than_the_palms_leave_it_rigid_between_them():
    """Along their line it misses the one by as much as the other."""
    found = palm()
    for stretch in (0.3, 0.9, 1.1, 3.0):
        targets = lost(seen(found, moves(13, 1)), [0], [2])
        targets = replace(targets, positions=targets.positions * stretch)
        root = found.roots(targets, np.eye(4))[0]
        assert np.abs(root[:3, :3] @ root[:3, :3].T - np.eye(3)).max() < 1e-9
        off = found.palm.rest_positions[:2] @ root[:3, :3].T + root[:3, 3] - targets.positions[0, :2]
        assert np.abs(off.sum(0)).max() < 1e-9
        assert np.abs(np.cross(off[0], targets.positions[0, 1] - targets.positions[0, 0])).max() < 1e-9


def test_two_markers_in_one_place_keep_the_last_turn():
    found, before = palm(), moves(8, 1)[0]
    targets = lost(seen(found, before[None]), [0], [2])
    targets = replace(targets, positions=np.zeros((1, 3, 3)))
    assert np.abs(found.roots(targets, before)[0, :3, :3] - before[:3, :3]).max() < 1e-12


def test_one_marker_keeps_the_last_turn_and_takes_the_palm_along():
    found, (before, after) = palm(), moves(9, 2)
    targets = lost(seen(found, after[None]), [0], [0, 2])
    root = found.roots(targets, before)[0]
    assert np.abs(root[:3, :3] - before[:3, :3]).max() < 1e-12
    assert np.abs(root[:3, :3] @ found.palm.rest_positions[1] + root[:3, 3] - targets.positions[0, 1]).max() < 1e-12


def test_no_marker_keeps_the_palm():
    found, before = palm(), moves(10, 1)[0]
    nothing = lost(seen(found, moves(11, 3)), [0, 1, 2], [0, 1, 2])
    assert np.array_equal(found.roots(nothing, before), np.repeat(before[None], 3, axis=0))
    bare = ConformalPalmFactory(0.1)(HAND, [])
    none = Targets(np.zeros(2), np.zeros(0, int), np.zeros((2, 0, 3)), np.zeros((2, 0)))
    assert np.array_equal(bare.roots(none, before), before[None])


@few
@given(data=st.data(), side=sides, seed=st.integers(0, 99), cut=st.integers(1, 7))
def test_palms_of_which_little_is_seen_come_out_the_same_in_pieces(data, side, seed, cut):
    """Whatever of the eight markers is lost, frame by frame too."""
    hand = HANDS[side]
    targets = targets_at(hand, data.draw(poses(hand, 8)), EIGHT)
    gone = np.random.default_rng(seed).random(targets.weights.shape) < 0.5
    targets = replace(targets, weights=np.where(gone, 0.0, targets.weights))
    whole, _ = Cga().solve(hand, targets)
    first, after = Cga().solve(hand, targets.select(slice(0, cut)))
    second, _ = Cga().solve(hand, targets.select(slice(cut, 8)), after)
    assert np.abs(np.concatenate([first.root, second.root]) - whole.root).max() < 1e-9
    assert np.abs(np.concatenate([first.angles, second.angles]) - whole.angles).max() < 1e-9
    state: State = State(np.eye(4), hand.neutral)
    for frame in range(8):
        pose, state = Cga().solve(hand, targets.select(slice(frame, frame + 1)), state)
        assert np.abs(pose.root[0] - whole.root[frame]).max() < 1e-9


def test_more_markers_than_three_lay_the_palm_by_least_squares():
    names = ("wrist", *KNUCKLES)
    found = palm(names=names)
    targets = seen(found, moves(12), noise=0.002)
    plain = palm_markers(HAND, [HAND.site_index(name) for name in names])
    assert np.array_equal(found.roots(targets, np.eye(4)), plain.roots(targets, np.eye(4)))


def test_the_order_of_the_markers_does_not_matter():
    """However far off they are: p, q and r are whichever three there are."""
    move = moves(14)
    targets = seen(palm(), move, noise=0.02)
    expected = palm().roots(targets, np.eye(4))
    for order in permutations(range(3)):
        found = palm(names=tuple(PQR[mark] for mark in order))
        again = replace(targets, positions=targets.positions[:, order])
        assert np.abs(found.roots(again, np.eye(4)) - expected).max() < 1e-9


def test_takes_with_markers_lost_come_out_as_frame_by_frame():
    """Each root from the one before it, whichever of five markers are seen, at times nearly in one place."""
    found = palm(names=("wrist", *KNUCKLES))
    random = np.random.default_rng(15)
    targets = seen(found, moves(15, 300), noise=0.002)
    weights = np.where(
        random.random(targets.weights.shape) < 0.65, 0.0, random.uniform(0.5, 2.0, targets.weights.shape)
    )
    positions = targets.positions.copy()
    positions[::7] *= 1e-3
    targets = replace(targets, positions=positions, weights=weights)
    roots, before = found.roots(targets, np.eye(4)), np.eye(4)
    for frame, root in enumerate(roots):
        before = found.roots(targets.select(slice(frame, frame + 1)), before)[0]
        assert np.abs(before - root).max() < 1e-9


def test_a_marker_hidden_in_many_frames_leaves_the_turn_that_the_circle_of_its_neighbours_gives():
    """The algebra's own circle about the two, and on it the place nearest to the one before."""
    found, move = palm(), moves(16, 30)
    targets = lost(seen(found, move), range(30), [1])
    one, other = (Vector(*found.palm.rest_points[mark]) for mark in (0, 2))
    arms = [np.linalg.norm(np.cross(subtract(other, one), np.subtract(joint, one))) for joint in found.joints]
    third = found.joints[int(np.argmax(arms))]
    lengths = math.dist(third, one), math.dist(third, other)
    before = np.eye(4)
    for position, root in zip(targets.positions, found.roots(targets, before), strict=True):
        circle, _ = intersect_spheres((Vector(*position[0]), Vector(*position[2])), lengths)
        gone = position[[0, 2]].mean(0) - (before[:3, :3] @ found.palm.rest_positions[[0, 2]].mean(0) + before[:3, 3])
        was = Vector(*(before[:3, :3] @ third + before[:3, 3] + gone))
        assert root[:3, :3] @ third + root[:3, 3] == pytest.approx(nearest_on_circle(circle, was), abs=1e-9)
        before = root
