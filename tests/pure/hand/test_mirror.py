"""The mirror: the other hand, in which nothing but left and right has changed."""

from dataclasses import fields

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.hand import kinematics, mirror, proportions
from knuckle.hand import rotations as rot
from knuckle.hand.joints import SIDES, Side
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import HandModel, Site
from knuckle.hand.targets import Targets

Floats = NDArray[np.float64]
M = np.diag([-1.0, 1.0, 1.0])


def built(side: Side) -> HandModel:
    return proportions.build(proportions.adult(side)).with_sites((Site("beside", 7, (0.01, 0.02, 0.003)),))


def motion(hand: HandModel, frames: int) -> Pose:
    rng = np.random.default_rng(3)
    roots = np.tile(np.eye(4), (frames, 1, 1))
    turns = rng.normal(size=(frames, 4))
    roots[:, :3, :3] = rot.to_matrix(turns / np.linalg.norm(turns, axis=1, keepdims=True))
    roots[:, :3, 3] = rng.normal(size=(frames, 3))
    low, high = hand.limits.T
    return Pose(hand, roots, low + rng.random((frames, hand.dofs)) * (high - low))


@pytest.mark.parametrize("side", SIDES)
def test_the_mirrored_hand_is_the_other_hand_of_the_same_measures(side: Side) -> None:
    seen = mirror.model(proportions.build(proportions.adult(side)))
    truth = proportions.build(proportions.adult(mirror.other_side(side)))
    assert (seen.side, seen.joints, seen.movements) == (truth.side, truth.joints, truth.movements)
    for name in ("rest", "axes", "limits", "neutral"):
        assert np.abs(getattr(seen, name) - getattr(truth, name)).max() < 1e-12, name
    assert [site.name for site in seen.sites] == [site.name for site in truth.sites]


@pytest.mark.parametrize("side", SIDES)
def test_every_joint_and_site_is_where_the_mirror_shows_it(side: Side) -> None:
    hand = built(side)
    pose, seen = motion(hand, 20), mirror.model(hand)
    mirrored = mirror.pose(pose, seen)
    frames, theirs = kinematics.joint_frames(hand, pose), kinematics.joint_frames(seen, mirrored)
    assert np.abs(theirs[..., :3, 3] - frames[..., :3, 3] @ M).max() < 1e-12
    assert np.abs(theirs[..., :3, :3] - M @ frames[..., :3, :3] @ M).max() < 1e-12
    places, others = kinematics.site_positions(hand, frames), kinematics.site_positions(seen, theirs)
    assert np.abs(others - places @ M).max() < 1e-12


def asked(hand: HandModel, pose: Pose) -> Targets:
    """Places, turns and velocities of three joints, by differences between frames."""
    rows = np.array([0, 7, 12])
    frames = kinematics.joint_frames(hand, pose)[:, rows]
    step, places, turns = 1e-6, frames[..., :3, 3], frames[..., :3, :3]
    moved = motion(hand, len(pose))
    later = Pose(hand, pose.root, pose.angles + step * (moved.angles - 0.1))
    then = kinematics.joint_frames(hand, later)[:, rows]
    spins = (then[..., :3, :3] @ np.swapaxes(turns, -1, -2) - np.eye(3)) / step
    axes = np.stack([spins[..., 2, 1], spins[..., 0, 2], spins[..., 1, 0]], axis=-1)
    weights = np.ones(places.shape[:2])
    return Targets(
        np.arange(float(len(pose))),
        rows,
        places,
        weights,
        rot.from_matrix(turns),
        weights,
        (then[..., :3, 3] - places) / step,
        axes,
    )


def test_targets_of_all_kinds_are_those_that_the_mirrored_motion_has() -> None:
    hand = built("right")
    pose, seen = motion(hand, 8), mirror.model(hand)
    truth = asked(seen, mirror.pose(pose, seen))
    mirrored = mirror.targets(asked(hand, pose))
    for name in ("positions", "velocities", "angular_velocities"):
        assert np.abs(getattr(mirrored, name) - getattr(truth, name)).max() < 1e-6, name
    assert mirrored.rotations is not None and truth.rotations is not None
    assert np.abs(rot.to_matrix(mirrored.rotations) - rot.to_matrix(truth.rotations)).max() < 1e-12


def test_mirrored_twice_all_is_as_it_was() -> None:
    hand = built("left")
    pose, seen = motion(hand, 4), mirror.model(hand)
    again = mirror.model(seen)
    assert again.side == hand.side and again.sites == hand.sites
    for name in ("rest", "axes", "limits"):
        assert np.array_equal(getattr(again, name), getattr(hand, name))
    assert np.array_equal(mirror.pose(mirror.pose(pose, seen), again).root, pose.root)
    once = asked(hand, pose)
    twice = mirror.targets(mirror.targets(once))
    for field in fields(Targets):
        assert np.array_equal(getattr(twice, field.name), getattr(once, field.name)), field.name
