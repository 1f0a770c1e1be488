"""Read any capture with Blender: files, scene files that Blender imports, and armatures of the open file."""

from pathlib import Path
from typing import TYPE_CHECKING

import bpy

from ...capture.markers import Markers
from ...capture.recording import Recording, to_markers
from ...capture.scene_files import armature_name, is_scene_file
from ...errors import CaptureError
from ...hand.generators import Steps
from ...pipeline.assignment import read_file
from ...pipeline.recipe import Recipe
from ..binding import is_armature
from ..linked import ObjectName, is_in_scene
from .hand_size import scaled_to_person
from .imported_file import read_scene_file
from .sampling import Source, sample
from .source_hands import source_hands

if TYPE_CHECKING:
    from bpy.types import Object, Scene


def read_capture(recipe: Recipe) -> Steps[Markers]:
    """Read a recipe's capture: a file of any format, or an armature of the open scene (`armature:NAME`).

    Raises CaptureError, or RigError for an armature without a hand.
    """
    name = armature_name(recipe.capture)
    if name is not None:
        recording, source = (yield from _armature_recording(name, bpy.context.scene)), name
    elif is_scene_file(recipe.capture):
        recording, source = (
            (yield from read_scene_file(Path(recipe.capture), recipe.animation)),
            Path(recipe.capture).name,
        )
    else:
        return (yield from read_file(recipe))
    if recipe.unit == "auto":
        recording = scaled_to_person(recording)
    return to_markers(recording, source, recipe.unit, recipe.up, recipe.rate)


def _armature_recording(name: str, scene: "Scene") -> Steps[Recording]:
    armature: Object | None = bpy.data.objects.get(name)
    if not is_armature(armature) or not is_in_scene(armature, scene):
        raise CaptureError(f"there is no armature '{name}' in scene '{scene.name}', choose another")
    source = Source(ObjectName.of(armature), source_hands(armature, tails_known=True))
    return (yield from sample([source], scene, "armature"))
