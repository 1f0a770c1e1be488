"""Add > Armature > Knuckle Hand, with the settings that can be changed afterwards."""

from collections.abc import Callable
from typing import Any


def test_a_hand_is_added_from_the_menu_changed_and_taken_back(play: Callable[[str], dict[str, Any]]) -> None:
    seen = play("add_hand")
    assert seen["added"] == ["Right Hand"]
    assert seen["changed"] == ["Left Hand"]
    assert seen["after"] == seen["before"]
