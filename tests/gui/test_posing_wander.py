"""Three rigs' hands, dragged at random in a window for seconds; benchmarks/posing_window.py does it for minutes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_hands_dragged_at_random_keep_their_limits_and_come_back_by_undo_and_escape(
    play: Callable[..., dict[str, Any]], rigs: Path
) -> None:
    told = play("posing_wander", "12")
    assert told["faults"] == []
    assert told["done"]["moved"] >= 3, told["done"]
    assert told["rings"] > 0 and told["rings of what is gone"] == 0
