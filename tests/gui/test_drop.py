"""Import by dropping a file on the viewport."""

from collections.abc import Callable
from typing import Any


def test_a_dropped_recording_shows_its_markers_and_one_undo_takes_them_away(
    play: Callable[[str], dict[str, Any]],
) -> None:
    seen = play("drop")
    assert len(seen["shown"]) == 1
    assert seen["left_after_undo"] == []
