"""A glove's FBX and BVH as captures, in the window."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.hand import rotations as rot
from knuckle.tests.blender.bvh_of_avatar import write_bvh
from knuckle.tests.pure.capture.devices.avatar import Avatar, blender, fist, turn

Floats = NDArray[np.float64]

FRAMES, RATE = 24, 24.0
BENDS = {"Left": -30.0, "Right": 45.0}
"""Degrees by which the performer's wrists are flexed in the end."""
PARTS = ("LowerArm", "Hand", "IndexProximal", "MiddleProximal", "LittleProximal")


def test_a_dropped_fbx_is_offered_as_a_capture_and_drives_a_character(
    play: Callable[[str], dict[str, Any]], command: Callable[..., str], rigs: Path
) -> None:
    seen = play("glove")
    assert seen["about"]["format"] == "FBX" and seen["about"]["problem"] == ""
    assert seen["about"]["frames"] > 30
    # Nothing of what Blender imported came into this file: only the markers and what shows them.
    assert set(seen["made"]) <= {"objects", "meshes", "materials", "node_groups"}
    assert len(seen["made"]["objects"]) == 1
    assert seen["capture"] == f"armature:{seen['body']}"
    assert "40 frames at 24 Hz" in command(
        "knuckle", "solve", "/tmp/out/glove.fbx", "--out", "/tmp/out/glove.blend", "--force"
    )
    assert seen["frame"] == 17 and len(seen["scenes"]) == 1


def test_a_gloves_body_bends_the_wrists_of_a_character_that_dances_on(
    play: Callable[[str], dict[str, Any]], characters: Path
) -> None:
    """The hands bend against the forearms as the performer's, wherever either holds the arms."""
    shares = np.linspace(0.0, 1.0, FRAMES)
    performed = [performer(share) for share in shares]
    write_bvh(characters.parent / "glove_body.bvh", performed, RATE)
    seen = play("glove_body")
    assert (seen["take"], seen["below"]) == ("glove_body", ["Dance"])
    for side, degrees in BENDS.items():
        places, before = np.array(seen["after"][side]), np.array(seen["before"][side])
        assert np.abs(places[:, :2] - before[:, :2]).max() < 1e-4, f"{side}: elbow and wrist dance on"
        captured = np.array([[blender(avatar.places[side + part]) for part in PARTS] for avatar in performed])
        for points in (captured, places):
            bends = flexion(points, side)
            assert bends - bends[0] == pytest.approx(degrees * shares, abs=2.0), side


def test_a_gloves_body_is_placed_at_the_character_by_its_forearm_and_by_two_points(
    play: Callable[[str], dict[str, Any]], characters: Path
) -> None:
    write_bvh(characters.parent / "glove_align.bvh", [performer(share) for share in np.linspace(0.0, 1.0, 4)], RATE)
    seen = play("align")
    stands, performer_stands, by_forearm, goals, by_points = (
        np.array(seen[name]) for name in ("stands", "performer", "by_forearm", "goals", "by_points")
    )
    assert np.linalg.norm(seen["recorded"] - stands[1]) > 0.1, "the performer stood elsewhere"
    assert np.linalg.norm(by_forearm[1] - stands[1]) < 2e-3, "the wrist begins where the character's was"
    forearm = performer_stands[1] - performer_stands[0]
    assert degrees_between(forearm, stands[1] - stands[0]) < 0.1, "the performer's forearm is in its place"
    assert np.linalg.norm(performer_stands[1] - stands[1]) < 2e-3
    assert degrees_between(by_forearm[2] - by_forearm[1], goals[1] - goals[0]) > 30.0
    assert np.linalg.norm(by_points[1] - goals[0]) < 2e-3, "the wrist begins at the active point"
    assert degrees_between(by_points[2] - by_points[1], goals[1] - goals[0]) < 8.0, "and points at the other"


def degrees_between(one: Floats, other: Floats) -> float:
    return float(np.rad2deg(np.arccos(rot.unit_vector(one) @ rot.unit_vector(other))))


def performer(share: float) -> Avatar:
    """Arms that go to the front, hands that bend at the wrist, and fingers that curl: so much of the whole way."""
    turns = fist("Left", (60 * share, 50 * share, 20 * share)) | fist("Right", (60 * share, 50 * share, 20 * share))
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        turns[f"{side}UpperArm"] = turn((0, 0, sign), 60.0)
        turns[f"{side}LowerArm"] = turn((0, sign, 0), 80.0 * share)
        turns[f"{side}Hand"] = turn((0, 0, sign), BENDS[side] * share)
    return Avatar(turns)


def flexion(points: Floats, side: str) -> Floats:
    """(F,) degrees by which hands bend to the palm against forearms, of points (F, 5, 3): see PARTS."""
    elbow, wrist, index, middle, little = np.moveaxis(points, 1, 0)
    along, across = rot.unit_vectors(middle - wrist), rot.unit_vectors(index - little)
    palm = np.cross(across, along) * (-1.0 if side == "Left" else 1.0)
    forearm = rot.unit_vectors(wrist - elbow)
    degrees: Floats = np.rad2deg(np.arctan2((-forearm * palm).sum(axis=-1), (forearm * along).sum(axis=-1)))
    return degrees
