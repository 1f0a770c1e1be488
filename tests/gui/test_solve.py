"""The Solve button: to the end, cancelled, undone."""

import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from knuckle import capture
from knuckle.tests.gui.conftest import OUT

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "data" / "leap_finger_tap.json"
PART = 30, 60
"""The frames of the capture that the scenario solves again."""
BLENDS = 4, 3
"""The frames of the scene over which it blends them in and out."""
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
    times = capture.read(CAPTURE).times
    first, last = (1 + 24 * (times[frame - 1] - times[0]) for frame in PART)
    assert first <= min(frames) < max(frames) <= last, "as do the other frames"
    check_blends(part["blended"], min(frames), max(frames))


def check_blends(keys: dict[str, list[Any]], first: float, last: float) -> None:
    """Bone -> for each frame its keys in the take, in the part that replaces it, and in the part with blends."""
    full = first + BLENDS[0], last - BLENDS[1]
    for bone, of_bone in keys.items():
        shares = []
        for frame, take, part, blended in ((frame, *map(np.array, values)) for frame, *values in of_bone):
            way = part - take
            if not first <= frame <= last or not way.any():
                assert np.array_equal(blended, take), f"{bone}, frame {frame}: keys outside the part stay"
                continue
            share = float((blended - take) @ way / (way @ way))
            assert np.linalg.norm(blended - take - share * way) < 0.05 * np.linalg.norm(way) + 1e-5, "between both"
            shares.append((frame, share))
        for (frame, share), (_, after) in pairwise(shares):
            assert -0.01 <= share <= 1.01
            assert share < after if frame < full[0] else share > after if frame >= full[1] else share > 0.99, frame


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
