"""The same contacts by a click and by the shell's command: the curves are the same."""

import json
from pathlib import Path

import bpy
import numpy as np
import pytest

from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.cli.main import main
from knuckle.hand import proportions
from knuckle.pipeline.corrections.correction_json import to_list
from knuckle.rig.default_hand import add_hand
from knuckle.rig.keys.corrections.corrected_take import corrections_of
from knuckle.rig.keys.corrections.waiting import waiting_of
from knuckle.rig.keys.fcurves import curves_on, key_values
from knuckle.tests.blender.test_palm_on_object import table
from knuckle.tests.blender.touching_objects import hold, shown

pytestmark = pytest.mark.usefixtures("extension")


def solved(out: Path, rig: Path, *more: str) -> bpy.types.Object:
    """The rig in the file that the command has saved."""
    assert main(["solve", str(DEMO_CAPTURE), "--out", str(out), "--rig", str(rig), "--drive", "wrist", *more]) == 0
    bpy.ops.wm.open_mainfile(filepath=str(out))
    found = bpy.data.objects["Rig"]
    bpy.context.view_layer.objects.active = found
    return found


def values(armature: bpy.types.Object) -> dict[tuple[str, int], np.ndarray]:
    return {(curve.data_path, curve.array_index): key_values(curve, "co") for curve in curves_on(armature)}


def test_the_shell_composes_the_curves_that_a_click_does(tmp_path: Path) -> None:
    rig, beside, reported = tmp_path / "rig.blend", tmp_path / "beside.blend", tmp_path / "corrections.json"
    add_hand(proportions.adult("right"), "Rig", bpy.context.scene.collection)
    bpy.ops.wm.save_as_mainfile(filepath=str(rig))
    armature = solved(tmp_path / "solved.blend", rig)
    table(armature)
    bpy.ops.wm.save_as_mainfile(filepath=str(beside))
    before = values(armature)
    hold(tips={"palm", "index-finger"})
    assert waiting_of(shown().base) == {}
    clicked = values(armature)
    assert any(not np.array_equal(clicked[place], before[place]) for place in before)
    reported.write_text(json.dumps(to_list(corrections_of(armature))))

    by_shell = values(solved(tmp_path / "corrected.blend", beside, "--corrections", str(reported)))
    assert by_shell.keys() == clicked.keys()
    for place, curve in clicked.items():
        np.testing.assert_allclose(by_shell[place], curve, atol=1e-6, err_msg=str(place))
