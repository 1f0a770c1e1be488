"""Hands of people, as headsets recorded them, taken for rigs at rest: found in whatever pose they are."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.capture.formats import read
from knuckle.errors import RigError
from knuckle.hand.joints import DIGIT_JOINTS, DIGITS, JOINT_INDEX, JOINTS, SIDES, Side
from knuckle.rig.detection import Bone, detect

Floats = NDArray[np.float64]
Recorded = list[tuple[str, Side, Floats]]


@pytest.fixture(scope="module")
def recorded(shared: Path) -> Recorded:
    """Poses, their sides, and where the 25 joints are (25, 3)."""
    return [*_poses(shared), *_handposes(shared)]


def _poses(shared: Path) -> Iterator[tuple[str, Side, Floats]]:
    text = (shared / "data/captures/webxr_poses_right.js").read_text()
    for row in re.findall(r'^\s*(\{"names":.*\}),?\s*$', text, re.M):
        pose = json.loads(row)
        yield pose["names"][0], "right", np.array(pose["jointPositions"], float)


def _handposes(shared: Path) -> Iterator[tuple[str, Side, Floats]]:
    for path in sorted((shared / "data/captures/webxr").glob("*.handpose")):
        markers = read(path)
        for side in SIDES:
            rows = [next(k for k, n in enumerate(markers.names) if side in n and n.endswith(joint)) for joint in JOINTS]
            yield path.name, side, markers.positions[0, rows]


def rig(places: Floats, left_out: tuple[str, ...], flat: bool = False) -> tuple[list[Bone], dict[str, str]]:
    """A hand's bones named b0 … in no order, without the joints whose names end so; joint -> bone."""
    kept = [joint for joint in JOINTS if not joint.endswith(left_out)]
    truth = {joint: f"b{JOINT_INDEX[joint] * 7 % 25}" for joint in kept}
    bones = [_bone(truth["wrist"], None, places[0], places[JOINT_INDEX[DIGIT_JOINTS["middle-finger"][1]]])]
    for digit in DIGITS:
        above = None if flat else truth["wrist"]
        joints = DIGIT_JOINTS[digit]
        for joint, following in [*pairwise(joints), (joints[-1], None)]:
            head = places[JOINT_INDEX[joint]]
            beyond = 1.3 * head - 0.3 * places[JOINT_INDEX[joint] - 1]
            if joint in truth:
                tail = places[JOINT_INDEX[following]] if following else beyond
                bones.append(_bone(truth[joint], above, head, tail))
                above = None if flat else truth[joint]
    return sorted(bones, key=lambda bone: bone.name), truth


def _bone(name: str, parent: str | None, head: Floats, tail: Floats) -> Bone:
    (a, b, c), (d, e, f) = head.tolist(), tail.tolist()
    return Bone(name, parent, (a, b, c), (d, e, f))


@pytest.mark.parametrize("left_out", [("none",), ("-tip",), ("finger-metacarpal",), ("finger-metacarpal", "-tip")])
def test_in_any_pose_every_digit_and_the_side_are_found(left_out: tuple[str, ...], recorded: Recorded) -> None:
    assert len(recorded) == 65
    for name, side, places in recorded:
        bones, truth = rig(places, left_out)
        (found,) = detect(bones)
        assert (name, found.side, found.bones) == (name, side, truth)


def test_a_flat_hand_that_is_bent_far_is_not_taken_for_another_one(recorded: Recorded) -> None:
    """Its bones have no parents: some poses do not show it, but none shows it wrongly."""
    known = []
    for name, side, places in recorded[::6]:
        bones, truth = rig(places, ("none",), flat=True)
        try:
            (found,) = detect(bones)
        except RigError:
            continue
        known.append(name)
        assert (name, found.side, found.bones) == (name, side, truth)
    assert "rest" in known
