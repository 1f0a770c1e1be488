"""What the panel chooses for a person: the active armature, a solver by its purpose, presets of all settings."""

import json
from pathlib import Path
from typing import Any

import bpy
import pytest

from knuckle.operators.presets import CAPTURE_FIELDS, preset_of
from knuckle.operators.purposes import ADVANCED, PURPOSES
from knuckle.operators.scene_recipe import recipe_for
from knuckle.pipeline.recipe import to_dict
from knuckle.solvers import SMOOTHINGS, SOLVERS
from knuckle.tests.blender.making import rig
from knuckle.tools.panel_drawing import draw_panels

pytestmark = pytest.mark.usefixtures("extension")

TAP = str(Path(__file__).parents[2] / "data" / "leap_finger_tap.json")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder instead of the user's presets."""
    presets = tmp_path / "presets" / "knuckle"
    presets.mkdir(parents=True)
    monkeypatch.setattr(bpy.utils, "user_resource", lambda *_args, **_keys: str(presets))
    monkeypatch.setattr(bpy.utils, "preset_paths", lambda _folder: [str(presets)])
    return presets


def settings() -> Any:
    return bpy.context.scene.knuckle


def test_choosing_armature_takes_the_active_one() -> None:
    first, second = rig("left"), rig("right")
    bpy.context.view_layer.objects.active = second
    settings().rig = "ARMATURE"
    assert settings().armature == second
    bpy.context.view_layer.objects.active = first
    settings().rig = "NEW"
    settings().rig = "ARMATURE"
    assert settings().armature == second, "what was chosen stays"


def test_choosing_armature_takes_the_only_one_if_something_else_is_active() -> None:
    only = rig("left")
    empty = bpy.data.objects.new("Empty", None)
    bpy.context.collection.objects.link(empty)
    bpy.context.view_layer.objects.active = empty
    settings().rig = "ARMATURE"
    assert settings().armature == only


def test_choosing_armature_takes_none_of_several() -> None:
    for obj in (rig("left"), rig("right")):
        obj.select_set(False)
    bpy.context.view_layer.objects.active = None
    settings().rig = "ARMATURE"
    assert settings().armature is None


@pytest.mark.parametrize("name", ["x" * 300, "a/b\0c"])
def test_a_folder_of_takes_whose_name_is_no_path_is_shown(name: str) -> None:
    bpy.context.scene.knuckle_live.folder = f"/{name}"
    bpy.context.scene.knuckle_live.takes.add().filepath = f"/{name}/take.rawtake"
    assert draw_panels() == ""


@pytest.mark.parametrize("key", PURPOSES)
def test_a_purpose_is_a_solver_and_a_smoothing_with_their_defaults(key: str) -> None:
    settings().solvers.fabrik.passes = 7
    assert settings().purpose == ADVANCED, "a setting that was changed is under Advanced"
    settings().purpose = key
    recipe = recipe_for(bpy.context.scene, TAP)
    assert (recipe.solver, recipe.smoothing) == (PURPOSES[key].solver, PURPOSES[key].smoothing)
    assert (recipe.settings, recipe.smoothing_settings) == ({}, {})
    assert settings().purpose == key


def test_every_algorithm_can_still_be_chosen_and_is_kept_under_advanced() -> None:
    settings().purpose = ADVANCED
    assert draw_panels() == ""
    for solver in SOLVERS:
        for smoothing in SMOOTHINGS:
            settings().solver, settings().smoothing = solver, smoothing
            assert settings().purpose == ADVANCED
            recipe = recipe_for(bpy.context.scene, TAP)
            assert (recipe.solver, recipe.smoothing) == (solver, smoothing)


def test_a_solver_that_no_purpose_has_is_shown_under_advanced() -> None:
    settings().solver = "cga"
    assert settings().purpose == ADVANCED


def test_a_preset_brings_back_all_settings_but_those_of_the_capture(folder: Path) -> None:
    chosen = settings()
    chosen.solver, chosen.solvers.cga.passes, chosen.smoothing = "cga", 5, "live"
    chosen.keep, chosen.rig_limits, chosen.gap_limit, chosen.labels = "pinches", False, 0.5, "shape"
    chosen.keys, chosen.fps = "OTHER", 48.0
    before = preset_of(bpy.context.scene)
    assert bpy.ops.knuckle.add_preset(name="My Glove") == {"FINISHED"}
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.knuckle.import_capture(filepath=TAP)
    settings().markers.location, settings().subject = (1.0, 2.0, 3.0), "Anna"
    fresh = to_dict(recipe_for(bpy.context.scene, TAP))
    assert bpy.ops.knuckle.load_preset(filepath=str(folder / "My_Glove.json")) == {"FINISHED"}
    assert preset_of(bpy.context.scene) == before
    now = to_dict(recipe_for(bpy.context.scene, TAP))
    assert tuple(settings().markers.location) == (1.0, 2.0, 3.0), "the capture stays where it was placed"
    assert {name: now.get(name) for name in CAPTURE_FIELDS} == {name: fresh.get(name) for name in CAPTURE_FIELDS}


@pytest.mark.parametrize("keys", ["SCENE", "CAPTURE", "OTHER"])
def test_a_preset_keeps_where_keyframes_are(folder: Path, keys: str) -> None:
    settings().keys = keys
    bpy.ops.knuckle.add_preset(name="keys")
    settings().keys = "OTHER" if keys != "OTHER" else "SCENE"
    bpy.ops.knuckle.load_preset(filepath=str(folder / "keys.json"))
    assert settings().keys == keys


def test_a_preset_is_not_overwritten_and_can_be_removed(folder: Path) -> None:
    bpy.ops.knuckle.add_preset(name="My Glove")
    before = (folder / "My_Glove.json").read_text()
    settings().solver = "cga"
    assert bpy.ops.knuckle.add_preset(name="My Glove") == {"CANCELLED"}
    assert (folder / "My_Glove.json").read_text() == before
    assert bpy.ops.knuckle.add_preset(name="My Glove", remove_name=True) == {"FINISHED"}
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    ["[]", "import os", '{"solver": "psychic"}', '{"capture": "/etc/passwd"}', '{"rig": "x.blend"}', '{"unknown": 1}'],
)
def test_a_strangers_preset_is_read_and_not_run(folder: Path, content: str) -> None:
    before = to_dict(recipe_for(bpy.context.scene, TAP))
    path = folder / "strange.json"
    path.write_text(content)
    with pytest.raises(RuntimeError, match=r"strange\.json|'psychic'"):
        bpy.ops.knuckle.load_preset(filepath=str(path))
    assert to_dict(recipe_for(bpy.context.scene, TAP)) == before
    assert json.loads(json.dumps(before)) == before


def test_names_of_presets_leave_their_folder_alone(folder: Path) -> None:
    bpy.ops.knuckle.add_preset(name="../../outside")
    assert [path.parent for path in folder.parent.rglob("*.json")] == [folder]
