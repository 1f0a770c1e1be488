"""A port of this machine, and what the camera's page needs of others, for tests that ask for them."""

from pathlib import Path

import pytest

from knuckle.capture.network.transport import Address
from knuckle.capture.protocols import camera_page
from knuckle.tests.pure.capture.devices.sockets import free_address

MADE = {"hands.js": b"// models", "mediabunny.min.mjs": b"// videos", "model.wasm": b"\0asm"}


@pytest.fixture
def address() -> Address:
    return free_address()


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What others made, made up: a checkout has it only where somebody has fetched it."""
    folder = tmp_path / "assets"
    folder.mkdir()
    for name, content in MADE.items():
        (folder / name).write_bytes(content)
    monkeypatch.setattr(camera_page, "ASSETS", (folder,))
    return folder
