"""The user's settings: properties of the scene. `scene_recipe` makes recipes of them."""

from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty, StringProperty

from ..capture.cleaning import Cleaning
from ..capture.conventions import METRES, UPS
from ..pipeline.recipe import HANDS, KEEPS, LABELS, SCALES, Recipe
from ..rig.binding import is_armature
from ..rig.keys.frame_times import scene_rate
from ..rig.markers_object import is_markers, set_timing
from .setting_properties import FIXED, drive
from .solver_settings import choice, settings_of_all

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
    "auto": ("Auto", "By their labels; where these tell nothing, by how the markers stand and move"),
    "names": ("Names", "By their labels only"),
    "shape": ("Shape", "By how the markers stand and move, whatever they are called"),
}


_KEEP_WORDS = {
    "directions": ("Directions", "Bones point where the performer's do"),
    "fingertips": ("Fingertips", "Fingertips are where the performer's are, seen from the wrist"),
    "pinches": ("Pinches", "Bones point where the performer's do; where thumb and fingertip meet, so do the rig's"),
}

_SCALE_WORDS = {
    "hand": ("Hand", "Places and distances grow with the armature's hand"),
    "world": ("World", "Places and distances are the performer's own, in metres: for props of their real size"),
}


def _is_target(_settings: "KnuckleSettings", obj: "Object") -> bool:
    return is_armature(obj)


def _is_capture(_settings: "KnuckleSettings", obj: "Object") -> bool:
    return is_markers(obj)


class KnuckleSettings(bpy.types.PropertyGroup):
    """A scene's recipe, and which of the scene's objects it belongs to."""

    capture: StringProperty(name="Capture", description="The recording of a hand", subtype="FILE_PATH", options=FIXED)
    markers: PointerProperty(
        name="Markers",
        description="The object that shows the capture's markers",
        type=bpy.types.Object,
        poll=_is_capture,
    )
    unit: EnumProperty(
        name="Unit",
        description="Unit of length of the file, where it says a wrong one or none",
        items=[("auto", "Auto", "As the file says, else guessed from the size of what it holds")]
        + [(unit, unit, f"The file is in {unit}, whatever it says") for unit in METRES],
        options=FIXED,
    )
    up: EnumProperty(
        name="Up",
        description="Which axis of the file points up",
        items=[("auto", "Auto", "As the file says, else what its format usually has")]
        + [(axis, axis.upper(), f"{axis.upper()} points up in the file") for axis in UPS],
        options=FIXED,
    )
    use_range: BoolProperty(
        name="Part of the Capture", description="Solve some of the capture's frames only", options=FIXED
    )
    first: IntProperty(name="First", description="First frame of the capture to solve", default=1, min=1, options=FIXED)
    last: IntProperty(name="Last", description="Last frame of the capture to solve", default=250, min=1, options=FIXED)
    start: IntProperty(
        name="Start",
        description="Frame of the scene on which the capture begins",
        default=1,
        update=lambda self, _: place_markers(self),
        options=FIXED,
    )
    hand: EnumProperty(
        name="Hand",
        description="Which hand to solve",
        items=[(choice, *_HAND_WORDS[choice]) for choice in HANDS],
        options=FIXED,
    )
    subject: StringProperty(
        name="Subject",
        description="Whose hands to solve, of a capture of several people, as its labels call them. Empty: those that "
        "are seen best",
        options=FIXED,
    )
    mirror: BoolProperty(
        name="Mirror",
        description="The capture's right hand drives the left one, and its left hand the right one: mirrored in the "
        "world's plane X = 0",
        default=False,
        options=FIXED,
    )
    labels: EnumProperty(
        name="Labels",
        description="By what markers are told",
        items=[(choice, *_LABEL_WORDS[choice]) for choice in LABELS],
        options=FIXED,
    )
    marker_map: StringProperty(
        name="Marker Map", description="Labels to joints as JSON; empty finds the marker set that fits", options=FIXED
    )
    performer: StringProperty(
        name="Performer",
        description="The performer's measures as JSON; empty measures the capture itself",
        options=FIXED,
    )
    gap_limit: FloatProperty(
        name="Fill Gaps",
        description="Seconds: gaps in a marker up to this length are filled and marked as predicted, longer ones stay",
        default=Cleaning().gap_limit,
        min=0.0,
        soft_max=2.0,
        precision=2,
        step=5,
        options=FIXED,
    )
    spikes: BoolProperty(
        name="Remove Spikes",
        description="Take out single positions that leave a marker's way",
        default=Cleaning().spikes,
        options=FIXED,
    )
    use_cutoff: BoolProperty(
        name="Low-Pass",
        description="Smooth the markers without delay",
        default=Cleaning().cutoff is not None,
        options=FIXED,
    )
    cutoff: FloatProperty(
        name="Cutoff",
        description="Hz: movement faster than this is taken for noise; hands move up to about 10 Hz",
        default=Cleaning().cutoff or 10.0,
        min=0.1,
        soft_max=60.0,
        precision=1,
        options=FIXED,
    )
    markers_on: EnumProperty(
        name="Markers On",
        description="Where the markers sit on the hand",
        items=[
            ("auto", "Auto", "As the marker set says"),
            ("joints", "Joints", "On the joints: the solver's own answer counts, which meets fingertips"),
            ("skin", "Skin", "On the skin: the performer is fitted with them, and all of them count alike"),
        ],
        options=FIXED,
    )
    solver: choice("solver", "How the joint angles are found", Recipe("").solver)
    solvers: settings_of_all("solver")
    drive: drive()
    smoothing: choice("smoothing", "What is done about noise before solving", Recipe("").smoothing)
    smoothings: settings_of_all("smoothing")
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
        options=FIXED,
    )
    fps: FloatProperty(
        name="Rate", description="Keys per second", default=30.0, min=0.1, max=10_000.0, precision=2, options=FIXED
    )
    rig: EnumProperty(
        name="Rig",
        description="What the hand drives",
        items=[
            ("NEW", "New Hand", "A new hand fitted to the performer, one for each hand that is solved"),
            ("ARMATURE", "Armature", "A hand of an armature in this file"),
        ],
        options=FIXED,
    )
    armature: PointerProperty(
        name="Armature", description="The armature whose hand is keyed", type=bpy.types.Object, poll=_is_target
    )
    arm: BoolProperty(
        name="Arm",
        description="The arm on which the hand hangs brings the wrist to where the capture has it",
        default=False,
        options=FIXED,
    )
    rig_limits: BoolProperty(
        name="Rig's Limits",
        description="Bones turn only as the armature's Limit Rotation constraints, locks and IK limits let them",
        default=True,
        options=FIXED,
    )
    keep: EnumProperty(
        name="Keep",
        description="What a hand of other proportions than the performer's keeps of the performance",
        items=[(choice, *_KEEP_WORDS[choice]) for choice in KEEPS],
        options=FIXED,
    )
    keep_scale: EnumProperty(
        name="Scale",
        description="How large places and distances are kept",
        items=[(choice, *_SCALE_WORDS[choice]) for choice in SCALES],
        options=FIXED,
    )
    rig_file: StringProperty(name="Rig File", description="The rig that a loaded recipe names", options=FIXED)
    rig_armature: StringProperty(
        name="Rig's Armature", description="The armature of that file that a loaded recipe names", options=FIXED
    )
    rig_mappings: StringProperty(
        name="Rig's Mappings", description="What a loaded recipe says of that rig's hands, as JSON", options=FIXED
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
