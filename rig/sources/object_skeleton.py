"""Convert skeletons of objects to armatures that follow them.

Importers create empties for a file's joints to which nothing is skinned, and parent an armature to these for each hand
that is skinned.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
from mathutils import Matrix, Vector

from ..binding import is_armature
from ..object_ancestors import ancestors

if TYPE_CHECKING:
    from bpy.types import Object, Scene

MIN_JOINTS = 10
"""Minimum number of joints of a hierarchy that may contain a hand."""
LEAF_RATIO = 0.7
"""Length of a bone without children, as a fraction of the distance from its parent's head."""
MIN_LENGTH = 1e-5
"""Minimum length of a bone, as Blender removes bones of zero length."""


@dataclass(frozen=True, slots=True)
class _Joint:
    """An object, or a bone of an armature, that a bone follows."""

    target: "Object"
    bone: str
    """Empty for the object itself."""
    parent: "tuple[Object, str] | None"

    @property
    def key(self) -> "tuple[Object, str]":
        """The value of `parent` in its children."""
        return self.target, self.bone

    @property
    def world(self) -> Matrix:
        """T_world_joint on the current frame."""
        world: Matrix = self.target.matrix_world
        return world @ self.target.pose.bones[self.bone].matrix if self.bone else world.copy()


def add_armatures_of_objects(scene: "Scene") -> "list[Object]":
    """Add an armature for each hierarchy of empties. Its bones are at the empties, and follow them.

    A hierarchy includes armatures that are parented to empties, with their bones. Each bone has the name, the parent
    and the axes of the object or bone that it follows. Blender must be in Object Mode.
    """
    empties = [obj for obj in scene.objects if obj.type == "EMPTY"]
    roots = [empty for empty in empties if not any(above.type == "EMPTY" for _, above in ancestors(empty))]
    hierarchies = [list(_joints(root)) for root in roots]
    return [_add_armature(joints, scene) for joints in hierarchies if len(joints) >= MIN_JOINTS]


def _joints(root: "Object") -> Iterator[_Joint]:
    """Yield the joints of a hierarchy, parents first."""
    pending: list[tuple[Object, tuple[Object, str] | None]] = [(root, None)]
    while pending:
        obj, parent = pending.pop()
        yield _Joint(obj, "", parent)
        for bone in obj.data.bones if is_armature(obj) else ():
            yield _Joint(obj, bone.name, (obj, bone.parent.name if bone.parent else ""))
        below = [child for child in obj.children if child.type == "EMPTY" or is_armature(child)]
        pending += [(child, (obj, child.parent_bone if child.parent_type == "BONE" else "")) for child in below]


def _add_armature(joints: list[_Joint], scene: "Scene") -> "Object":
    armature = bpy.data.objects.new(joints[0].target.name, bpy.data.armatures.new(joints[0].target.name))
    scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    names: dict[tuple[Object, str], str] = {}
    positions = {joint.key: joint.world.translation for joint in joints}
    for joint in joints:
        bone = bones.new(joint.bone or joint.target.name)
        names[joint.key] = bone.name
        location, rotation, _ = joint.world.decompose()
        below = [positions[child.key] for child in joints if child.parent == joint.key]
        above = None if joint.parent is None else positions[joint.parent]
        bone.head, bone.tail = (0.0, 0.0, 0.0), (0.0, _length(location, below, above), 0.0)
        bone.matrix = Matrix.LocRotScale(location, rotation, None)
        if joint.parent is not None:
            bone.parent = bones[names[joint.parent]]
    bpy.ops.object.mode_set(mode="OBJECT")
    for joint in joints:
        for kind in ("COPY_LOCATION", "COPY_ROTATION"):
            constraint = armature.pose.bones[names[joint.key]].constraints.new(kind)
            constraint.target, constraint.subtarget = joint.target, joint.bone
    bpy.context.view_layer.update()
    return armature


def _length(position: Vector, below: list[Vector], above: Vector | None) -> float:
    """Return the distance to the furthest child, or for a leaf a fraction of the distance from the parent."""
    distance = _furthest(below, position)
    if not distance and above is not None:
        distance = LEAF_RATIO * _furthest([above], position)
    return max(distance, MIN_LENGTH)


def _furthest(points: Iterable[Vector], position: Vector) -> float:
    return max(((point - position).length for point in points), default=0.0)
