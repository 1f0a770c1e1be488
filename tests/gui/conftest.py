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
SECONDS = 120


@pytest.fixture
def play() -> Callable[[str], dict[str, Any]]:
    """Play tests/gui/scenarios/NAME.py and give what it returns; pictures and Blender's log stay in build/gui/."""

    def play_scenario(name: str) -> dict[str, Any]:
        version = tomllib.loads((ROOT / "blender_manifest.toml").read_text())["version"]
        package = ROOT / "build" / f"knuckle-{version}.zip"
        OUT.mkdir(parents=True, exist_ok=True)
        answer, log = OUT / f"{name}.json", OUT / f"{name}.log"
        answer.unlink(missing_ok=True)
        command = [str(ROOT / "tools" / "real_blender.sh"), "run", str(package), name, str(OUT), str(SECONDS)]
        with log.open("w") as file:
            ran = subprocess.run(["bash", *command], stdout=file, stderr=file, stdin=subprocess.DEVNULL, check=False)
        told: dict[str, Any] = json.loads(answer.read_text()) if answer.exists() else {"failure": "no answer"}
        if "failure" in told or ran.returncode != 0:
            end_of_log = "\n".join(log.read_text().splitlines()[-30:])
            pytest.fail(f"{name}: exit {ran.returncode}, {told.get('failure', 'after the answer')}\n{end_of_log}")
        return {"blender": told["blender"], **told["result"]}

    return play_scenario
