"""Rigs that no take can go to as they are, each with what is said of it in the shell, in the panel and in docs."""

from collections.abc import Callable
from typing import Any

import bpy

from knuckle.hand.joints import DIGITS
from knuckle.tests.blender.making import rig

Object = bpy.types.Object


def _bones(armature: Object) -> Any:
    """The bones in Edit Mode; `_done` ends it."""
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    return armature.data.edit_bones


def _done() -> None:
    bpy.ops.object.mode_set(mode="OBJECT")


def without(armature: Object, *begins: str) -> Object:
    """Takes away the bones whose names begin so."""
    bones = _bones(armature)
    for bone in [bone for bone in bones if bone.name.startswith(begins)]:
        bones.remove(bone)
    _done()
    return armature


def no_armature() -> None:
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("Cube", bpy.data.meshes.new("Cube")))


def no_bones() -> Object:
    armature = bpy.data.objects.new("Empty Rig", bpy.data.armatures.new("Empty Rig"))
    bpy.context.scene.collection.objects.link(armature)
    return armature


def no_fingers() -> Object:
    return without(rig("right", arm=True), *DIGITS)


def one_finger() -> Object:
    return without(rig("right", arm=True), "thumb", "middle", "ring", "pinky")


def digits_of_one_bone() -> Object:
    endings = ("-metacarpal", "-phalanx-intermediate", "-phalanx-distal", "-tip")
    return without(rig("right"), *(digit + ending for digit in DIGITS for ending in endings))


def two_right_hands() -> Object:
    armature, other = rig("right"), rig("right")
    other.location = (0.5, 0.0, 0.0)
    other.name = "Other"
    bpy.context.view_layer.update()
    for obj in (armature, other):
        obj.select_set(True)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.join()
    return armature


def the_other_hand() -> Object:
    return rig("left")


def controls_elsewhere() -> Object:
    armature, controls = rig("right"), rig("right")
    controls.name = "Controls"
    bpy.context.scene.collection.objects.unlink(controls)
    for bone in armature.pose.bones:
        copy = bone.constraints.new("COPY_ROTATION")
        copy.target, copy.subtarget = controls, bone.name
    return armature


def opposite_limits() -> Object:
    armature = rig("right")
    limit = armature.pose.bones["index-finger-phalanx-proximal"].constraints.new("LIMIT_ROTATION")
    limit.owner_space, limit.use_limit_x, limit.min_x, limit.max_x = "LOCAL", True, 1.0, -1.0
    return armature


def scaled_to_nothing() -> Object:
    armature = rig("right")
    armature.scale = (1.0, 0.0, 1.0)
    return armature


def put_aside() -> Object:
    armature = rig("right")
    armature.hide_viewport = True
    return armature


def no_arm() -> Object:
    return rig("right")


def arm_in_ik() -> Object:
    armature = rig("right", arm=True)
    goal = bpy.data.objects.new("Goal", None)
    bpy.context.scene.collection.objects.link(goal)
    ik = armature.pose.bones["fore"].constraints.new("IK")
    ik.target, ik.chain_count = goal, 2
    return armature


BAD: tuple[tuple[str, Callable[[], Object | None], tuple[str, ...], str], ...] = (
    ("no armature in the file", no_armature, (), "there is no armature in it, choose a file with a rigged hand"),
    ("an armature without bones", no_bones, (), "'Empty Rig' has no bones, choose one with a hand"),
    ("an arm without fingers", no_fingers, (), "has no hand that can be recognised: at least a thumb and a finger"),
    ("one finger only", one_finger, (), "make no hand: add the missing bones, or pick the bones in the panel"),
    ("digits of one bone each", digits_of_one_bone, (), "add the missing bones, or pick the bones in the panel"),
    ("two right hands", two_right_hands, (), "has 2 right hands, at bones 'wrist' and 'wrist.001': pick the bones"),
    ("a left hand for a right one", the_other_hand, (), "has no right hand, only a left one: choose that hand, mirror"),
    ("bones driven, controls elsewhere", controls_elsewhere, (), "choose the rig's control armature or remove the"),
    ("limits the wrong way round", opposite_limits, (), "limits X to 57..-57 degrees, expected the lower limit first"),
    ("scaled to zero", scaled_to_nothing, (), "is scaled to zero, give it a size along all axes"),
    ("disabled in viewports", put_aside, (), "is excluded from this view layer or disabled in viewports"),
    (
        "an arm asked for, none there",
        no_arm,
        ("--drive", "arm"),
        "has no arm above its right wrist, expected bones from",
    ),
    (
        "an arm asked for, in IK",
        arm_in_ik,
        ("--drive", "arm"),
        "constraints or drivers rotate 'upper', so keys have no effect",
    ),
)
"""What it is, how to make it, the options of `solve`, and a part of the sentence."""
