"""Gives tests the fixture `play`: a scenario played in a real Blender that has the built zip installed."""

import json
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
OUT = ROOT / "build" / "gui"
SECONDS = 400


def real_blender(kind: str, *arguments: str, log: Path) -> subprocess.CompletedProcess[str]:
    """Run tools/real_blender.sh with the zip that `make package` built; what it prints on stderr goes to the log."""
    version = tomllib.loads((ROOT / "blender_manifest.toml").read_text())["version"]
    package = ROOT / "build" / f"knuckle-{version}.zip"
    OUT.mkdir(parents=True, exist_ok=True)  # for the log
    command = [str(ROOT / "tools" / "real_blender.sh"), kind, str(package), str(OUT), str(SECONDS), *arguments]
    with log.open("w") as file:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=file, text=True, check=False
        )


@pytest.fixture
def play() -> Callable[[str], dict[str, Any]]:
    """Play tests/gui/scenarios/NAME.py and give what it returns; pictures and Blender's log stay in build/gui/."""

    def play_scenario(name: str) -> dict[str, Any]:
        answer, log = OUT / f"{name}.json", OUT / f"{name}.log"
        answer.unlink(missing_ok=True)
        ran = real_blender("play", name, log=log)
        told: dict[str, Any] = json.loads(answer.read_text()) if answer.exists() else {"failure": "no answer"}
        if "failure" in told or ran.returncode != 0:
            end_of_log = "\n".join([*ran.stdout.splitlines()[-30:], *log.read_text().splitlines()[-30:]])
            pytest.fail(f"{name}: exit {ran.returncode}, {told.get('failure', 'after the answer')}\n{end_of_log}")
        console = ran.stdout + log.read_text()
        assert "Traceback" not in console and "Error:" not in console, console
        return {"blender": told["blender"], **told["result"]}

    return play_scenario


@pytest.fixture
def command() -> Callable[..., str]:
    """Run `blender --command ARGUMENTS` and give what it prints; paths as inside, see tools/real_blender.sh."""

    def run_command(*arguments: str) -> str:
        log = OUT / "command.log"
        ran = real_blender("command", *arguments, log=log)
        assert ran.returncode == 0, ran.stdout + log.read_text()
        return ran.stdout

    return run_command
