"""Files that tests read: those of ../shared where it is, else what is bundled or made here.

    shared / "data/captures/leap_finger_tap.json"

is a path, or skips the test with a reason in one line. KNUCKLE_SHARED names another folder than ../shared.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest

from knuckle.files import make_folder, written_whole
from knuckle.tests.pure.capture.files import stand_ins

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("KNUCKLE_SHARED", ROOT.parent / "shared"))
BUNDLED = {
    "data/captures/leap_finger_tap.json": ROOT / "data" / "leap_finger_tap.json",
    "data/captures/webxr": ROOT / "tests" / "data" / "webxr",
    "data/captures/webxr_poses_right.js": ROOT / "tests" / "data" / "webxr_poses_right.js",
}
SECONDS = 300
"""The longest that a rig may take, its download too."""


class Folder:
    """A folder of ../shared, which need not be there."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __truediv__(self, name: str) -> "Path | Folder":
        """A file, or a folder in it. Skips the test for a file that is nowhere."""
        whole = f"{self._name}/{name}".lstrip("/")
        parent, _, file = whole.rpartition("/")
        if (SHARED / whole).is_file():
            return SHARED / whole
        if parent in BUNDLED:
            return BUNDLED[parent] / file
        if whole in BUNDLED:
            return BUNDLED[whole]
        if parent == "data/rigs":
            return made_rig(file)
        if whole in stand_ins.FILES:
            return stand_in(whole)
        if "." in file:
            pytest.skip(f"no {whole} beside the checkout (../shared)")
        return Folder(whole)

    def file(self, name: str) -> Path:
        """A file in it. Skips the test where it is nowhere."""
        path = self / name
        assert isinstance(path, Path)
        return path

    def glob(self, pattern: str) -> Iterator[Path]:
        """The files in it."""
        yield from self._existing_folder().glob(pattern)

    def rglob(self, pattern: str) -> Iterator[Path]:
        """The files in it and below."""
        yield from self._existing_folder().rglob(pattern)

    def _existing_folder(self) -> Path:
        folder = SHARED / self._name
        if not folder.is_dir():
            pytest.skip(f"no {self._name} beside the checkout (../shared)")
        return folder


@cache
def stand_in(name: str) -> Path:
    """A made-up capture of the same name, in build/test-captures, which each run writes anew."""
    path = ROOT / "build" / "test-captures" / name
    make_folder(path.parent)
    with written_whole(path) as half:
        half.write_bytes(stand_ins.FILES[name]())
    return path


@cache
def made_rig(name: str) -> Path:
    """A rig that tools/make_test_rigs.py makes with this Blender, kept in build/test-rigs. Skips where it cannot.

    `make rigs` makes anew what is older than the script.
    """
    command = [sys.executable, str(ROOT / "tools" / "make_test_rigs.py"), name]
    made = ROOT / "build" / "test-rigs" / version("bpy") / name
    if not made.is_file():
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=SECONDS)
        if done.returncode:
            said = (done.stdout + done.stderr).strip().splitlines()
            pytest.skip(f"{name} could not be made: {said[-1] if said else f'exit {done.returncode}'}")
    return made
