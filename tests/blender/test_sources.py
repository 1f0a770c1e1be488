"""Animated armatures as captures: of files that Blender imports, against Blender's own evaluation before the export."""

import os
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector
from numpy.typing import NDArray

from knuckle.capture import Markers
from knuckle.errors import CaptureError, KnuckleError
from knuckle.hand.generators import run_to_end
from knuckle.rig.keys.frame_times import set_scene_rate
from knuckle.rig.linked import ObjectName
from knuckle.rig.sources import imported_file, importing
from knuckle.rig.sources.imported_file import read_scene_file
from knuckle.rig.sources.object_skeleton import add_armatures_of_objects
from knuckle.rig.sources.sampling import Source, sample
from knuckle.rig.sources.source_hands import source_hands
from knuckle.tests.blender.baking import bake, measured
from knuckle.tests.blender.curled import curl
from knuckle.tests.blender.exporting import EXPORTERS, evaluated_heads, exported, read
from knuckle.tests.blender.making import rig
from knuckle.tests.blender.rigs import RIGS

Floats = NDArray[np.float64]

TAP = Path(__file__).parents[2] / "data" / "leap_finger_tap.json"
NEAREST = 0.1
"""mm: how far a joint may be from the bone of which it was read."""
DEGREES = 3.0
"""How far bones of another rig may point beside the bones that were read."""


@pytest.mark.parametrize(
    ("name", "kind", "drive"),
    [
        *(("WebXR, right", kind, "wrist") for kind in EXPORTERS),
        # Its forearms point as those of the other rig, so the hand points as it did.
        ("MakeHuman", "FBX of other axes", "wrist"),
        ("Rigify generated", "FBX", "arm"),
        ("Rigify generated", "USD", "arm"),
    ],
)
def test_a_take_on_a_rig_is_read_from_a_file_and_solved_onto_another_as_its_bones_were(
    name: str, kind: str, drive: str, tmp_path: Path
) -> None:
    armature, truth = RIGS[name]()
    set_scene_rate(bpy.context.scene, 30)
    side = bake(armature, TAP, end=120, fps=30).hands[0].side
    path = exported(armature, kind, tmp_path)
    markers = read(path)
    bones = {joint: bone for joint, bone in truth[side].items() if f"{side}:{joint}" in markers.names}
    assert set(bones) == set(truth[side])
    frames = armature.animation_data.action.frame_range[0] + 30 * markers.times
    seen = markers.positions[:, [markers.names.index(f"{side}:{joint}") for joint in bones]]
    off = 1000 * np.linalg.norm(evaluated_heads(armature, bones, frames) - seen, axis=-1).max()
    assert off < NEAREST, f"{off:.3f} mm > {NEAREST} mm"

    bpy.ops.wm.read_factory_settings(use_empty=True)
    other, _ = RIGS["MakeHuman for games"]()
    take = bake(other, path, hand=side, drive=drive)
    worst = np.nanmax([bone.seen for bone in measured(other, take, slice(0, None, 7))])
    assert worst < DEGREES, f"{worst:.2f} > {DEGREES} degrees"


@pytest.mark.parametrize("metre", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kind", ["FBX of other axes", "glTF"])
def test_a_hand_of_any_size_is_read_in_metres(kind: str, metre: float, tmp_path: Path) -> None:
    armature = rig("left", metre=metre)
    curl(armature, [1, 20], [0.0, 1.0])
    markers = read(exported(armature, kind, tmp_path))
    length = np.linalg.norm(np.diff(_chain(markers, "left", "middle-finger"), axis=0), axis=-1).sum()
    assert 0.15 < length < 0.25
    assert (metre == 1.0) == (not any("times too" in note for note in markers.warnings))


def test_a_file_without_bones_at_the_tips_has_them_where_the_last_bones_point(tmp_path: Path) -> None:
    armature = rig("right", seed=3)
    curl(armature, [1, 20], [0.0, 1.2])
    with_tips = read(exported(armature, "FBX of other axes", tmp_path))
    _remove_bones(armature, "-tip")
    without = read(exported(armature, "FBX of other axes", tmp_path))
    for digit in ("index-finger", "middle-finger", "ring-finger", "pinky-finger"):
        known, found = (_last_bones(markers, digit) for markers in (with_tips, without))
        angles = np.degrees(np.arccos(np.clip((known * found).sum(-1), -1, 1)))
        # At rest the last bone is taken to point along its digit's local axis; it may be bent by some degrees there.
        assert np.ptp(angles) < 0.1 and angles.max() < 25


def test_bones_that_stand_for_unknown_tips_are_no_tips() -> None:
    armature = rig("left", seed=2)
    curl(armature, [1, 20], [0.0, 1.2])
    truth = read("armature:Rig")
    bpy.ops.wm.read_factory_settings(use_empty=True)
    armature = rig("left", seed=2)
    _make_stubs(armature, "-tip")
    curl(armature, [1, 20], [0.0, 1.2])
    markers = read("armature:Rig")
    assert set(markers.names) == set(truth.names)
    for digit in ("index-finger", "middle-finger", "ring-finger", "pinky-finger"):
        known, found = (_last_bones(each, digit, "left") for each in (truth, markers))
        assert np.degrees(np.arccos(np.clip((known * found).sum(-1), -1, 1))).max() < 25
        bent, straight = (_chain(each, "left", digit) for each in (markers, truth))
        assert np.linalg.norm(bent[-1] - straight[-1]) < 0.02


def test_fingers_of_two_bones_and_no_metacarpals_are_read_and_do_not_bend_sideways(tmp_path: Path) -> None:
    armature = rig("right", metacarpals=False)
    curl(armature, [1, 20], [0.0, 1.0])
    _remove_bones(armature, "-tip", "finger-phalanx-distal")
    path = exported(armature, "glTF", tmp_path)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    other, _ = RIGS["MakeHuman"]()
    take = bake(other, path)
    abduction = [d for d, movement in enumerate(take.hands[0].hand.movements) if movement == "abduction"]
    fingers = [d for d in abduction if "finger" in take.hands[0].hand.joints[take.hands[0].hand.axis_joint[d]]]
    spread = np.degrees(np.ptp(take.hands[0].pose.angles[:, fingers], axis=0))
    assert spread.max() < 10, f"abduction changes by {spread.max():.1f} degrees while the fingers curl"


def test_joints_without_a_skin_are_read_as_a_skeleton(tmp_path: Path) -> None:
    armature = rig("left")
    curl(armature, [1, 20], [0.0, 1.0])
    truth = read("armature:Rig")
    _to_empties(armature)
    path = tmp_path / "joints.glb"
    bpy.ops.export_scene.gltf(
        filepath=str(path), export_animation_mode="ACTIVE_ACTIONS", export_optimize_animation_size=False
    )
    # A VRM animation is such a file.
    markers = read(path.rename(path.with_suffix(".vrma")))
    assert set(markers.names) == set(truth.names)
    order = [markers.names.index(name) for name in truth.names]
    assert np.allclose(markers.positions[:, order], truth.positions, atol=NEAREST / 1000)


def test_a_hand_that_is_an_armature_on_empties_has_the_empty_above_as_its_wrist() -> None:
    """Files of body suits: only hands are skinned, so that importers make bones of these alone."""
    armature = rig("left")
    curl(armature, [1, 20], [0.0, 1.0])
    truth = read("armature:Rig")
    wrist = armature.data.bones["wrist"].matrix_local.copy()
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones.remove(armature.data.edit_bones["wrist"])
    armature.data.transform(wrist.inverted())
    bpy.ops.object.mode_set(mode="OBJECT")
    armature.name = "LeftHand"
    above: bpy.types.Object | None = None
    places = {"Hips": Matrix.Translation((0.0, 0.0, 1.0)), "LeftForeArm": Matrix.Translation((0.0, 0.0, 1.2))}
    for name, place in (places | {"Hand": wrist}).items():
        below = bpy.data.objects.new(name, None)
        bpy.context.scene.collection.objects.link(below)
        below.parent, above = above, below
        below.matrix_world = place
        bpy.context.view_layer.update()
    armature.parent = above
    (made,) = add_armatures_of_objects(bpy.context.scene)
    made.name = "Suit"
    hands = source_hands(made, tails_known=False)
    markers = run_to_end(sample([Source(ObjectName.of(made), hands)], bpy.context.scene, "FBX"))
    for name in (name for name in truth.names if not name.endswith("-tip")):
        apart = markers.positions[:, markers.names.index(name)] - truth.positions[:, truth.names.index(name)]
        assert np.abs(apart).max() < 1e-5, name


def test_a_hand_that_hangs_on_a_bone_of_a_body_on_empties_is_there_once() -> None:
    root = bpy.data.objects.new("Root", None)
    bpy.context.scene.collection.objects.link(root)
    body, hand = rig("left"), rig("left")
    body.name, body.parent, hand.name = "Body", root, "Glove"
    hand.parent, hand.parent_type, hand.parent_bone = body, "BONE", "wrist"
    below = bpy.data.objects.new("Below", None)
    bpy.context.scene.collection.objects.link(below)
    below.parent = hand
    bpy.context.view_layer.update()
    (made,) = add_armatures_of_objects(bpy.context.scene)
    assert len(made.data.bones) == 4 + len(body.data.bones) + len(hand.data.bones)
    assert made.data.bones["Glove"].parent.name == "wrist"


def test_an_animation_of_several_is_chosen_by_its_name(tmp_path: Path) -> None:
    armature = rig("left")
    for name, last in (("Wave", 10), ("Fist", 20)):
        armature.animation_data_clear()
        curl(armature, [1, last], [0.0, 1.0])
        armature.animation_data.action.name = name
    path = tmp_path / "several.glb"
    bpy.ops.export_scene.gltf(filepath=str(path), export_animation_mode="ACTIONS")
    for name, last in (("Wave", 10), ("Fist", 20)):
        markers = read(path, animation=name)
        assert len(markers.times) == last
        assert any(f"'{name}' was read" in note for note in markers.warnings)
    with pytest.raises(CaptureError, match=r"there is no animation 'Jump' in it, it holds 'Fist', 'Wave'"):
        read(path, animation="Jump")


def test_two_armatures_are_two_people(tmp_path: Path) -> None:
    for number in range(2):
        armature = rig("right", seed=number)
        armature.name = ("Anna", "Ben")[number]
        curl(armature, [1, 20], [0.0, 1.0])
        armature.location.x = number
    bpy.ops.object.select_all(action="SELECT")
    path = tmp_path / "two.glb"
    bpy.ops.export_scene.gltf(filepath=str(path), export_animation_mode="ACTIVE_ACTIONS")
    markers = read(path)
    assert {name.partition(":")[0] for name in markers.names} == {"Anna right", "Ben right"}


def test_the_open_file_does_not_change_while_another_is_imported(tmp_path: Path) -> None:
    armature = rig("right")
    curl(armature, [1, 20], [0.0, 1.0])
    path = exported(armature, "FBX", tmp_path)
    kinds = [kind.identifier for kind in bpy.data.bl_rna.properties if kind.type == "COLLECTION"]
    before = {kind: [block.name for block in getattr(bpy.data, kind)] for kind in kinds}
    read(path)
    assert {kind: [block.name for block in getattr(bpy.data, kind)] for kind in kinds} == before


def _files(folder: Path) -> dict[str, Path]:
    contents: dict[str, bytes] = {
        "missing.fbx": b"",
        "other.fbx": b"HIERARCHY\nROOT hips\n",
        "broken.fbx": b"Kaydara FBX Binary  \x00\x1a\x00" + bytes(100),
        "broken.glb": b"glTF" + bytes(100),
        "broken.gltf": b"{]",
        "broken.usda": b"#usda 1.0\n(((",
        "broken.usdz": b"PK\x03\x04" + bytes(100),
        "camera.gltf": b'{"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{}]}',
        "packed.gltf": b'{"asset": {"version": "2.0"}, "extensionsUsed": ["KHR_texture_basisu"], '
        b'"extensionsRequired": ["KHR_texture_basisu"]}',
        "pointer.fbx": b"version https://git-lfs.github.com/spec/v1\noid sha256:22bb\nsize 75047961\n",
        "empty.gltf": b'{"asset": {"version": "2.0"}, "scenes": [{"nodes": []}], "scene": 0}',
    }
    for name, content in contents.items():
        if content:
            (folder / name).write_bytes(content)
    return {name: folder / name for name in contents}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing.fbx", "no such file"),
        ("other.fbx", "does not start as FBX does"),
        ("pointer.fbx", "a Git LFS pointer, not the file itself, fetch it with 'git lfs pull'"),
        ("broken.fbx", "Blender finds nothing in it"),
        ("broken.glb", "Blender cannot import it as glTF"),
        ("broken.gltf", "Blender cannot import it as glTF"),
        ("broken.usda", "Blender cannot import it as USD"),
        ("broken.usdz", "Blender cannot import it as USD"),
        (
            "packed.gltf",
            r"as glTF \(Extension KHR_texture_basisu is not available.*\), export it again from the program",
        ),
        ("empty.gltf", "Blender finds nothing in it"),
        ("camera.gltf", "there is no armature in it"),
    ],
)
def test_files_that_cannot_be_read_are_said_so_in_one_sentence(name: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=says) as caught:
        read(_files(tmp_path)[name])
    assert str(caught.value).startswith(name)


def test_what_to_do_with_a_file_is_said_where_blender_was_built_without_its_importer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Debian's, which has no USD: its operator is missing."""
    path = tmp_path / "hand.usda"
    path.write_text("#usda 1.0\n")
    monkeypatch.setitem(importing._IMPORTERS, "USD", lambda path: bpy.ops.wm.usd_import_of_no_build(filepath=path))
    with pytest.raises(CaptureError, match=r"^hand\.usda: .* lacks the importer, save it as FBX or BVH$"):
        run_to_end(importing.import_recording(path))


def test_a_still_hand_and_one_without_animation_are_said_so(tmp_path: Path) -> None:
    armature = rig("right")
    with pytest.raises(KnuckleError, match="is not animated"):
        read("armature:Rig")
    curl(armature, [1, 20], [0.5, 0.5])
    with pytest.raises(KnuckleError, match="does not move in any of its 20 frames"):
        read(exported(armature, "glTF", tmp_path))


def test_an_importer_that_crashes_stops_its_own_process_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    armature = rig("right")
    curl(armature, [1, 20], [0.0, 1.0])
    path = exported(armature, "glTF", tmp_path)
    crash = tmp_path / "crash.py"
    crash.write_text("import os\nos.abort()\n")
    monkeypatch.setattr(imported_file, "IMPORT_SCRIPT", crash)
    with pytest.raises(CaptureError, match="Blender stopped while importing it"):
        read(path)


def test_closing_the_import_ends_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    armature = rig("right")
    curl(armature, [1, 20], [0.0, 1.0])
    path = exported(armature, "glTF", tmp_path)
    wait, started = tmp_path / "wait.py", tmp_path / "pid"
    wait.write_text(f"import os, time\nopen({str(started)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n")
    monkeypatch.setattr(imported_file, "IMPORT_SCRIPT", wait)
    work = read_scene_file(path)
    while not started.exists() or not started.read_text():
        next(work)
    work.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def _chain(markers: Markers, side: str, digit: str) -> Floats:
    """(5, 3) m of the wrist and the joints of a finger on the first frame."""
    parts = ("phalanx-proximal", "phalanx-intermediate", "phalanx-distal", "tip")
    names = [f"{side}:wrist", *(f"{side}:{digit}-{part}" for part in parts)]
    return np.array([markers.positions[0, markers.names.index(name)] for name in names])


def _last_bones(markers: Markers, digit: str, side: str = "right") -> Floats:
    """(F, 3) where the last bone of a finger points."""
    last, tip = (markers.names.index(f"{side}:{digit}-{part}") for part in ("phalanx-distal", "tip"))
    step: Floats = markers.positions[:, tip] - markers.positions[:, last]
    directions: Floats = step / np.linalg.norm(step, axis=-1, keepdims=True)
    return directions


def _remove_bones(armature: bpy.types.Object, *endings: str) -> None:
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in [bone for bone in armature.data.edit_bones if bone.name.endswith(endings)]:
        armature.data.edit_bones.remove(bone)
    bpy.ops.object.mode_set(mode="OBJECT")


def _make_stubs(armature: bpy.types.Object, ending: str) -> None:
    """Put last bones a millimetre beside their parents' heads, which end there, as converters do that know no tips."""
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in [bone for bone in armature.data.edit_bones if bone.name.endswith(ending)]:
        bone.use_connect = False
        bone.head = bone.parent.head + Vector((0.0, 0.0, 0.001))
        bone.tail = bone.head + Vector((0.0, 0.0, 0.01))
        bone.parent.tail = bone.head
        bone.name = "ENDSITE"
    bpy.ops.object.mode_set(mode="OBJECT")


def _to_empties(armature: bpy.types.Object) -> None:
    """Put an animated empty where each bone is, with the parents of the bones, and remove the armature."""
    scene = bpy.context.scene
    empties = {bone.name: bpy.data.objects.new(f"joint {bone.name}", None) for bone in armature.data.bones}
    for bone in armature.data.bones:
        scene.collection.objects.link(empties[bone.name])
        empties[bone.name].rotation_mode = "QUATERNION"
        if bone.parent:
            empties[bone.name].parent = empties[bone.parent.name]
    for frame in range(1, 21):
        scene.frame_set(frame)
        for bone in armature.pose.bones:
            local = bone.parent.matrix.inverted() @ bone.matrix if bone.parent else bone.matrix
            empties[bone.name].matrix_local = local
            for path in ("location", "rotation_quaternion"):
                empties[bone.name].keyframe_insert(path, frame=frame)
    bpy.data.objects.remove(armature)
    scene.frame_start, scene.frame_end = 1, 20
