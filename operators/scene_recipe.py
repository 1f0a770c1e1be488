"""Make a recipe from a scene's settings, and apply a recipe to them."""

import json
from dataclasses import asdict, replace
from math import degrees, radians
from typing import TYPE_CHECKING, Any

import bpy

from ..capture.cleaning import Cleaning
from ..errors import RecipeError
from ..hand import marker_sets
from ..hand.joints import DIGITS
from ..pipeline import performer
from ..pipeline.capture_transform import NO_TRANSFORM, CaptureTransform
from ..pipeline.corrections.correction_json import from_list, to_list
from ..pipeline.recipe import Recipe, decode_json, from_dict
from ..rig.blend_file import DEFAULT_RIG
from ..rig.blend_text import is_storable
from ..rig.keys.corrections.written_take import kept_corrections
from ..rig.keys.frame_times import scene_rate
from ..rig.markers_object import CAPTURE_PROPERTY, is_markers, set_transform, transform_in_scene
from ..solvers import make, make_smoothing
from .reading_properties import camera_reading
from .setting_properties import UNITS, assign, changed, plain
from .settings import LAST_CAPTURE_FRAME
from .solver_settings import chosen_settings

if TYPE_CHECKING:
    from bpy.types import Object, Scene


def recipe_of(scene: "Scene") -> Recipe:
    """Return the recipe of a scene's settings. Raises RecipeError if there is no capture."""
    if not scene.knuckle.capture:
        raise RecipeError("there is no capture yet, import one")
    recipe = recipe_for(scene, bpy.path.abspath(scene.knuckle.capture))
    markers_obj = _markers_of(scene, recipe.capture)
    transform = kept_transform(scene) if markers_obj is None else transform_in_scene(markers_obj)
    corrections = recipe.corrections
    if corrections is None:
        # Use the corrections of the take that the next solve replaces; else those of the last solve, which may be
        # another rig's.
        settings = scene.knuckle
        corrections = kept_corrections(settings.armature if settings.rig == "ARMATURE" else None, recipe.capture)
        if corrections is None:
            corrections = kept_corrections(settings.result, recipe.capture)
    return replace(recipe, transform=transform, corrections=corrections)


def loaded_corrections(scene: "Scene") -> list[dict[str, Any]] | None:
    """Return the corrections of a loaded recipe for the next solve; None if it has none. Raises RecipeError."""
    data = _decoded(scene.knuckle.corrections, "corrections")
    return None if data is None else to_list(from_list(data, "the corrections of this scene"))


def _markers_of(scene: "Scene", capture: str) -> "Object | None":
    """Return the object with the markers of a capture, None if it is not imported."""
    markers_obj: Object | None = scene.knuckle.markers
    return (
        markers_obj
        if markers_obj is not None and is_markers(markers_obj) and markers_obj[CAPTURE_PROPERTY].get("path") == capture
        else None
    )


def kept_transform(scene: "Scene") -> CaptureTransform:
    """Return the transform that a loaded recipe has for a capture that is not imported yet. Raises RecipeError."""
    data = _decoded(scene.knuckle.transform, "transform")
    return NO_TRANSFORM if data is None else from_dict({"capture": "", "transform": data}, "the scene").transform


def place_capture(scene: "Scene", markers_obj: "Object") -> None:
    """Place the markers of an imported capture by the transform of a loaded recipe, if there is one."""
    if scene.knuckle.transform:
        set_transform(markers_obj, kept_transform(scene), mirror=scene.knuckle.mirror)
        scene.knuckle.transform = ""


def recipe_for(scene: "Scene", capture: str) -> Recipe:
    """Return the recipe of a scene's settings for another capture, or for a device's name. Raises RecipeError."""
    settings = scene.knuckle
    return Recipe(
        capture=capture,
        unit=settings.unit,
        up=settings.up,
        rate=plain(settings.rate) or None,
        animation=settings.animation,
        **camera_reading(settings.landmarks, settings.angle_of_view, settings.hand_length),
        start=settings.first if settings.use_range else None,
        end=settings.last if settings.use_range and settings.last < LAST_CAPTURE_FRAME else None,
        hand=settings.hand,
        subject=settings.subject,
        mirror=settings.mirror,
        labels=settings.labels,
        markers_on=settings.markers_on,
        markers=_decoded(settings.marker_map, "marker map"),
        performer=performer_of(scene),
        cleaning=Cleaning(
            gap_limit=plain(settings.gap_limit),
            fragments=settings.fragments,
            spikes=settings.spikes,
            cutoff=plain(settings.cutoff) if settings.use_cutoff else None,
        ),
        solver=settings.solver,
        settings=changed(*chosen_settings(settings, "solver")),
        angles=settings.angles,
        smoothing=settings.smoothing,
        smoothing_settings=changed(*chosen_settings(settings, "smoothing")),
        rig=settings.rig_file or DEFAULT_RIG,
        armature=settings.rig_armature or None,
        mappings=_decoded(settings.rig_mappings, "rig's mappings"),
        drive=settings.drive,
        **_alignment(settings.align),
        digits=None if settings.digits == set(DIGITS) else [digit for digit in DIGITS if digit in settings.digits],
        into=settings.into,
        blend_in=settings.blend_in,
        blend_out=settings.blend_out,
        reduce=settings.reduce and settings.into == "new",
        reduce_distance=plain(settings.reduce_distance) / UNITS["m"].factor,
        reduce_angle=plain(degrees(settings.reduce_angle)),
        reduce_shared=settings.reduce_shared,
        hold_contacts=settings.hold_contacts,
        keep_apart=settings.keep_apart,
        corrections=loaded_corrections(scene),
        rig_limits=settings.rig_limits,
        keep=settings.keep,
        keep_scale=settings.keep_scale,
        fps={"SCENE": scene_rate(scene), "CAPTURE": None, "OTHER": plain(settings.fps)}[settings.keys],
    )


def _alignment(text: str) -> dict[str, Any]:
    """Return the recipe's alignment that a scene keeps until it is solved. Raises RecipeError for other JSON."""
    data = _decoded(text, "alignment")
    if data is None:
        return {}
    align, points = data if isinstance(data, list) and len(data) == 2 else (data, None)
    read = from_dict({"capture": "", "align": align, "align_points": points}, "the scene")
    return {"align": read.align, "align_points": read.align_points}


def performer_of(scene: "Scene") -> Any:
    """Return a scene's performer as decoded JSON, or None. Raises RecipeError if it is not JSON."""
    return _decoded(scene.knuckle.performer, "performer")


def _decoded(text: str, what: str) -> Any:
    """Decode a setting. Raises RecipeError."""
    return decode_json(text, f"the {what} of this scene (load it again)") if text else None


def apply_recipe(recipe: Recipe, scene: "Scene", where: str = "recipe") -> None:
    """Apply a recipe to a scene's settings.

    Raises KnuckleError naming `where` for a recipe that is invalid or has a value that the panel cannot show; then
    nothing has changed.
    """
    make(recipe.solver, recipe.settings)
    make_smoothing(recipe.smoothing, recipe.smoothing_settings)
    if recipe.performer is not None:
        performer.from_dict(recipe.performer, f"{where}, performer")
    if recipe.markers is not None:
        marker_sets.from_json(recipe.markers, f"{where}, markers")
    from_list(recipe.corrections, where)
    settings, values = scene.knuckle, _values(recipe)
    for name, (setting, value) in values.items():
        _check(settings.bl_rna.properties[setting], value, f"{where}: {name}")
    for setting, value in values.values():
        setattr(settings, setting, value)
    assign(*chosen_settings(settings, "solver"), recipe.settings)
    assign(*chosen_settings(settings, "smoothing"), recipe.smoothing_settings)
    markers_obj = _markers_of(scene, bpy.path.abspath(recipe.capture))
    if markers_obj is not None:
        place_capture(scene, markers_obj)
    settings.use_range = recipe.start is not None or recipe.end is not None
    settings.use_cutoff = recipe.cleaning.cutoff is not None
    settings.keys = "CAPTURE" if recipe.fps is None else "OTHER"


def _values(recipe: Recipe) -> dict[str, tuple[str, Any]]:
    """Return recipe field -> (setting, value). Fields that are None are left out: another setting switches them off."""
    cleaning = recipe.cleaning
    values = {
        "capture": ("capture", recipe.capture),
        "unit": ("unit", recipe.unit),
        "up": ("up", recipe.up),
        "rate": ("rate", recipe.rate or 0.0),
        "animation": ("animation", recipe.animation),
        "landmarks": ("landmarks", recipe.landmarks),
        "angle_of_view": ("angle_of_view", radians(recipe.angle_of_view or 0.0)),
        "hand_length": ("hand_length", UNITS["m"].factor * (recipe.hand_length or 0.0)),
        "start": ("first", recipe.start or 1),
        "end": ("last", recipe.end or LAST_CAPTURE_FRAME),
        "hand": ("hand", recipe.hand),
        "subject": ("subject", recipe.subject),
        "mirror": ("mirror", recipe.mirror),
        "labels": ("labels", recipe.labels),
        "markers_on": ("markers_on", recipe.markers_on),
        "markers": ("marker_map", _encoded(recipe.markers)),
        "performer": ("performer", _encoded(recipe.performer)),
        "gap_limit": ("gap_limit", cleaning.gap_limit),
        "fragments": ("fragments", cleaning.fragments),
        "spikes": ("spikes", cleaning.spikes),
        "cutoff": ("cutoff", cleaning.cutoff),
        "solver": ("solver", recipe.solver),
        "angles": ("angles", recipe.angles),
        "smoothing": ("smoothing", recipe.smoothing),
        "rig": ("rig_file", "" if recipe.rig == DEFAULT_RIG else recipe.rig),
        "armature": ("rig_armature", recipe.armature or ""),
        "mappings": ("rig_mappings", _encoded(recipe.mappings)),
        "drive": ("drive", recipe.drive),
        "align": ("align", "" if recipe.align == "off" else json.dumps([recipe.align, recipe.align_points])),
        "digits": ("digits", set(recipe.digits or DIGITS)),
        "into": ("into", recipe.into),
        "blend_in": ("blend_in", recipe.blend_in),
        "blend_out": ("blend_out", recipe.blend_out),
        "reduce": ("reduce", recipe.reduce),
        "reduce_distance": ("reduce_distance", UNITS["m"].factor * recipe.reduce_distance),
        "reduce_angle": ("reduce_angle", radians(recipe.reduce_angle)),
        "reduce_shared": ("reduce_shared", recipe.reduce_shared),
        "hold_contacts": ("hold_contacts", recipe.hold_contacts),
        "keep_apart": ("keep_apart", recipe.keep_apart),
        "corrections": ("corrections", _encoded(recipe.corrections)),
        "rig_limits": ("rig_limits", recipe.rig_limits),
        "keep": ("keep", recipe.keep),
        "keep_scale": ("keep_scale", recipe.keep_scale),
        "transform": ("transform", _encoded(asdict(recipe.transform))),
        "fps": ("fps", recipe.fps),
    }
    return {name: (setting, value) for name, (setting, value) in values.items() if value is not None}


def _encoded(data: Any) -> str:
    return "" if data is None else json.dumps(data)


def _check(prop: Any, value: Any, what: str) -> None:
    """Raise RecipeError for a value that a property would refuse or change."""
    if prop.type == "ENUM" and not prop.is_enum_flag and value not in prop.enum_items:
        raise RecipeError(f"{what} is '{value}', the panel takes {', '.join(prop.enum_items.keys())}")
    if prop.type in ("INT", "FLOAT") and not prop.hard_min <= value <= prop.hard_max:
        raise RecipeError(f"{what} is {value}, the panel takes {prop.hard_min:.10g} to {prop.hard_max:.10g}")
    if prop.type == "STRING" and not is_storable(value):
        raise RecipeError(f"{what} holds characters that Blender cannot keep")
