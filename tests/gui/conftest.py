"""Gives tests the fixture `play`: a scenario played in a real Blender that has the built zip installed."""

import json
import os
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest

from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.tests.blender.rigs import RIGS, rig_file
from knuckle.tests.gui.live_senders import vmc_when_asked

ROOT = Path(__file__).parents[2]
LANE = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
"""The number of the window, where there are several at once: `make test-gui ARGS="-n 2 --dist loadfile"`."""
OUT = ROOT / "build" / ("gui" if LANE == "0" else f"gui-{LANE}")
SECONDS = 400
FINGERS = ("index", "middle", "ring", "pinky")
DIGIT_BONES = {
    "own": {joint for digit in DIGITS for joint in CHAIN_JOINTS[digit][:3]},
    "makehuman": {f"finger{digit}-{part}.R" for digit in range(1, 6) for part in range(1, 4)},
    "rigify": {f"{name}.{part:02}.R" for name in ("thumb", *(f"f_{f}" for f in FINGERS)) for part in range(1, 4)},
}
"""Rig -> the bones of thumb and fingers."""


def real_blender(kind: str, *arguments: str, log: Path, seconds: int = SECONDS) -> subprocess.CompletedProcess[str]:
    """Run tools/real_blender.sh with the zip that `make package` built; what it prints on stderr goes to the log."""
    version = tomllib.loads((ROOT / "blender_manifest.toml").read_text())["version"]
    package = ROOT / "build" / f"knuckle-{version}.zip"
    OUT.mkdir(parents=True, exist_ok=True)  # for the log
    command = [str(ROOT / "tools" / "real_blender.sh"), kind, str(package), str(OUT), str(seconds), *arguments]
    with log.open("w") as file:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=file, text=True, check=False
        )


def play_scenario(name: str, *arguments: str, seconds: int = SECONDS, kind: str = "play") -> dict[str, Any]:
    """Play tests/gui/scenarios/NAME.py and give what it returns; pictures and Blender's log stay in OUT.

    Kind "bare" leaves it to the scenario to install the zip.
    Raises RuntimeError where it failed, or something in the console tells of an error or of memory that was not freed.
    """
    answer, log = OUT / f"{name}.json", OUT / f"{name}.log"
    answer.unlink(missing_ok=True)
    ran = real_blender(kind, name, *arguments, log=log, seconds=seconds)
    reported: dict[str, Any] = json.loads(answer.read_text()) if answer.exists() else {"failure": "no answer"}
    if "failure" in reported or ran.returncode != 0:
        end_of_log = "\n".join([*ran.stdout.splitlines()[-30:], *log.read_text().splitlines()[-30:]])
        raise RuntimeError(
            f"{name}: exit {ran.returncode}, {reported.get('failure', 'after the answer')}\n{end_of_log}"
        )
    console = ran.stdout + log.read_text()
    if any(word in console for word in ("Traceback", "Error:", "not freed")):
        raise RuntimeError(console)
    return {"blender": reported["blender"], **reported["result"]}


@pytest.fixture
def play() -> Callable[[str], dict[str, Any]]:
    """`play_scenario`, to be called with a scenario's name."""
    return play_scenario


def bring_rigs() -> Path:
    """The rigs that scenarios open, as OUT/rigs/makehuman.blend and rigify.blend, which Rigify generated."""
    folder = OUT / "rigs"
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in (
        ("makehuman", rig_file("makehuman_default.blend")),
        ("rigify", rig_file("rigify_generated.blend")),
    ):
        (folder / f"{name}.blend").unlink(missing_ok=True)
        shutil.copy(source, folder / f"{name}.blend")
    return folder


@pytest.fixture(scope="session")
def characters() -> Path:
    """A body with Mixamo's names, one that Rigify generated, and MakeHuman's, as OUT/rigs/NAME.blend."""
    folder = bring_rigs()
    armature, _ = RIGS["named as Mixamo"]()
    armature.name = "Mixamo"
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "mixamo.blend"))
    return folder


@pytest.fixture
def vmc() -> Iterator[None]:
    """See vmc_when_asked."""
    with vmc_when_asked(OUT):
        yield


@pytest.fixture(scope="session")
def rigs(shared: Path) -> Path:
    """`bring_rigs`, once; a test that asks for it is skipped where there are none beside the checkout."""
    return bring_rigs()


@pytest.fixture
def command() -> Callable[..., str]:
    """Run `blender --command ARGUMENTS` and give what it prints; paths as inside, see tools/real_blender.sh."""

    def run_command(*arguments: str) -> str:
        log = OUT / "command.log"
        ran = real_blender("command", *arguments, log=log)
        assert ran.returncode == 0, ran.stdout + log.read_text()
        return ran.stdout

    return run_command
