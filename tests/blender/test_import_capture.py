"""Import of a capture: what it selects, sets, keeps and tells."""

import json
from pathlib import Path

import bpy
import numpy as np
import pytest

from knuckle.capture.markers import Markers
from knuckle.hand.marker_sets import from_json
from knuckle.operators.load_capture import describe_capture
from knuckle.pipeline.report import key_rate_warning
from knuckle.rig import markers_object


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Five markers of a hand in mm, in 31 frames without times."""
    labels = ("thumb_tip", "index_tip", "wrist", "index_mcp", "pinky_mcp")
    rest = np.array([[-50, 90, 10], [-30, 170, 0], [0, 0, 10], [-30, 90, 0], [30, 80, 0]])
    rows = [",".join(f"{value:.2f}" for value in (rest + frame).ravel()) for frame in range(31)]
    path = tmp_path / "hand.csv"
    path.write_text("\n".join([",".join(f"{label}_{axis}" for label in labels for axis in "xyz"), *rows, ""]))
    return path


def test_the_markers_are_selected_and_active(extension, table: Path) -> None:
    bpy.ops.mesh.primitive_cube_add()
    assert bpy.ops.knuckle.import_capture(filepath=str(table)) == {"FINISHED"}
    markers = bpy.context.scene.knuckle.markers
    assert bpy.context.view_layer.objects.active == markers
    assert bpy.context.selected_objects == [markers]


def test_the_options_of_the_dialogue_are_obeyed_and_kept(extension, table: Path) -> None:
    scene = bpy.context.scene
    result = bpy.ops.knuckle.import_capture(
        filepath=str(table), unit="cm", up="y", rate=30.0, start=11, set_rate=True, set_range=True
    )
    assert result == {"FINISHED"}
    chosen = scene.knuckle
    assert (chosen.unit, chosen.up, chosen.rate, chosen.start) == ("cm", "y", 30.0, 11)
    assert (scene.render.fps, scene.render.fps_base) == (30, 1.0)
    assert (scene.frame_start, scene.frame_end) == (11, 41)
    corner = np.array(chosen.markers.data.vertices[2].co)
    np.testing.assert_allclose(corner, [0.0, -0.1, 0.0], atol=1e-6)


def test_without_options_the_scene_decides_and_keeps_its_range(extension, table: Path) -> None:
    scene = bpy.context.scene
    scene.knuckle.unit, scene.knuckle.rate = "cm", 15.0
    before = scene.frame_start, scene.frame_end, scene.render.fps
    assert bpy.ops.knuckle.import_capture(filepath=str(table)) == {"FINISHED"}
    about = scene.knuckle.markers["knuckle_capture"]
    assert (about["unit"], about["rate"]) == ("cm", 15.0)
    assert (scene.frame_start, scene.frame_end, scene.render.fps) == before


def test_a_refused_file_changes_no_setting(extension, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(RuntimeError, match="does not start as"):
        bpy.ops.knuckle.import_capture(filepath=str(path), unit="mm", start=9, set_range=True)
    chosen = bpy.context.scene.knuckle
    assert (chosen.unit, chosen.start, chosen.capture) == ("auto", 1, "")


def test_one_line_tells_what_came() -> None:
    markers = Markers(("a", "b"), np.arange(31) / 60, np.zeros((31, 2, 3)), source="x.csv", rate=60.0, unit="mm")
    reported = describe_capture(markers, {"hands": "right: 2 markers"})
    assert reported == "x.csv: 31 frames at 60 Hz, 0.50 s, in mm; 2 markers, right: 2 markers"
    assert "no hand was found" in describe_capture(markers, {"hands": ""})


@pytest.mark.parametrize(
    ("rate", "fps", "reported"),
    [(60.0, 24.0, "keys at 24 fps drop 60% of the capture's 60 frames per second"), (60.0, None, ""), (24.0, 60.0, "")],
)
def test_frames_that_keys_leave_out_are_reported(rate: float, fps: float | None, reported: str) -> None:
    assert reported in key_rate_warning(rate, fps) and bool(reported) == bool(key_rate_warning(rate, fps))


def test_save_as_in_another_folder_remaps_the_path(extension, table: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a.blend"))
    assert bpy.ops.knuckle.import_capture(filepath=str(table)) == {"FINISHED"}
    chosen = bpy.context.scene.knuckle
    assert chosen.capture == "//hand.csv"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "other" / "copy.blend"), copy=True)
    assert chosen.capture == "//hand.csv"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "other" / "b.blend"))
    assert bpy.context.scene.knuckle.capture == "//../hand.csv"
    for name in ("copy", "b"):
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "other" / f"{name}.blend"))
        assert Path(bpy.path.abspath(bpy.context.scene.knuckle.capture)).resolve() == table


def test_a_file_in_a_folder_behind_a_link_imports_what_is_outside_of_it(extension, table: Path, tmp_path: Path) -> None:
    (tmp_path / "disk" / "shots").mkdir(parents=True)
    (tmp_path / "project").symlink_to(tmp_path / "disk" / "shots", target_is_directory=True)
    inside = tmp_path / "project" / table.name
    inside.write_text(table.read_text())
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "project" / "shot.blend"))
    for path, kept in ((table, str(table)), (inside, f"//{table.name}")):
        assert bpy.ops.knuckle.import_capture(filepath=str(path)) == {"FINISHED"}
        assert bpy.context.scene.knuckle.capture == kept


def test_markers_are_found_where_they_are_shown(extension, table: Path) -> None:
    """Against Blender's evaluation of the node group: an instance for each marker."""
    scene = bpy.context.scene
    bpy.ops.knuckle.import_capture(filepath=str(table), start=5)
    markers = scene.knuckle.markers
    markers.location, markers.rotation_euler = (1, 2, 3), (0.3, 0.2, 0.1)
    for frame in (1, 5, 9, 12, 100):
        scene.frame_set(frame)
        mesh = markers.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
        found = markers_object.positions_at(markers, frame)
        if not len(mesh.vertices):
            assert np.isnan(found).all()
            continue
        balls = np.array([markers.matrix_world @ vertex.co for vertex in mesh.vertices]).reshape(5, -1, 3)
        np.testing.assert_allclose(found, balls.mean(axis=1), atol=1e-5)


@pytest.mark.parametrize("unit", ["mm", "m"])
def test_import_leaves_a_guess_for_assigning(extension, table: Path, unit: str) -> None:
    """Also of a hand that cannot be measured, as in a wrong unit."""
    bpy.ops.knuckle.import_capture(filepath=str(table), unit=unit)
    assert bool(bpy.context.scene.knuckle.markers["knuckle_capture"]["problem"]) == (unit == "m")
    guess = from_json(json.loads(bpy.context.scene.knuckle.markers["knuckle_capture"]["guess"]), "guess")
    (spots,) = guess.values()
    assert spots["index_tip"].joint == "index-finger-tip" and len(spots) == 5


def test_a_marker_map_of_the_scene_can_be_saved(extension, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no marker map"):
        bpy.ops.knuckle.save_markers(filepath=str(tmp_path / "map.json"))
    chosen, data = bpy.context.scene.knuckle, {"left": {"m1": "wrist"}}
    chosen.marker_map = json.dumps(data)
    assert bpy.ops.knuckle.save_markers(filepath=str(tmp_path / "map.json")) == {"FINISHED"}
    chosen.marker_map = ""
    assert bpy.ops.knuckle.load_markers(filepath=str(tmp_path / "map.json")) == {"FINISHED"}
    assert json.loads(chosen.marker_map) == data


def test_the_scene_goes_to_the_capture_that_it_would_not_show(extension, table: Path) -> None:
    scene = bpy.context.scene
    bpy.ops.knuckle.import_capture(filepath=str(table), start=50)
    assert scene.frame_current == 50
    scene.frame_set(55)
    bpy.ops.knuckle.import_capture(filepath=str(table))
    assert scene.frame_current == 55
