"""Rigs of others, as they are and made strange: opened in the scene, with what is known of their bones."""

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
from mathutils import Matrix

from knuckle.hand.joints import SIDES, Side
from knuckle.rig.mappings import FAMILIES
from knuckle.tests.resources import Folder


def family(name: str, side: Side) -> dict[str, str]:
    """joint -> bone as a family names them."""
    return next(family for family in FAMILIES if family.name == name).bone_names(side)


def rig_file(name: str) -> Path:
    """The file of a rig: of ../shared, or made by a script."""
    return Folder("data/rigs").file(name)


def _opened(path: Path) -> bpy.types.Object:
    if path.suffix == ".glb":
        bpy.ops.import_scene.gltf(filepath=str(path))
    else:
        bpy.ops.wm.open_mainfile(filepath=str(path))
    return next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")


Truth = dict[Side, dict[str, str]]
"""side -> joint -> bone"""


def _of(file: str, name: str, sides: tuple[Side, ...] = SIDES) -> tuple[bpy.types.Object, Truth]:
    armature = _opened(rig_file(file))
    bones = armature.data.bones
    truth = {side: {joint: bone for joint, bone in family(name, side).items() if bone in bones} for side in sides}
    return armature, truth


def _named(name: str) -> tuple[bpy.types.Object, Truth]:
    """MakeHuman's game skeleton with the hands' bones named as another family does."""
    armature, truth = _of("makehuman_game_engine.blend", "Unreal")
    names = {side: family(name, side) for side in SIDES}
    for side, bones in truth.items():
        for joint, bone in bones.items():
            armature.data.bones[bone].name = names[side][joint]
    return armature, {side: {joint: names[side][joint] for joint in bones} for side, bones in truth.items()}


def _generated() -> tuple[bpy.types.Object, Truth]:
    armature = _opened(rig_file("rigify_generated.blend"))
    bones = armature.data.bones
    # The controls of the fingers have the metarig's names; the IK hand is in use, and the palm has one control for all.
    truth: Truth = {
        side: {joint: bone for joint, bone in family("Rigify metarig", side).items() if bone in bones}
        | {"wrist": f"hand_ik.{side[0].upper()}"}
        for side in SIDES
    }
    return armature, truth


RIGS: dict[str, Callable[[], tuple[bpy.types.Object, Truth]]] = {
    "WebXR, left": lambda: _of("generic_hand_left.glb", "WebXR", ("left",)),
    "WebXR, right": lambda: _of("generic_hand_right.glb", "WebXR", ("right",)),
    "MakeHuman": lambda: _of("makehuman_default.blend", "MakeHuman"),
    "MakeHuman for games": lambda: _of("makehuman_game_engine.blend", "Unreal"),
    "Rigify metarig": lambda: _of("rigify_metarig.blend", "Rigify metarig"),
    "Rigify generated": _generated,
    "named as Mixamo": lambda: _named("Mixamo"),
    "named as Unreal": lambda: _named("Unreal"),
    "named as VRM 1": lambda: _named("VRM 1"),
    "named as VRM 0": lambda: _named("VRM 0"),
    "named as VRoid": lambda: _named("VRoid"),
    "named as MMD": lambda: _named("MMD"),
    "named as MMD in Blender": lambda: _named("MMD in Blender"),
    "named as SMPL-X": lambda: _named("SMPL-X"),
}


def strange(armature: bpy.types.Object, truth: Truth, seed: int = 0, *, rolled: bool = True) -> Truth:
    """Names every bone x1 … xn in any order and rolls it at random; the truth with the new names.

    A rig whose bones follow others by constraints stands no more as it was built where they are rolled.
    """
    rng = np.random.default_rng(seed)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in armature.data.edit_bones:
        bone.roll = rng.uniform(-np.pi, np.pi) if rolled else bone.roll
    bpy.ops.object.mode_set(mode="OBJECT")
    old = [bone.name for bone in armature.data.bones]
    new = {name: f"x{number + 1}" for name, number in zip(old, rng.permutation(len(old)), strict=True)}
    for name, other in new.items():
        armature.data.bones[name].name = other
    return {side: {joint: new[bone] for joint, bone in bones.items()} for side, bones in truth.items()}


def mirrored(truth: Truth) -> Truth:
    """The truth of an armature that its object mirrors: what is seen is the other hand."""
    return {SIDES[1 - SIDES.index(side)]: bones for side, bones in truth.items()}


PLACES: dict[str, Matrix] = {
    "as it is": Matrix.Identity(4),
    "a hundredth, turned": Matrix.Translation((1, 2, 3))
    @ Matrix.Rotation(1.0, 4, (1.0, 2.0, 3.0))
    @ Matrix.Scale(0.01, 4),
    "mirrored": Matrix.Rotation(-2.0, 4, (3.0, 1.0, 1.0)) @ Matrix.Scale(-1, 4, (0, 1, 0)),
}


def placed(armature: bpy.types.Object, place: str) -> None:
    """Hangs an armature on a parent that stands so."""
    parent = bpy.data.objects.new("Parent", None)
    bpy.context.scene.collection.objects.link(parent)
    parent.matrix_world = PLACES[place]
    armature.parent = parent
    bpy.context.view_layer.update()


def rig_with_arms(name: str) -> bpy.types.Object:
    """A rig of RIGS; the arms of Rigify's generated one are in FK or IK: "Rigify generated, FK"."""
    rig, _, kind = name.partition(", ")
    armature, _ = RIGS[rig]()
    if kind:
        for side in "LR":
            armature.pose.bones[f"upper_arm_parent.{side}"]["IK_FK"] = float(kind == "FK")
        armature.update_tag()
        bpy.context.view_layer.update()
    return armature
