"""Animated armatures as a glove's program would write them: files by Blender's exporters, and their truth."""

from collections.abc import Callable
from pathlib import Path

import addon_utils
import bpy
import numpy as np
from numpy.typing import NDArray

from knuckle.capture import Markers
from knuckle.hand.generators import run_to_end
from knuckle.pipeline.recipe import Recipe
from knuckle.rig.sources.reading import read_capture

Floats = NDArray[np.float64]


def _fbx(path: Path, **options: object) -> None:
    addon_utils.enable("io_scene_fbx")
    # The names of the options are not in the stubs.
    bpy.ops.export_scene.fbx(
        filepath=str(path),
        use_selection=True,
        object_types={"ARMATURE"},
        bake_anim_use_all_actions=False,
        bake_anim_use_nla_strips=False,
        bake_anim_simplify_factor=0.0,
        **options,  # type: ignore[arg-type]
    )


def _fbx_of_other_axes(path: Path) -> None:
    """Bones along X, as Maya has them, and no bone at a finger's end."""
    _fbx(path, primary_bone_axis="X", secondary_bone_axis="Y", add_leaf_bones=False)


def _gltf(path: Path) -> None:
    addon_utils.enable("io_scene_gltf2")
    bpy.ops.export_scene.gltf(
        filepath=str(path),
        use_selection=True,
        export_animation_mode="ACTIVE_ACTIONS",
        export_optimize_animation_size=False,
    )


def _usd(path: Path) -> None:
    bpy.ops.wm.usd_export(filepath=str(path), selected_objects_only=True, export_animation=True)


EXPORTERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "FBX": (".fbx", _fbx),
    "FBX of other axes": (".fbx", _fbx_of_other_axes),
    "glTF": (".glb", _gltf),
    "USD": (".usdc", _usd),
}


def exported(armature: bpy.types.Object, kind: str, folder: Path) -> Path:
    """A file of the armature's animation over its action's frames."""
    scene, action = bpy.context.scene, armature.animation_data.action
    scene.frame_start, scene.frame_end = (round(frame) for frame in action.frame_range)
    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = armature
    armature.select_set(True)
    suffix, export = EXPORTERS[kind]
    path = folder / f"glove{suffix}"
    export(path)
    return path


def read(capture: str | Path, **recipe: str) -> Markers:
    """A capture as the panel reads it."""
    return run_to_end(read_capture(Recipe(str(capture), **recipe)))  # type: ignore[arg-type]


def evaluated_heads(armature: bpy.types.Object, bones: dict[str, str], frames: Floats) -> Floats:
    """(F, B, 3) where bones begin in the world, by Blender's own evaluation of the scene."""
    places = []
    for frame in frames:
        whole = int(np.floor(frame))
        bpy.context.scene.frame_set(whole, subframe=float(frame) - whole)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        places.append([posed.matrix_world @ posed.pose.bones[bone].head for bone in bones.values()])
    return np.array(places)
