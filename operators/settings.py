"""The user's settings: properties of the scene. `scene_recipe` makes recipes of them."""

from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty, StringProperty

from ..capture.cleaning import Cleaning
from ..hand.joints import DIGITS, digit_label
from ..pipeline.recipe import DRIVES, HANDS, KEEPS, LABELS, MAX_BLEND, SCALES, Recipe
from ..rig.binding import is_armature
from ..rig.keys.frame_times import scene_rate
from ..rig.markers_object import is_markers, set_timing
from .purposes import purpose_property
from .reading_properties import animation_property, rate_property, unit_property, up_property
from .setting_properties import NOT_ANIMATED, angles_property
from .solver_settings import all_settings_property, kind_property

if TYPE_CHECKING:
    from bpy.types import Context, Object

LAST_FRAME = 2**31 - 1
"""The largest integer of Blender stands for the end of the capture."""

_HAND_WORDS = {
    "auto": ("Auto", "All hands in the capture"),
    "left": ("Left", "Left hand only"),
    "right": ("Right", "Right hand only"),
    "both": ("Both", "Both hands; a capture of one hand is an error"),
}

_LABEL_WORDS = {
    "auto": ("Auto", "By label; if the labels are unknown, by the shape and motion of the hand"),
    "names": ("Labels", "By label only"),
    "shape": ("Shape", "By the shape and motion of the hand, ignoring labels"),
}


_DRIVE_WORDS = {
    "auto": ("Auto", "The fingers of a hand on an arm; fingers and wrist of a hand without one"),
    "fingers": ("Fingers", "The fingers move relative to the wrist; wrist and arm keep the character's own motion"),
    "wrist": ("Wrist", "The hand also turns as it was captured. A hand without an arm is also where it was captured"),
    "arm": ("Arm", "The arm also moves, so that the wrist is where it was captured"),
}

_KEEP_WORDS = {
    "directions": ("Match Rotations", "Bones point in the same directions as the performer's"),
    "fingertips": ("Match Tips", "Fingertips are in the same positions relative to the wrist as the performer's"),
    "pinches": ("Match Contacts", "As Match Rotations, and thumb and fingers touch where the performer's do"),
}

_SCALE_WORDS = {
    "hand": ("Hand", "Scale positions and distances to the size of the armature's hand"),
    "world": ("World", "Keep the performer's positions and distances in meters, for props of real size"),
}


def _is_target(_settings: "KnuckleSettings", obj: "Object") -> bool:
    return is_armature(obj)


def _is_capture(_settings: "KnuckleSettings", obj: "Object") -> bool:
    return is_markers(obj)


def choose_armature(settings: Any, context: "Context") -> None:
    """Choose the active armature, or the only one that is selected or in the scene, if none is chosen yet."""
    scene = settings.id_data
    if settings.rig != "ARMATURE" or settings.armature is not None or context.scene != scene:
        return
    active = context.view_layer.objects.active
    above = active.find_armature() if active is not None and not is_armature(active) else active
    selected = [obj for obj in context.selected_objects if is_armature(obj)]
    there = [obj for obj in scene.objects if is_armature(obj)]
    candidates = ([above] if is_armature(above) else [], selected, there)
    settings.armature = next((found[0] for found in candidates if len(found) == 1), None)


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
    source: PointerProperty(
        name="Source Armature",
        description="An animated armature of this scene whose hands are the capture",
        type=bpy.types.Object,
        poll=_is_target,
    )
    unit: unit_property()
    up: up_property()
    rate: rate_property()
    animation: animation_property()
    use_range: BoolProperty(
        name="Capture Range", description="Solve only a range of the capture's frames", options=NOT_ANIMATED
    )
    first: IntProperty(
        name="First Frame", description="First frame of the capture to solve", default=1, min=1, options=NOT_ANIMATED
    )
    last: IntProperty(
        name="Last Frame", description="Last frame of the capture to solve", default=250, min=1, options=NOT_ANIMATED
    )
    start: IntProperty(
        name="Start Frame",
        description="Scene frame on which the capture starts",
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
        description="Subject to solve in a capture of several people, by the prefix of the marker labels. If empty, "
        "the one with the fewest gaps",
        options=NOT_ANIMATED,
    )
    mirror: BoolProperty(
        name="Mirror",
        description="Mirror the capture across the world's YZ plane: its right hand drives the left one and its left "
        "hand the right one",
        default=False,
        options=NOT_ANIMATED,
    )
    labels: EnumProperty(
        name="Identify Markers By",
        description="How markers are assigned to joints",
        items=[(kind_property, *_LABEL_WORDS[kind_property]) for kind_property in LABELS],
        options=NOT_ANIMATED,
    )
    marker_map: StringProperty(
        name="Marker Map",
        description="Marker labels and their joints as JSON. If empty, the marker set that fits is used",
        options=NOT_ANIMATED,
    )
    performer: StringProperty(
        name="Performer",
        description="The performer's measurements as JSON. If empty, the performer is measured on the capture",
        options=NOT_ANIMATED,
    )
    gap_limit: FloatProperty(
        name="Fill Gaps",
        description="Maximum length in seconds of gaps in a marker's path that are filled; longer gaps are kept",
        default=Cleaning().gap_limit,
        min=0.0,
        soft_max=2.0,
        precision=2,
        step=5,
        options=NOT_ANIMATED,
    )
    fragments: BoolProperty(
        name="Remove Fragments",
        description="Remove positions of one to three frames between gaps that do not fit what was before and after",
        default=Cleaning().fragments,
        options=NOT_ANIMATED,
    )
    spikes: BoolProperty(
        name="Remove One-Frame Outliers",
        description="Remove single frames in which a marker jumps off its path",
        default=Cleaning().spikes,
        options=NOT_ANIMATED,
    )
    use_cutoff: BoolProperty(
        name="Low-Pass Filter",
        description="Smooth the markers' paths with a zero-lag low-pass filter",
        default=Cleaning().cutoff is not None,
        options=NOT_ANIMATED,
    )
    cutoff: FloatProperty(
        name="Cutoff Frequency",
        description="Frequency in Hz above which motion is removed as noise; hands move at up to about 10 Hz",
        default=Cleaning().cutoff or 10.0,
        min=0.1,
        soft_max=60.0,
        precision=1,
        options=NOT_ANIMATED,
    )
    markers_on: EnumProperty(
        name="Marker Placement",
        description="Where the markers are attached to the hand",
        items=[
            ("auto", "Auto", "As the marker set defines"),
            ("joints", "Joints", "On the joints: the solver's result is used, which meets the fingertips"),
            ("skin", "Skin", "On the skin: the performer is fitted with the markers, and all of them count equally"),
        ],
        options=NOT_ANIMATED,
    )
    purpose: purpose_property()
    advanced: BoolProperty(
        name="Advanced", description="Show the algorithms, whatever is chosen", default=False, options=NOT_ANIMATED
    )
    solver: kind_property("solver", "How the joint angles are found", Recipe("").solver)
    solvers: all_settings_property("solver")
    angles: angles_property()
    smoothing: kind_property("smoothing", "How noise is removed before solving", Recipe("").smoothing)
    smoothings: all_settings_property("smoothing")
    keys: EnumProperty(
        name="Keyframes",
        description="On which frames keyframes are inserted; the scene's frame rate is not changed",
        items=[
            ("SCENE", "Scene Frames", "A keyframe on every frame of the scene"),
            (
                "CAPTURE",
                "Capture Frames",
                "A keyframe for every frame of the capture, on subframes of the scene where rates differ",
            ),
            ("OTHER", "Custom FPS", "Keyframes at a custom rate"),
        ],
        options=NOT_ANIMATED,
    )
    fps: FloatProperty(
        name="FPS",
        description="Keyframes per second",
        default=30.0,
        min=0.1,
        max=10_000.0,
        precision=2,
        options=NOT_ANIMATED,
    )
    rig: EnumProperty(
        name="Target",
        description="What the solved hand is applied to",
        items=[
            ("NEW", "New Hand", "Add a hand fitted to the performer for each hand that is solved"),
            ("ARMATURE", "Armature", "Apply it to an armature in this file"),
        ],
        update=choose_armature,
        options=NOT_ANIMATED,
    )
    armature: PointerProperty(
        name="Armature", description="Armature whose hand bones are keyed", type=bpy.types.Object, poll=_is_target
    )
    drive: EnumProperty(
        name="Drive",
        description="What the capture moves",
        items=[(choice, *_DRIVE_WORDS[choice]) for choice in DRIVES],
        options=NOT_ANIMATED,
    )
    digits: EnumProperty(
        name="Digits",
        description="Digits to key. Unless all are, the wrist and the arm stay",
        items=[
            (digit, digit_label(digit).split()[0].capitalize(), f"Key the {digit_label(digit)}", 2**bit)
            for bit, digit in enumerate(DIGITS)
        ],
        options={"ENUM_FLAG"},
        default=set(DIGITS),
    )
    into: EnumProperty(
        name="Into",
        description="Where the keys go",
        items=[
            ("new", "New Take", "A new action; a take of the same bones is replaced, and keeps its keys"),
            ("this", "This Take", "The take that the armature plays: its keys on the solved frames are replaced"),
        ],
        options=NOT_ANIMATED,
    )
    blend_in: IntProperty(
        name="Blend In",
        description="Frames over which this take's keys go over to the new ones",
        default=Recipe("").blend_in,
        min=0,
        max=MAX_BLEND,
        soft_max=50,
        options=NOT_ANIMATED,
    )
    blend_out: IntProperty(
        name="Blend Out",
        description="Frames over which the new keys go over to this take's",
        default=Recipe("").blend_out,
        min=0,
        max=MAX_BLEND,
        soft_max=50,
        options=NOT_ANIMATED,
    )
    rig_limits: BoolProperty(
        name="Use Bone Limits",
        description="Respect the armature's Limit Rotation constraints, locked channels and IK limits",
        default=True,
        options=NOT_ANIMATED,
    )
    keep: EnumProperty(
        name="Retarget",
        description="What is matched when the armature's hand has other proportions than the performer's",
        items=[(kind_property, *_KEEP_WORDS[kind_property]) for kind_property in KEEPS],
        options=NOT_ANIMATED,
    )
    keep_scale: EnumProperty(
        name="Scale",
        description="Scale of the positions and distances that are matched",
        items=[(kind_property, *_SCALE_WORDS[kind_property]) for kind_property in SCALES],
        options=NOT_ANIMATED,
    )
    rig_file: StringProperty(
        name="Target File", description="File with the target armature of a loaded recipe", options=NOT_ANIMATED
    )
    rig_armature: StringProperty(name="Target Armature", description="Armature in that file", options=NOT_ANIMATED)
    rig_mappings: StringProperty(
        name="Target Mappings",
        description="Hand mappings of that armature, as JSON",
        options=NOT_ANIMATED,
    )
    transform: StringProperty(
        name="Transform",
        description="Where a loaded recipe has a capture that is not imported yet, as JSON",
        options=NOT_ANIMATED,
    )
    result: PointerProperty(
        name="Result", description="Armature that the last take was applied to", type=bpy.types.Object, poll=_is_target
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
