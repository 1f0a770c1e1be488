"""The armatures in Pose Mode whose hands are taken by the mouse, and what of them is under it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector
from numpy.typing import NDArray

from ..hand.joints import Side
from ..rig import known_hands
from ..rig.binding import is_armature
from ..rig.following import Follower, follower
from ..rig.grabbing import grab_points
from ..rig.held_known import held_hand

if TYPE_CHECKING:
    from bpy.types import Context, Event, Object

Floats = NDArray[np.float64]

WITHIN = 20.0
"""pixels at a scale of 1: what is farther from the mouse is not under it."""


def posed_armatures(context: "Context") -> "list[Object]":
    """The armatures in Pose Mode, the active one first."""
    if context.mode != "POSE":
        return []
    active = context.view_layer.objects.active
    others = [obj for obj in context.objects_in_mode_unique_data if obj != active]
    return [obj for obj in (active, *others) if is_armature(obj)]


def can_drag(operator: type, context: "Context") -> bool:
    """For poll: an armature is in Pose Mode, and may be changed."""
    armatures = posed_armatures(context)
    asked: Any = operator
    if not armatures:
        asked.poll_message_set("Hands are taken hold of in Pose Mode")
    elif not any(armature.is_editable for armature in armatures):
        asked.poll_message_set("The armature is linked from another file, make a library override of it first")
    else:
        return True
    return False


def hand_of(armature: "Object", side: Side) -> Follower:
    """A hand of an armature, taken hold of. Raises RigError where there is none that can be posed."""
    known = known_hands.known(armature) or known_hands.look(armature)
    held = held_hand(armature, side, known)
    return follower(armature, known.hands[side], held=held)


def grabs(context: "Context") -> "Iterator[tuple[Object, Side, dict[str, Floats]]]":
    """Each hand that is known, and where it can be taken hold of: joint -> (3,) m in the world. Quick."""
    for armature in posed_armatures(context):
        known = known_hands.known(armature)
        if known is not None and armature.is_editable:
            for side in known.usable:
                yield armature, side, grab_points(armature, known.bindings[side])


def pressed_at(event: "Event") -> tuple[int, int]:
    """Where in its region the mouse is; where its button was pressed, of a drag that Blender has told from a click."""
    x, y = event.mouse_region_x, event.mouse_region_y
    if event.value != "CLICK_DRAG":
        return x, y
    return x + event.mouse_prev_press_x - event.mouse_x, y + event.mouse_prev_press_y - event.mouse_y


def under_mouse(context: "Context", spot: tuple[int, int]) -> "tuple[Object, Side, str] | None":
    """What of a hand is at a point of the view, in pixels: its armature, its side, the joint."""
    region, view = context.region, context.region_data
    if region is None or region.type != "WINDOW" or view is None:
        return None
    mouse = np.array(spot, float)
    best, nearest = WITHIN * context.preferences.system.ui_scale, None
    for armature, side, points in grabs(context):
        for joint, place in points.items():
            seen = location_3d_to_region_2d(region, view, Vector(place.tolist()))
            away = float(np.linalg.norm(np.array(seen) - mouse)) if seen is not None else np.inf
            if away < best:
                best, nearest = away, (armature, side, joint)
    return nearest
