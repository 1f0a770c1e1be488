"""A device followed in a real window: a rig moves as it is sent, is put back, and a file may be opened meanwhile."""

import json
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from knuckle.hand.joints import SIDES
from knuckle.tests.gui.conftest import OUT
from knuckle.tests.gui.live_senders import Senders

OPEN, CLOSED = 20.0, 70.0
"""Degrees between the index finger's first two bones, at most and at least."""
MAKEHUMAN = "makehuman_default.blend"


@pytest.fixture
def vmc() -> Iterator[None]:
    """A sender of VMC that is not ours, when the scenario asks for it, and a port that is taken."""
    with _bound() as taken:
        ports = {"taken": taken.getsockname()[1], "vmc": free_port()}
        OUT.mkdir(parents=True, exist_ok=True)
        (OUT / "live_ports.json").write_text(json.dumps(ports))
        with Senders(OUT / "live_asked.txt", {"vmc": ["vmc", str(ports["vmc"])]}):
            yield


def test_a_makehuman_rig_follows_and_is_put_back(
    play: Callable[[str], dict[str, Any]], vmc: None, shared: Path
) -> None:
    shutil.copy(shared / "data" / "rigs" / MAKEHUMAN, OUT / MAKEHUMAN)
    seen = play("live_rig")
    assert_follows(seen)
    assert seen["put back"], "bones stand as before"
    assert seen["loaded"] == [False, False], "neither run nor thread after another file was opened"


def assert_follows(told: dict[str, Any]) -> None:
    for side in SIDES:
        assert told["open"][side] < OPEN and told["closed"][side] > CLOSED, f"{side}: {told}"


def _bound() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    return sock


def free_port() -> int:
    with _bound() as sock:
        return int(sock.getsockname()[1])
