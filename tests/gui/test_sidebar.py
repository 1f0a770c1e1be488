"""The extension as a person first sees it."""

from collections.abc import Callable
from typing import Any


def test_the_zip_installs_and_its_sidebar_is_drawn(play: Callable[[str], dict[str, Any]]) -> None:
    seen = play("sidebar")
    assert seen["enabled"] == ["bl_ext.user_default.knuckle"]
    assert seen["drawn"], f"none of {seen['panels']} was drawn"
