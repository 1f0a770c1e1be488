"""The points by which hands in Pose Mode can be dragged, and which of them is under the mouse."""

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

PICK_RADIUS = 20.0
"""Pixels at a UI scale of 1 from the mouse, within which a point is picked."""
SAME_DISTANCE = 1.5
"""The same unit: of points whose distances from the mouse differ by less, the one in front is picked."""


def grabs(context: "Context") -> "Iterator[tuple[Object, Side, dict[str, Floats]]]":
    """Yield each detected hand with its points: joint -> (3,) m in the world. Fast."""
    for armature in in_pose_mode(context):
        known = detection_cache.known(armature)
        if known is not None and armature.is_editable:
            for side in known.usable:
                yield armature, side, grab_points(armature, known.bindings[side])


def pressed_at(event: "Event") -> tuple[int, int]:
    """Return the mouse's position in its region; where Blender has told a drag from a click, where it was pressed."""
    x, y = event.mouse_region_x, event.mouse_region_y
    if event.value != "CLICK_DRAG":
        return x, y
    return x + event.mouse_prev_press_x - event.mouse_x, y + event.mouse_prev_press_y - event.mouse_y


def under_mouse(context: "Context", mouse: tuple[int, int]) -> "tuple[Object, Side, str] | None":
    """Return the armature, side and joint of the point that is nearest to the mouse, a point of the view in pixels.

    Of points behind each other it is the one in front; None where none is near.
    """
    region, view = context.region, context.region_data
    if region is None or region.type != "WINDOW" or view is None:
        return None
    scale = context.preferences.system.ui_scale
    found = []
    for armature, side, points in grabs(context):
        for joint, position in points.items():
            seen = location_3d_to_region_2d(region, view, Vector(position.tolist()))
            distance = float(np.linalg.norm(np.array(seen) - np.array(mouse, float))) if seen is not None else np.inf
            if distance < PICK_RADIUS * scale:
                depth = -(view.view_matrix @ Vector(position.tolist())).z
                found.append((distance, depth, (armature, side, joint)))
    nearest = min((distance for distance, *_ in found), default=0.0)
    near = [each for each in found if each[0] <= nearest + SAME_DISTANCE * scale]
    return min(near, key=lambda each: each[1])[-1] if near else None
