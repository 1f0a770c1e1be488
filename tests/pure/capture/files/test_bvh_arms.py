"""What a BVH file's channels tell of forearms and hands beyond where its joints are."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from knuckle import capture
from knuckle.hand import rotations as rot
from knuckle.tests.blender.bvh_of_avatar import UNITY_TO_BVH, write_bvh
from knuckle.tests.pure.capture.devices.avatar import Avatar, turn

Floats = NDArray[np.float64]
TO_Z_UP = Rotation.from_euler("x", 90, degrees=True).as_matrix()


def avatar(fore: float = 0.0, hand: float = 0.0) -> Avatar:
    """Arms that reach to the front, the right one pronated by degrees in the forearm's bone and in the hand's."""
    return Avatar(
        {
            "Hips": turn((0, 1, 0), 30.0),
            "RightUpperArm": turn((0, 0, -1), 40.0),
            "RightLowerArm": turn((0, -1, 0), 80.0) @ turn((1, 0, 0), fore),
            "RightHand": turn((1, 0, 0), hand) @ turn((0, 0, 1), 25.0),
        }
    )


def read(path: Path, *avatars: Avatar) -> capture.Markers:
    write_bvh(path, list(avatars), 30.0)
    return capture.read(path)


def frames_of(markers: capture.Markers, name: str) -> Floats:
    assert markers.rotations is not None
    return rot.to_matrix(markers.rotations[:, markers.names.index(name)])


@pytest.mark.parametrize("name", ["RightHand", "LeftIndexProximal", "RightThumbIntermediate"])
def test_joints_of_hands_are_turned_as_their_channels_say(tmp_path: Path, name: str) -> None:
    made = avatar(20.0, 30.0)
    expected = TO_Z_UP @ UNITY_TO_BVH @ made.turns[name] @ UNITY_TO_BVH @ TO_Z_UP.T
    # No joint is turned at rest, and rotations of the world are those from rest.
    found = frames_of(read(tmp_path / "a.bvh", made, Avatar({})), name)
    assert found[0] @ found[1].T == pytest.approx(expected, abs=1e-6)


def test_a_resting_hand_is_turned_alike_whichever_bone_of_the_arm_pronates(tmp_path: Path) -> None:
    turned = read(tmp_path / "a.bvh", avatar(70.0, 0.0), avatar(0.0, 70.0), avatar(35.0, 35.0))
    resting, hand = frames_of(turned, "RightLowerArm"), frames_of(turned, "RightHand")
    for frame in (1, 2):
        assert resting[frame] == pytest.approx(resting[0], abs=1e-6)
        assert hand[frame] == pytest.approx(hand[0], abs=1e-6)
    # Where nothing is turned about itself, it rests on the forearm as that is.
    bent = avatar().turns["RightUpperArm"] @ turn((0, -1, 0), 80.0)
    assert resting[0] == pytest.approx(TO_Z_UP @ UNITY_TO_BVH @ bent @ UNITY_TO_BVH, abs=1e-6)


def test_a_file_that_rests_in_a_moment_of_the_recording_tells_no_resting_hand(tmp_path: Path) -> None:
    write_bvh(tmp_path / "a.bvh", [avatar()], 30.0)
    lines = (tmp_path / "a.bvh").read_text().splitlines()
    # The right thumb rests 8 cm lower than the left one, as of a hand that is turned.
    row = next(number for number, line in enumerate(lines) if line.endswith("JOINT RightThumbProximal"))
    x, y, z = map(float, lines[row + 2].split()[1:])
    lines[row + 2] = f"OFFSET {x} {y - 0.08} {z}"
    (tmp_path / "b.bvh").write_text("\n".join(lines))
    for name, known in (("a.bvh", True), ("b.bvh", False)):
        assert bool(np.isfinite(frames_of(capture.read(tmp_path / name), "RightLowerArm")).all()) is known, name


def test_the_axes_of_elbows_tell_the_resting_hands_of_a_file_that_rests_in_a_moment_of_the_recording(
    tmp_path: Path,
) -> None:
    """What brings a hand to its rest on the forearm is the same whatever the file's rest pose is."""
    performed = [performing(share) for share in np.linspace(0.0, 1.0, 12)]
    to_rest = []
    for resting in (None, performing(0.6)):
        write_bvh(tmp_path / "a.bvh", performed, 30.0, resting)
        markers = capture.read(tmp_path / "a.bvh")
        for side in ("Left", "Right"):
            hand, rests = (frames_of(markers, side + bone) for bone in ("Hand", "LowerArm"))
            to_rest.append(rests @ np.swapaxes(hand, -1, -2))
    known, found = np.concatenate(to_rest[:2]), np.concatenate(to_rest[2:])
    assert degrees(known).max() > 60.0 and degrees(np.swapaxes(known, -1, -2) @ found).max() < 8.0


def performing(share: float) -> Avatar:
    """Arms that lift, bend at the elbow and pronate so far, the right one less."""
    turns = {}
    for side, sign, part in (("Left", 1.0, 1.0), ("Right", -1.0, 0.7)):
        turns[f"{side}UpperArm"] = turn((0, 0, sign), 50.0 * part * share)
        turns[f"{side}LowerArm"] = turn((0, sign, 0), 100.0 * part * share)
        turns[f"{side}Hand"] = turn((1, 0, 0), -70.0 * part * np.sin(3 * share)) @ turn(
            (0, 0, sign), 20.0 * part * share
        )
    return Avatar(turns)


def degrees(rotations: Floats) -> Floats:
    """(F,) by which rotations (F, 3, 3) rotate."""
    magnitudes: Floats = np.rad2deg(Rotation.from_matrix(rotations).magnitude())
    return magnitudes


def test_a_forearm_that_is_shorter_than_the_other_tells_its_resting_hand_as_well(tmp_path: Path) -> None:
    """Skeletons that were measured on a performer are not the same on both sides."""
    path = tmp_path / "a.bvh"
    write_bvh(path, [avatar()], 30.0)
    whole, lines = capture.read(path), path.read_text().splitlines()
    row = next(number for number, line in enumerate(lines) if line.endswith("JOINT RightHand"))
    lines[row + 2] = "OFFSET " + " ".join(str(0.85 * float(number)) for number in lines[row + 2].split()[1:])
    path.write_text("\n".join(lines))
    shorter = capture.read(path)
    assert frames_of(shorter, "RightLowerArm") == pytest.approx(frames_of(whole, "RightLowerArm"), abs=1e-6)
    assert frames_of(shorter, "LeftLowerArm") == pytest.approx(frames_of(whole, "LeftLowerArm"), abs=1e-6)
