"""A second sender to the port of the one that is followed."""

from collections.abc import Callable
from typing import Any


def test_a_click_follows_the_other_sender(play: Callable[[str], dict[str, Any]]) -> None:
    seen = play("live_strangers")
    assert (seen["followed_first"], seen["followed"], seen["other"]) == ("127.0.0.1", "127.0.0.2", "127.0.0.1")
    assert not seen["still_running"]
