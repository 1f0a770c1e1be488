"""docs/tutorials/mend-a-take.md, "All ten worst places": found by Next Problem alone, mended in a window, and kept."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

import knuckle
from knuckle.rig.keys.corrections.corrected_take import corrections_of
from knuckle.tests.blender.test_ten_mends import MAX_DEPTH, REDUCED_DEPTH, depths
from knuckle.tests.gui.conftest import OUT, play_scenario
from knuckle.tests.resources import Folder

SECONDS = 900
WITHOUT_CI = pytest.mark.skipif(bool(os.environ.get("CI")), reason="the glove's recording takes the same way")


@contextmanager
def opened(stage: str) -> Iterator[Any]:
    """The character in a file that the window has left, read by Blender's module."""
    knuckle.register()
    try:
        bpy.ops.wm.open_mainfile(filepath=str(OUT / f"{stage}.blend"))
        yield next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    finally:
        knuckle.unregister()


@pytest.mark.parametrize(
    ("recording", "count"),
    [("qualisys_glove.tsv", 10), pytest.param("mediapipe_video.json", 7, marks=WITHOUT_CI)],
)
def test_the_ten_worst_places_are_mended_in_a_window(recording: str, count: int, shared: Folder, rigs: Path) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / recording).unlink(missing_ok=True)
    shutil.copyfile(shared.file(f"data/captures/{recording}"), OUT / recording)
    seen = play_scenario("ten_mends", recording, seconds=SECONDS)
    places, name = seen["places"], f"ten_mends_{Path(recording).suffix[1:]}"
    assert len(places) >= count, "the camera's recording has fewer than ten"
    assert all(place["frame"] == place["worst"] and place["bones"] for place in places)
    assert len({place["worst"] for place in places}) == len(places), "each once"
    assert sum(line.startswith("Mended, ") for line in seen["reports"]) == len(places)
    mends = sum(len(place["mends"]) for place in places)
    assert len(seen["before"]) == mends + 2 and len(seen["held"]) == 2
    assert {*seen["before"].values()} == {"on"}
    assert seen["after"] == seen["before"] == seen["reduced"], "a new solve and fewer keys keep them"
    beyond = seen["beyond"]
    if beyond is not None:
        first, last = beyond["span"]
        assert not any(place["span"][0] <= last and first <= place["span"][1] for place in places)
    dense, few = seen["counts"]
    assert few < 0.25 * dense
    for stage, most in (("solved", MAX_DEPTH), ("reduced", MAX_DEPTH + REDUCED_DEPTH)):
        with opened(f"{name}_{stage}") as rig:
            held = [one for one in corrections_of(rig) if one.id in seen["held"]]
            assert len(held) == 2
            assert max(np.abs(depths(rig, one)).max() for one in held) <= most, stage
