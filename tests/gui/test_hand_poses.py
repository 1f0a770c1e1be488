"""Named poses as an artist has them: in the asset shelf, clicked and dragged, and by the panel; each undone."""

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np

from knuckle.hand.poses import POSES
from knuckle.tests.blender.rigs import SHARED
from knuckle.tests.gui.conftest import OUT

THUMB_AND_FINGERS = {f"finger{digit}-{part}.R" for digit in range(1, 6) for part in range(1, 4)}


def test_the_shelf_shows_the_poses_and_a_click_a_drag_and_the_panel_pose_the_hand(
    play: Callable[[str], dict[str, Any]], shared: Any
) -> None:
    (OUT / "rigs").mkdir(parents=True, exist_ok=True)
    shutil.copy(SHARED / "makehuman_default.blend", OUT / "rigs" / "makehuman.blend")
    seen = play("hand_poses")
    first = seen["at first"]
    assert seen["assets"] == 2 * len(POSES)
    for name in ("after adding", "click undone", "blend undone", "half undone", "menu undone"):
        assert seen[name] == first, f"{name}: every channel as it was"
    for name in ("clicked", "blended", "half", "whole"):
        assert moved(first, seen[name]) == THUMB_AND_FINGERS, name
    assert apart(seen["clicked"], seen["whole"]) < 1e-4, "the shelf and the panel mean the same"
    assert apart(first, seen["blended"]) < 0.9 * apart(first, seen["clicked"])
    assert apart(first, seen["half"]) < 0.7 * apart(first, seen["whole"])


def moved(before: dict[str, list[float]], after: dict[str, list[float]]) -> set[str]:
    """The bones of which a channel is another."""
    return {bone for bone in before if before[bone] != after[bone]}


def apart(one: dict[str, list[float]], other: dict[str, list[float]]) -> float:
    """The largest difference of a channel."""
    return max(float(np.abs(np.subtract(one[bone], other[bone])).max()) for bone in one)
