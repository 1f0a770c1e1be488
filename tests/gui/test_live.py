"""A device followed in a real window: what a person does meanwhile does no harm, and Blender is left as it was."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from knuckle import capture
from knuckle.hand.joints import SIDES
from knuckle.tests.gui.conftest import OUT
from knuckle.tests.gui.live_senders import RATE, TAKES
from knuckle.tests.pure.capture.devices.test_vmc import JOINT

BENT = {"left": 80.0, "right": 50.0}
"""Degrees between the index finger's first two bones, where the sender's hands are closed."""
MAKEHUMAN = "makehuman_default.blend"
SCENE_RATE = 24
"""Frames a second of a new scene, each with one key at most."""


def test_what_is_done_while_new_hands_follow_does_no_harm(play: Callable[[str], dict[str, Any]], vmc: None) -> None:
    seen = play("live")
    assert "in use" in seen["port in use"] and "nothing received" in seen["nobody sends"]
    assert_follows(seen["new"])
    assert seen["takes"] == ["Take 001"] and seen["keyed"] > 1.9 * SCENE_RATE, "two seconds were recorded"
    assert all(seen["after"].values()), seen["after"]
    assert "are gone" in seen["deleted"]
    assert_whole("Take 001.rawtake", 1)
    assert_whole("Last 001.rawtake", seen["last take"]["packets"])


def test_a_makehuman_rig_follows_and_is_put_back(
    play: Callable[[str], dict[str, Any]], vmc: None, shared: Path
) -> None:
    shutil.copy(shared / "data" / "rigs" / MAKEHUMAN, OUT / MAKEHUMAN)
    seen = play("live_rig")
    assert_follows(seen)
    assert seen["put back"], "bones stand as before"
    assert not seen["loaded"]["followed"], "neither run nor thread after another file was opened"
    assert_whole("Opened 001.rawtake", seen["loaded"]["packets"])


def assert_follows(reported: dict[str, Any]) -> None:
    for side in SIDES:
        assert reported["open"][side] < 2.0, f"{side}: {reported}"
        assert reported["closed"][side] == pytest.approx(BENT[side], abs=2.0), f"{side}: {reported}"


def assert_whole(take: str, packets: int) -> None:
    """A take has all packets but those of the last second, and is read again."""
    read = capture.read(OUT / TAKES / take)
    assert len(read.times) > packets - RATE, f"{take}: {len(read.times)} frames, {packets} packets came"
    assert len(read.names) == 2 * (len(JOINT) + 1), "all joints of both hands that the protocol has, and their elbows"
