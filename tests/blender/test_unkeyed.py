"""What is animated and was changed without a key, after scenes were played."""

import bpy
import pytest
from mathutils import Vector

from knuckle.rig.keys.unkeyed_changes import unkeyed_changes_restored
from knuckle.tests.blender.making import rig


def animated(armature: bpy.types.Object, path: str) -> None:
    """Gives an armature an action of one curve that goes from 0 to 1 in frames 1 to 20."""
    action = bpy.data.actions.new("Foreign")
    slot = action.slots.new(id_type="OBJECT", name="Slot")
    strip = action.layers.new("Layer").strips.new(type="KEYFRAME")
    curve = strip.channelbag(slot, ensure=True).fcurves.new(path)
    for frame, value in ((1, 0.0), (20, 1.0)):
        curve.keyframe_points.insert(frame, value)
    animation = armature.animation_data_create()
    animation.action, animation.action_slot = action, slot


@pytest.mark.parametrize("path", ["location", '["mine"]', 'pose.bones["upper"].location'])
def test_what_was_changed_without_a_key_comes_back_after_playing(path: str) -> None:
    armature = rig("left", arm=True)
    armature["mine"] = 7.0
    animated(armature, path)
    for owner in (armature, armature.pose.bones["upper"]):
        owner.location = (3.0, 4.0, 5.0)
    with unkeyed_changes_restored():
        bpy.context.scene.frame_set(10)
    assert armature["mine"] == 7.0
    for owner in (armature, armature.pose.bones["upper"]):
        assert owner.location == Vector((3.0, 4.0, 5.0))


@pytest.mark.parametrize(
    "path",
    ["data", "parent", "pose.bones", 'pose.bones["upper"]', 'pose.bones["gone"].location', "nothing", "name"],
)
def test_a_curve_that_leads_to_no_value_is_left_alone(path: str) -> None:
    armature = rig("left", arm=True)
    animated(armature, path)
    armature.location = (3.0, 4.0, 5.0)
    with unkeyed_changes_restored():
        bpy.context.scene.frame_set(10)
    assert armature.location == Vector((3.0, 4.0, 5.0))
    assert armature.name == "Rig"
