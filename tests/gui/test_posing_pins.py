"""The panel of pins, used by the mouse."""

from collections.abc import Callable
from typing import Any


def test_a_pinch_is_pinned_by_two_clicks_and_let_go_by_one(play: Callable[[str], dict[str, Any]]) -> None:
    reported = play("posing_pins")
    assert reported["pins"] == reported["undone"] == [["thumb", "DIGIT", "index-finger"]]
