"""The Calibrate button and the panel of what it measured."""

import json
from collections.abc import Callable
from typing import Any


def test_the_button_measures_and_one_undo_takes_the_measures_away(play: Callable[[str], dict[str, Any]]) -> None:
    seen = play("calibrate")
    kept = json.loads(seen["kept"])
    assert kept["format"] == "knuckle performer 4"
    assert kept["hands"]["right"]["rho"]["ring-finger"] is not None
    assert seen["undone"] == ""
