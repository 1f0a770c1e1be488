"""Three rigs' hands, dragged at random in a window for seconds; benchmarks/posing_window.py does it for minutes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_hands_dragged_at_random_keep_their_limits_and_come_back_by_undo_and_escape(
    play: Callable[..., dict[str, Any]], rigs: Path
) -> None:
    reported = play("posing_wander", "12")
    assert reported["faults"] == []
    assert reported["done"]["moved"] >= 3, reported["done"]
    assert reported["rings"] > 0 and reported["rings of what is gone"] == 0
