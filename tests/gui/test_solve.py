"""The Solve button: to the end, cancelled, undone."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from knuckle.tests.gui.conftest import OUT

ROOT = Path(__file__).parents[2]
PART = 30, 60
"""The frames of the capture, at 55.32 Hz, that the scenario solves again."""
TWO_HANDS = ROOT.parent / "shared" / "data" / "captures" / "two_hands_glove.c3d"


def test_the_button_solves_and_one_undo_takes_the_hand_away(play: Callable[[str], dict[str, Any]]) -> None:
    seen = play("solve")
    assert (seen["type"], seen["bones"], seen["skins"]) == ("ARMATURE", 25, 1)
    assert len(seen["keyed_bones"]) == 25
    assert max(seen["keys"]) == 40  # 1.64 s at 24 frames a second
    assert seen["status_texts"][0].startswith("Knuckle: ")
    assert seen["status_texts"][-1] == ""
    dumps = seen["dumps"]
    assert dumps["undone"] == dumps["before"]
    assert dumps["redone"] == dumps["solved"]
    timing = [name for name in dumps["before"] if name.startswith(("SCENE Scene.frame_", "SCENE Scene.render."))]
    assert "SCENE Scene.render.fps" in timing
    assert {name: dumps["solved"][name] for name in timing} == {name: dumps["before"][name] for name in timing}
    part = seen["part"]
    assert part["actions"] == 1 and part["added"] == 0, "the take is the same one, with as many keys"
    assert part["changed"] and all(bone.startswith("index-finger") for bone in part["changed"]), "and other digits stay"
    frames = {frame for of_bone in part["changed"].values() for frame in of_bone}
    first, last = (1 + 24 * (frame - 1) / 55.32 for frame in PART)
    assert first <= min(frames) < max(frames) <= last, "as do the other frames"


def test_escape_half_way_leaves_nothing(play: Callable[[str], dict[str, Any]]) -> None:
    seen = play("escape")
    fractions = [fraction for fraction, _ in seen["seen"]]
    assert fractions == sorted(fractions)
    assert len(seen["pressed_at"]) == 1
    assert 0.5 <= seen["pressed_at"][0] <= fractions[-1] < 1.0, "Escape came after the last step"
    assert any("Solving" in text for text in seen["status_texts"])
    assert seen["status_texts"][-1] == ""
    assert seen["after"] == seen["before"]
    assert seen["modal"] == []
    assert seen["timer_events"]["of_a_timer"] > 20
    assert seen["timer_events"]["after"] < 10  # tooltips have one now and then
    assert seen["solved_again"]


@pytest.mark.skipif(not TWO_HANDS.exists(), reason="the recording of two hands is not beside the checkout")
def test_two_hands_are_solved(play: Callable[[str], dict[str, Any]]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(TWO_HANDS, OUT / "two_hands.c3d")
    assert play("two_hands")["hands"] == ["Left Hand", "Right Hand"]
