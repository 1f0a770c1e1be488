"""Report pages of takes in Blender files: by the shell command, by the button, of two takes, and what is refused."""

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.cli.main import main
from knuckle.operators.review import remaining_problems
from knuckle.pipeline.evidence.packing import pack
from knuckle.pipeline.take import Take
from knuckle.rig.blend_file import new_scene_with_take
from knuckle.rig.keys.corrections.corrected_take import corrections_of
from knuckle.rig.keys.reviewed_takes import reviewed_take
from knuckle.rig.keys.take_heat import HeatCache
from knuckle.rig.keys.take_problems import mark_seen, problems_of
from knuckle.rig.keys.take_report import ANGLES_PROPERTY, EVIDENCE_PROPERTY, REPORT_PROPERTY, store_report
from knuckle.rig.problem_pictures import problem_pictures
from knuckle.tests.blender.test_review import spoilt  # noqa: F401  # a fixture
from knuckle.tests.gui.test_review import spoilt as spoilt_recording

pytestmark = pytest.mark.usefixtures("extension")
JPEG = re.compile(r'src="data:image/jpeg;base64,([^"]+)"')


def test_the_shell_writes_pages_of_a_take_and_of_two_that_are_compared(tmp_path: Path, capsys: Any) -> None:
    spoilt_recording(tmp_path)
    capture, take, html = tmp_path / "spoilt_tap.json", tmp_path / "a.blend", tmp_path / "a.html"
    asked = ["--html", str(html), "--fail-on", "tip_error_mm.max>1"]
    assert main(["solve", str(capture), "--out", str(take), *asked]) == 3
    content = html.read_text(encoding="utf-8")
    pictures = [base64.b64decode(found) for found in JPEG.findall(content)]
    assert len(pictures) == 6, "two faults and the thumb that they spoil, from two sides"
    assert all(picture[:2] == b"\xff\xd8" and b"Blender" not in picture for picture in pictures), "no file's path in it"
    assert "Fails: tip_error_mm.max&gt;1" in content
    bpy.ops.wm.open_mainfile(filepath=str(take))
    assert [obj.name for obj in bpy.data.objects if obj.type == "CAMERA"] == ["Camera"]
    other, compared = tmp_path / "b.blend", tmp_path / "ab.html"
    assert main(["solve", str(capture), "--out", str(other), "--solver", "cga"]) == 0
    assert main(["review", str(take), str(other), "--html", str(compared), "--no-pictures"]) == 0
    content = compared.read_text(encoding="utf-8")
    assert "a against b" in content and "solver fabrik" in content and "solver cga" in content
    assert not JPEG.search(content) and "No pictures were requested." in content
    assert "3 problems" in capsys.readouterr().out


def test_frames_of_the_page_are_those_of_the_scene(spoilt: Take) -> None:  # noqa: F811
    new_scene_with_take(spoilt)
    hand = bpy.data.objects["Right Hand"]
    take = reviewed_take(hand.animation_data.action)
    assert [take.frame(one.worst) for one in take.problems] == pytest.approx(
        [one.worst for one in problems_of(hand)], abs=1e-3
    )
    assert take.curves("right") is not None


def test_the_button_writes_a_page_and_leaves_the_scene_as_it_was(spoilt: Take, tmp_path: Path) -> None:  # noqa: F811
    new_scene_with_take(spoilt)
    scene, hand = bpy.context.scene, bpy.data.objects["Right Hand"]
    scene.knuckle.result = hand
    scene.frame_set(7, subframe=0.25)
    before = sorted(obj.name for obj in bpy.data.objects), scene.camera.name, len(bpy.data.cameras)
    path = tmp_path / "page.html"
    other = hand.animation_data.action.copy()
    other.name = "</script><script>alert(1)</script>"
    assert bpy.ops.knuckle.export_report_page(filepath=str(path), other=other.name) == {"FINISHED"}
    content = path.read_text(encoding="utf-8")
    assert len(JPEG.findall(content)) >= 4
    assert content.count("<script") == 1 and "alert(1)&lt;/script&gt;" in content
    assert (sorted(obj.name for obj in bpy.data.objects), scene.camera.name, len(bpy.data.cameras)) == before
    assert scene.frame_current_final == pytest.approx(7.25)


def test_markers_that_bind_a_camera_change_no_picture(spoilt: Take) -> None:  # noqa: F811
    new_scene_with_take(spoilt)
    scene, hand = bpy.context.scene, bpy.data.objects["Right Hand"]
    take = reviewed_take(hand.animation_data.action)
    pictures = problem_pictures(take, hand)
    away = bpy.data.objects.new("Away", bpy.data.cameras.new("Away"))
    away.location = (0, 0, 1000)
    scene.collection.objects.link(away)
    marker, unbound = (scene.timeline_markers.new(name, frame=1) for name in ("Shot", "Note"))
    marker.camera = away
    scene.frame_set(3)
    own = scene.camera
    assert pictures.found and problem_pictures(take, hand) == pictures
    assert (marker.camera, unbound.camera, scene.camera) == (away, None, own)


def covered(jpeg: bytes, path: Path) -> NDArray[np.bool_]:
    """(P,) which pixels of a picture are not as its corner is."""
    path.write_bytes(jpeg)
    image: Any = bpy.data.images.load(str(path))
    pixels = np.array(image.pixels[:]).reshape(-1, 4)
    bpy.data.images.remove(image)
    apart: NDArray[np.bool_] = np.abs(pixels - pixels[0]).max(axis=1) > 0.1
    return apart


def test_a_rig_without_a_mesh_is_seen_where_its_skin_would_be(spoilt: Take, tmp_path: Path) -> None:  # noqa: F811
    new_scene_with_take(spoilt)
    hand = bpy.data.objects["Right Hand"]
    take = reviewed_take(hand.animation_data.action)
    for other in [obj for obj in bpy.data.objects if obj.type == "MESH" and obj.find_armature() is None]:
        other.hide_render = True  # markers
    with_skin = problem_pictures(take, hand)
    for skin in [obj for obj in bpy.data.objects if obj.find_armature() == hand]:
        bpy.data.objects.remove(skin)
    before = set(bpy.data.objects), set(bpy.data.meshes)
    without = problem_pictures(take, hand)
    assert (set(bpy.data.objects), set(bpy.data.meshes)) == before
    assert len(without.found) == len(with_skin.found) > 0
    for one, bare in zip(with_skin.found, without.found, strict=True):
        of_skin, of_capsules = (covered(each.jpeg, tmp_path / "seen.jpg") for each in (one, bare))
        both = (of_skin & of_capsules).sum()
        assert both > 0.85 * of_capsules.sum() and both > 0.45 * of_skin.sum(), f"{one.view} of problem {one.rank}"


def test_takes_that_cannot_be_reviewed_are_reported_and_nothing_is_written(spoilt: Take, tmp_path: Path) -> None:  # noqa: F811
    new_scene_with_take(spoilt)
    hand, path = bpy.data.objects["Right Hand"], tmp_path / "page.html"
    bpy.context.scene.knuckle.result = hand
    action = hand.animation_data.action
    with pytest.raises(RuntimeError, match="There is no action 'x'"):
        bpy.ops.knuckle.export_report_page(filepath=str(path), other="x")
    kept = dict(action)
    for damage, reported in (
        ({REPORT_PROPERTY: "{"}, "has no report"),
        ({EVIDENCE_PROPERTY: b"KNE1"}, "has no evidence"),
        ({EVIDENCE_PROPERTY: 3}, "has no evidence"),
    ):
        for key, value in {**kept, **damage}.items():
            action[key] = value
        with pytest.raises(RuntimeError, match=reported):
            bpy.ops.knuckle.export_report_page(filepath=str(path))
    for key, value in {**kept, ANGLES_PROPERTY: b"no angles"}.items():
        action[key] = value
    assert not path.exists()
    assert bpy.ops.knuckle.export_report_page(filepath=str(path), pictures=False) == {"FINISHED"}
    assert "The angles are not known." in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "damage",
    [
        {"at": [5, 5]},
        {"at": [7, 5]},
        {"at": [0.0, 5e-324]},
        {"at": [10**400, 10**401]},
        {"hands": {"right": {"fingers": {}, "hand_length_mm": 10**400}}},
        {"hands": {"right": {"fingers": {}, "hand_length_mm": float("nan")}}},
    ],
    ids=["one frame", "backwards", "denormal", "no frames", "long hand", "no length"],
)
def test_numbers_of_an_edited_report_are_left_out(spoilt: Take, tmp_path: Path, damage: dict[str, Any]) -> None:  # noqa: F811
    new_scene_with_take(spoilt)
    hand, path = bpy.data.objects["Right Hand"], tmp_path / "page.html"
    bpy.context.scene.knuckle.result = hand
    action = hand.animation_data.action
    action[REPORT_PROPERTY] = json.dumps(json.loads(action[REPORT_PROPERTY]) | damage)
    assert bpy.ops.knuckle.export_report_page(filepath=str(path), pictures=False) == {"FINISHED"}
    assert ("mm from wrist to middle fingertip" in path.read_text(encoding="utf-8")) == ("at" in damage)
    rows = HeatCache().of(hand)
    assert rows is not None and (np.diff(rows.edges) > 0).all() and rows.zoom(3.0) == 0
    if "at" in damage:
        assert reviewed_take(action).frames == (1.0, len(spoilt.times))


@pytest.mark.parametrize("scale", [1e308, 1e9, 5e-324, float("nan")])
def test_times_that_no_capture_has_are_no_evidence(spoilt: Take, tmp_path: Path, scale: float) -> None:  # noqa: F811
    new_scene_with_take(spoilt)
    hand, path = bpy.data.objects["Right Hand"], tmp_path / "page.html"
    bpy.context.scene.knuckle.result = hand
    count = len(spoilt.times)
    times = scale * np.array(np.linspace(-1, 1, count) if scale > 1 else np.arange(count), np.float64)
    action = hand.animation_data.action
    action.pop(EVIDENCE_PROPERTY)
    action[EVIDENCE_PROPERTY] = pack(replace(spoilt.evidence, times=times))
    assert HeatCache().of(hand) is None
    with pytest.raises(RuntimeError, match="has no evidence"):
        bpy.ops.knuckle.export_report_page(filepath=str(path), pictures=False)
    assert not path.exists()


@pytest.fixture
def saved(spoilt: Take, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: F811
    """The folder that is open, with a file with a take and an empty one."""
    monkeypatch.chdir(tmp_path)
    new_scene_with_take(spoilt)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "take.blend"))
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "empty.blend"))
    return tmp_path


def test_the_button_writes_beside_the_open_file(saved: Path) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(saved / "take.blend"))
    bpy.context.scene.knuckle.result = bpy.data.objects["Right Hand"]
    assert bpy.ops.knuckle.export_report_page(filepath="//page.html", pictures=False) == {"FINISHED"}
    assert (saved / "page.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["missing.blend"], "missing.blend: there is no such file, expected a take"),
        ([str(DEMO_CAPTURE)], "expected a .blend file with a take"),
        (["empty.blend"], "it contains no take"),
        (["take.blend", "--armature", "Body"], "no armature 'Body' plays a take in it, only 'Right Hand'"),
    ],
)
def test_files_that_cannot_be_reviewed_are_reported(
    arguments: list[str], reported: str, saved: Path, capsys: Any
) -> None:
    assert main(["review", *arguments, "--html", "page.html"]) == 1
    assert reported in capsys.readouterr().err
    assert not (saved / "page.html").exists()


def test_evidence_and_angles_are_whole_when_a_take_is_solved_into_itself(spoilt: Take) -> None:  # noqa: F811
    """Bytes that replace others in a custom property end at their first zero."""
    new_scene_with_take(spoilt)
    hand = bpy.data.objects["Right Hand"]
    action, frames = hand.animation_data.action, np.arange(1.0, len(spoilt.times) + 1)
    store_report(action, spoilt.report, spoilt, frames)
    take = reviewed_take(action)
    assert len(take.evidence.times) == len(spoilt.times) and take.curves("right") is not None


def page_texts(path: Path) -> list[str]:
    """The texts of the page's ranking, a row for each problem."""
    rows = re.findall(r"<li [^>]*data-worst.*?</li>", path.read_text(encoding="utf-8"), re.DOTALL)
    return [re.sub("<[^>]+>", " ", row) for row in rows]


def test_the_page_marks_what_corrections_mend_and_says_what_is_left(spoilt: Take, tmp_path: Path) -> None:  # noqa: F811
    new_scene_with_take(spoilt)
    hand, path = bpy.data.objects["Right Hand"], tmp_path / "page.html"
    bpy.context.scene.knuckle.result = hand
    base = hand.animation_data.action
    problems = problems_of(hand)
    of_solve = "are of the solve, before"

    def content(**options: Any) -> str:
        assert bpy.ops.knuckle.export_report_page(filepath=str(path), pictures=False, **options) == {"FINISHED"}
        return path.read_text(encoding="utf-8")

    plain = content()
    assert "Mended by" not in plain and "problems left" not in plain and of_solve not in plain
    bpy.ops.knuckle.next_problem()
    bpy.ops.knuckle.snap_to_pose(pose="fist")
    (mend,) = corrections_of(hand)
    mark_seen([hand], frozenset({problems[-1].key}))
    left = remaining_problems(bpy.context, hand)
    assert 0 < len(left) < len(problems) and problems[0] not in left and problems[-1] not in left
    corrected = content()
    rows = page_texts(path)
    assert f"Mended by {mend.name}" in rows[0] and "Marked as seen" in rows[-1]
    marked = [("Mended by" in row) or ("Marked as seen" in row) for row in rows]
    assert marked == [problem not in left for problem in problems]
    assert f", {len(left)} of {len(problems)} problems left" in corrected
    assert f"Strips, plots and figures {of_solve} 1 correction was laid on it." in corrected
    against = content(other=base.name)
    assert against.count("Mended by") == corrected.count("Mended by"), "the take as it was solved is not mended"
    assert f"figures of A {of_solve}" in against and "figures of B" not in against
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "take.blend"))
    shell = tmp_path / "shell.html"
    assert main(["review", str(tmp_path / "take.blend"), "--html", str(shell), "--no-pictures"]) == 0
    assert page_texts(shell) == rows
