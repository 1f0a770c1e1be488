"""Digits kept apart: pinches that are in themselves come apart smoothly, and nothing else moves."""

import numpy as np
import pytest

from knuckle.hand import kinematics, poses, proportions
from knuckle.hand.flesh import Flesh
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, SIDES, Side
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import HandModel
from knuckle.pipeline.contacts.settling import settle
from knuckle.pipeline.contacts.windows import smoothed, spread
from knuckle.pipeline.evidence.skin_depth import depths
from knuckle.solvers.pose_problem import angles_of
from knuckle.solvers.solver import limit_excess

RATE = 100.0
FRAMES = 160


def pinching(side: Side, *, deeper: float = 11.0, size: float = 0.19) -> Pose:
    """A hand that closes from rest to a pinch in which the index finger is bent through the thumb, and opens again."""
    hand = proportions.build(proportions.adult(side, size))
    closed = poses.angles(hand, "pinch")
    closed[hand.dof("index-finger-phalanx-proximal", "flexion")] += np.deg2rad(deeper)
    share = 0.5 - 0.5 * np.cos(np.linspace(0, 2 * np.pi, FRAMES))[:, None]
    return Pose.at_origin(hand, (1 - share) * hand.neutral + share * closed)


def apart(pose: Pose, flesh: Flesh | None = None, digits: tuple[str, ...] = DIGITS) -> Pose:
    times = np.arange(len(pose)) / RATE
    return run_to_end(settle(pose, times, flesh or Flesh.of(pose.hand), angles_of(pose.hand, digits)))


def tips(pose: Pose) -> np.ndarray:
    at = [JOINT_INDEX[chain[-1]] for chain in CHAIN_JOINTS.values()]
    positions: np.ndarray = 1000 * kinematics.joint_frames(pose.hand, pose)[..., :3, 3][:, at]
    return positions


def deepest(pose: Pose, flesh: Flesh | None = None) -> np.ndarray:
    joints = kinematics.joint_frames(pose.hand, Pose.at_origin(pose.hand, pose.angles))[..., :3, 3]
    deepest_of_frame: np.ndarray = depths(flesh or Flesh.of(pose.hand), joints).max(axis=1)
    return deepest_of_frame


@pytest.mark.parametrize("side", SIDES)
def test_a_pinch_that_is_in_itself_comes_apart(side: Side) -> None:
    pose = pinching(side)
    parted = apart(pose)
    assert deepest(pose).max() > 4.0
    assert deepest(parted).max() < 1.0
    assert limit_excess(pose.hand, parted.angles).max() <= 1e-9
    moved = np.linalg.norm(tips(parted) - tips(pose), axis=-1)
    assert moved.max() < deepest(pose).max() + 1.0, "no digit goes farther than they were in each other"
    assert moved[:, 2:].max() < 0.5, "digits that touch nothing stay where they are"


def test_digits_come_apart_without_a_leap() -> None:
    pose = pinching("right")
    parted = apart(pose)
    before, after = (np.linalg.norm(np.diff(tips(one), 2, axis=0), axis=-1).max() for one in (pose, parted))
    # 4 mm within a window of 0.1 s that begins and ends at rest: 4 · 2π² / (10 frames)² / 2.
    assert after < before + 0.4, "mm/frame²"


def test_frames_that_are_far_from_a_touch_are_the_same_to_the_bit() -> None:
    pose = pinching("right")
    parted = apart(pose)
    touched = np.flatnonzero(deepest(pose) > 0.75)
    far = np.r_[: touched[0] - 61, touched[-1] + 62 : FRAMES] if touched[0] > 61 else np.zeros(0, int)
    calm = Pose.at_origin(pose.hand, np.tile(pose.hand.neutral, (FRAMES, 1)))
    longer = Pose.at_origin(pose.hand, np.concatenate([calm.angles, pose.angles, calm.angles]))
    kept = apart(longer)
    assert (kept.angles[:80] == longer.angles[:80]).all()
    assert (kept.angles[-80:] == longer.angles[-80:]).all()
    assert kept.angles[FRAMES : 2 * FRAMES] == pytest.approx(parted.angles, abs=1e-3)
    assert (parted.angles[far] == pose.angles[far]).all()


@pytest.mark.parametrize("side", SIDES)
def test_hands_that_touch_nothing_are_the_same_to_the_bit(side: Side) -> None:
    hand = proportions.build(proportions.adult(side))
    named = np.stack([poses.angles(hand, name) for name in ("open", "relaxed", "victory")])
    pose = Pose.at_origin(hand, named[np.arange(30) // 10])
    assert (apart(pose).angles == pose.angles).all()


def test_digits_that_are_not_keyed_stay() -> None:
    pose = pinching("right")
    parted = apart(pose, digits=("index-finger",))
    others = np.setdiff1d(np.arange(pose.hand.dofs), angles_of(pose.hand, ("index-finger",)) - 6)
    assert (parted.angles[:, others] == pose.angles[:, others]).all()
    assert deepest(parted).max() < 1.0


def test_thick_digits_are_parted_by_their_own_flesh() -> None:
    """A character whose fingers are half as thick again, in a pinch in which the performer's pads just touch."""
    pose = pinching("right", deeper=0.0)
    thick = Flesh.of(pose.hand, 1.5 * adult_radii(pose.hand))
    assert deepest(pose).max() < 1.0
    assert deepest(pose, thick).max() > 2.5
    assert deepest(apart(pose, thick), thick).max() < 1.0


def adult_radii(hand: HandModel) -> np.ndarray:
    flesh = Flesh.of(hand)
    return np.concatenate([flesh.radii[:15, 0].reshape(5, 3), flesh.radii[2:15:3, 1:]], axis=1)


def test_a_small_hand_parts_as_a_large_one_does() -> None:
    small, large = (apart(pinching("right", size=size)) for size in (0.019, 1.9))
    assert small.angles == pytest.approx(large.angles, abs=np.deg2rad(0.05))


def test_one_frame_and_none_are_poses_too() -> None:
    pose = pinching("right")
    one = Pose(pose.hand, pose.root[80:81], pose.angles[80:81])
    assert deepest(apart(one)).max() < 1.0
    none = Pose(pose.hand, pose.root[:0], pose.angles[:0])
    assert apart(none).angles.shape == (0, pose.hand.dofs)


def test_what_is_spread_is_never_less() -> None:
    values = np.random.default_rng(0).uniform(0, 1, (60, 3)) * (np.arange(60) % 13 == 0)[:, None]
    values[:, 2] = 0.0
    assert (spread(values, 5) >= values - 1e-12).all()
    assert (spread(values, 5)[:, 2] == 0.0).all()
    assert (spread(values, 0) == values).all()
    assert smoothed(np.ones((9, 2)), 4) == pytest.approx(np.ones((9, 2)))
