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
from ..rig.posing.attaching import attach, check_attachable, check_loose, has_keys, held_by, let_go
from ..rig.posing.grasping import Grasped, grasp
from ..rig.posing.pins import check_there
from ..rig.posing.posable_cache import posable_follower
from ..rig.posing.rig_skin import is_skin
from ..rig.posing.stillness import check_action
from .posed_hands import hand_to_pose
from .posing_operator import PosesHands, finish_posing
from .setting_properties import FIXED

if TYPE_CHECKING:
    from bpy.types import Context, Object, Scene

DEEP = 1e-3
"""m, penetration of the skin into the object from which a warning is shown."""
SOLID = {"MESH", "CURVE", "SURFACE", "META", "FONT"}
"""Types of objects that have a surface."""


def _is_solid(_: Any, obj: "Object") -> bool:
    return obj.type in SOLID


class KnuckleGrasp(bpy.types.PropertyGroup):
    """Settings of a grasp."""

    target: PointerProperty(
        name="Object",
        description="What the hand takes hold of; without one, the mesh that is selected beside the armature",
        type=bpy.types.Object,
        poll=_is_solid,
    )
    grip: EnumProperty(
        name="Grip",
        description="How it is held",
        items=[
            ("AUTO", "Automatic", "As suits the object's shape and size"),
            ("wrap", "Wrap", "The palm against it, the fingers and the thumb around it: a mug, a bottle, a handle"),
            ("ball", "Ball", "The fingers spread over it, the thumb against them: a ball, an apple"),
            ("pinch", "Pinch", "Between the thumb and the first two fingers: a coin, a key, the edge of a card"),
            ("write", "Write", "As a pen: thumb, index finger and the side of the middle finger, its end on the hand"),
        ],
        options=FIXED,
    )
    keyed: BoolProperty(
        name="Key the Approach",
        description="Key how the hand comes to the object and closes, from how it stands now. Older keys of its bones "
        "between the first frame and the last are taken away: the hand would go through them",
        options=FIXED,
    )
    begins: EnumProperty(
        name="Begin",
        description="When the hand comes",
        items=[
            ("HERE", "On This Frame", "On the current frame the hand still stands as now"),
            ("BEFORE", "Before This Frame", "On the current frame the hand holds the object"),
            ("FRAME", "On a Frame", "On the frame that is told the hand still stands as now"),
        ],
        options=FIXED,
    )
    start: IntProperty(
        name="Start", description="The frame on which the hand still stands as now", default=1, options=FIXED
    )
    length: IntProperty(
        name="Frames",
        description="In how many frames it holds the object",
        default=24,
        min=1,
        soft_max=250,
        options=FIXED,
    )
    attached: BoolProperty(
        name="Attach Object",
        description="The object goes along with the hand from when that holds it, by a Child Of constraint. Where the "
        "hand is keyed, so is the constraint's influence",
        options=FIXED,
    )
    steps: IntProperty(
        name="Keys",
        description="In how many keys the hand comes to the object; it closes in a third as many",
        default=6,
        min=1,
        max=48,
        options=FIXED,
    )


class KNUCKLE_OT_grasp(PosesHands, bpy.types.Operator):
    """Take hold of an object: the hand comes to it, and closes until its skin touches. The arm carries the hand"""

    bl_idname = "knuckle.grasp"
    bl_label = "Grasp Object"

    def change(self, context: "Context") -> str:
        """Grasp the object, key and attach it."""
        (armature, side), chosen = hand_to_pose(context), context.scene.knuckle_grasp
        found = detection_cache.found(armature, side)
        obj = held_object(context, armature)
        grip = None if chosen.grip == "AUTO" else chosen.grip
        if chosen.keyed or context.scene.tool_settings.use_keyframe_insert_auto:
            check_action(armature)
        if chosen.attached:
            check_attachable(posable_follower(armature, side), obj, _held_from(context.scene))
        with _waiting(context):
            done = grasp(armature, found, obj, grip, steps=chosen.steps)
        _key(context, armature, done, obj if chosen.attached else None)
        if done.deepest < -DEEP:
            return f"The skin is {-1e3 * done.deepest:.1f} mm inside '{obj.name}' where it is deepest"
        return ""


class KNUCKLE_OT_let_go(PosesHands, bpy.types.Operator):
    """Let go of what was attached to the hand: it stays where it is, from this frame on where it was attached by keys.
    The fingers stay as they are"""

    bl_idname = "knuckle.let_go"
    bl_label = "Let Go"
    keys_pose = False

    def change(self, context: "Context") -> str:
        """Detach the objects that the hand holds."""
        armature, side = hand_to_pose(context)
        held = list(held_by(posable_follower(armature, side)))
        if not held:
            raise RigError(f"nothing is attached to the {side} hand of '{armature.name}'")
        now = context.scene.frame_current_final
        for obj, constraint in held:
            check_loose(obj, constraint, now)
        for obj, constraint in held:
            let_go(obj, constraint, now)
        return ""


@contextmanager
def _waiting(context: "Context") -> Iterator[None]:
    """Show the wait cursor."""
    window = context.window
    if window is not None:
        window.cursor_modal_set("WAIT")
    try:
        yield
    finally:
        if window is not None:
            window.cursor_modal_restore()


def held_object(context: "Context", armature: "Object") -> "Object":
    """Return the chosen object; without one, the selected object with a surface.

    Raises RigError if there is none or more than one.
    """
    target: Object | None = context.scene.knuckle_grasp.target
    if target is not None:
        check_there(target)
        return target
    there = selected_beside(context, armature)
    if len(there) != 1:
        names = ", ".join(f"'{obj.name}'" for obj in there[:3])
        found = (
            f"selected beside the armature are {names}" if there else "none is chosen or selected beside the armature"
        )
        raise RigError(f"{found}, expected one mesh object to take hold of: choose it in the panel Grasp")
    return there[0]


def selected_beside(context: "Context", armature: "Object") -> "list[Object]":
    """Return the selected objects with a surface, without the armature's own skin."""
    return [obj for obj in context.selected_objects if obj.type in SOLID and not is_skin(obj, armature)]


def _first_frame(scene: "Scene") -> float:
    """Return the frame on which the approach begins."""
    chosen = scene.knuckle_grasp
    now: float = scene.frame_current_final
    first: float = {"HERE": now, "BEFORE": now - chosen.length}.get(chosen.begins, chosen.start)
    return first


def _held_from(scene: "Scene") -> float:
    """Return the frame on which the object is attached: the current one, or that of contact if it is earlier."""
    now: float = scene.frame_current_final
    return min(now, _first_frame(scene) + scene.knuckle_grasp.length) if scene.knuckle_grasp.keyed else now


def _key(context: "Context", armature: "Object", done: Grasped, obj: "Object | None") -> None:
    """Key the approach if the settings say so, else as auto-keying would; attach the object, if one is given."""
    chosen, now = context.scene.knuckle_grasp, context.scene.frame_current_final
    if not chosen.keyed:
        keyed = finish_posing(context, done.who.held, done.before)
        if obj is not None:
            attach(done.who, obj, (now - 1, now) if keyed or has_keys(obj) else None)
        return
    frames = _first_frame(context.scene) + np.round(done.parts * chosen.length)
    # If several steps fall on one frame, the last one is keyed.
    steps = np.flatnonzero(np.append(np.diff(frames) > 0, True))
    grasping.key(done, {int(step): float(frames[step]) for step in steps})
    if obj is not None:
        attach(done.who, obj, (float(frames[0]), float(frames[-1])))
        obj.update_tag(refresh={"TIME"})
    # Re-evaluates the keys of this frame. Setting the frame would also discard unkeyed changes of other objects.
    armature.update_tag(refresh={"TIME"})


CLASSES = (
    KnuckleGrasp,
    KNUCKLE_OT_grasp,
    KNUCKLE_OT_let_go,
)
PROPERTIES = ((bpy.types.Scene, "knuckle_grasp", bpy.props.PointerProperty(type=KnuckleGrasp)),)
