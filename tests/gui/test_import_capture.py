"""Import from the file browser, as a job."""

from collections.abc import Callable
from typing import Any


def test_a_chosen_recording_is_read_as_a_job_and_escape_ends_one(play: Callable[[str], dict[str, Any]]) -> None:
    seen = play("import_capture")
    assert seen["ran_as_a_job"] and len(seen["shown"]) == 1
    assert seen["second_ran"] and not seen["still_running"]
    assert seen["after_escape"] == seen["shown"]
