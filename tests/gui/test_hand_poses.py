"""Named poses as an artist has them: in the asset shelf, clicked and dragged, and by the panel; each undone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from knuckle.hand.poses import POSES
from knuckle.tests.gui.conftest import DIGIT_BONES


def test_the_shelf_shows_the_poses_and_a_click_a_drag_and_the_panel_pose_the_hands_of_three_rigs(
    play: Callable[[str], dict[str, Any]], rigs: Path
) -> None:
    reported = play("hand_poses")
    for rig, bones in DIGIT_BONES.items():
        seen = reported[rig]
        first = seen["at first"]
        assert seen["assets"] == len(POSES) * (1 if rig == "own" else 2), rig
        for name in ("after adding", "clicked undone", "blended undone", "half undone", "whole undone"):
            assert seen[name] == first, f"{rig}, {name}: every channel as it was"
        for name in ("clicked", "blended", "half", "whole"):
            assert moved(first, seen[name]) == bones, f"{rig}, {name}"
        assert apart(seen["clicked"], seen["whole"]) < 1e-4, f"{rig}: the shelf and the panel mean the same"
        assert apart(first, seen["blended"]) < 0.9 * apart(first, seen["clicked"]), rig
        assert apart(first, seen["half"]) < 0.7 * apart(first, seen["whole"]), rig


def moved(before: dict[str, list[float]], after: dict[str, list[float]]) -> set[str]:
    """The bones of which a channel is another."""
    return {bone for bone in before if before[bone] != after[bone]}


def apart(one: dict[str, list[float]], other: dict[str, list[float]]) -> float:
    """The largest difference of a channel."""
    return max(float(np.abs(np.subtract(one[bone], other[bone])).max()) for bone in one)
