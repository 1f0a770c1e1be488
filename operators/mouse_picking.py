"""The draggable points of hands in Pose Mode, and picking the one under the mouse."""

from collections.abc import Iterator, Mapping
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

    Picked = tuple[Object, Side, str]

Floats = NDArray[np.float64]

PICK_RADIUS = 20.0
"""Maximum distance from the mouse of a picked point, in pixels at a UI scale of 1."""
DISTANCE_TOLERANCE = 1.5
"""Pixels as above. If the distances of points from the mouse differ by less, the point in front is picked."""
RING_OVERLAP = 15.0
"""Pixels as above, the distance below which the rings of two fingertips overlap."""


def draggable_points(context: "Context") -> "Iterator[tuple[Object, Side, dict[str, Floats]]]":
    """Yield each detected hand with its points: joint -> (3,) m in the world. Fast."""
    for armature in in_pose_mode(context):
        detected = detection_cache.cached(armature)
        if detected is not None and armature.is_editable:
            for side in detected.usable:
                yield armature, side, grab_points(armature, detected.bindings[side])


def press_position(event: "Event") -> tuple[int, int]:
    """Return the mouse's position in its region. For a drag, it is where the button was pressed."""
    x, y = event.mouse_region_x, event.mouse_region_y
    if event.value != "CLICK_DRAG":
        return x, y
    return x + event.mouse_prev_press_x - event.mouse_x, y + event.mouse_prev_press_y - event.mouse_y


def under_mouse(context: "Context", mouse: tuple[int, int]) -> "Picked | None":
    """Return the armature, side and joint of the point nearest to the mouse (pixels in the region).

    If points overlap, it is the one in front. Returns None if no point is near.
    """
    hits, scale = _near(context, mouse), context.preferences.system.ui_scale
    nearest = min((distance for distance, *_ in hits), default=0.0)
    nearest_hits = [hit for hit in hits if hit[0] <= nearest + DISTANCE_TOLERANCE * scale]
    return min(nearest_hits, key=lambda hit: hit[1])[-1] if nearest_hits else None


def tips_under_mouse(context: "Context", mouse: tuple[int, int]) -> "list[Picked]":
    """Return the fingertips whose rings overlap the ring under the mouse, the nearest first."""
    nearest_tip = under_mouse(context, mouse)
    if nearest_tip is None or not nearest_tip[2].endswith("-tip"):
        return []
    hits = sorted(_near(context, mouse), key=lambda hit: hit[0])
    centre = next(pixel for *_, pixel, hit in hits if hit == nearest_tip)
    max_distance = RING_OVERLAP * context.preferences.system.ui_scale
    return [nearest_tip] + [
        hit
        for *_, pixel, hit in hits
        if hit != nearest_tip and hit[2].endswith("-tip") and float(np.linalg.norm(pixel - centre)) < max_distance
    ]


def _near(context: "Context", mouse: tuple[int, int]) -> "list[tuple[float, float, Floats, Picked]]":
    """Return the points near the mouse: distance from it in pixels, depth, position (2,) in pixels, and owner."""
    region, view = context.region, context.region_data
    if region is None or region.type != "WINDOW" or view is None:
        return []
    hits = []
    for armature, side, points in draggable_points(context):
        for joint, position in points.items():
            projected = location_3d_to_region_2d(region, view, Vector(position.tolist()))
            if projected is None:
                continue
            pixel = np.array(projected, float)
            distance = float(np.linalg.norm(pixel - np.array(mouse, float)))
            if distance < PICK_RADIUS * context.preferences.system.ui_scale:
                depth = -(view.view_matrix @ Vector(position.tolist())).z
                hits.append((distance, depth, pixel, (armature, side, joint)))
    return hits


def nearest_on_screen(
    context: "Context", point: Floats, positions: Mapping[str, Floats], max_pixels: float
) -> str | None:
    """Return which of the positions (3,) m in the world is nearest to a point in the view, within `max_pixels`."""
    pixel = location_3d_to_region_2d(context.region, context.region_data, Vector(point.tolist()))
    distances = {}
    for name, position in positions.items():
        other_pixel = location_3d_to_region_2d(context.region, context.region_data, Vector(position.tolist()))
        if pixel is not None and other_pixel is not None:
            distances[name] = (other_pixel - pixel).length
    nearest = min(distances, key=lambda name: distances[name], default=None)
    return nearest if nearest and distances[nearest] <= max_pixels * context.preferences.system.ui_scale else None
