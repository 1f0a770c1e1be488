"""Takes in files of their own: what is saved is the take, whole or not at all."""

import time
from pathlib import Path

import bpy
import numpy as np
import pytest

from knuckle.errors import RigError
from knuckle.files import FileError, written_whole
from knuckle.hand import kinematics
from knuckle.hand.joints import JOINT_INDEX, TIPS
from knuckle.rig.blend_file import check_rig, new_scene_with_take, save
from knuckle.rig.compressed_blend import is_whole
from knuckle.rig.markers_object import is_markers
from knuckle.tests.blender.making import evaluated, rig, take
from knuckle.tests.full_disk import files_no_larger_than


def saved(path: Path) -> bpy.types.Scene:
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return bpy.context.scene


@pytest.mark.parametrize("rate", [60.0, 30 / 1.001, 54.3])
def test_the_fingertips_of_a_saved_take_are_where_they_were_solved(tmp_path: Path, rate: float) -> None:
    solved = take(rate=rate)
    started = time.perf_counter()
    made = new_scene_with_take(solved)
    assert made.armatures == ("Left Hand", "Right Hand")
    assert 0 < made.seconds < time.perf_counter() - started
    save(tmp_path / "take.blend")
    scene = saved(tmp_path / "take.blend")
    assert scene.render.fps / scene.render.fps_base == pytest.approx(rate, rel=1e-6)
    assert (scene.frame_start, scene.frame_end) == (1, 60)
    assert scene.camera is not None
    tips = [JOINT_INDEX[tip] for tip in TIPS]
    for frame in (1, 17, 60):
        scene.frame_set(frame)
        for hand, name in zip(solved.hands, made.armatures, strict=True):
            seen = evaluated(scene.objects[name])[tips, :3, 3]
            away = np.abs(seen - kinematics.joint_frames(hand.hand, hand.pose)[frame - 1, tips, :3, 3]).max()
            assert away * 1000 < 0.05, f"frame {frame}: {away * 1000:.4f} mm > 0.05 mm"


def test_a_take_has_its_markers_and_a_camera_that_sees_the_hands_in_every_frame() -> None:
    solved = take(frames=90)
    new_scene_with_take(solved)
    scene = bpy.context.scene
    assert [obj.name for obj in scene.objects if is_markers(obj)] == ["clap markers"]
    for frame in range(scene.frame_start, scene.frame_end + 1, 7):
        scene.frame_set(frame)
        into = np.array(scene.camera.matrix_world.inverted())
        half = 0.5 * scene.camera.data.sensor_width / scene.camera.data.lens
        for hand in solved.hands:
            places = kinematics.joint_frames(hand.hand, hand.pose)[frame - 1, :, :3, 3]
            x, y, z = into[:3, :3] @ places.T + into[:3, 3:]
            assert (z < 0).all()
            assert (np.abs(x / z) < half).all()
            assert (np.abs(y / z) < half * 9 / 16).all()


def test_a_rig_from_a_file_is_keyed_and_its_file_is_not_touched(tmp_path: Path) -> None:
    rig("left", arm=True)
    path = tmp_path / "rig.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    before = path.read_bytes()
    made = new_scene_with_take(take(), str(path))
    assert made.armatures == ("Rig",)
    save(tmp_path / "take.blend")
    assert path.read_bytes() == before
    scene = saved(tmp_path / "take.blend")
    assert scene.objects["Rig"].animation_data.action.name == "clap"


@pytest.mark.parametrize("suffix", [".fbx", ".vrm"])
def test_a_character_is_keyed_in_the_file_that_it_comes_in(suffix: str, tmp_path: Path) -> None:
    import addon_utils

    armature, path = rig("right", arm=True), tmp_path / f"character{suffix}"
    if suffix == ".fbx":
        addon_utils.enable("io_scene_fbx")
        bpy.ops.export_scene.fbx(filepath=str(path), object_types={"ARMATURE"}, add_leaf_bones=False)
    else:
        addon_utils.enable("io_scene_gltf2")
        bpy.ops.export_scene.gltf(filepath=str(path.with_suffix(".glb")))
        path.with_suffix(".glb").rename(path)
    names = {bone.name for bone in armature.data.bones}
    made = new_scene_with_take(take(("right",), drive="fingers"), str(path))
    keyed = bpy.data.objects[made.armatures[0]]
    assert {bone.name for bone in keyed.data.bones} >= names
    assert keyed.animation_data.action.name == "clap" and bpy.context.scene.render.fps == 60


def test_rigs_that_cannot_be_used_are_reported(tmp_path: Path) -> None:
    for name, content in (
        ("empty.blend", b""),
        ("text.blend", b"hello"),
        ("text.glb", b"hello"),
        ("text.vrm", b"hello"),
        ("text.fbx", b"hello"),
        ("rig.obj", b"hello"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RigError, match=name):
            check_rig(str(tmp_path / name))
    with pytest.raises(RigError, match=r"text.fbx: .* \(.*Unsupported version.*\), export it again"):
        check_rig(str(tmp_path / "text.fbx"))
    with pytest.raises(RigError, match="no such file"):
        check_rig(str(tmp_path / "nowhere.blend"))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "bare.blend"))
    with pytest.raises(RigError, match="no armature"):
        check_rig(str(tmp_path / "bare.blend"))
    armature = bpy.data.objects.new("Bare", bpy.data.armatures.new("Bare"))
    bpy.context.scene.collection.objects.link(armature)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "boneless.blend"))
    with pytest.raises(RigError, match="has no bones"):
        check_rig(str(tmp_path / "boneless.blend"))
    bpy.data.objects.remove(bpy.data.objects["Bare"])
    rig("right").scale = (0.0, 0.0, 0.0)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "nothing.blend"))
    with pytest.raises(RigError, match="scaled to zero"):
        check_rig(str(tmp_path / "nothing.blend"))
    with pytest.raises(RigError, match="scaled to zero"):
        new_scene_with_take(take(), str(tmp_path / "nothing.blend"))


def test_a_rig_that_can_be_used_passes_and_the_hand_of_our_own_needs_no_look() -> None:
    armature = rig("right")
    check_rig("default")
    assert armature.name == "Rig", "nothing may be opened for Knuckle's own hand"


def test_a_file_that_cannot_be_written_leaves_nothing_and_one_that_was_there_stays(tmp_path: Path) -> None:
    new_scene_with_take(take(("right",), frames=5))
    with pytest.raises(FileError, match="cannot be written"):
        save(tmp_path / "nowhere" / "take.blend")
    folder = tmp_path / "take.blend"
    folder.mkdir()
    with pytest.raises(FileError, match="cannot be written"):
        save(folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["take.blend"]
    kept = tmp_path / "kept.blend"
    kept.write_bytes(b"before")
    save(kept)
    assert kept.read_bytes() != b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.blend", "take.blend"]


def test_a_save_that_the_disk_cuts_short_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    """Blender reports success for it, but at times notices."""
    new_scene_with_take(take(("right",), frames=5))
    path = tmp_path / "take.blend"
    save(path)
    before = path.read_bytes()
    with files_no_larger_than(len(before) // 3), pytest.raises(FileError, match=r"take\.blend: cannot be written"):
        save(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["take.blend"]


def test_a_compressed_file_is_whole_only_with_every_byte(tmp_path: Path) -> None:
    new_scene_with_take(take(("right",), frames=5))
    path = tmp_path / "take.blend"
    save(path)
    whole = path.read_bytes()
    assert is_whole(path)
    cut = len(whole) // 2
    for data in (b"", whole[:10], whole[:cut], whole[:-1], whole[1:], whole[:cut] + whole[cut + 1 :], whole + b"\0"):
        path.write_bytes(data)
        assert not is_whole(path), f"{len(data)} of {len(whole)} bytes"


def test_a_fault_of_ours_while_a_file_is_written_keeps_its_traceback(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ours"), written_whole(tmp_path / "take.blend") as half:
        half.write_text("half")
        raise RuntimeError("ours")
    assert list(tmp_path.iterdir()) == []
