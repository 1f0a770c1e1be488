"""Hands that are nobody's mean, and recordings of markers on them, made without the code that measures them."""

from dataclasses import replace

import numpy as np

from knuckle.hand import kinematics, rotations
from knuckle.hand.calibration.skin_markers.priors import shape_from_fit
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, KNUCKLES, TIPS
from knuckle.hand.marker_sets import Spot, marker_set_named
from knuckle.hand.model import Site
from knuckle.hand.proportions import PALM_JOINTS, adult, build
from knuckle.hand.targets import assign

FULL = (Spot("wrist"), *(Spot(joint) for digit in DIGITS for joint in CHAIN_JOINTS[digit]))
EIGHT = tuple(Spot(joint) for joint in ("wrist", KNUCKLES[0], KNUCKLES[3], *TIPS))
BACK = tuple(marker_set_named("tip and middle").labels.values())


def someone(side, seed=3):
    """A hand that is nobody's mean: bones longer or shorter by up to 12 %."""
    rng = np.random.default_rng(seed)
    hand = adult(side, rng.uniform(0.16, 0.21))
    return replace(hand, phalanges=hand.phalanges * rng.uniform(0.88, 1.12, hand.phalanges.shape))


def recorded(proportions, spots, frames=300, seed=5, noise=0.0):
    """(F, M, 3) m: the spots while the hand opens and closes, the whole moving about."""
    labelled = {f"m{i}": spot for i, spot in enumerate(spots)}
    hand, targets = assign(build(proportions), labelled, np.zeros(1), np.zeros((1, len(spots), 3)))
    rng = np.random.default_rng(seed)
    low, high = hand.limits.T
    beat = 0.5 - 0.5 * np.cos(np.linspace(0, 6 * np.pi, frames)[:, None] + rng.uniform(0, 1, hand.dofs))
    angles = np.clip(0.0, low, high) + (np.clip(np.deg2rad(75), low, high) - np.clip(0.0, low, high)) * beat
    bends = np.array([movement == "flexion" for movement in hand.movements])
    root = np.tile(np.eye(4), (frames, 1, 1))
    root[:, :3, 3] = rng.normal(0, 0.3, 3) + np.linspace(0, 0.2, frames)[:, None]
    pose = kinematics.Pose(hand, root, np.where(bends, angles, 0.0))
    places = kinematics.site_positions(hand, kinematics.joint_frames(hand, pose))[:, targets.sites]
    return places + rng.normal(0, noise, places.shape)


def bends(frames, rho, seed=7):
    """(F, 5, 3) rad: MCP, PIP and DIP of each digit opening and closing, DIP = rho (5,) · PIP."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0, 1, frames)[:, None] + rng.uniform(0, 1, 5)
    mcp, pip = np.deg2rad(35 + 35 * np.sin(6 * np.pi * time)), np.deg2rad(45 + 45 * np.sin(8 * np.pi * time + 1))
    return np.stack([mcp, pip, rho * pip], axis=-1)


def posed(proportions, spots, angles, noise=0.0, seed=5):
    """(F, M, 3) m: the spots of a hand whose digits are bent by angles (F, 5, 3) rad, in the wrist's frame."""
    labelled = {f"m{i}": spot for i, spot in enumerate(spots)}
    hand, targets = assign(build(proportions), labelled, np.zeros(1), np.zeros((1, len(spots), 3)))
    whole = np.zeros((len(angles), hand.dofs))
    for row, digit in enumerate(DIGITS):
        for k in range(3):
            whole[:, hand.dof(CHAIN_JOINTS[digit][k], "flexion")] = angles[:, row, k]
    pose = kinematics.Pose(hand, np.tile(np.eye(4), (len(angles), 1, 1)), whole)
    places = kinematics.site_positions(hand, kinematics.joint_frames(hand, pose))[:, targets.sites]
    return places + np.random.default_rng(seed).normal(0, noise, places.shape)


def on_skin(proportions, radii, angles, noise=0.0, seed=5):
    """(F, 21, 3) m: markers on the skin over the joints of FULL while they bend by angles (F, 5, 3) rad.

    Rigid bones that turn about centres which lie radii (5, 3) m below the skin. The skin over a joint is an arc about
    its centre, on whose middle the marker rides; the knuckle's stands still.
    """
    places = [np.zeros((len(angles), 3))]
    for row, digit in enumerate(DIGITS):
        base = rotations.to_matrix(proportions.digit_rotations[row])
        first = proportions.palm[PALM_JOINTS.index(CHAIN_JOINTS[digit][0])]
        up, along = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
        centre, turn = -radii[row, 0] * np.tile(up, (len(angles), 1)), np.tile(np.eye(3), (len(angles), 1, 1))
        digit_places = []
        for k in range(3):
            bend = angles[:, row, k]
            half = turn @ _flexed(bend * (0.0 if k == 0 else 0.5))
            digit_places.append(centre + radii[row, k] * half @ up)
            turn = turn @ _flexed(bend)
            after = radii[row, min(k + 1, 2)]
            centre = centre + turn @ (radii[row, k] * up + proportions.phalanges[row, k] * along - after * up)
        digit_places.append(centre + after * turn @ up)
        places += [place @ base.T + first for place in digit_places]
    whole = np.stack(places, axis=1)
    return whole + np.random.default_rng(seed).normal(0, noise, whole.shape)


def _flexed(angles):
    """(F, 3, 3) turns about −X."""
    c, s, zero, one = np.cos(angles), np.sin(angles), np.zeros(len(angles)), np.ones(len(angles))
    return np.stack([one, zero, zero, zero, c, s, zero, -s, c], axis=-1).reshape(-1, 3, 3)


def sites_of(worn):
    """The markers of a hand that wore them as sites of its model, which knows nothing of sliding."""
    joints = worn.model.joints
    return tuple(
        Site(label, joints.index(spot.joint), spot.offset_on(worn.side)) for label, spot in worn.spots().items()
    )


def shape_without_slides(worn):
    """The hand as the fit has it."""
    return replace(shape_from_fit(worn), slides=np.zeros((len(worn.markers), 2, 3)))


def turning(frames, seed):
    """(F, 3, 3) a hand that turns by half a radian to and fro about an axis of its own."""
    axis = np.random.default_rng(seed).normal(size=3)
    angles = 0.5 * np.sin(np.linspace(0, 6, frames))
    return rotations.to_matrix(rotations.from_axis_angle(axis / np.linalg.norm(axis), angles))
