"""Fifty-five poses of a real hand, solved from eight markers: how far the joints that no marker sees are off."""

import json
import re

import numpy as np
import pytest

from knuckle.hand import kinematics
from knuckle.hand.calibration import measuring
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, JOINTS, KNUCKLES, TIPS
from knuckle.hand.marker_sets import Spot
from knuckle.hand.proportions import build
from knuckle.hand.targets import assign
from knuckle.solvers import SOLVERS

SEEN = ("wrist", KNUCKLES[0], KNUCKLES[2], KNUCKLES[3], *TIPS)
UNSEEN = [JOINT_INDEX[joint] for digit in DIGITS[1:] for joint in CHAIN_JOINTS[digit][1:3]]


@pytest.fixture(scope="module")
def headset(shared):
    """(names, positions (55, 25, 3) m) of a headset, Z up."""
    text = (shared / "data/captures/webxr_poses_right.js").read_text()
    poses = [json.loads(row.rstrip(",")) for row in re.findall(r'^\s*(\{"names":.*\}),?\s*$', text, re.M)]
    x, y, z = np.moveaxis(np.array([pose["jointPositions"] for pose in poses], float) / 1000, -1, 0)
    return [pose["names"] for pose in poses], np.stack([x, -z, y], -1)


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_joints_between_knuckle_and_tip_are_found_from_the_tips(name, headset):
    """PIP and DIP within 4 mm on average, 12 mm in 95 of 100, 25 mm at most; bones measured on the flat pose alone."""
    names, joints = headset
    assert len(joints) == 55
    flat = [index for index, words in enumerate(names) if "flat" in words]
    proportions = measuring.measure_proportions("right", tuple(map(Spot, JOINTS)), joints[flat])[0]
    spots = {joint: Spot(joint) for joint in SEEN}
    seen = joints[:, [JOINT_INDEX[joint] for joint in SEEN]]
    hand, targets = assign(build(proportions), spots, np.arange(len(joints), dtype=float), seen)
    pose, _ = SOLVERS[name]().solve(hand, targets)
    found = kinematics.joint_frames(hand, pose)[..., :3, 3]
    off = 1000 * np.linalg.norm(found[:, UNSEEN] - joints[:, UNSEEN], axis=-1)
    figures = off.mean(), np.quantile(off, 0.95), off.max()
    assert np.all(np.array(figures) < (4, 12, 25)), "mean {:.2f}, p95 {:.1f}, max {:.1f} mm".format(*figures)
