"""How real hands move, as angles of Knuckle's hand: what moves the made hands, whose truth is their own armature's.

Of a headset's 55 poses, an optical glove, a Leap and a take of skin markers. The angles need not be what those hands
did: any that a hand could do will serve. They are slowed to 6 Hz, held inside the limits, and the last joints of the
fingers follow the middle ones by a share of their own, as those of a person do and no solver can know.
"""

import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from skin_takes import ROOT, SIG18

from knuckle.hand.calibration.measuring import measure_proportions
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINTS
from knuckle.hand.marker_sets import Spot
from knuckle.hand.model import HandModel
from knuckle.hand.proportions import adult, build
from knuckle.hand.targets import assign
from knuckle.pipeline import job
from knuckle.pipeline.recipe import Recipe
from knuckle.solvers import SOLVERS

Floats = NDArray[np.float64]

CAPTURES = ROOT.parent / "shared" / "data" / "captures"
RATE, FRAMES = 100.0, 300
MARGIN = np.deg2rad(1.0)
"""rad, minimum distance from every limit."""
SLOW = 6.0
"""Cutoff of the low-pass filter, Hz."""
FILES = {"glove": CAPTURES / "two_hands_glove.c3d", "Leap": CAPTURES / "leap_finger_tap.json"}
FILES["skin"] = SIG18 / "user3" / "capture4_20_left.trc"
POSE_FRAMES = 30
"""Frames from one pose of the headset to the next."""


def motions() -> dict[str, tuple[Floats, Floats]]:
    """Return name -> angles (300, 26) rad, roots (300, 4, 4) m at 100 Hz; 'range' passes through poses far apart."""
    poses = headset_angles()
    motion_of_name = {"range": (through(poses, 0), wandering(0)), "headset": (through(poses, 1), wandering(1))}
    for seed, (name, path) in enumerate(FILES.items(), start=2):
        take = job.run(Recipe(str(path), solver="jacobian", smoothing="whole"))
        angles = take.hands[0].pose.angles
        frames = np.linspace(0, len(angles) - 1, FRAMES)
        motion_of_name[name] = (
            np.stack([np.interp(frames, np.arange(len(a)), a) for a in angles.T], axis=1),
            wandering(seed),
        )
    hand = build(adult("right"))
    return {
        name: (plausible(hand, angles, seed), root)
        for seed, (name, (angles, root)) in enumerate(motion_of_name.items())
    }


def headset_angles() -> Floats:
    """Return the poses (55, 26) rad of the headset, solved from all joints."""
    text = (CAPTURES / "webxr_poses_right.js").read_text()
    poses = [json.loads(row.rstrip(",")) for row in re.findall(r'^\s*(\{"names":.*\}),?\s*$', text, re.M)]
    x, y, z = np.moveaxis(np.array([pose["jointPositions"] for pose in poses], float) / 1000, -1, 0)
    joints = np.stack([x, -z, y], -1)
    flat = [number for number, pose in enumerate(poses) if "flat" in pose["names"]]
    proportions = measure_proportions("right", tuple(map(Spot, JOINTS)), joints[flat])[0]
    spots = {joint: Spot(joint) for joint in JOINTS}
    hand, targets = assign(build(proportions), spots, np.arange(float(len(joints))), joints)
    return np.asarray(SOLVERS["jacobian"]().solve(hand, targets)[0].angles)


def through(poses: Floats, seed: int) -> Floats:
    """Return (300, D) rad, from pose to pose in minimum jerk."""
    order = np.random.default_rng(seed).permutation(len(poses))[: FRAMES // POSE_FRAMES + 1]
    return eased(poses[order], POSE_FRAMES)


def eased(poses: Floats, frames: int) -> Floats:
    """Return ((P - 1) frames, D) rad through poses (P, D) in minimum jerk, so many frames from one to the next."""
    part = np.arange(frames) / frames
    share = (part**3 * (10 - 15 * part + 6 * part**2))[:, None]
    return np.concatenate([first + share * (second - first) for first, second in pairwise(poses)])


def wandering(seed: int, frames: int = FRAMES) -> Floats:
    """Return (frames, 4, 4) m, a wrist that drifts and turns."""
    random = np.random.default_rng(100 + seed)
    time = np.arange(frames) / RATE
    waves = np.sin(2 * np.pi * (random.uniform(0.1, 0.5, (6, 1)) * time + random.uniform(0, 1, (6, 1))))
    rotation, shift = waves[:3] * random.uniform(0.3, 1.0, (3, 1)), waves[3:] * random.uniform(0.05, 0.2, (3, 1))
    roots = np.tile(np.eye(4), (frames, 1, 1))
    for axis, (first, second) in enumerate(((1, 2), (2, 0), (0, 1))):
        move = np.tile(np.eye(4), (frames, 1, 1))
        cos, sin = np.cos(rotation[axis]), np.sin(rotation[axis])
        move[:, first, first], move[:, second, second] = cos, cos
        move[:, first, second], move[:, second, first] = -sin, sin
        roots = roots @ move
    roots[:, :3, 3] = shift.T + [0, 0, 1]
    return roots


def plausible(hand: HandModel, angles: Floats, seed: int) -> Floats:
    """Return a plausible motion: slow, inside the limits, with last joints that flex with the middle ones."""
    random = np.random.default_rng(200 + seed)
    slow_angles = gaussian_filter1d(angles, RATE / (2 * np.pi * SLOW), axis=0)
    time = np.arange(len(angles)) / RATE
    for digit in DIGITS[1:]:
        _, middle, last, _ = CHAIN_JOINTS[digit]
        pip, dip = hand.dof(middle, "flexion"), hand.dof(last, "flexion")
        sway = np.deg2rad(4) * np.sin(2 * np.pi * (random.uniform(0.2, 0.6) * time + random.uniform()))
        slow_angles[:, dip] = random.uniform(0.5, 0.8) * slow_angles[:, pip] + sway
    low, high = hand.limits.T
    return np.clip(slow_angles, low + MARGIN, high - MARGIN)


def cached(folder: Path) -> dict[str, tuple[Floats, Floats]]:
    """Return the motions, cached in a folder."""
    path = folder / "motions.npz"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(path, **{f"{name}/{i}": part for name, parts in motions().items() for i, part in enumerate(parts)})
    with np.load(path) as stored:
        names = dict.fromkeys(key.rpartition("/")[0] for key in stored.files)
        return {name: (stored[f"{name}/0"], stored[f"{name}/1"]) for name in names}
