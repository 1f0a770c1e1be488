"""The performer is placed at the character: markers that are moved count, and one click moves them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion
from numpy.typing import NDArray

from knuckle.capture import Markers
from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.cli.main import main
from knuckle.errors import KnuckleError, MarkerMapError
from knuckle.hand.generators import run_to_end
from knuckle.operators.scene_recipe import apply_recipe, recipe_of
from knuckle.panels.sidebar import _target
from knuckle.pipeline import job
from knuckle.pipeline.alignment import captured_frames
from knuckle.pipeline.capture_transform import CaptureTransform
from knuckle.pipeline.recipe import Recipe
from knuckle.rig.character_frames import forearm_frame_of
from knuckle.rig.keys.arm_keys import arm_of
from knuckle.rig.keys.take_report import report_of
from knuckle.rig.markers_object import is_markers, transform_in_scene
from knuckle.rig.rig_query import RigQuery
from knuckle.tests.blender.making import evaluated, find_hand, rig, take
from knuckle.tests.blender.rigs import RIGS
from knuckle.tests.resources import Folder

pytestmark = pytest.mark.usefixtures("extension")

Floats = NDArray[np.float64]
Object = bpy.types.Object
PLACE = Matrix.Translation((1.0, -2.0, 0.5)) @ Matrix.Rotation(0.7, 4, (1.0, 2.0, -1.0)) @ Matrix.Scale(1.2, 4)


def imported(armature: Object | None = None, drive: str = "wrist") -> Any:
    """The panel's settings, with the bundled capture of a right hand."""
    bpy.ops.knuckle.import_capture(filepath=str(DEMO_CAPTURE))
    chosen = bpy.context.scene.knuckle
    chosen.drive, chosen.use_range, chosen.first, chosen.last = drive, True, 1, 40
    if armature is not None:
        chosen.rig, chosen.armature = "ARMATURE", armature
    return chosen


def wrists(armature: Object, bone: str) -> Floats:
    """(F, 4, 4) where a bone is in the scene on some frames."""
    frames = []
    for frame in (1, 5, 9):
        bpy.context.scene.frame_set(frame)
        frames.append(evaluated(armature, {"wrist": bone})[0])
    return np.array(frames)


@pytest.mark.parametrize("mirror", [False, True])
def test_moved_rotated_and_scaled_markers_move_the_hand_with_them(mirror: bool) -> None:
    chosen = imported()
    chosen.mirror = mirror
    bpy.ops.knuckle.solve()
    still, first = wrists(chosen.result, "wrist"), np.array(chosen.result.data.bones["middle-finger-tip"].head_local)
    chosen.markers.matrix_world = PLACE @ (Matrix.Scale(-1, 4, (1, 0, 0)) if mirror else Matrix.Identity(4))
    bpy.ops.knuckle.solve()
    moved = wrists(chosen.result, "wrist")
    expected = np.array(PLACE) @ still
    assert np.abs(moved[:, :3, 3] - expected[:, :3, 3]).max() < 2e-6
    assert np.abs(moved[:, :3, :3] - expected[:, :3, :3] / 1.2).max() < 2e-6
    assert np.allclose(chosen.result.data.bones["middle-finger-tip"].head_local, 1.2 * first, atol=1e-6), "it is larger"


def test_markers_that_are_stretched_are_reported_and_nothing_is_solved() -> None:
    chosen = imported()
    chosen.markers.scale = (1.0, 1.0, 1.5)
    with pytest.raises(RuntimeError, match=r"its scale is 1, 1, 1\.5 along its axes, expected the same"):
        bpy.ops.knuckle.solve()
    assert chosen.result is None


def bent(armature: Object) -> None:
    """Pose the right arm; twist bones stay at rest, as the arm's solver expects."""
    found = find_hand(armature, "right")
    arm = arm_of(armature, found)
    assert arm is not None
    for number, name in enumerate((found.bones["wrist"], arm.fore, arm.upper)):
        bone = armature.pose.bones[name]
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = Quaternion((1.0, 0.5 * number, -1.0), 0.25)
    bpy.context.view_layer.update()


@pytest.mark.parametrize("drive", ["wrist", "arm"])
@pytest.mark.parametrize("method", ["REST", "POSE"])
@pytest.mark.parametrize("name", ["MakeHuman", "Rigify metarig"])
def test_the_hand_begins_where_the_characters_is(name: str, method: str, drive: str) -> None:
    armature, _ = RIGS[name]()
    armature.location, armature.rotation_euler = (3.0, 1.0, 0.2), (0.0, 0.0, 2.0)
    if method == "POSE":
        bent(armature)
    imported(armature, drive)
    bone = find_hand(armature, "right").bones["wrist"]
    bpy.context.view_layer.update()
    before = evaluated(armature, {"wrist": bone})[0]
    assert bpy.ops.knuckle.align_capture(method=method) == {"FINISHED"}
    bpy.ops.knuckle.solve()
    bpy.context.scene.frame_set(1)
    after = evaluated(armature, {"wrist": bone})[0]
    assert np.abs(after[:3, :3] - before[:3, :3]).max() < 1e-4
    # The wrist of a bent rest arm is reached only nearly where the arm is straight.
    assert np.linalg.norm(after[:3, 3] - before[:3, 3]) < 1e-4


def test_a_wrist_begins_at_one_point_and_points_to_another() -> None:
    armature, _ = RIGS["MakeHuman"]()
    chosen = imported(armature)
    for name, place in (("Towards", (0.0, 0.0, 2.0)), ("Wrist", (0.0, -1.0, 1.0))):
        empty = bpy.data.objects.new(name, None)
        empty.location = place
        bpy.context.scene.collection.objects.link(empty)
    bpy.context.view_layer.update()
    with pytest.raises(RuntimeError, match="expected two: the active one"):
        bpy.ops.knuckle.align_capture(method="POINTS")
    for obj in bpy.context.scene.objects:
        obj.select_set(obj.name in ("Wrist", "Towards"))
    bpy.context.view_layer.objects.active = bpy.data.objects["Wrist"]
    bpy.ops.knuckle.align_capture(method="POINTS")
    chosen.rig = "NEW"
    bpy.ops.knuckle.solve()
    bpy.context.scene.frame_set(1)
    wrist = evaluated(chosen.result)[0]
    assert wrist[:3, 3] == pytest.approx((0.0, -1.0, 1.0), abs=1e-5)
    assert wrist[:3, 1] == pytest.approx(np.array((0.0, 1.0, 1.0)) / np.sqrt(2), abs=1e-5)


def test_the_captured_forearm_begins_where_the_characters_is() -> None:
    armature, _ = RIGS["MakeHuman"]()
    solved = take(("right",), frames=3)
    root, recipe = solved.hands[0].pose.root[0], replace(solved.recipe, align="forearms")
    elbow = root[:3, 3] + root[:3, :3] @ [0.05, -0.25, 0.02]
    with pytest.raises(MarkerMapError, match="no marker at the right elbow is seen"):
        captured_frames(recipe, solved.hands, solved.markers, np.eye(4))
    markers = solved.markers
    positions = np.concatenate([markers.positions, np.repeat(elbow[None, None], 3, axis=0)], axis=1)
    for label in ("RightForeArm", "R_Elbow", "RELB"):
        seen = Markers((*markers.names, label), markers.times, positions, "a.c3d", markers.rate, "m", "C3D")
        (frame,) = captured_frames(recipe, solved.hands, seen, np.eye(4)).values()
        assert frame[:3, 1] == pytest.approx((root[:3, 3] - elbow) / np.linalg.norm(root[:3, 3] - elbow), abs=1e-9)
    (theirs,) = forearm_frame_of(armature, solved.hands[0]).values()
    bones = armature.data.bones
    along = np.array(bones["wrist.R"].head_local) - np.array(bones["lowerarm01.R"].head_local)
    assert theirs[:3, 1] == pytest.approx(along / np.linalg.norm(along), abs=1e-4)


def test_a_recipe_places_a_capture_that_is_imported_later(tmp_path: Path) -> None:
    scene = bpy.context.scene
    recipe = Recipe(str(DEMO_CAPTURE), transform=CaptureTransform((1.0, 2.0, 3.0), (0.0, 0.0, 90.0), 0.5), fps=24.0)
    apply_recipe(recipe, scene)
    assert recipe_of(scene).transform == recipe.transform
    bpy.ops.knuckle.import_capture(filepath=str(DEMO_CAPTURE))
    shown = transform_in_scene(scene.knuckle.markers)
    assert np.allclose(shown.matrix(), recipe.transform.matrix(), atol=1e-6)
    scene.knuckle.markers.location = (0.0, 0.0, 0.0)
    assert recipe_of(scene).transform.location == (0.0, 0.0, 0.0)
    apply_recipe(recipe, scene)
    assert recipe_of(scene).transform.location == (1.0, 2.0, 3.0)


def test_a_shell_places_hand_and_markers(tmp_path: Path) -> None:
    out = str(tmp_path / "o.blend")
    typed = ["--location", "1", "-2", "0.5", "--rotation", "0", "0", "90", "--scale", "2"]
    assert main(["solve", str(DEMO_CAPTURE), "--out", out, "--end", "5", *typed]) == 0
    hand = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    markers: Any = next(obj for obj in bpy.context.scene.objects if is_markers(obj))
    bpy.context.scene.frame_set(1)
    posed = markers.evaluated_get(bpy.context.evaluated_depsgraph_get())
    assert np.allclose(posed.matrix_world.to_scale(), 2.0)
    point = markers.matrix_world @ markers.data.vertices[0].co
    tips = evaluated(hand)[:, :3, 3]
    assert np.linalg.norm(tips - np.array(point), axis=1).min() < 0.02, "markers lie on the hand"


def in_a_shell(tmp_path: Path, *options: str) -> tuple[Any, Any]:
    """Solve the bundled capture onto MakeHuman in a shell; where the right wrist is on frame 1, and the arm's bones."""
    rig, out = str(Folder("data/rigs").file("makehuman_default.blend")), str(tmp_path / "o.blend")
    solved = main(["solve", str(DEMO_CAPTURE), "--out", out, "--force", "--end", "3", "--rig", rig, *options])
    assert solved == 0
    bpy.context.scene.frame_set(1)
    armature = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    return armature, evaluated(armature, {"wrist": "wrist.R"})[0]


def test_a_shell_aligns_as_the_panel_does(tmp_path: Path) -> None:
    armature, _ = RIGS["MakeHuman"]()
    chosen, placed = imported(armature, "wrist"), {}
    chosen.last = 3
    for method in ("REST", "POSE"):
        bpy.ops.knuckle.align_capture(method=method)
        placed[method] = transform_in_scene(chosen.markers).matrix()
    for method, expected in placed.items():
        aligned, wrist = in_a_shell(tmp_path, "--drive", "wrist", "--align", method.lower(), "--fps", "24")
        shown = transform_in_scene(next(obj for obj in bpy.context.scene.objects if is_markers(obj)))
        assert np.abs(shown.matrix() - expected).max() < 1e-5
        rest = np.array(aligned.data.bones["wrist.R"].matrix_local)
        assert np.abs(wrist[:3, :3] - rest[:3, :3]).max() < 1e-4, "it begins at rest"


def test_a_shell_aligns_by_forearms_and_points_of_the_rigs_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, wrist = in_a_shell(tmp_path, "--drive", "arm", "--align", "forearms")
    aligned = bpy.context.scene.objects
    armature = next(obj for obj in aligned if obj.type == "ARMATURE")
    bones = armature.data.bones
    along = np.array(bones["wrist.R"].head_local) - np.array(bones["lowerarm01.R"].head_local)
    assert wrist[:3, 3] == pytest.approx(np.array(bones["wrist.R"].head_local), abs=0.02)
    shown: Any = next(obj for obj in aligned if is_markers(obj))
    names = list(shown["knuckle_capture"]["names"])
    places = [np.array(shown.matrix_world @ shown.data.vertices[names.index(name)].co) for name in names]
    elbow = places[names.index(next(name for name in names if "elbow" in name.lower()))]
    seen = wrist[:3, 3] - elbow
    assert seen / np.linalg.norm(seen) == pytest.approx(along / np.linalg.norm(along), abs=0.05)
    for missing in (["--align", "points"], ["--align-points", "A", "B"]):
        assert main(["solve", str(DEMO_CAPTURE), "--out", str(tmp_path / "p.blend"), *missing]) != 0
        assert "expected the names of two objects with 'points'" in capsys.readouterr().err
    rig = str(Folder("data/rigs").file("makehuman_default.blend"))
    line = ["solve", str(DEMO_CAPTURE), "--out", str(tmp_path / "p.blend"), "--rig", rig, "--drive", "arm"]
    assert main([*line, "--align", "points", "--align-points", "Cup", "Spoon"]) != 0
    assert "there is no object 'Cup' in scene" in capsys.readouterr().err
    assert main([*line[:4], "--align", "rest"]) != 0
    assert "there is no character to align to" in capsys.readouterr().err


def test_a_recipe_that_aligns_is_kept_by_the_panel_until_it_is_solved() -> None:
    armature, _ = RIGS["MakeHuman"]()
    scene = bpy.context.scene
    apply_recipe(Recipe(str(DEMO_CAPTURE), align="rest", drive="wrist", end=3, fps=24.0), scene)
    assert recipe_of(scene).align == "rest"
    bpy.ops.knuckle.import_capture(filepath=str(DEMO_CAPTURE))
    scene.knuckle.rig, scene.knuckle.armature = "ARMATURE", armature
    bpy.ops.knuckle.solve()
    first = transform_in_scene(scene.knuckle.markers).matrix()
    assert np.abs(first - np.eye(4)).max() > 0.1 and recipe_of(scene).align == "off"
    bpy.ops.knuckle.align_capture(method="REST")
    assert np.abs(transform_in_scene(scene.knuckle.markers).matrix() - first).max() < 1e-5
    apply_recipe(Recipe(str(DEMO_CAPTURE), align="rest", drive="fingers", end=3, fps=24.0), scene)
    bpy.ops.knuckle.solve()
    report = report_of(armature)
    assert report is not None and any(
        "was aligned, which has no effect while only the fingers" in note for note in report["warnings"]
    )


@pytest.mark.parametrize(
    ("recipe", "reported"),
    [
        ({"align": "rest"}, "there is no character to align to"),
        ({"align": "rest", "mirror": True}, "no left hand to align to"),
        ({"align": "forearms"}, "has no arm above its right wrist"),
        ({"align": "points", "align_points": ["Cup", "Spoon"]}, "there is no object 'Cup'"),
    ],
    ids=["no rig", "other hand", "no arm", "no points"],
)
def test_what_cannot_be_aligned_is_reported_before_hands_are_solved(
    recipe: dict[str, Any], reported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "solve_hand", lambda *_: pytest.fail("solved"))
    query = None if reported.startswith("there is no character") else RigQuery.of(rig("right"))
    with pytest.raises(KnuckleError, match=reported):
        run_to_end(job.SolveJob(Recipe(str(DEMO_CAPTURE), end=3, **recipe), query).steps())


def test_the_panel_clears_an_alignment_without_an_armature() -> None:
    drawn: list[str] = []

    class Layout:
        """Notes the buttons that clear."""

        def __getattr__(self, name: str) -> Any:
            return lambda *_, **__: self

        def operator(self, name: str, **_: Any) -> "Layout":
            if name.startswith("knuckle.clear_"):
                drawn.append(name)
            return self

    layout: Any = Layout()
    apply_recipe(Recipe(str(DEMO_CAPTURE), align="rest"), bpy.context.scene)
    chosen = bpy.context.scene.knuckle
    assert chosen.rig == "NEW"
    _target(layout, bpy.context, chosen)
    assert drawn == ["knuckle.clear_align"]
    assert bpy.ops.knuckle.clear_align() == {"FINISHED"} and chosen.align == ""
