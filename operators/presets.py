"""Presets of the settings in Blender's preset menu: recipes without the fields that belong to one capture.

Blender's own presets are Python files that it runs. These are JSON, so that a preset from somebody else runs no code.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, StringProperty

from ..errors import KnuckleError, RecipeError
from ..files import write_json
from ..pipeline.capture_transform import NO_TRANSFORM
from ..pipeline.recipe import from_dict, read_json, to_dict
from .reports import report_message
from .scene_recipe import apply_recipe, recipe_for, recipe_of

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Scene

SUBFOLDER = "knuckle"
"""The folder of Knuckle's presets among Blender's presets."""
SUFFIX = ".json"
CAPTURE_FIELDS = {
    *("landmarks", "angle_of_view", "hand_length"),
    *("capture", "unit", "up", "rate", "animation", "start", "end", "subject", "mirror", "markers", "performer"),
    *("rig", "armature", "mappings", "transform", "align", "align_points", "corrections"),
}
"""The fields of recipes that presets leave as they are."""
_PUNCTUATION = str.maketrans(dict.fromkeys(" !@#$%^&*(){}:\";'[]<>,.\\/?", "_"))


def preset_of(scene: "Scene") -> dict[str, Any]:
    """Return the settings of a scene as a preset, JSON-ready. Keys on scene frames have no rate, since each
    file has its own.
    """
    recipe = recipe_for(scene, scene.knuckle.capture)
    preset = {name: value for name, value in to_dict(recipe).items() if name not in {*CAPTURE_FIELDS, "fps"}}
    return preset if scene.knuckle.keys == "SCENE" else {**preset, "fps": recipe.fps}


def apply_preset(preset: Any, scene: "Scene", where: str) -> None:
    """Apply a preset to a scene. Settings that it does not name get their defaults.

    Raises KnuckleError naming `where` if it is invalid; then nothing has changed.
    """
    if not isinstance(preset, dict) or CAPTURE_FIELDS & preset.keys():
        raise RecipeError(f"{where}: not a preset, expected settings that Knuckle saved as one")
    transform = recipe_of(scene).transform if scene.knuckle.capture else NO_TRANSFORM
    scene_fields = to_dict(replace(recipe_for(scene, scene.knuckle.capture), transform=transform))
    capture_fields = {name: value for name, value in scene_fields.items() if name in CAPTURE_FIELDS}
    apply_recipe(from_dict({**preset, **capture_fields}, where), scene, where)
    if "fps" not in preset:
        scene.knuckle.keys = "SCENE"


def preset_path(name: str) -> Path | None:
    """Return the path of the user's preset of this name, None if there is none."""
    for folder in bpy.utils.preset_paths(SUBFOLDER):
        for path in sorted(Path(folder).glob(f"*{SUFFIX}")):
            if name in (path.stem, bpy.path.display_name(path.name, title_case=False)):
                return path
    return None


class KNUCKLE_OT_load_preset(bpy.types.Operator):
    """Apply the settings of this preset. Capture, performer and target are not changed"""

    bl_idname = "knuckle.load_preset"
    bl_label = "Load Preset"
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}

    filepath: StringProperty(name="File", subtype="FILE_PATH", options={"SKIP_SAVE", "HIDDEN"})
    menu_idname: StringProperty(name="Menu", options={"SKIP_SAVE", "HIDDEN"})

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Read the preset and apply it."""
        try:
            apply_preset(read_json(self.filepath), context.scene, Path(self.filepath).name)
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        return {"FINISHED"}


class KNUCKLE_OT_add_preset(bpy.types.Operator):
    """Add a preset of the solve settings, or remove one"""

    bl_idname = "knuckle.add_preset"
    bl_label = "Add Preset"
    bl_options = {"REGISTER", "INTERNAL"}

    name: StringProperty(name="Name", description="Name of the preset", maxlen=64, options={"SKIP_SAVE"})
    remove_name: BoolProperty(default=False, options={"HIDDEN", "SKIP_SAVE"})
    remove_active: BoolProperty(default=False, options={"HIDDEN", "SKIP_SAVE"})

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Write or remove the file."""
        try:
            has_changed = self._remove() if self.remove_name or self.remove_active else self._add(context)
        except (KnuckleError, OSError) as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        return {"FINISHED"} if has_changed else {"CANCELLED"}

    def _add(self, context: "Context") -> bool:
        stem = self.name.strip().translate(_PUNCTUATION).strip("_")
        if not stem:
            return False
        if preset_path(stem) is not None:
            report_message(self, "WARNING", f'Cannot create preset "{self.name}", as the name already exists')
            return False
        folder = bpy.utils.user_resource("SCRIPTS", path=f"presets/{SUBFOLDER}", create=True)
        write_json(Path(folder) / f"{stem}{SUFFIX}", preset_of(context.scene))
        return True

    def _remove(self) -> bool:
        path = preset_path(self.name)
        if path is not None:
            path.unlink()
        return path is not None


CLASSES = (
    KNUCKLE_OT_load_preset,
    KNUCKLE_OT_add_preset,
)
