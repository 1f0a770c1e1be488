"""A glove's FBX as a capture, in the window."""

from collections.abc import Callable
from pathlib import Path
from typing import Any


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
