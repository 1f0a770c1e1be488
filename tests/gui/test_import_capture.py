"""Import from the file browser, as a job."""

from collections.abc import Callable
from typing import Any


def test_a_chosen_recording_is_read_as_a_job_and_escape_ends_one(play: Callable[[str], dict[str, Any]]) -> None:
    seen = play("import_capture")
    assert seen["ran_as_a_job"] and len(seen["shown"]) == 1
    assert seen["second_ran"] and not seen["still_running"]
    assert seen["after_escape"] == seen["shown"]
    imported = seen["imported"]
    assert imported["selected"] == ["first"] and imported["active"] == "first"
    distance = sum((a - b) ** 2 for a, b in zip(imported["view_is_at"], imported["marker_is_at"], strict=True)) ** 0.5
    assert distance < 0.3 and imported["view_distance"] < 2
    assert imported["range"] == [11, 131] and imported["fps"] == 60
    assert imported["path"] == "//first.csv"
    assert any("121 frames at 60 Hz, 2.00 s, in mm" in line for line in imported["reported"])
