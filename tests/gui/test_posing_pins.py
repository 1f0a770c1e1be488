"""The panel of pins, used by the mouse."""

from collections.abc import Callable
from typing import Any


def test_a_pinch_is_pinned_by_two_clicks_and_let_go_by_one(play: Callable[[str], dict[str, Any]]) -> None:
    told = play("posing_pins")
    assert told["pins"] == told["undone"] == [["thumb", "DIGIT", "index-finger"]]
