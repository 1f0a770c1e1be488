"""Hands that wear markers on their skins, and takes of them, made with the hand's own kinematics."""

from dataclasses import dataclass

import numpy as np

from knuckle.hand.calibration.skin_markers.skin_fit import DOFS, PALM, PosePrior, SkinFit, SkinMarkers
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.hand.kinematics import Pose, joint_frames, site_positions
from knuckle.hand.marker_sets import Spot

from . import people

SPOTS = {
    **{
        f"{digit}{part}": Spot(CHAIN_JOINTS[digit][joint])
        for digit in DIGITS
        for part, joint in (("A", 0), ("B", 1), ("Tip", 3))
    },
    **{f"Back{number}": Spot("wrist", (0.0, 0.05, 0.018)) for number in range(3)},
}
"""A finger's labels name the joint before the bone that the marker rides on, as SIG18's do."""


def worn_by(side, seed=3):
    """A hand that is nobody's mean with 18 markers on the skin of its back."""
    proportions = people.someone(side, seed)
    rng = np.random.default_rng(seed)
    digits = np.array([*np.repeat(np.arange(5), 3), PALM, PALM, PALM])
    bones = np.array([*np.tile([0, 1, 2], 5), 0, 0, 0])
    length = proportions.phalanges[digits, bones]
    offsets = np.stack([rng.normal(0, 0.001, 18), 0.65 * length, rng.normal(0.0115, 0.0015, 18)], axis=1)
    offsets[2:15:3, 1:] = np.stack([length[2:15:3] - 0.005, np.full(5, 0.007)], axis=1)
    offsets[15:] = [[-0.012, 0.045, 0.02], [0.02, 0.06, 0.019], [0.022, 0.028, 0.021]]
    markers = SkinMarkers(tuple(SPOTS), digits, bones, offsets, np.zeros((18, 2, 3)), np.full((18, 3), 0.001))
    habits = PosePrior(np.full(DOFS, 0.3), 0.3 * np.eye(DOFS), 1.0 * np.eye(DOFS))
    return SkinFit(proportions, markers, habits, {})


@dataclass(frozen=True, eq=False)
class Made:
    """A take of which all is known."""

    worn: SkinFit
    pose: Pose
    positions: np.ndarray
    """(F, M, 3) m"""

    @property
    def times(self):
        """(F,) s"""
        return np.arange(len(self.positions)) / 100.0


def made(side, frames=300, seed=3, noise=0.0, *, worn=None, stiff=()):
    """The hand opens and closes each finger in a rhythm of its own, and moves and turns as a whole.

    worn: a hand other than worn_by(side). stiff: digits that hardly bend.
    """
    worn, rng = worn or worn_by(side), np.random.default_rng(seed)
    hand = worn.model.with_sites(people.sites_of(worn))
    low, high = hand.limits.T
    low, high = np.maximum(low, -0.2), np.minimum(high, 1.4)
    time = np.arange(frames)[:, None] / 100.0
    beat = 0.5 - 0.45 * np.cos(2 * np.pi * rng.uniform(0.4, 1.2, DOFS) * time + rng.uniform(0, 6, DOFS))
    bends = np.array([movement == "flexion" for movement in hand.movements])
    angles = np.where(bends, low + (high - low) * beat, 0.15 * (low + (high - low) * beat))
    for digit in DIGITS[1:]:
        middle, last = (hand.dof(joint, "flexion") for joint in CHAIN_JOINTS[digit][1:3])
        angles[:, last] = 0.7 * angles[:, middle]
    for digit in stiff:
        angles[:, [hand.dof(joint, "flexion") for joint in CHAIN_JOINTS[digit][:3]]] *= 0.1
    root = np.tile(np.eye(4), (frames, 1, 1))
    root[:, :3, :3] = people.turning(frames, seed)
    root[:, :3, 3] = rng.normal(0, 0.3, 3) + 0.1 * np.sin(time * [1.0, 2.0, 3.0])
    pose = Pose(hand, root, angles)
    places = site_positions(hand, joint_frames(hand, pose))[:, -len(worn.markers) :]
    return Made(worn, pose, places + rng.normal(0, noise, places.shape))
