"""A day's work in a window, in rounds: what Blender holds stays as it is. benchmarks/mixed_use.py does it for hours."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

COUNTED = ("threads", "handlers", "draw callbacks", "live runs")


def test_rounds_of_mixed_use_leave_nothing_behind(play: Callable[..., dict[str, Any]], vmc: None, rigs: Path) -> None:
    reported = play("mixed_use", "0")
    first, *_, last = reported["rounds"]
    assert reported["faults"] == []
    assert [last[name] for name in COUNTED] == [first[name] for name in COUNTED], reported["rounds"]
