"""Who may send to Blender, and where what they send is kept."""

from collections.abc import Callable
from typing import Any


def test_this_computer_is_followed_offline_others_by_choice_and_takes_go_where_the_panel_says(
    play: Callable[[str], dict[str, Any]],
) -> None:
    seen = play("live_strangers")
    offline = seen["offline"]
    assert not offline["access"] and offline["refused"], "as Blender comes, nothing beyond this computer is listened to"
    assert offline["listens"] == ["127.0.0.1"] and seen["listens"] == ["0.0.0.0"]
    assert any("0.0.0.0 is beyond this computer" in line for line in offline["reported"]), offline["reported"]
    assert (seen["followed_first"], seen["followed"], seen["other"]) == ("127.0.0.1", "127.0.0.2", "127.0.0.1")
    assert seen["recorded"] == ["Take 001.rawtake"]
    assert not seen["still_running"]
