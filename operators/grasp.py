"""Grasp an object with the active armature's hand, and let go of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, IntProperty, PointerProperty

from ..errors import RigError
from ..rig import detection_cache
from ..rig.posing import grasping
from ..rig.posing.attaching import attach, attached_objects, check_attachable, check_loose, has_keys, release
from ..rig.posing.grasping import Grasped, grasp
from ..rig.posing.pins import check_in_view_layer
from ..rig.posing.posable_cache import posable_hand_arm
from ..rig.posing.stillness import check_action
from ..rig.skin_bones import is_skin
from .posed_hands import hand_to_pose
from .posing_operator import PosingOperator, finish_posing
from .setting_properties import NOT_ANIMATED

if TYPE_CHECKING:
    from bpy.types import Context, Object, Scene

PENETRATION_TOLERANCE = 1e-3
"""m, penetration of the skin into the object from which a warning is shown."""
SURFACE_TYPES = {"MESH", "CURVE", "SURFACE", "META", "FONT"}
"""Types of objects that have a surface."""


def _has_surface(_: Any, obj: "Object") -> bool:
    return obj.type in SURFACE_TYPES


class KnuckleGrasp(bpy.types.PropertyGroup):
    """Settings of a grasp."""

    target: PointerProperty(
        name="Object",
        description="Object to grasp. If empty, the object selected together with the armature",
        type=bpy.types.Object,
        poll=_has_surface,
    )
    grip: EnumProperty(
        name="Grip",
        description="How the hand holds the object",
        items=[
            ("AUTO", "Automatic", "Choose the grip by the object's shape and size"),
            ("wrap", "Wrap", "Palm against the object, fingers and thumb around it: a mug, a bottle, a handle"),
            ("ball", "Ball", "Fingers spread over the object, thumb opposite: a ball, an apple"),
            ("pinch", "Pinch", "Between the thumb and the first two fingers: a coin, a key, the edge of a card"),
            ("write", "Write", "Like a pen: between thumb, index and side of the middle finger, resting on the hand"),
        ],
        options=NOT_ANIMATED,
    )
    keyed: BoolProperty(
        name="Key Approach",
        description="Key the motion from the current pose to the object, and the closing of the hand. Existing keys of "
        "its bones between the first and the last frame are removed",
        options=NOT_ANIMATED,
    )
    begins: EnumProperty(
        name="Timing",
        description="When the approach starts",
        items=[
            ("HERE", "Start on Current Frame", "The approach starts on the current frame, with the current pose"),
            ("BEFORE", "End on Current Frame", "The approach ends on the current frame, with the object held"),
            ("FRAME", "Start Frame", "The approach starts on the start frame, with the current pose"),
        ],
        options=NOT_ANIMATED,
    )
    start: IntProperty(
        name="Start Frame",
        description="Frame on which the approach starts, with the current pose",
        default=1,
        options=NOT_ANIMATED,
    )
    length: IntProperty(
        name="Duration",
        description="Duration of the approach in frames",
        default=24,
        min=1,
        soft_max=250,
        options=NOT_ANIMATED,
    )
    attached: BoolProperty(
        name="Attach Object",
        description="Attach the object to the hand by a Child Of constraint once it is held. If the hand is keyed, the "
        "constraint's influence is keyed as well",
        options=NOT_ANIMATED,
    )
    steps: IntProperty(
        name="Keyframes",
        description="Number of keyframes of the approach; closing the hand takes a third as many",
        default=6,
        min=1,
        max=48,
        options=NOT_ANIMATED,
    )


class KNUCKLE_OT_grasp(PosingOperator, bpy.types.Operator):
    """Move the hand to an object and close it until its skin touches the object. The arm follows the hand"""

    bl_idname = "knuckle.grasp"
    bl_label = "Grasp Object"

    def change(self, context: "Context") -> str:
        """Grasp the object, key and attach it."""
        (armature, side), settings = hand_to_pose(context), context.scene.knuckle_grasp
        hand = detection_cache.usable_hand(armature, side)
        obj = object_to_grasp(context, armature)
        grip = None if settings.grip == "AUTO" else settings.grip
        if settings.keyed or context.scene.tool_settings.use_keyframe_insert_auto:
            check_action(armature)
        if settings.attached:
            check_attachable(posable_hand_arm(armature, side), obj, _attach_frame(context.scene))
        with _wait_cursor(context):
            result = grasp(armature, hand, obj, grip, steps=settings.steps)
        _key(context, armature, result, obj if settings.attached else None)
        if result.distance < -PENETRATION_TOLERANCE:
            return f"The skin is {-1e3 * result.distance:.1f} mm inside '{obj.name}' where it is deepest"
        return ""


class KNUCKLE_OT_release_object(PosingOperator, bpy.types.Operator):
    """Detach the object that the hand holds: it stays where it is, from this frame on if the attachment is keyed. The
    fingers do not move"""

    bl_idname = "knuckle.release_object"
    bl_label = "Release Object"
    keys_pose = False

    def change(self, context: "Context") -> str:
        """Detach the objects that the hand holds."""
        armature, side = hand_to_pose(context)
        attached = list(attached_objects(posable_hand_arm(armature, side)))
        if not attached:
            raise RigError(f"nothing is attached to the {side} hand of '{armature.name}'")
        frame = context.scene.frame_current_final
        for obj, constraint in attached:
            check_loose(obj, constraint, frame)
        for obj, constraint in attached:
            release(obj, constraint, frame)
        return ""


@contextmanager
def _wait_cursor(context: "Context") -> Iterator[None]:
    """Show the wait cursor."""
    window = context.window
    if window is not None:
        window.cursor_modal_set("WAIT")
    try:
        yield
    finally:
        if window is not None:
            window.cursor_modal_restore()


def object_to_grasp(context: "Context", armature: "Object") -> "Object":
    """Return the chosen object; without one, the selected object with a surface.

    Raises RigError if there is none or more than one.
    """
    target: Object | None = context.scene.knuckle_grasp.target
    if target is not None:
        check_in_view_layer(target)
        return target
    surfaces = selected_surfaces(context, armature)
    if len(surfaces) != 1:
        names = ", ".join(f"'{obj.name}'" for obj in surfaces[:3])
        obstacle = (
            f"selected with the armature are {names}" if surfaces else "none is chosen or selected with the armature"
        )
        raise RigError(f"{obstacle}, expected one mesh object to grasp: choose it in the panel Grasp")
    return surfaces[0]


def selected_surfaces(context: "Context", armature: "Object") -> "list[Object]":
    """Return the selected objects with a surface, without the armature's own skin."""
    return [obj for obj in context.selected_objects if obj.type in SURFACE_TYPES and not is_skin(obj, armature)]


def _first_frame(scene: "Scene") -> float:
    """Return the frame on which the approach begins."""
    settings = scene.knuckle_grasp
    frame: float = scene.frame_current_final
    first_frame: float = {"HERE": frame, "BEFORE": frame - settings.length}.get(settings.begins, settings.start)
    return first_frame


def _attach_frame(scene: "Scene") -> float:
    """Return the frame on which the object is attached: the current one, or that of contact if it is earlier."""
    frame: float = scene.frame_current_final
    return min(frame, _first_frame(scene) + scene.knuckle_grasp.length) if scene.knuckle_grasp.keyed else frame


def _key(context: "Context", armature: "Object", result: Grasped, obj: "Object | None") -> None:
    """Key the approach if the settings say so, else as auto-keying would; attach the object, if one is given."""
    settings, frame = context.scene.knuckle_grasp, context.scene.frame_current_final
    if not settings.keyed:
        key_frames = finish_posing(context, result.hand_arm.rig_hand, result.before)
        if obj is not None:
            attach(result.hand_arm, obj, (frame - 1, frame) if key_frames or has_keys(obj) else None)
        return
    frames = _first_frame(context.scene) + np.round(result.times * settings.length)
    # If several steps fall on one frame, the last one is keyed.
    steps = np.flatnonzero(np.append(np.diff(frames) > 0, True))
    grasping.key(result, {int(step): float(frames[step]) for step in steps})
    if obj is not None:
        attach(result.hand_arm, obj, (float(frames[0]), float(frames[-1])))
        obj.update_tag(refresh={"TIME"})
    # Re-evaluates the keys of this frame. Setting the frame would also discard unkeyed changes of other objects.
    armature.update_tag(refresh={"TIME"})


CLASSES = (
    KnuckleGrasp,
    KNUCKLE_OT_grasp,
    KNUCKLE_OT_release_object,
)
PROPERTIES = ((bpy.types.Scene, "knuckle_grasp", bpy.props.PointerProperty(type=KnuckleGrasp)),)
