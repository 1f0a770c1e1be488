"""Bones that point as the markers on their ends do: by markers whose distances change, scipy, and laws."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import least_squares

from knuckle import solvers
from knuckle.hand import kinematics
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, JOINTS
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import Site
from knuckle.hand.proportions import adult, build
from knuckle.hand.targets import Targets
from knuckle.pipeline.retarget import (
    RestHand,
    RetargetMode,
    build_character,
    observed_directions,
    retarget,
    retarget_figures,
    with_solved_directions,
)
from knuckle.pipeline.retarget.bone_directions import (
    BLEND_SECONDS,
    CHAINS,
    DIRECTION_LENGTH,
    LAST_BONE_WEIGHT,
    WEIGHTS,
    follow_directions,
    pose_directions,
)
from knuckle.solvers.solver import limit_excess

EDGE = 0.05
"""The part of each range that performances stay away from its ends."""


def performance(side, frames=40, seed=0, rate=60.0):
    """A hand that moves evenly through poses within its limits, somewhere in the world, and its times."""
    hand = build(adult(side))
    rng = np.random.default_rng(seed)
    low, high = hand.limits.T
    knots = rng.uniform(EDGE, 1 - EDGE, (4, hand.dofs))
    at = np.linspace(0, 3, frames)
    share = np.stack([np.interp(at, range(4), column) for column in knots.T], axis=1)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    root = np.tile(np.eye(4), (frames, 1, 1))
    root[:, :3, :3], root[:, :3, 3] = turn * np.sign(np.linalg.det(turn)), rng.normal(size=3)
    return Pose(hand, root, low + share * (high - low)), np.arange(frames) / rate


def stretched(pose, times, by, seed=0):
    """Markers in all joints, each bone of a digit in each frame longer or shorter by up to the part `by`."""
    rng = np.random.default_rng(seed)
    frames = kinematics.joint_frames(pose.hand, pose)
    places = frames[..., :3, 3].copy()
    for chain in CHAINS:
        for joint, following in pairwise(chain):
            bone = np.linalg.norm(frames[0, following, :3, 3] - frames[0, joint, :3, 3])
            lengths = bone * (1 + rng.uniform(-by, by, (len(pose), 1)))
            places[:, following] = places[:, joint] + lengths * frames[:, joint, :3, 1]
    return Targets(times, np.arange(len(JOINTS)), places, np.ones(places.shape[:2]))


def solved(hand, targets):
    return solvers.make("fabrik", {}).solve(hand, targets, None)[0]


def degrees(one, other):
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(one, other), axis=-1), (one * other).sum(-1)))


def following(pose, targets):
    return follow_directions(pose, pose.hand.limits, targets, observed_directions(pose, targets))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("seed", range(2))
def test_bones_whose_markers_change_their_distances_point_as_they_do(side, seed):
    truth, times = performance(side, seed=seed)
    targets = stretched(truth, times, 0.15, seed)
    plain = solved(truth.hand, targets)
    off = degrees(pose_directions(following(plain, targets)), pose_directions(truth))
    lost = degrees(pose_directions(plain), pose_directions(truth))
    assert lost.max() > 10
    assert off.max() < 3, f"{off.max():.2f} > 3 degrees"
    assert off[:, :, 2].max() < 1.5, f"{off[:, :, 2].max():.2f} > 1.5 degrees"
    assert off.mean() < 0.1 * lost.mean()


def test_a_thumb_that_bends_aside_at_its_mcp_is_followed():
    """The planar solvers bend an MCP aside only where the digit's plane does not reach the tip."""
    hand = build(adult("right"))
    angles = np.tile(hand.neutral, (1, 1))
    angles[0, hand.dof("thumb-phalanx-proximal", "abduction")] = np.radians(12.0)
    angles[0, hand.dof("thumb-phalanx-proximal", "flexion")] = np.radians(30.0)
    angles[0, hand.dof("thumb-phalanx-distal", "flexion")] = np.radians(50.0)
    truth = Pose(hand, np.eye(4)[None], angles)
    targets = stretched(truth, np.zeros(1), 0.0)
    found = following(solved(hand, targets), targets)
    assert degrees(pose_directions(found), pose_directions(truth))[0, 0].max() < 1


@pytest.mark.parametrize("seed", range(2))
def test_what_is_found_is_the_least_of_its_formula(seed):
    truth, times = performance("right", frames=3, seed=seed)
    hand = truth.hand
    rng = np.random.default_rng(seed)
    # Markers that no pose has: bones out of the digits' planes, and beyond limits.
    targets = stretched(truth, times, 0.1)
    targets = replace(targets, positions=targets.positions + rng.normal(0, 0.0015, targets.positions.shape))
    plain = solved(hand, targets)
    how = observed_directions(plain, targets)
    found = following(plain, targets)
    low, high = hand.limits.T
    ranges = np.ptp(hand.limits, axis=1)
    ranges[np.array(hand.movements) == "twist"] /= 10.0
    for frame in range(len(plain)):
        for row, digit in enumerate(DIGITS):
            dofs = np.flatnonzero(np.isin(hand.axis_joint, [JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]]))

            def rows(part, frame=frame, row=row, dofs=dofs):
                angles = plain.angles[[frame]].copy()
                angles[0, dofs] = part
                way = pose_directions(Pose(hand, plain.root[[frame]], angles))[0, row] - how.directions[frame, row]
                posture = WEIGHTS.posture * (part - plain.angles[frame, dofs]) / ranges[dofs]
                return np.concatenate(
                    [(DIRECTION_LENGTH * np.sqrt([1, 1, LAST_BONE_WEIGHT])[:, None] * way).ravel(), posture]
                )

            begin = np.clip(found.angles[frame, dofs], low[dofs] + 1e-9, high[dofs] - 1e-9)
            best = least_squares(rows, begin, bounds=(low[dofs], high[dofs]), xtol=1e-14, ftol=1e-14, gtol=1e-14)
            cost = 0.5 * np.sum(rows(found.angles[frame, dofs]) ** 2)
            assert cost <= best.cost * (1 + 1e-4) + 1e-12
    assert limit_excess(hand, found.angles).max() < 1e-9


def test_a_bone_of_which_one_end_is_not_seen_points_as_solved():
    truth, times = performance("right")
    targets = stretched(truth, times, 0.15)
    weights = targets.weights.copy()
    weights[:, [JOINT_INDEX["ring-finger-tip"], *CHAINS[1, :3]]] = 0.0
    targets = replace(targets, weights=weights)
    plain = solved(truth.hand, targets)
    found = following(plain, targets)
    off = degrees(pose_directions(found), pose_directions(plain))
    dofs = np.isin(truth.hand.axis_joint, CHAINS[1])
    assert np.array_equal(found.angles[:, dofs], plain.angles[:, dofs])
    assert off[:, 3, 2].max() < 4 and off[:, 3, :2].max() > 8


def test_nothing_leaps_where_markers_come_and_go():
    truth, times = performance("right", frames=120)
    targets = stretched(truth, times, 0.0)
    # Each bone is as long as another's: so solved bones and ways between markers differ alike in all frames.
    long = build(replace(adult("right"), phalanges=adult("right").phalanges * [1.1, 0.9, 0.9]))
    weights = targets.weights.copy()
    weights[50:70, CHAINS[:, 2]] = 0.0
    plain = solved(long, targets)
    gone = replace(targets, weights=weights)
    how = observed_directions(plain, gone)
    found = pose_directions(follow_directions(plain, long.limits, gone, how))
    assert np.all(how.weights[50:70, :, 1:] == 0) and np.all(how.weights[:, :, 0] == 1)
    assert np.all(how.weights[: 50 - round(60 * BLEND_SECONDS)] == 1)
    steps, smooth = (degrees(ways[1:], ways[:-1]) for ways in (found, pose_directions(following(plain, targets))))
    away = degrees(pose_directions(plain), how.directions)
    assert np.nanmax(away) > 8
    # A fourth of the way in a frame is the steepest that the ease has.
    assert np.max(steps - smooth) < 0.3 * np.nanmax(away)


def test_takes_without_a_frame_a_marker_or_a_length_are_left_as_they_are():
    truth, times = performance("left", frames=5)
    targets = stretched(truth, times, 0.1)
    for some in (targets.select(slice(0, 0)), replace(targets, weights=0 * targets.weights)):
        pose = Pose(truth.hand, truth.root[: len(some)], truth.angles[: len(some)])
        assert np.array_equal(following(pose, some).angles, pose.angles)
    one = replace(targets, positions=np.zeros_like(targets.positions))
    assert np.array_equal(following(truth, one).angles, truth.angles)


def test_a_marker_that_is_nowhere_near_its_bone_does_not_turn_it():
    truth, times = performance("right")
    targets = stretched(truth, times, 0.0)
    away = targets.positions.copy()
    away[20, JOINT_INDEX["middle-finger-phalanx-distal"]] += [0.0, 0.0, 0.08]
    found = following(truth, replace(targets, positions=away))
    assert degrees(pose_directions(found), pose_directions(truth)).max() < 0.01


def test_markers_beside_joints_do_not_tell_how_bones_point():
    truth, times = performance("right", frames=5)
    joint = JOINT_INDEX["index-finger-phalanx-distal"]
    hand = truth.hand.with_sites((Site("nail", joint, (0.0, 0.01, 0.005)),))
    sites = np.array([*CHAINS[1, :2], len(hand.sites) - 1, CHAINS[1, 3]])
    places = kinematics.site_positions(hand, kinematics.joint_frames(hand, truth))[:, sites]
    targets = Targets(times, sites, places, np.ones((5, 4)))
    known = np.isfinite(observed_directions(replace(truth, hand=hand), targets).directions[..., 0])
    assert np.array_equal(np.any(known[:, 1], axis=0), [True, False, False]) and not known[:, [0, 2, 3, 4]].any()


def test_a_finger_without_a_marker_goes_with_those_beside_it():
    truth, times = performance("right")
    targets = stretched(truth, times, 0.1)
    sites = [row for row in range(len(JOINTS)) if not JOINTS[row].startswith("ring")]
    targets = Targets(times, targets.sites[sites], targets.positions[:, sites], targets.weights[:, sites])
    found = following(solved(truth.hand, targets), targets).angles
    flexion = {digit: truth.hand.dof(f"{digit}-phalanx-intermediate", "flexion") for digit in DIGITS[1:]}
    beside = [found[:, flexion[digit]] for digit in ("middle-finger", "pinky-finger")]
    assert np.abs(found[:, flexion["ring-finger"]] - np.mean(beside, axis=0)).max() < 1e-9


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_hand_of_other_proportions_points_as_the_markers_do_and_the_report_says_how_far_not(side):
    truth, times = performance(side)
    targets = stretched(truth, times, 0.15)
    plain = solved(truth.hand, targets)
    usual = adult(side)
    other = replace(usual, phalanges=usual.phalanges * [[1.3], [0.9], [1.1], [1.0], [0.7]]).scaled(2.0)
    places = kinematics.joint_frames(build(other), Pose(build(other), np.eye(4)[None], 0 * truth.angles[:1]))
    of = build_character(truth.hand, RestHand(places[0, :, :3, 3]))
    kept = retarget(plain, of, RetargetMode("directions"), targets)
    off = degrees(pose_directions(kept.pose), pose_directions(truth))
    assert off.max() < 3
    markers = observed_directions(plain, targets)
    figures = retarget_figures(kept, markers)
    for row, digit in enumerate(DIGITS):
        reported = figures["digits"][digit]
        beside = degrees(pose_directions(kept.pose)[:, row], markers.directions[:, row])
        assert reported["direction_off_deg"]["max"] == pytest.approx(beside.max(), abs=1e-3)
        assert reported["tip_direction_off_deg"]["mean"] == pytest.approx(beside[:, 2].mean(), abs=1e-3)
        assert reported["directions_of"] == "markers"
    assert retarget_figures(kept)["left_deg"] == {"mean": None, "max": None}
    # Where fingertips are kept they decide, not how bones point.
    tips = retarget(plain, of, RetargetMode("fingertips"), targets)
    assert np.array_equal(tips.pose.angles, retarget(plain, of, RetargetMode("fingertips")).pose.angles)


def test_where_markers_show_no_bone_it_is_compared_with_the_solved_hands():
    truth, times = performance("right")
    targets = stretched(truth, times, 0.1)
    # A marker on the skin is beside its joint: no bone is between two.
    thumb = [row for row in range(len(JOINTS)) if JOINTS[row].startswith("thumb")]
    shown = Targets(
        times, targets.sites, targets.positions, np.where(np.isin(targets.sites, thumb), 0.0, targets.weights)
    )
    plain = solved(truth.hand, targets)
    compared = with_solved_directions(observed_directions(plain, shown), plain)
    of = build_character(truth.hand, RestHand(kinematics.joint_frames(truth.hand, plain)[0, :, :3, 3]))
    kept = retarget(plain, of, RetargetMode("directions"), shown)
    turned = replace(kept, pose=replace(kept.pose, angles=0 * kept.pose.angles))
    reported = retarget_figures(turned, compared)["digits"]
    beside = degrees(pose_directions(turned.pose)[:, 0], pose_directions(plain)[:, 0])
    assert reported["thumb"]["direction_off_deg"]["max"] == pytest.approx(beside.max(), abs=1e-3)
    assert [reported[digit]["directions_of"] for digit in DIGITS] == ["solved hand", *["markers"] * 4]
