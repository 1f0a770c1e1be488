"""The reports when something cannot be done."""

from collections.abc import Callable
from typing import Any


def test_a_broken_file_is_reported_once_and_changes_nothing(play: Callable[[str], dict[str, Any]]) -> None:
    seen = play("bad_input")
    assert len(seen["reported"]) == 1, seen["reported"]
    assert seen["reported"][0].startswith("broken.c3d: ")
    assert seen["after"] == seen["before"]
    assert not seen["solve_ready"]
