"""The user's settings: properties of the scene. `scene_recipe` makes recipes of them."""

from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty, StringProperty

from ..capture.cleaning import Cleaning
from ..hand.joints import DIGITS, digit_label
from ..pipeline.recipe import MAX_BLEND, Recipe
from ..rig.binding import is_armature
from ..rig.keys.frame_times import scene_rate
from ..rig.markers_object import is_markers, set_timing
from .purposes import purpose_property
from .reading_properties import (
    angle_of_view_property,
    animation_property,
    hand_length_property,
    landmarks_property,
    rate_property,
    unit_property,
    up_property,
)
from .reduction_properties import (
    reduction_angle_property,
    reduction_distance_property,
    reduction_shared_property,
)
from .setting_choices import (
    DRIVE_ITEMS,
    HAND_ITEMS,
    INTO_ITEMS,
    KEEP_ITEMS,
    KEYFRAME_ITEMS,
    LABEL_ITEMS,
    PLACEMENT_ITEMS,
    SCALE_ITEMS,
    TARGET_ITEMS,
)
from .setting_properties import NOT_ANIMATED, angles_property
from .solver_settings import all_settings_property, kind_property

if TYPE_CHECKING:
    from bpy.types import Context, Object

LAST_CAPTURE_FRAME = 2**31 - 1
"""The largest integer of Blender stands for the end of the capture."""


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
    armatures = [obj for obj in scene.objects if is_armature(obj)]
    candidates = ([above] if is_armature(above) else [], selected, armatures)
    settings.armature = next((sources[0] for sources in candidates if len(sources) == 1), None)


def blend_property(name: str, description: str, default: int) -> Any:
    """Make the property of a number of frames over which two takes blend."""
    return IntProperty(
        name=name, description=description, default=default, min=0, max=MAX_BLEND, soft_max=50, options=set()
    )


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
    landmarks: landmarks_property()
    angle_of_view: angle_of_view_property()
    hand_length: hand_length_property()
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
        items=HAND_ITEMS,
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
        items=LABEL_ITEMS,
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
        description="Remove positions of one to three frames between gaps that do not fit the marker's path",
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
        name="Markers On",
        description="Where the markers are attached to the hand",
        items=PLACEMENT_ITEMS,
        options=NOT_ANIMATED,
    )
    purpose: purpose_property()
    advanced: BoolProperty(
        name="Advanced", description="Show the algorithms, whatever the purpose", default=False, options=NOT_ANIMATED
    )
    solver: kind_property("solver", "How the joint angles are found", Recipe("").solver)
    solvers: all_settings_property("solver")
    angles: angles_property()
    smoothing: kind_property("smoothing", "How noise is removed before solving", Recipe("").smoothing)
    smoothings: all_settings_property("smoothing")
    keys: EnumProperty(
        name="Keyframes",
        description="On which frames keyframes are inserted; the scene's frame rate is not changed",
        items=KEYFRAME_ITEMS,
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
        items=TARGET_ITEMS,
        update=choose_armature,
        options=NOT_ANIMATED,
    )
    armature: PointerProperty(
        name="Armature", description="Armature whose hand bones are keyed", type=bpy.types.Object, poll=_is_target
    )
    drive: EnumProperty(
        name="Drive",
        description="What the capture moves",
        items=DRIVE_ITEMS,
        options=NOT_ANIMATED,
    )
    digits: EnumProperty(
        name="Digits",
        description="Digits to key. The wrist and the arm are keyed only with all digits",
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
        items=INTO_ITEMS,
        options=NOT_ANIMATED,
    )
    blend_in: blend_property(
        "Blend In", "Frames of the blend from this take's keys to the new ones", Recipe("").blend_in
    )
    blend_out: blend_property("Blend Out", "Frames of the blend from the new keys to this take's", Recipe("").blend_out)
    reduce: BoolProperty(
        name="Reduce Keys",
        description="Reduce the keys of a new take to few keys with handles, and keep the dense take as well",
        options=NOT_ANIMATED,
    )
    reduce_distance: reduction_distance_property()
    reduce_angle: reduction_angle_property()
    reduce_shared: reduction_shared_property()
    hold_contacts: BoolProperty(
        name="Hold Contacts",
        description="Hold the performer's contacts without slip: where fingertips stay on other digits or the palm",
        options=NOT_ANIMATED,
    )
    keep_apart: BoolProperty(
        name="Keep Digits Apart",
        description="Separate digits and palm that intersect by more than 1 mm, with as little motion as possible",
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
        items=KEEP_ITEMS,
        options=NOT_ANIMATED,
    )
    keep_scale: EnumProperty(
        name="Scale",
        description="Scale of the positions and distances that are matched",
        items=SCALE_ITEMS,
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
    corrections: StringProperty(
        name="Corrections",
        description="Corrections of a loaded recipe, which are applied to the next solve, as JSON",
        options=NOT_ANIMATED,
    )
    align: StringProperty(
        name="Align",
        description="Alignment of the capture with the character by a recipe, for the next solve, as JSON",
        options=NOT_ANIMATED,
    )
    transform: StringProperty(
        name="Transform",
        description="Location of the capture of a loaded recipe before it is imported, as JSON",
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
    description: StringProperty(name="Description", description="What the job is doing", options={"SKIP_SAVE"})


CLASSES = (
    KnuckleSettings,
    KnuckleStatus,
)
PROPERTIES = (
    (bpy.types.Scene, "knuckle", bpy.props.PointerProperty(type=KnuckleSettings)),
    (bpy.types.WindowManager, "knuckle", bpy.props.PointerProperty(type=KnuckleStatus)),
)
