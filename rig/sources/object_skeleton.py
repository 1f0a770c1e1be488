"""Skeletons of empties: what importers make of a file that has joints but no skin, as an armature that follows them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import bpy
from mathutils import Matrix, Vector

if TYPE_CHECKING:
    from bpy.types import Object, Scene

LEAST_JOINTS = 10
"""Hierarchies of fewer empties hold no hand."""
LEAF_SHARE = 0.7
"""Length of a bone without children, as a share of the distance from its parent's head."""
LEAST_LENGTH = 1e-6
"""Blender removes bones of no length."""


def add_armatures_of_empties(scene: "Scene") -> "list[Object]":
    """Add an armature for each hierarchy of empties; its bones are where the empties are, and follow them.

    The bones have the names, the parents and the axes of the empties. Works in Object Mode.
    """
    empties = [obj for obj in scene.objects if obj.type == "EMPTY"]
    roots = [empty for empty in empties if empty.parent not in empties]
    hierarchies = [[root, *(child for child in root.children_recursive if child in empties)] for root in roots]
    return [_add_armature(joints, scene) for joints in hierarchies if len(joints) >= LEAST_JOINTS]


def _add_armature(joints: "list[Object]", scene: "Scene") -> "Object":
    armature = bpy.data.objects.new(joints[0].name, bpy.data.armatures.new(joints[0].name))
    scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    names: dict[str, str] = {}
    for joint in joints:
        bone = bones.new(joint.name)
        names[joint.name] = bone.name
        location, rotation, _ = joint.matrix_world.decompose()
        bone.head, bone.tail = (0.0, 0.0, 0.0), (0.0, _length(joint), 0.0)
        bone.matrix = Matrix.LocRotScale(location, rotation, None)
        if joint.parent is not None and joint.parent.name in names:
            bone.parent = bones[names[joint.parent.name]]
    bpy.ops.object.mode_set(mode="OBJECT")
    for joint in joints:
        for kind in ("COPY_LOCATION", "COPY_ROTATION"):
            armature.pose.bones[names[joint.name]].constraints.new(kind).target = joint
    bpy.context.view_layer.update()
    return armature


def _length(joint: "Object") -> float:
    """Return the distance to the furthest child, or for a leaf a share of the distance from the parent."""
    place = joint.matrix_world.translation
    reach = _furthest(joint.children, place)
    if not reach and joint.parent is not None:
        reach = LEAF_SHARE * _furthest([joint.parent], place)
    return max(reach, LEAST_LENGTH)


def _furthest(objects: "Iterable[Object]", place: Vector) -> float:
    return max(((obj.matrix_world.translation - place).length for obj in objects), default=0.0)
