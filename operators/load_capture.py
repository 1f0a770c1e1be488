"""Show a capture in the scene: its markers as an object, and their description in the panel."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from bpy.app.handlers import persistent

from .. import capture as captures
from ..errors import KnuckleError
from ..hand.generators import Steps
from ..hand.joints import SIDES
from ..hand.marker_sets import to_json
from ..pipeline import assignment as assigning
from ..pipeline.labelling import describe_labels, source_map
from ..pipeline.prepared import solvable_hands
from ..pipeline.recipe import Recipe
from ..rig import markers_object
from ..rig.keys.frame_times import scene_rate
from .scene_recipe import place_capture

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpy.types import Context, Object, Scene


def show_capture(context: "Context", markers: captures.Markers, path: str, found: dict[str, Any]) -> "Object":
    """Show a capture's markers in the object that this file already has, or in a new one.

    found: the result of describe_hands.
    """
    scene = context.scene
    markers_obj = capture_object(context, path)
    if markers_obj is None:
        markers_obj = markers_object.add_markers(
            markers,
            markers_object.object_name(markers),
            context.collection,
            start=scene.knuckle.start,
            rate=scene_rate(scene),
        )
        place_capture(scene, markers_obj)
    else:
        markers_object.set_markers(markers_obj, markers)
        markers_object.set_timing(markers_obj, scene.knuckle.start, scene_rate(scene))
    markers_obj[markers_object.CAPTURE_PROPERTY].update({"path": path, **found})
    scene.knuckle.markers = markers_obj
    return markers_obj


def capture_object(context: "Context", path: str) -> "Object | None":
    """Return the scene's object with the markers of the capture at a path, or None."""
    for obj in context.scene.objects:
        if markers_object.is_markers(obj) and obj[markers_object.CAPTURE_PROPERTY].get("path") == path:
            return obj
    return None


def describe_hands(recipe: Recipe, markers: captures.Markers) -> Steps[dict[str, Any]]:
    """Find the hands in a capture and describe them for the panel; if there are none, say why.

    The description also has a marker map in JSON, the initial guess of Assign Markers.
    """
    no_hands: dict[str, Any] = {"marker_set": "", "confidence": 0.0, "hands": "", "facts": []}
    try:
        labels = yield from assigning.label_markers_stepwise(recipe, markers)
        assignment = assigning.assign_hands(recipe, labels.markers)
    except KnuckleError as error:
        return no_hands | {"problem": str(error), "guess": json.dumps(_guess_fingertips(recipe, markers))}
    marker_map = source_map(labels) or {str(side): spots for side, spots in assignment.hands.items()}
    guess = json.dumps(to_json(marker_map))
    try:
        _, assignment = yield from solvable_hands(recipe, labels.markers)
    except KnuckleError as error:
        return no_hands | {"problem": str(error), "guess": guess}
    return {
        "marker_set": assignment.set_name,
        "confidence": assignment.confidence,
        "hands": ", ".join(f"{side}: {len(spots)} markers" for side, spots in assignment.hands.items()),
        "facts": describe_labels(labels.facts),
        "problem": "",
        "guess": guess,
    }


def _guess_fingertips(recipe: Recipe, markers: captures.Markers) -> dict[str, dict[str, str]]:
    """Return the marker map, as JSON, of a capture that shows fingertips alone; {} if it has none."""
    try:
        hands = assigning.find_lone_fingertips(recipe, markers)
    except KnuckleError:
        return {}
    side = recipe.hand if recipe.hand in SIDES else assigning.side_of_file(markers.source) or "right"
    tips = next(iter(hands.values()), {})
    return {side: {label: tip for label, (tip, _) in tips.items()}} if tips else {}


def describe_capture(markers: captures.Markers, found: dict[str, Any]) -> str:
    """Return one line about the capture: frames, rate, seconds, unit and hands."""
    frames = f"{len(markers.times)} frame{'s' * (len(markers.times) != 1)}"
    hands = found["hands"] or "no hand was found, see the sidebar"
    return (
        f"{markers.source}: {frames} at {markers.rate:.6g} Hz, {markers.duration:.2f} s, in {markers.unit}; "
        f"{len(markers.names)} markers, {hands}"
    )


def remap_paths(scenes: "Iterable[Scene]", old_folder: str, new_folder: str) -> None:
    """Change the relative paths of captures so that they refer to the same files from another folder."""
    for scene in scenes if old_folder != new_folder else ():
        path = scene.knuckle.capture
        if path.startswith("//"):
            target = bpy.path.abspath(path, start=old_folder)
            same_drive = Path(target).anchor == Path(new_folder).anchor
            scene.knuckle.capture = _relative_to(new_folder, target) if same_drive else target


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def remap_before_saving(file: str, *_: object) -> None:
    """Adjust relative paths when a file is saved to another folder, as Blender's own Remap Relative does."""
    if file and bpy.data.filepath:
        remap_paths(bpy.data.scenes, str(Path(bpy.data.filepath).parent), str(Path(file).parent))


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def remap_after_saving(file: str, *_: object) -> None:
    """Restore the paths of the open file after a copy of it was saved elsewhere."""
    if file and bpy.data.filepath and Path(bpy.data.filepath) != Path(file):
        remap_paths(bpy.data.scenes, str(Path(file).parent), str(Path(bpy.data.filepath).parent))


def relative_path(path: str) -> str:
    """Return a path relative to the .blend file, if Blender's preferences request that and the file is saved."""
    prefers = bpy.context.preferences.filepaths.use_relative_paths and bpy.data.filepath
    if prefers and Path(path).anchor == Path(bpy.data.filepath).anchor:
        return _relative_to(str(Path(bpy.data.filepath).parent), path)
    return path


def _relative_to(folder: str, path: str) -> str:
    """Return a path relative to a folder; unchanged if `..` would lead elsewhere, as from a symbolic link."""
    relative: str = bpy.path.relpath(path, start=folder)
    leads_there = Path(bpy.path.abspath(relative, start=folder)).resolve() == Path(path).resolve()
    return relative if leads_there else path


HANDLERS = (
    (bpy.app.handlers.save_pre, remap_before_saving),
    (bpy.app.handlers.save_post, remap_after_saving),
    (bpy.app.handlers.save_post_fail, remap_after_saving),
)
