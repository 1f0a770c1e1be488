"""The sliders of a posed hand, dragged by a mouse: what they move, one undo step each, and keys where wanted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from knuckle.hand.joints import CHAIN_JOINTS
from knuckle.tests.gui.conftest import DIGIT_BONES

METACARPALS = {
    "own": {"ring-finger-metacarpal", "pinky-finger-metacarpal"},
    "makehuman": {"metacarpal3.R", "metacarpal4.R"},
    "rigify": {"palm.R"},
}
"""Rig -> what hollows the palm."""
INDEX = set(CHAIN_JOINTS["index-finger"][:3])


def test_a_drag_poses_its_own_bones_is_one_undo_step_and_is_keyed_where_that_is_asked_for(
    play: Callable[[str], dict[str, Any]], rigs: Path
) -> None:
    seen = play("posing_sliders")
    for rig in ("own", "makehuman", "rigify"):
        at_once(seen[rig].pop("at once"), rig)
        for name, reported in seen[rig].items():
            assert reported["to"] > reported["from"] + 0.1, f"{rig} {name}: {reported}"
            assert reported["undone"], f"{rig} {name}: {reported}"
            assert reported["further out of limits"] < 0.1, f"{rig} {name}: {reported}"
    assert set(seen["own"]["index"]["moved"]) == INDEX
    assert set(seen["makehuman"]["index"]["moved"]) == {"finger2-1.R", "finger2-2.R", "finger2-3.R"}
    assert set(seen["makehuman"]["cup"]["moved"]) == {"metacarpal3.R", "metacarpal4.R"}
    assert set(seen["rigify"]["index"]["moved"]) == {"f_index.01.R", "f_index.02.R", "f_index.03.R"}
    assert seen["escaped"]["dragged"] > 0.1 and seen["escaped"]["left"] < 1e-6
    assert seen["keyed"] == {"keyed": sorted(INDEX), "undone": True, "left": []}
    for name in ("nothing keyed", "keyed elsewhere", "keyed here"):
        reported = seen["escaped with keys"][name]
        assert reported["dragged"] > 0.1 and reported["left"] < 1e-6 and reported["as before"], f"{name}: {reported}"
    # As with Blender's own fields.
    assert seen["blender's own"]["as before"] and not seen["blender's own"]["let go as before"]
    assert seen["mirrored"]["left"] == pytest.approx(seen["mirrored"]["right"], abs=0.01)


def at_once(reported: dict[str, Any], rig: str) -> None:
    """Relax goes half the way to a hand at ease, Reset to rest, Select takes the bones of thumb and fingers."""
    assert reported["at ease"] == pytest.approx(reported["at ease before"] / 2, rel=0.05), rig
    assert reported["turned after reset"] == [], rig
    assert reported["reset undone"] and reported["relax undone"], rig
    assert DIGIT_BONES[rig] <= set(reported["selected"]) <= DIGIT_BONES[rig] | METACARPALS[rig], rig
