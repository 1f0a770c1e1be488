"""Random edits of a scene by users, scripts and other add-ons, between two operators of Knuckle."""

import itertools
import math
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy

Edit = Callable[[random.Random], None]

CONSTRAINTS = ("IK", "COPY_TRANSFORMS", "COPY_ROTATION", "LIMIT_ROTATION", "CHILD_OF", "ARMATURE")
NAMES = ("", "right", "left", "thumb", "index-finger", "index-finger-tip", "flat", "x" * 300, "\n")


def folder() -> Path:
    """Return the folder of a run's files."""
    return Path(tempfile.gettempdir())


def capture() -> str:
    """Return a copy of a capture, which operators may overwrite."""
    return str(folder() / "capture.json")


def value_of(dice: random.Random, of: Any) -> Any:
    """Return a random value for a property of Blender's, in its range or not; None to leave it unchanged."""
    if of.is_array if of.type in NUMBERS else False:
        return [dice.choice(NUMBERS[of.type]) for _ in range(of.array_length)]
    if of.type in NUMBERS:
        return dice.choice((*NUMBERS[of.type], *((of.hard_min, of.hard_max) if of.type != "BOOLEAN" else ())))
    if of.type == "ENUM" and not of.is_enum_flag:
        return dice.choice([item.identifier for item in of.enum_items] or [None])
    if of.type == "STRING":
        return dice.choice(_texts(of.identifier, dice))
    return None


NUMBERS = {
    "BOOLEAN": (False, True),
    "INT": (0, 1, -1, 7, 50),
    "FLOAT": (0.0, 1.0, -1.0, 0.3, 1e30, math.nan, math.inf),
}


def _texts(name: str, dice: random.Random) -> list[str]:
    if name in ("filepath", "directory"):
        return [capture(), capture(), str(folder() / f"{dice.choice('abc')}.json"), "/nowhere/x.json"]
    bones = (bone.name for armature in bpy.data.armatures for bone in itertools.islice(armature.bones, 60))
    return [*NAMES, *(obj.name for obj in bpy.data.objects), *bones]


def _some(dice: random.Random, things: Any) -> Any:
    """Return a random item of a collection; raises IndexError if it is empty."""
    return dice.choice(list(things))


def _an_armature(dice: random.Random) -> Any:
    """Return one of the armature objects."""
    return _some(dice, [obj for obj in bpy.data.objects if obj.type == "ARMATURE"])


def _delete_object(dice: random.Random) -> None:
    bpy.data.objects.remove(_some(dice, bpy.data.objects))


def _delete_data(dice: random.Random) -> None:
    kind = dice.choice(["meshes", "armatures", "actions", "materials", "node_groups", "collections"])
    getattr(bpy.data, kind).remove(_some(dice, getattr(bpy.data, kind)))


def _rename_object(dice: random.Random) -> None:
    _some(dice, bpy.data.objects).name = dice.choice(["", "x" * 80, "Right Hand", "é", "a\nb"])


def _rename_bone(dice: random.Random) -> None:
    _some(dice, _an_armature(dice).data.bones).name = dice.choice(["wrist", "x", "é" * 40, "thumb.L", '"]'])


def _unlink_object(dice: random.Random) -> None:
    obj = _some(dice, bpy.data.objects)
    for collection in list(obj.users_collection):
        collection.objects.unlink(obj)


def _exclude_collection(dice: random.Random) -> None:
    _some(dice, bpy.context.view_layer.layer_collection.children).exclude = dice.random() < 0.7


def _hide_object(dice: random.Random) -> None:
    obj = _some(dice, bpy.data.objects)
    obj.hide_viewport = dice.random() < 0.7
    obj.hide_set(dice.random() < 0.5)


def _remove_modifiers(dice: random.Random) -> None:
    _some(dice, bpy.data.objects).modifiers.clear()


def _remove_animation(dice: random.Random) -> None:
    _some(dice, bpy.data.objects).animation_data_clear()


def _edit_bones(dice: random.Random) -> None:
    armature = activate(_an_armature(dice))
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    for _ in range(dice.choice([1, 1, 4])):
        match dice.randrange(4):
            case 0:
                bones.remove(_some(dice, bones))
            case 1:
                new = bones.new(dice.choice(["new", "wrist", "x" * 70]))
                new.tail = (0.0, 0.1 * dice.random(), 0.1)
            case 2:
                _some(dice, bones).parent = _some(dice, bones)
            case _:
                _some(dice, bones).tail = [dice.uniform(-1, 1) * dice.choice([1e-9, 0.1, 1e6]) for _ in range(3)]
    if dice.random() < 0.8:
        bpy.ops.object.mode_set(mode=dice.choice(["OBJECT", "POSE"]))


def activate(obj: Any) -> Any:
    """Select an object and make it the active one; returns it."""
    bpy.context.view_layer.objects.active = obj
    obj.select_set(True)
    return obj


def _change_mode(dice: random.Random) -> None:
    activate(_some(dice, bpy.data.objects))
    bpy.ops.object.mode_set(mode=dice.choice(["OBJECT", "POSE", "EDIT"]))


def _change_data(dice: random.Random) -> None:
    _an_armature(dice).data = _some(dice, bpy.data.armatures)


def _share_data(dice: random.Random) -> None:
    copy = _an_armature(dice).copy()
    bpy.context.scene.collection.objects.link(copy)


def _transform(dice: random.Random) -> None:
    _some(dice, bpy.data.objects).matrix_world = [
        [dice.choice([0.0, 1.0, -1.0, 1e-8, 1e8, dice.uniform(-2, 2)]) for _ in range(4)] for _ in range(4)
    ]


def _parent(dice: random.Random) -> None:
    _some(dice, bpy.data.objects).parent = _some(dice, bpy.data.objects)


def _constrain(dice: random.Random) -> None:
    bone = _some(dice, _an_armature(dice).pose.bones)
    constraint = bone.constraints.new(dice.choice(CONSTRAINTS))
    if hasattr(constraint, "target"):
        constraint.target = _some(dice, bpy.data.objects)


def _pose_bones(dice: random.Random) -> None:
    for bone in _an_armature(dice).pose.bones:
        bone.rotation_mode = dice.choice(["QUATERNION", "XYZ", "ZYX", "AXIS_ANGLE"])
        bone.location = [dice.choice([0.0, 1.0, math.nan, 1e20]) if dice.random() < 0.05 else 0.0 for _ in range(3)]
        bone.rotation_quaternion = [dice.uniform(-1, 1) for _ in range(4)]


def _change_frame(dice: random.Random) -> None:
    bpy.context.scene.frame_set(dice.choice([-1000, 0, 1, 30, 1_048_574]))


def _change_rate(dice: random.Random) -> None:
    render = bpy.context.scene.render
    render.fps, render.fps_base = dice.choice([1, 24, 32767]), dice.choice([1.0, 1.001, 1e-5, 1e6])


def _new_scene(dice: random.Random) -> None:
    bpy.data.scenes.new(dice.choice(["Scene", "x" * 80]))


def _delete_scene(dice: random.Random) -> None:
    bpy.data.scenes.remove(_some(dice, bpy.data.scenes))


def _rename_scene(dice: random.Random) -> None:
    bpy.context.scene.name = dice.choice(["", "x" * 80, "a\nb"])


def _undo(dice: random.Random) -> None:
    bpy.ops.ed.undo_push(message="fuzz")
    (bpy.ops.ed.undo if dice.random() < 0.6 else bpy.ops.ed.redo)()


def _save_and_load(dice: random.Random) -> None:
    path = str(folder() / "fuzz.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path, compress=dice.random() < 0.5)
    bpy.ops.wm.open_mainfile(filepath=path)


def _change_settings(dice: random.Random) -> None:
    """Set settings of the scene to random values that Blender accepts."""
    groups = [getattr(bpy.context.scene, name) for name in dir(bpy.context.scene) if name.startswith("knuckle")]
    group = _some(dice, [one for one in groups if isinstance(one, bpy.types.PropertyGroup)])
    of = _some(dice, [one for one in group.bl_rna.properties if one.identifier != "rna_type" and not one.is_readonly])
    if of.type == "POINTER":
        setattr(group, of.identifier, _some(dice, bpy.data.objects) if dice.random() < 0.7 else None)
        return
    value = value_of(dice, of)
    if value is not None:
        setattr(group, of.identifier, value)


def _damage_settings(dice: random.Random) -> None:
    """Overwrite a stored property with a value of another type, as a foreign file may contain."""
    owner = _some(dice, [bpy.context.scene, *bpy.data.objects, *bpy.data.actions])
    for name in [key for key in owner.keys() if key.startswith("knuckle")]:  # noqa: SIM118  # not a dictionary
        owner[name] = dice.choice([1, "", "{", "[]", [1.0, 2.0], {"a": 1}, "x" * 5000])


EDITS: dict[Edit, int] = {
    _delete_object: 2,
    _delete_data: 2,
    _rename_object: 1,
    _rename_bone: 2,
    _unlink_object: 1,
    _exclude_collection: 1,
    _hide_object: 1,
    _remove_modifiers: 1,
    _remove_animation: 1,
    _edit_bones: 4,
    _change_mode: 2,
    _change_data: 1,
    _share_data: 1,
    _transform: 1,
    _parent: 1,
    _constrain: 2,
    _pose_bones: 1,
    _change_frame: 1,
    _change_rate: 1,
    _new_scene: 1,
    _delete_scene: 1,
    _rename_scene: 1,
    _undo: 4,
    _save_and_load: 2,
    _change_settings: 6,
    _damage_settings: 2,
}
"""Relative frequency of each edit."""
