"""Fingers that are dragged straight at the palm curl in all joints, on three rigs in a real Blender."""

from collections.abc import Callable
from typing import Any

from knuckle.tests.gui.conftest import bring_rigs


def test_a_fingertip_dragged_at_the_palm_curls_in_all_joints(play: Callable[[str], dict[str, Any]]) -> None:
    bring_rigs()
    told = play("posing_curl")
    told.pop("blender")
    for name, drag in told.items():
        (spread, knuckle, middle, last), (spread_after, *bends) = drag["before"], drag["after"]
        assert abs(spread_after - spread) <= 6.0, name
        assert bends[0] > knuckle + 20.0, f"{name}: {bends} after {drag['before']}"
        assert bends[1] > middle + 30.0, f"{name}: {bends}"
        assert bends[2] > last + 15.0, f"{name}: {bends}"
