"""Which hands are posed, and those that cannot be."""

from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.hand import proportions
from knuckle.hand.joints import SIDES
from knuckle.operators.posed_hands import chosen_hand, in_pose_mode, posed_armature, posed_armatures
from knuckle.posing.sliders import Slider
from knuckle.rig import detection_cache
from knuckle.rig.keys.take_scene import new_hand
from knuckle.tests.blender.test_posing_sliders import asked, channels, got, opened, put

pytestmark = pytest.mark.usefixtures("extension")


def own_hands() -> list[bpy.types.Object]:
    """A left and a right one, each an armature of its own, both selected, the right one active."""
    measured = [proportions.adult(side) for side in SIDES]
    hands = [new_hand(each, proportions.build(each), bpy.context.scene.collection)[0] for each in measured]
    bpy.context.view_layer.update()
    for armature in hands:
        armature.select_set(True)
        detection_cache.detect(armature)
    bpy.context.view_layer.objects.active = hands[SIDES.index("right")]
    return hands


def prop() -> bpy.types.Object:
    mesh = bpy.data.objects.new("Mug", bpy.data.meshes.new("Mug"))
    bpy.context.scene.collection.objects.link(mesh)
    mesh.select_set(True)
    return mesh


def curled(armature: bpy.types.Object) -> float:
    """How far its bones are from rest."""
    return float(np.abs(channels(armature) - np.eye(4)).max())


@pytest.mark.parametrize("mode", ["OBJECT", "POSE"])
def test_both_are_the_hands_of_all_armatures_that_are_posed(mode: Any) -> None:
    hands = own_hands()
    bpy.ops.object.mode_set(mode=mode)
    assert bpy.ops.knuckle.apply_hand_pose(pose="fist", side="BOTH") == {"FINISHED"}
    assert all(curled(armature) > 0.1 for armature in hands)
    assert bpy.ops.knuckle.pose_reset(side="BOTH") == {"FINISHED"}
    assert all(curled(armature) == pytest.approx(0.0, abs=1e-6) for armature in hands)


@pytest.mark.parametrize("mode", ["OBJECT", "POSE"])
def test_sliders_pose_the_hand_that_was_chosen_whichever_armature_has_it(mode: Any) -> None:
    left, right = own_hands()
    bpy.ops.object.mode_set(mode=mode)
    asked().side = "left"
    assert chosen_hand(bpy.context) == (left, "left")
    put(Slider("curl"), 0.8)
    assert curled(left) > 0.1 and curled(right) == 0.0
    assert got(Slider("curl")) == pytest.approx(0.8, abs=0.03)
    asked().side = "right"
    assert chosen_hand(bpy.context) == (right, "right")
    assert got(Slider("curl")) == pytest.approx(0.0, abs=0.3)


def test_the_only_hand_is_posed_whatever_was_chosen() -> None:
    left, right = own_hands()
    left.select_set(False)
    asked().side = "left"
    assert chosen_hand(bpy.context) == (right, "right")


def test_the_armature_beside_an_active_prop_is_posed() -> None:
    left, right = own_hands()
    left.select_set(False)
    mug = prop()
    bpy.context.view_layer.objects.active = mug
    assert posed_armatures(bpy.context) == [right] and posed_armature(bpy.context) == right
    assert in_pose_mode(bpy.context) == []
    right.select_set(False)
    assert posed_armatures(bpy.context) == [] and chosen_hand(bpy.context) is None
    assert not bpy.ops.knuckle.pose_reset.poll()


def test_an_armature_that_is_shown_at_rest_is_not_posed_unseen() -> None:
    armature = opened("Knuckle's own")
    armature.data.pose_position = "REST"
    before = channels(armature)
    calls: list[Any] = [
        lambda: bpy.ops.knuckle.apply_hand_pose(pose="fist", side="BOTH"),
        lambda: bpy.ops.knuckle.pose_relax(side="BOTH"),
        lambda: bpy.ops.knuckle.pose_reset(side="BOTH"),
        bpy.ops.knuckle.touch,
        bpy.ops.knuckle.grasp,
        lambda: bpy.ops.knuckle.drag_hand(joint="wrist", goal=(0, 0, 0)),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="is in Rest Position, choose Pose Position"):
            call()
    put(Slider("curl"), 0.5)
    assert np.array_equal(channels(armature), before)
    armature.data.pose_position = "POSE"
    assert bpy.ops.knuckle.apply_hand_pose(pose="fist", side="BOTH") == {"FINISHED"}


@pytest.mark.usefixtures("plain_keying")
def test_reset_keys_what_it_gave_back_of_places_and_sizes() -> None:
    armature = opened("Knuckle's own")
    bone = armature.pose.bones["index-finger-phalanx-intermediate"]
    bone.lock_location = (False, False, False)
    bone.location, bone.scale = (0.0, 0.01, 0.0), (1.0, 1.2, 1.0)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    assert bpy.ops.knuckle.pose_reset(side="BOTH") == {"FINISHED"}
    bag = armature.animation_data.action.layers[0].strips[0].channelbags[0]
    paths = {curve.data_path.rsplit(".", 1)[1] for curve in bag.fcurves if bone.name in curve.data_path}
    assert {"location", "scale"} < paths
    assert not any("scale" in curve.data_path for curve in bag.fcurves if bone.name not in curve.data_path)


def test_no_hand_is_posed_while_a_mesh_is_edited() -> None:
    """Its undo is of the mesh alone."""
    armature = opened("Knuckle's own")
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.objects.active = armature.children[0]
    assert posed_armature(bpy.context) == armature
    bpy.ops.object.mode_set(mode="EDIT")
    assert chosen_hand(bpy.context) is None and not bpy.ops.knuckle.pose_relax.poll()
