"""Every device drives new hands and MakeHuman's rig in a real window: joints are where they were sent."""

import json
import os
import shutil
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from knuckle.hand import rotations as rot
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.tests.gui.conftest import OUT
from knuckle.tests.gui.live_senders import PLAYED, Place, Senders
from knuckle.tests.pure.capture.devices.sockets import free_address

MAKEHUMAN = "makehuman_default.blend"
OF_OTHERS = ("vmc", "rokoko", "leap", "landmarks")
"""Devices that others speak for, or recorded: for want of time only these drive MakeHuman's rig in CI."""

Floats = NDArray[np.float64]
Bones = dict[str, list[list[float]]]
"""Bone -> where it begins and ends, m."""
Play = Callable[[str], dict[str, Any]]
Follow = Callable[[str, Iterable[str]], dict[str, Any]]


@pytest.fixture
def follow(play: Play) -> Follow:
    """Devices drive a rig in turn; what was seen of each, its hands held at the last step."""

    def followed(rig: str, names: Iterable[str]) -> dict[str, Any]:
        devices = [
            {
                "name": name,
                "port": free_address().port,
                "step": PLAYED[name].steps - 1,
                "hands": len(PLAYED[name].truth(0)),
                "anew": PLAYED[name].anew,
            }
            for name in names
        ]
        OUT.mkdir(parents=True, exist_ok=True)
        (OUT / "live_devices_asked.json").write_text(json.dumps({"rig": rig, "devices": devices}))
        with Senders(OUT):
            seen = play("live_devices")
        for name in names:
            assert not seen[name]["problems"] and seen[name]["malformed"] == 0, f"{name}: {seen[name]}"
        return seen

    return followed


def test_new_hands_are_where_every_device_says(follow: Follow) -> None:
    seen = follow("new", PLAYED)
    for name, played in PLAYED.items():
        truth = played.truth(played.steps - 1)
        assert set(seen[name]["bones"]) == {f"{side.capitalize()} Hand" for side in truth}, name
        for side, joints in truth.items():
            bones: Bones = seen[name]["bones"][f"{side.capitalize()} Hand"]
            far = {joint: 1000 * float(np.linalg.norm(bones[joint][0] - place)) for joint, place in joints.items()}
            assert max(far.values()) < played.near, f"{name}, {side}: {far} mm"


def test_makehumans_fingers_point_where_every_device_says(follow: Follow, shared: Path) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    shutil.copy(shared / "data" / "rigs" / MAKEHUMAN, OUT / MAKEHUMAN)
    names = OF_OTHERS if "CI" in os.environ else tuple(PLAYED)
    seen = follow("makehuman", names)
    for name in names:
        played = PLAYED[name]
        (bones,) = seen[name]["bones"].values()
        for side, joints in played.truth(played.steps - 1).items():
            apart = turned(bones, side[0].upper(), joints, played.body)
            assert len(apart) >= 10 and max(apart.values()) < played.along, f"{name}, {side}: {apart} degrees"


def turned(bones: Bones, letter: str, joints: Place, body: bool) -> dict[str, float]:
    """Degrees between MakeHuman's phalanges and those that were sent, of which both ends are known.

    body: whether the hand points where its forearm has it, so that the phalanges are alike after a rotation.
    """
    ways: dict[str, tuple[Floats, Floats]] = {}
    for digit, joint_names in zip(range(1, 6), (CHAIN_JOINTS[digit] for digit in DIGITS), strict=True):
        for part, (first, second) in enumerate(pairwise(joint_names), 1):
            if first in joints and second in joints:
                bone = f"finger{digit}-{part}.{letter}"
                head, tail = np.array(bones[bone])
                ways[bone] = rot.unit_vector(tail - head), rot.unit_vector(joints[second] - joints[first])
    seen, sent = (np.array(each) for each in zip(*ways.values(), strict=True))
    if body:
        sent = Rotation.align_vectors(seen, sent)[0].apply(sent)
    angles = np.degrees(np.arccos(np.clip((seen * sent).sum(axis=1), -1.0, 1.0)))
    return dict(zip(ways, angles.tolist(), strict=True))
