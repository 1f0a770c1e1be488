"""Knuckle's own hand in a scene: an armature of 25 bones, named as the WebXR joints, and its skin."""

from collections.abc import Iterator
from contextlib import contextmanager

import bpy
import numpy as np
from mathutils import Matrix

from ..hand.joints import JOINT_INDEX, JOINTS, PARENTS
from ..hand.kinematics import Pose, joint_frames
from ..hand.mesh.surface import Surface, surface
from ..hand.proportions import Proportions, build

SKIN = "Knuckle Skin"
NAIL = "Knuckle Nail"
_MATERIALS = {SKIN: ((0.66, 0.41, 0.31, 1.0), 0.5), NAIL: ((0.80, 0.54, 0.48, 1.0), 0.25)}
"""Base colour (linear RGBA) and roughness of each material."""


def add_hand(
    proportions: Proportions, name: str, collection: bpy.types.Collection, skin: Surface | None = None
) -> bpy.types.Object:
    """Add an armature and its skin, as a child, to the collection; return the armature object.

    skin: the skin of these proportions, if already computed.

    Every bone's matrix is its joint's frame at zero angles, so a pose bone's quaternion is the joint's rotation
    relative to rest. The mode, selection and active object do not change.
    """
    skin = skin or surface(proportions)
    armature = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    collection.objects.link(armature)
    _add_bones(armature, proportions, np.asarray(skin.weights.any(axis=0)))
    mesh = bpy.data.objects.new(f"{name} Skin", _mesh(skin, f"{name} Skin"))
    collection.objects.link(mesh)
    _bind(mesh, armature, skin)
    return armature


def _add_bones(armature: bpy.types.Object, proportions: Proportions, deforms: np.ndarray) -> None:
    hand = build(proportions)
    frames = joint_frames(hand, Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs))))[0]
    with _edit_mode(armature):
        bones = armature.data.edit_bones
        for joint, bone_name in enumerate(JOINTS):
            bone = bones.new(bone_name)
            bone.head, bone.tail = (0, 0, 0), (0, _bone_length(frames, joint), 0)
            bone.matrix = Matrix(frames[joint].tolist())
            bone.use_deform = bool(deforms[joint])
            if joint:
                bone.parent = bones[JOINTS[PARENTS[joint]]]
                bone.use_connect = (bone.parent.tail - bone.head).length < 1e-6
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"


def _bone_length(frames: np.ndarray, joint: int) -> float:
    """Return the length (m) to the next joint: the middle metacarpal for the wrist, a quarter phalanx for a tip."""
    children = [child for child, parent in enumerate(PARENTS) if parent == joint]
    if not children:
        last = float(np.linalg.norm(frames[joint, :3, 3] - frames[PARENTS[joint], :3, 3]))
        return max(0.25 * last, 1e-4)
    child = JOINT_INDEX["middle-finger-metacarpal"] if joint == 0 else children[0]
    return max(float(np.linalg.norm(frames[child, :3, 3] - frames[joint, :3, 3])), 1e-4)


@contextmanager
def _edit_mode(armature: bpy.types.Object) -> Iterator[None]:
    """Edit Mode on the armature; mode, selection and active object are restored afterwards.

    Edit bones exist only in Edit Mode, which needs the active object of the view layer. The armature's collection may
    be hidden there, so the armature is linked to the scene's own collection meanwhile.
    """
    context = bpy.context
    layer, root = context.view_layer, context.scene.collection
    active, selected = layer.objects.active, [o.name for o in layer.objects if o.select_get()]
    mode = active.mode if active else "OBJECT"
    if mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    linked_here = armature.name not in root.objects
    if linked_here:
        root.objects.link(armature)
    try:
        for item in layer.objects:
            item.select_set(False)
        layer.objects.active = armature
        bpy.ops.object.mode_set(mode="EDIT")
        yield
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")
        if linked_here:
            root.objects.unlink(armature)
        for item in layer.objects:
            item.select_set(item.name in selected)
        layer.objects.active = active
        if mode != "OBJECT":
            bpy.ops.object.mode_set(mode=mode)


def _mesh(skin: Surface, name: str) -> bpy.types.Mesh:
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(skin.vertices.tolist(), [], skin.quads.tolist())
    for material in (SKIN, NAIL):
        mesh.materials.append(_material(material))
    mesh.polygons.foreach_set("material_index", skin.nails.astype(np.int32))
    mesh.shade_smooth()
    mesh.update()
    return mesh


def _material(name: str) -> bpy.types.Material:
    """Return the material of this name, made if the file has none."""
    found: bpy.types.Material | None = bpy.data.materials.get(name)
    if found:
        return found
    colour, roughness = _MATERIALS[name]
    material = bpy.data.materials.new(name)
    material.diffuse_color, material.roughness = colour, roughness
    if bpy.app.version < (5, 0, 0):
        material.use_nodes = True
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = colour
    shader.inputs["Roughness"].default_value = roughness
    return material


def _bind(mesh: bpy.types.Object, armature: bpy.types.Object, skin: Surface) -> None:
    """Bind the skin to the armature: parent, a vertex group for each weighted joint, an armature modifier."""
    mesh.parent = armature
    for joint in np.flatnonzero(skin.weights.any(axis=0)):
        group = mesh.vertex_groups.new(name=JOINTS[joint])
        column = skin.weights[:, joint]
        for weight in np.unique(column[column > 0]):
            group.add(np.flatnonzero(column == weight).tolist(), float(weight), "REPLACE")
    modifier = mesh.modifiers.new("Armature", "ARMATURE")
    assert isinstance(modifier, bpy.types.ArmatureModifier)
    modifier.object = armature
    # Dual quaternions: a bent joint keeps its girth, whereas linear blending would pinch it.
    modifier.use_deform_preserve_volume = True
