"""What a person looks for is found: by F3, by the pie menu's key, by F1, among the presets and in the preferences."""

from collections.abc import Callable
from typing import Any


def test_operators_are_found_by_f3_and_the_pie_menu_pages_by_f1_and_settings_by_presets(
    play: Callable[[str], dict[str, Any]],
) -> None:
    seen = play("menus")
    assert seen["solved"], "F3, 'solve hand', Enter solves the capture"
    assert seen["relaxed"] > 0.01, "F3, 'relax hand', Enter relaxes the hand"
    away = seen["away from rest"]
    assert away["relaxed"] > 0.01 and away["reset"] < 1e-6, "J, 'Reset Hand' resets the hand"
    first, saved, changed, applied = seen["presets"]
    assert first != saved != changed and applied == saved, "a preset brings its settings back"
    assert [url.split("/help/")[-1] for url in seen["opened"]] == ["how-to/solve.html", "index.html"]
    assert all(seen["exist"])
