"""The user's settings: properties of the scene. `scene_recipe` makes recipes of them."""

from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty, StringProperty

from ..capture.cleaning import Cleaning
from ..pipeline.recipe import HANDS, KEEPS, LABELS, SCALES, Recipe
from ..rig.binding import is_armature
from ..rig.keys.frame_times import scene_rate
from ..rig.markers_object import is_markers, set_timing
from .reading_properties import rate_property, unit_property, up_property
from .setting_properties import NOT_ANIMATED, drive_property
from .solver_settings import all_settings_property, kind_property

if TYPE_CHECKING:
    from bpy.types import Object

LAST_FRAME = 2**31 - 1
"""The largest integer of Blender stands for the end of the capture."""

_HAND_WORDS = {
    "auto": ("Auto", "The hands that the capture holds"),
    "left": ("Left", "The left hand only"),
    "right": ("Right", "The right hand only"),
    "both": ("Both", "Both hands; a capture with one is refused"),
}

_LABEL_WORDS = {
    "auto": ("Auto", "By their labels; if these are not understood, by the shape and motion of the hand"),
    "names": ("Names", "By their labels only"),
    "shape": ("Shape", "By the shape and motion of the hand, ignoring labels"),
}


_KEEP_WORDS = {
    "directions": ("Directions", "Bones point where the performer's do"),
    "fingertips": ("Fingertips", "Fingertips are where the performer's are, seen from the wrist"),
    "pinches": ("Pinches", "Bones point where the performer's do, and the rig's thumb and fingers meet as theirs do"),
}

_SCALE_WORDS = {
    "hand": ("Hand", "Scale positions and distances to the armature's hand"),
    "world": ("World", "Keep the performer's positions and distances in metres, for props of real size"),
}


def _is_target(_settings: "KnuckleSettings", obj: "Object") -> bool:
    return is_armature(obj)


def _is_capture(_settings: "KnuckleSettings", obj: "Object") -> bool:
    return is_markers(obj)


class KnuckleSettings(bpy.types.PropertyGroup):
    """A scene's recipe, and which of the scene's objects it belongs to."""

    capture: StringProperty(
        name="Capture",
        description="The recording of a hand",
        subtype="FILE_PATH",
        options={"PATH_SUPPORTS_BLEND_RELATIVE"},
    )
    markers: PointerProperty(
        name="Markers",
        description="The object that shows the capture's markers",
        type=bpy.types.Object,
        poll=_is_capture,
    )
    unit: unit_property()
    up: up_property()
    rate: rate_property()
    use_range: BoolProperty(
        name="Part of the Capture", description="Solve only some of the capture's frames", options=NOT_ANIMATED
    )
    first: IntProperty(
        name="First", description="First frame of the capture to solve", default=1, min=1, options=NOT_ANIMATED
    )
    last: IntProperty(
        name="Last", description="Last frame of the capture to solve", default=250, min=1, options=NOT_ANIMATED
    )
    start: IntProperty(
        name="Start",
        description="Frame of the scene on which the capture begins",
        default=1,
        update=lambda self, _: place_markers(self),
        options=NOT_ANIMATED,
    )
    hand: EnumProperty(
        name="Hand",
        description="Which hand to solve",
        items=[(kind_property, *_HAND_WORDS[kind_property]) for kind_property in HANDS],
        options=NOT_ANIMATED,
    )
    subject: StringProperty(
        name="Subject",
        description="The person to solve in a capture of several, by the prefix of the labels. If empty, the one seen "
        "best",
        options=NOT_ANIMATED,
    )
    mirror: BoolProperty(
        name="Mirror",
        description="The capture's right hand drives the left one, and its left hand the right one: mirrored in the "
        "world's plane X = 0",
        default=False,
        options=NOT_ANIMATED,
    )
    labels: EnumProperty(
        name="Labels",
        description="How markers are identified",
        items=[(kind_property, *_LABEL_WORDS[kind_property]) for kind_property in LABELS],
        options=NOT_ANIMATED,
    )
    marker_map: StringProperty(
        name="Marker Map",
        description="Labels to joints as JSON; empty finds the marker set that fits",
        options=NOT_ANIMATED,
    )
    performer: StringProperty(
        name="Performer",
        description="The performer's measures as JSON; empty measures the capture itself",
        options=NOT_ANIMATED,
    )
    gap_limit: FloatProperty(
        name="Fill Gaps",
        description="Seconds: gaps in a marker up to this length are filled and marked as predicted, longer ones stay",
        default=Cleaning().gap_limit,
        min=0.0,
        soft_max=2.0,
        precision=2,
        step=5,
        options=NOT_ANIMATED,
    )
    spikes: BoolProperty(
        name="Remove Spikes",
        description="Remove single positions that are off a marker's path",
        default=Cleaning().spikes,
        options=NOT_ANIMATED,
    )
    use_cutoff: BoolProperty(
        name="Low-Pass",
        description="Smooth the markers without delay",
        default=Cleaning().cutoff is not None,
        options=NOT_ANIMATED,
    )
    cutoff: FloatProperty(
        name="Cutoff",
        description="Hz: faster movement is treated as noise; hands move at up to about 10 Hz",
        default=Cleaning().cutoff or 10.0,
        min=0.1,
        soft_max=60.0,
        precision=1,
        options=NOT_ANIMATED,
    )
    markers_on: EnumProperty(
        name="Markers On",
        description="Where the markers sit on the hand",
        items=[
            ("auto", "Auto", "As the marker set says"),
            ("joints", "Joints", "On the joints: the solver's result is used, which meets the fingertips"),
            ("skin", "Skin", "On the skin: the performer is fitted with the markers, and all of them count equally"),
        ],
        options=NOT_ANIMATED,
    )
    solver: kind_property("solver", "How the joint angles are found", Recipe("").solver)
    solvers: all_settings_property("solver")
    drive: drive_property()
    smoothing: kind_property("smoothing", "How noise is removed before solving", Recipe("").smoothing)
    smoothings: all_settings_property("smoothing")
    keys: EnumProperty(
        name="Keys",
        description="On which frames the hand is keyed; the scene's own rate is never changed",
        items=[
            ("SCENE", "Scene Frames", "A key on every frame of the scene"),
            (
                "CAPTURE",
                "Capture Frames",
                "A key for every frame of the capture, between scene frames where rates differ",
            ),
            ("OTHER", "Other Rate", "Keys at a rate of your own"),
        ],
        options=NOT_ANIMATED,
    )
    fps: FloatProperty(
        name="Rate",
        description="Keys per second",
        default=30.0,
        min=0.1,
        max=10_000.0,
        precision=2,
        options=NOT_ANIMATED,
    )
    rig: EnumProperty(
        name="Rig",
        description="What the hand drives",
        items=[
            ("NEW", "New Hand", "A new hand fitted to the performer, one for each hand that is solved"),
            ("ARMATURE", "Armature", "A hand of an armature in this file"),
        ],
        options=NOT_ANIMATED,
    )
    armature: PointerProperty(
        name="Armature", description="The armature whose hand is keyed", type=bpy.types.Object, poll=_is_target
    )
    arm: BoolProperty(
        name="Arm",
        description="Move the arm so that the wrist is where it was captured",
        default=False,
        options=NOT_ANIMATED,
    )
    rig_limits: BoolProperty(
        name="Rig's Limits",
        description="Obey the armature's Limit Rotation constraints, locks and IK limits",
        default=True,
        options=NOT_ANIMATED,
    )
    keep: EnumProperty(
        name="Keep",
        description="What a hand of other proportions than the performer's keeps of the performance",
        items=[(kind_property, *_KEEP_WORDS[kind_property]) for kind_property in KEEPS],
        options=NOT_ANIMATED,
    )
    keep_scale: EnumProperty(
        name="Scale",
        description="Scale of positions and distances that are kept",
        items=[(kind_property, *_SCALE_WORDS[kind_property]) for kind_property in SCALES],
        options=NOT_ANIMATED,
    )
    rig_file: StringProperty(name="Rig File", description="The rig that a loaded recipe names", options=NOT_ANIMATED)
    rig_armature: StringProperty(
        name="Rig's Armature", description="The armature of that file that a loaded recipe names", options=NOT_ANIMATED
    )
    rig_mappings: StringProperty(
        name="Rig's Mappings",
        description="What a loaded recipe says of that rig's hands, as JSON",
        options=NOT_ANIMATED,
    )
    result: PointerProperty(
        name="Result", description="The armature that the last take went to", type=bpy.types.Object, poll=_is_target
    )


def place_markers(settings: KnuckleSettings) -> None:
    """Move the animation of the markers to the frame on which the capture begins."""
    scene = settings.id_data
    if isinstance(scene, bpy.types.Scene) and is_markers(settings.markers):
        set_timing(settings.markers, settings.start, scene_rate(scene))


class KnuckleStatus(bpy.types.PropertyGroup):
    """Progress of the running job; on the window manager, which is not saved."""

    running: BoolProperty(name="Running", description="A job is running", options={"SKIP_SAVE"})
    fraction: FloatProperty(
        name="Progress", description="How far the job is", subtype="FACTOR", min=0, max=1, options={"SKIP_SAVE"}
    )
    doing: StringProperty(name="Doing", description="What the job does now", options={"SKIP_SAVE"})


CLASSES = (
    KnuckleSettings,
    KnuckleStatus,
)
PROPERTIES = (
    (bpy.types.Scene, "knuckle", bpy.props.PointerProperty(type=KnuckleSettings)),
    (bpy.types.WindowManager, "knuckle", bpy.props.PointerProperty(type=KnuckleStatus)),
)
