"""What a person can do: each operator from a script, and that errors and refusals change nothing."""

import json
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.operators import clear_settings
from knuckle.operators.live_device import end
from knuckle.operators.scene_recipe import apply_recipe, recipe_of
from knuckle.panels.calibration_panel import performer_of
from knuckle.pipeline.recipe import from_dict, to_dict
from knuckle.rig.keys.take_report import report_of
from knuckle.rig.limits.limit_constraints import CONSTRAINT_NAME
from knuckle.rig.markers_object import CAPTURE_PROPERTY
from knuckle.tests.blender.making import everything, rig, take

pytestmark = pytest.mark.usefixtures("extension")

TAP = str(Path(__file__).parents[2] / "data" / "leap_finger_tap.json")


@pytest.fixture
def table(tmp_path: Path) -> str:
    """A right hand's markers as a plain table: 30 frames at 60 Hz."""
    markers = take(("right",), frames=30, first=0.0).markers
    names = [f"{name.replace(' ', '_')}.{axis}" for name in markers.names for axis in "xyz"]
    rows = np.concatenate([markers.times[:, None], markers.positions.reshape(len(markers.times), -1)], axis=1)
    path = tmp_path / "hand.csv"
    np.savetxt(path, rows, delimiter=",", header=",".join(["time", *names]), comments="", fmt="%.6f")
    return str(path)


@pytest.mark.parametrize("side", ["left", "right"])
def test_add_hand_gives_a_hand_of_that_size_with_visible_limits(side: str) -> None:
    bpy.context.scene.cursor.location = (1, 2, 3)
    assert bpy.ops.knuckle.add_hand(side=side, size=0.25, location=(1, 2, 3)) == {"FINISHED"}
    armature = bpy.context.active_object
    assert armature.name == f"{side.capitalize()} Hand"
    assert armature.select_get()
    tip = armature.data.bones["middle-finger-tip"].head_local
    knuckle = armature.data.bones["middle-finger-phalanx-proximal"].head_local
    assert knuckle.length + (tip - knuckle).length == pytest.approx(0.25, rel=1e-4)
    assert armature.matrix_world.translation.to_tuple() == pytest.approx((1, 2, 3))
    assert sum(CONSTRAINT_NAME in bone.constraints for bone in armature.pose.bones) == 15
    thumb = armature.data.bones["thumb-tip"].head_local.x
    assert (thumb > 0) == (side == "left")


def test_a_hand_is_added_where_there_is_no_view_to_align_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """As from a script, with the preference to align new objects with the view."""
    edit = bpy.context.preferences.edit
    monkeypatch.setattr(edit, "object_align", "VIEW")
    assert bpy.ops.knuckle.add_hand() == {"FINISHED"}
    np.testing.assert_array_equal(bpy.context.active_object.matrix_world, np.eye(4))


def test_a_damaged_placement_of_a_capture_is_reported_before_its_markers_are_shown() -> None:
    """As `make fuzz OF=scene` found: a scene's kept transform that is not JSON, seed 1, number 5."""
    scene = bpy.context.scene
    scene.knuckle.transform = "\n}"
    before = everything(scene)
    with pytest.raises(RuntimeError, match="The transform of this scene"):
        bpy.ops.knuckle.import_capture(filepath=TAP)
    assert everything(scene) == before and not scene.knuckle.capture


def test_import_shows_the_markers_once_and_fills_the_panel() -> None:
    for _ in range(2):
        assert bpy.ops.knuckle.import_capture(filepath=TAP) == {"FINISHED"}
    chosen = bpy.context.scene.knuckle
    assert chosen.capture == TAP
    assert [obj.name for obj in bpy.data.objects] == ["leap_finger_tap"] == [chosen.markers.name]
    about = chosen.markers[CAPTURE_PROPERTY]
    assert about["frames"] == 89 == chosen.last
    assert about["confidence"] > 0.5
    assert about["hands"].startswith("right")


def test_what_was_told_by_shape_is_in_the_panel() -> None:
    bpy.ops.knuckle.import_capture(filepath=TAP)
    chosen = bpy.context.scene.knuckle
    assert list(chosen.markers[CAPTURE_PROPERTY]["facts"]) == []
    chosen.labels = "shape"
    bpy.ops.knuckle.import_capture(filepath=TAP)
    assert chosen.markers[CAPTURE_PROPERTY]["facts"][0].startswith("Right, by shape: ")


def test_what_cannot_be_read_is_reported_and_changes_nothing(tmp_path: Path) -> None:
    bpy.ops.knuckle.import_capture(filepath=TAP)
    before = everything(bpy.context.scene)
    bad = tmp_path / "bad.c3d"
    bad.write_bytes(b"nothing")
    for path in (bad, tmp_path / "nowhere.trc"):
        with pytest.raises(RuntimeError, match=path.name):
            bpy.ops.knuckle.import_capture(filepath=str(path))
        assert bpy.context.scene.knuckle.capture == TAP
        bpy.context.scene.knuckle.capture = str(path)
        with pytest.raises(RuntimeError, match=path.name):
            bpy.ops.knuckle.solve()
        bpy.context.scene.knuckle.capture = TAP
    assert everything(bpy.context.scene) == before


def refusals() -> list[str]:
    """What operators that read the settings say; what they are refused for is a sentence, no traceback."""
    said = []
    for operator in (bpy.ops.knuckle.solve, bpy.ops.knuckle.calibrate, bpy.ops.knuckle.live_start):
        try:
            operator()
        except RuntimeError as error:
            said.append(str(error))
            assert said[-1].startswith("Error: ") and "Traceback" not in said[-1]
    end(put_back=False)
    return said


@pytest.mark.parametrize("setting", ["performer", "marker_map", "rig_mappings"])
def test_settings_that_are_no_json_are_reported(setting: str) -> None:
    """Settings come with a .blend file that anybody may have written."""
    chosen = bpy.context.scene.knuckle
    bpy.ops.knuckle.import_capture(filepath=TAP)
    for text in ("[" * 50_000, "9" * 5000, '{"\\ud800": 1}', "{"):
        setattr(chosen, setting, text)
        assert len(refusals()) == 3
        assert performer_of(chosen.performer) is None


@pytest.mark.parametrize("setting", ["performer", "marker_map", "rig_mappings"])
@pytest.mark.parametrize("text", ["[]", "3", "null", '"left"', '{"left": {"right": []}}', '{"hands": {"left": 3}}'])
def test_settings_of_another_kind_raise_nothing_but_a_sentence(setting: str, text: str) -> None:
    chosen = bpy.context.scene.knuckle
    bpy.ops.knuckle.import_capture(filepath=TAP)
    setattr(chosen, setting, text)
    assert performer_of(chosen.performer) is None
    said = refusals()
    assert said or setting == "rig_mappings" or text == "null", "mappings are read for an armature only"


@pytest.mark.parametrize("start", [1_048_570, -2_000_000, 2**31 - 1])
def test_a_take_beyond_blenders_frames_is_reported_and_leaves_no_hand(start: int) -> None:
    """Its keys would all fall on the last frame."""
    bpy.ops.knuckle.import_capture(filepath=TAP)
    bpy.context.scene.knuckle.start = start
    before = everything(bpy.context.scene)
    with pytest.raises(RuntimeError, match="1048574"):
        bpy.ops.knuckle.solve()
    assert everything(bpy.context.scene) == before


@pytest.mark.parametrize("start", [1_048_570, 2**31 - 1])
def test_a_capture_beyond_blenders_frames_is_reported_and_not_imported(start: int) -> None:
    before = everything(bpy.context.scene)
    with pytest.raises(RuntimeError, match="1048574"):
        bpy.ops.knuckle.import_capture(filepath=TAP, start=start, set_range=True)
    assert everything(bpy.context.scene) == before


def test_solve_keys_a_new_hand_on_the_frames_of_its_markers() -> None:
    scene = bpy.context.scene
    scene.render.fps, scene.frame_end = 30, 99
    bpy.ops.knuckle.import_capture(filepath=TAP)
    scene.knuckle.start = 11
    scene.knuckle.use_range, scene.knuckle.first, scene.knuckle.last = True, 20, 60
    before = everything(scene)
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    after = everything(scene)
    assert after["actions"] == ["leap_finger_tap"]
    assert after["scene"] == before["scene"], "a take leaves the scene's rate and frames alone"
    armature = scene.knuckle.result
    first, last = armature.animation_data.action.frame_range
    times = (19 / 55.324, 59 / 55.324)
    assert first == pytest.approx(11 + times[0] * 30, abs=1.0)
    assert last == pytest.approx(11 + times[1] * 30, abs=2.0)
    assert first == round(first)
    report = report_of(armature)
    assert report is not None
    assert set(report["hands"]) == {"right"}
    bpy.ops.knuckle.fit_range()
    assert (scene.frame_start, scene.frame_end) == (round(first), round(last))


def test_solve_keys_the_chosen_armature_and_refuses_what_is_no_hand(table: str) -> None:
    scene = bpy.context.scene
    chosen = scene.knuckle
    bpy.ops.knuckle.import_capture(filepath=table)
    chosen.rig = "ARMATURE"
    assert not bpy.ops.knuckle.solve.poll()
    armature = rig("right", flat=True)
    chosen.armature = armature
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    assert armature.animation_data.action.name == "hand"
    bare = bpy.data.objects.new("Bare", bpy.data.armatures.new("Bare"))
    scene.collection.objects.link(bare)
    chosen.armature = bare
    before = everything(scene)
    with pytest.raises(RuntimeError, match="'Bare' has no bones"):
        bpy.ops.knuckle.solve()
    chosen.armature, chosen.hand = rig("left"), "right"
    before["objects"], before["armatures"] = (everything(scene)[kind] for kind in ("objects", "armatures"))
    with pytest.raises(RuntimeError, match="no right hand, only a left one"):
        bpy.ops.knuckle.solve()
    assert everything(scene) == before


def test_a_performer_is_measured_saved_forgotten_and_loaded(tmp_path: Path) -> None:
    chosen = bpy.context.scene.knuckle
    assert not bpy.ops.knuckle.calibrate.poll()
    assert not bpy.ops.knuckle.save_performer.poll()
    bpy.ops.knuckle.import_capture(filepath=TAP)
    assert bpy.ops.knuckle.calibrate() == {"FINISHED"}
    measured = chosen.performer
    path = str(tmp_path / "performer.json")
    bpy.ops.knuckle.save_performer(filepath=path)
    bpy.ops.knuckle.clear_performer()
    assert chosen.performer == ""
    bpy.ops.knuckle.load_performer(filepath=path)
    assert json.loads(chosen.performer) == json.loads(measured)
    with pytest.raises(RuntimeError, match="not a performer file"):
        bpy.ops.knuckle.load_performer(filepath=TAP)
    assert bpy.ops.knuckle.solve() == {"FINISHED"}


@pytest.mark.parametrize("operator", clear_settings.CLASSES)
def test_a_setting_of_a_file_is_cleared_alone(operator: Any) -> None:
    chosen = bpy.context.scene.knuckle
    names = {cls.setting for cls in clear_settings.CLASSES}
    assert operator.bl_label.startswith("Clear ") and len(names) == 5
    for name in names:
        setattr(chosen, name, "rest")
    clear = getattr(bpy.ops.knuckle, operator.bl_idname.removeprefix("knuckle."))
    assert clear() == {"FINISHED"}
    assert {name for name in names if getattr(chosen, name) == ""} == {operator.setting}


def test_a_recipe_goes_to_the_panel_and_back_and_through_a_file(tmp_path: Path) -> None:
    scene = bpy.context.scene
    recipe = from_dict(
        {
            "capture": TAP,
            "unit": "mm",
            "up": "y",
            "start": 3,
            "end": 44,
            "hand": "right",
            "mirror": True,
            "labels": "shape",
            "markers": {"right": {"a": "thumb-tip", "b": {"joint": "wrist", "offset": [0.01, 0.0, 0.002]}}},
            "cleaning": {"gap_limit": 0.35, "fragments": False, "spikes": False, "cutoff": 7.5},
            "settings": {"passes": 20},
            "angles": "device",
            "rig": "hand.blend",
            "armature": "Body",
            "mappings": {"left": {"version": 2, "side": "left", "bones": {"wrist": "hand"}}},
            "drive": "arm",
            "keep": "pinches",
            "keep_scale": "world",
            "fps": 29.97,
        },
        "test",
    )
    apply_recipe(recipe, scene)
    assert recipe_of(scene) == recipe
    path = str(tmp_path / "recipe.json")
    bpy.ops.knuckle.save_recipe(filepath=path)
    assert json.loads(Path(path).read_text()) == json.loads(json.dumps(to_dict(recipe)))
    apply_recipe(from_dict({"capture": "other"}, "test"), scene)
    assert recipe_of(scene) == from_dict({"capture": bpy.path.abspath("other")}, "test")
    bpy.ops.knuckle.load_recipe(filepath=path)
    assert recipe_of(scene) == recipe


def test_the_report_of_the_active_hand_is_exported(tmp_path: Path) -> None:
    path = str(tmp_path / "report.json")
    assert not bpy.ops.knuckle.export_report.poll()
    bpy.ops.knuckle.import_capture(filepath=TAP)
    bpy.ops.knuckle.solve()
    bpy.ops.knuckle.export_report(filepath=path)
    assert json.loads(Path(path).read_text()) == report_of(bpy.context.scene.knuckle.result)


def test_everything_a_person_meets_is_explained() -> None:
    from knuckle.registration import definitions

    for cls in definitions("CLASSES"):
        kind = cls.bl_rna
        if issubclass(cls, bpy.types.Operator | bpy.types.PropertyGroup):
            for prop in kind.properties:
                # An operator has Blender's own `name` as well, which is read-only.
                own = prop.identifier in getattr(cls, "__annotations__", {}) and not prop.is_readonly
                hidden = prop.is_hidden or prop.identifier in {"filter_glob", "what"}
                assert not own or hidden or prop.description, f"{cls.__name__}.{prop.identifier} has no tooltip"
        if issubclass(cls, bpy.types.Operator):
            assert cls.__doc__, f"{cls.__name__} has no tooltip"


def test_switching_off_takes_everything_back() -> None:
    import knuckle

    knuckle.unregister()
    try:
        assert not hasattr(bpy.types.Scene, "knuckle")
        assert not hasattr(bpy.types, "KNUCKLE_PT_solve")
        assert "knuckle" not in dir(bpy.ops) or not dir(bpy.ops.knuckle)
    finally:
        knuckle.register()


def test_a_right_hand_is_mirrored_onto_an_armature_that_has_a_left_one_only() -> None:
    chosen = bpy.context.scene.knuckle
    bpy.ops.knuckle.import_capture(filepath=TAP)
    chosen.rig, chosen.armature = "ARMATURE", rig("left")
    with pytest.raises(RuntimeError, match="no right hand, only a left one"):
        bpy.ops.knuckle.solve()
    chosen.mirror = True
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    report = report_of(chosen.armature)
    assert report is not None and set(report["hands"]) == {"left"}
    assert chosen.markers.scale.x == -1.0, "its markers lie on the hand"
    chosen.rig, chosen.mirror = "NEW", False
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    assert chosen.markers.scale.x == 1.0
