"""The tables of rigs and proportions in the documentation: rows that take seconds are those that their scripts find."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from knuckle.tests.blender.rigs import rig_file
from knuckle.tests.pure.test_doc_tables import ROOT, differences
from knuckle.tests.resources import SHARED
from knuckle.tools.doc_sections import sections_of

pytestmark = pytest.mark.usefixtures("extension")
RIG = "MakeHuman for games"
"""The same with ../shared and without."""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ModuleType:
    """What imports a script of tools/ by its name."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    return import_module(request.param)


def printed(page: str, section: str, *first: str) -> str:
    """The line of a table that begins with these cells."""
    beginning = "| " + " | ".join(first) + " |"
    (line,) = [line for line in sections_of(ROOT / page)[section].splitlines() if line.startswith(beginning)]
    return line


@pytest.mark.parametrize("script", ["rigs_table"], indirect=True)
@pytest.mark.parametrize("rig", ["WebXR, left", "MakeHuman for games"])
def test_hands_are_found_in_a_rig_as_its_row_says(rig: str, script: ModuleType) -> None:
    if rig == "WebXR, left" and not rig_file("generic_hand_left.glb").is_relative_to(SHARED):
        pytest.skip(
            "no data/rigs/generic_hand_left.glb beside the checkout (../shared), and what stands in is another hand"
        )
    assert differences(printed("docs/reference/rigs.md", "detection", rig), script.row(rig).strip()) == []


@pytest.mark.spare
@pytest.mark.parametrize("script", ["rigs_table"], indirect=True)
def test_a_rig_is_baked_as_exactly_as_its_row_says(script: ModuleType, shared: Path, tmp_path: Path) -> None:
    clip = script.headset_clip(shared / "data/captures/webxr_poses_right.js", tmp_path / "poses.json")
    row = script.baked("WebXR, left", clip, shared / "data/captures/two_hands_glove.c3d")
    assert differences(printed("docs/reference/rigs.md", "bakes", "WebXR, left"), row.strip()) == []


@pytest.mark.parametrize("script", ["proportions_page"], indirect=True)
@pytest.mark.parametrize("recording", [pytest.param("glove", marks=pytest.mark.spare), "gestures"])
def test_a_hand_of_other_proportions_is_as_far_off_as_its_row_says(
    recording: str, script: ModuleType, shared: Path
) -> None:
    row = script.row(RIG, recording, shared)
    page = "docs/explanation/proportions.md"
    assert differences(printed(page, "recordings", RIG, recording), row.strip()) == []
