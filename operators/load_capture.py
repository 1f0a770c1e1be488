"""Load a capture into the scene: its markers as an object, its facts into the panel."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy

from .. import capture as captures
from ..errors import KnuckleError
from ..hand.generators import Steps
from ..pipeline import assignment as assigning
from ..pipeline.labelling import describe_labels
from ..pipeline.recipe import Recipe
from ..rig import markers_object
from ..rig.keys.frame_times import scene_rate
from .scene_recipe import place_capture

if TYPE_CHECKING:
    from bpy.types import Context, Object


def show_capture(context: "Context", markers: captures.Markers, path: str, found: dict[str, Any]) -> "Object":
    """Show a capture's markers in the object that there already is for this file, or in a new one.

    found: what found_hands returned.
    """
    scene = context.scene
    shown = capture_object(context, path)
    if shown is None:
        shown = markers_object.add_markers(
            markers,
            markers_object.object_name(markers),
            context.collection,
            start=scene.knuckle.start,
            rate=scene_rate(scene),
        )
        place_capture(scene, shown)
    else:
        markers_object.set_markers(shown, markers)
        markers_object.set_timing(shown, scene.knuckle.start, scene_rate(scene))
    shown[markers_object.CAPTURE_PROPERTY].update({"path": path, **found})
    scene.knuckle.markers = shown
    return shown


def capture_object(context: "Context", path: str) -> "Object | None":
    """Return the scene's object with the markers of the capture at a path, None without one."""
    for obj in context.scene.objects:
        if markers_object.is_markers(obj) and obj[markers_object.CAPTURE_PROPERTY].get("path") == path:
            return obj
    return None


def found_hands(recipe: Recipe, markers: captures.Markers) -> Steps[dict[str, Any]]:
    """Find what the panel shows about the hands in a capture; for a capture without hands, why there are none."""
    try:
        labels = yield from assigning.label_markers_stepwise(recipe, markers)
        found = assigning.assign_hands(recipe, labels.markers)
    except KnuckleError as error:
        return {"marker_set": "", "confidence": 0.0, "hands": "", "told": [], "problem": str(error)}
    hands = ", ".join(f"{side}: {len(spots)} markers" for side, spots in found.hands.items())
    return {
        "marker_set": found.set_name,
        "confidence": found.confidence,
        "hands": hands,
        "told": describe_labels(labels.facts),
        "problem": "",
    }


def relative(path: str) -> str:
    """Return a path relative to the .blend file, if Blender's preferences say so and the file is saved."""
    prefers = bpy.context.preferences.filepaths.use_relative_paths and bpy.data.filepath
    if prefers and Path(path).anchor == Path(bpy.data.filepath).anchor:
        return bpy.path.relpath(path)
    return path
