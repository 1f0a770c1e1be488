"""Whole-hand and pair-wise optimisation: what Dynamical says of them, and that they agree where they must."""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from knuckle.hand import kinematics
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.hand.kinematics import Pose
from knuckle.hand.targets import Targets
from knuckle.solvers.jacobian import Jacobian, PairWise, WholeHand

from .hands import EIGHT, FULL, HANDS, natural, targets_at

PHALANGES = ("wrist", *(joint for digit in DIGITS for joint in CHAIN_JOINTS[digit][:3]))


def glove(noise, seed=0, frames=20):
    """A hand, its poses in the origin, and the turns of wrist and phalanges with so much noise, rad."""
    hand, rng = HANDS["right"], np.random.default_rng(seed)
    truth = Pose(hand, np.tile(np.eye(4), (frames, 1, 1)), natural(hand, rng.uniform(0.1, 0.9, (frames, hand.dofs))))
    sites = np.array([hand.site_index(name) for name in PHALANGES])
    turns = kinematics.joint_frames(hand, truth)[:, [hand.sites[site].joint for site in sites], :3, :3]
    shaken = Rotation.from_rotvec(rng.normal(0, noise, (frames * len(sites), 3)))
    quaternions = (shaken * Rotation.from_matrix(turns.reshape(-1, 3, 3))).as_quat(scalar_first=True)
    nowhere = np.zeros((frames, len(sites)))
    rotations = quaternions.reshape(frames, len(sites), 4)
    return (
        hand,
        truth,
        Targets(np.arange(frames) / 100, sites, np.zeros((*nowhere.shape, 3)), nowhere, rotations, nowhere + 1),
    )


def missed(hand, targets, pose):
    """Sum over all targets of the squared turns that are missing, rad²."""
    joints = [hand.sites[site].joint for site in targets.sites]
    found = kinematics.joint_frames(hand, pose)[:, joints, :3, :3]
    wanted = Rotation.from_quat(targets.rotations.reshape(-1, 4), scalar_first=True)
    return ((wanted * Rotation.from_matrix(found.reshape(-1, 3, 3)).inv()).magnitude() ** 2).sum()


def test_on_a_still_palm_the_whole_hand_is_the_digits_side_by_side():
    hand = HANDS["left"]
    truth = Pose(
        hand, np.tile(np.eye(4), (4, 1, 1)), natural(hand, np.random.default_rng(1).uniform(0, 1, (4, hand.dofs)))
    )
    targets = targets_at(hand, truth, FULL)
    targets = replace(
        targets, positions=targets.positions + np.random.default_rng(2).normal(0, 0.002, (4, len(FULL), 3))
    )
    digits, _ = Jacobian().solve(hand, targets)
    whole, _ = WholeHand().solve(hand, targets)
    assert np.abs(whole.angles - digits.angles).max() < 1e-7


def test_a_floating_wrist_misses_the_targets_by_no_more_than_one_placed_by_the_palm():
    hand, _, targets = glove(np.deg2rad(5))
    still, _ = WholeHand().solve(hand, targets)
    floating, _ = WholeHand(floating=True).solve(hand, targets)
    assert missed(hand, targets, floating) < missed(hand, targets, still)


def test_pairs_miss_noisy_turns_by_more_than_the_whole_hand():
    """Each pair keeps to its own two targets: what the next one knows does not help it (Dynamical, figure 7)."""
    hand, _, targets = glove(np.deg2rad(3))
    pairs, _ = PairWise().solve(hand, targets)
    whole, _ = WholeHand(floating=True).solve(hand, targets)
    assert missed(hand, targets, pairs) > missed(hand, targets, whole)


def test_a_pair_does_not_feel_the_turns_beyond_its_targets():
    hand, _, targets = glove(0.0)
    last = [PHALANGES.index(CHAIN_JOINTS[digit][2]) for digit in DIGITS]
    rotations = targets.rotations.copy()
    rotations[:, last] = np.random.default_rng(3).normal(size=(len(targets), 5, 4))
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    one, _ = PairWise().solve(hand, targets)
    other, _ = PairWise().solve(hand, replace(targets, rotations=rotations))
    before = [
        d for d in range(hand.dofs) if hand.joints[hand.axis_joint[d]] not in {CHAIN_JOINTS[g][2] for g in DIGITS}
    ]
    assert np.abs(other.angles - one.angles)[:, before].max() < 1e-6
    assert np.abs(other.angles - one.angles).max() > 0.1


def test_a_turn_that_is_lost_makes_one_pair_of_two():
    """Without the middle phalanx's turn the last one's still finds both bends by the coupling and itself."""
    hand, truth, targets = glove(0.0)
    middle = [PHALANGES.index(CHAIN_JOINTS[digit][1]) for digit in DIGITS[1:]]
    weights = targets.rotation_weights.copy()
    weights[:, middle] = 0.0
    pose, _ = PairWise().solve(hand, replace(targets, rotation_weights=weights))
    fingers = [d for d in range(hand.dofs) if not hand.joints[hand.axis_joint[d]].startswith("thumb")]
    assert np.rad2deg(np.abs(pose.angles - truth.angles)[:, fingers].max()) < 1.0


def test_places_alone_do_not_cut():
    hand = HANDS["right"]
    truth = Pose(hand, np.tile(np.eye(4), (3, 1, 1)), natural(hand, np.full((3, hand.dofs), 0.4)))
    targets = targets_at(hand, truth, EIGHT)
    pairs, _ = PairWise().solve(hand, targets)
    digits, _ = Jacobian().solve(hand, targets)
    assert np.abs(pairs.angles - digits.angles).max() < 1e-9
