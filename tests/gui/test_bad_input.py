"""What a person is told when something cannot be done."""

from collections.abc import Callable
from typing import Any


def test_a_broken_file_is_told_once_and_changes_nothing(play: Callable[[str], dict[str, Any]]) -> None:
    seen = play("bad_input")
    assert len(seen["told"]) == 1, seen["told"]
    assert seen["told"][0].startswith("broken.c3d: ")
    assert seen["after"] == seen["before"]
    assert not seen["solve_ready"]
