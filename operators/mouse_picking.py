"""Where the hands in Pose Mode can be taken hold of, and what of them is under the mouse."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector
from numpy.typing import NDArray

from ..hand.joints import Side
from ..rig import detection_cache
from ..rig.posing.handles import grab_points
from .posed_hands import in_pose_mode

if TYPE_CHECKING:
    from bpy.types import Context, Event, Object

Floats = NDArray[np.float64]

WITHIN = 20.0
"""pixels at a scale of 1: what is farther from the mouse is not under it."""
ALIKE = 1.5
"""The same: of points that are as near as that to each other, what is in front is meant."""


def grabs(context: "Context") -> "Iterator[tuple[Object, Side, dict[str, Floats]]]":
    """Each hand that is known, and where it can be taken hold of: joint -> (3,) m in the world. Quick."""
    for armature in in_pose_mode(context):
        known = detection_cache.known(armature)
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
    """What of a hand is at a point of the view, in pixels: its armature, its side, the joint. Of what is behind each
    other what is in front."""
    region, view = context.region, context.region_data
    if region is None or region.type != "WINDOW" or view is None:
        return None
    mouse = np.array(spot, float)
    scale = context.preferences.system.ui_scale
    found = []
    for armature, side, points in grabs(context):
        for joint, place in points.items():
            seen = location_3d_to_region_2d(region, view, Vector(place.tolist()))
            away = float(np.linalg.norm(np.array(seen) - mouse)) if seen is not None else np.inf
            if away < WITHIN * scale:
                behind = -(view.view_matrix @ Vector(place.tolist())).z
                found.append((away, behind, (armature, side, joint)))
    nearest = min((away for away, *_ in found), default=0.0)
    alike = [each for each in found if each[0] <= nearest + ALIKE * scale]
    return min(alike, key=lambda each: each[1])[-1] if alike else None
