"""Fingertips pinch where they meet on the screen, and P pins each of them in turn, on three rigs in a real Blender."""

from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_a_fingertip_dragged_to_the_thumbs_touches_it_and_p_goes_from_one_to_the_other(
    play: Callable[[str], dict[str, Any]], rigs: Path
) -> None:
    reported = play("posing_pinch")
    for name in ("own", "makehuman", "rigify"):
        rig = reported[name]
        # Skins touch where tips are a thickness apart; how well is tested in tests/blender/test_pinching.py.
        assert 5.0 < rig["pinched"]["apart"] < 22.0, f"{name}: {rig['pinched']}"
        assert abs(rig["apart"] - rig["pinched"]["apart"]) > 0.2, f"{name}: with Alt {rig['apart']:.1f} mm apart"
        assert rig["pinched"]["pixels off"] <= 1.5, name
        first, both, second, none = rig["pins"]
        assert len(first) == len(second) == 1 and first != second and none == [], f"{name}: {rig['pins']}"
        assert both == ["index-finger", "thumb"], f"{name}: {both}"
        assert rig["undone"], name
