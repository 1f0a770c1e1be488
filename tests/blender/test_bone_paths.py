"""Data paths of bones are those that Blender has, whatever a bone is called."""

import bpy
import pytest

from knuckle.rig.keys.bone_paths import bone_and_channel, bone_path, bones_with_paths

NAMES = ("index.01.L", 'a "quoted" one', "back\\slash", 'ends"].', "Finger é")


@pytest.fixture
def armature() -> bpy.types.Object:
    """An armature whose bones have NAMES."""
    found = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    bpy.context.scene.collection.objects.link(found)
    bpy.context.view_layer.objects.active = found
    bpy.ops.object.mode_set(mode="EDIT")
    for name in NAMES:
        found.data.edit_bones.new(name).tail = (0.0, 0.0, 1.0)
    bpy.ops.object.mode_set(mode="OBJECT")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_path_is_blenders_and_tells_its_bone_and_channel(armature: bpy.types.Object, name: str) -> None:
    bone = armature.pose.bones[name]
    for channel in ("location", "rotation_quaternion"):
        assert bone_path(name, channel) == bone.path_from_id(channel)
        assert bone_and_channel(bone.path_from_id(channel)) == (name, channel)


@pytest.mark.parametrize(
    "path", ["location", 'pose.bones["wrist"]', 'pose.bones["wrist"]["twist"]', 'modifiers["Wave"].height']
)
def test_other_paths_are_no_bones(path: str) -> None:
    assert bone_and_channel(path) == ("", path)


def test_bones_are_told_by_whole_names() -> None:
    paths = [bone_path("index", "location"), bone_path("thumb.L", "scale"), "location"]
    assert bones_with_paths(["index", "index.01", "thumb", "thumb.L"], paths) == {"index", "thumb.L"}
