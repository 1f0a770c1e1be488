"""Takes for tests: the bundled recording, of which the recipe takes few frames, so that each is quickly solved."""

import json
import shutil
from pathlib import Path

from knuckle.farm.output_folder import LOCK
from knuckle.farm.take_orders import TakeOrder, read_orders
from knuckle.farm.tasks import FarmSettings, settings_of
from knuckle.tests.resources import ROOT

CAPTURE = ROOT / "data" / "leap_finger_tap.json"
FRAMES = 12


def recipe_file(folder: Path, **fields: object) -> Path:
    """A recipe of few frames."""
    path = folder / "recipe.json"
    path.write_text(json.dumps({"end": FRAMES, **fields}))
    return path


def captures(folder: Path, count: int) -> Path:
    """A folder of captures a00, a01, ... of the same content."""
    (folder / "captures").mkdir()
    for number in range(count):
        shutil.copy(CAPTURE, folder / "captures" / f"a{number:02}.json")
    return folder / "captures"


def orders_of(folder: Path, count: int = 1, **fields: object) -> tuple[TakeOrder, ...]:
    """Orders of such captures, which are made if they are not there."""
    there = folder / "captures" if (folder / "captures").is_dir() else captures(folder, count)
    return read_orders([str(there)], recipe_file(folder, **fields), None, folder / "out")


def settings(folder: Path, *outputs: str, pictures: bool = False) -> FarmSettings:
    """Settings of a run that holds its output below a folder, by default with joints and report."""
    found = settings_of(folder / "out", outputs or ("joints", "report"), pictures=pictures)
    (folder / "out").mkdir(exist_ok=True)
    (folder / "out" / LOCK).write_text(found.run)
    return found
