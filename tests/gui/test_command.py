"""`blender --command knuckle` in a real Blender, whose Python is whatever its maker chose."""

import json
from collections.abc import Callable

from knuckle.tests.gui.conftest import OUT


def test_blender_solves_a_recording_from_a_shell(command: Callable[..., str]) -> None:
    options = ["--out", "/tmp/out/command.blend", "--report", "/tmp/out/command_report.json", "--force"]
    command("knuckle", "solve", "/tmp/knuckle/data/leap_finger_tap.json", *options)
    assert (OUT / "command.blend").stat().st_size > 10_000
    assert json.loads((OUT / "command_report.json").read_text())["frames"] == 89
