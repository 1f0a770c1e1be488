"""The picture of a hand that shows which marker to pick, and the names of markers that are assigned, in the views."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import blf
import bpy
import gpu
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from gpu_extras.batch import batch_for_shader
from mathutils import Vector
from numpy.typing import NDArray

from ..hand.joints import Side
from ..hand.marker_assignment import STEPS, step_positions
from ..hand.mesh.surface import surface
from ..hand.proportions import adult
from ..operators.session import SESSION, AssigningMarkers
from ..rig import markers_object

if TYPE_CHECKING:
    from bpy.types import Context, Object

Floats = NDArray[np.float64]
Colour = tuple[float, float, float, float]

HEIGHT = 260.0
"""Pixels at a UI scale of 1: height of the picture."""
MIN_WIDTH = 200.0
"""Pixels as above: minimum width of the board under the picture."""
PROMPT_SIZE = 14.0
"""Pixels as above: size of the text that names the marker to pick."""
CORNER = (90.0, 60.0)
"""Pixels as above: position of the lower left corner of the picture, right of the toolbar."""
BOARD: Colour = (0.08, 0.08, 0.08, 0.85)
SKIN: Colour = (0.45, 0.42, 0.40, 1.0)
OPEN: Colour = (0.75, 0.75, 0.75, 0.8)
DONE: Colour = (0.35, 0.85, 0.45, 1.0)
CURRENT: Colour = (1.0, 0.55, 0.0, 1.0)
HOVERED: Colour = (1.0, 1.0, 1.0, 1.0)
OVERLAY = "assign_markers"


def register() -> None:
    """Register the draw handler."""
    handle = bpy.types.SpaceView3D.draw_handler_add(draw, (), "WINDOW", "POST_PIXEL")
    SESSION.draw_handlers.setdefault(OVERLAY, []).append(handle)


def unregister() -> None:
    """Remove the draw handler."""
    for handle in SESSION.draw_handlers.pop(OVERLAY, []):
        bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")


def draw() -> None:
    """Draw the picture and the names. Called by Blender for each 3D view, in pixels."""
    context, state = bpy.context, SESSION.assigning_markers
    markers = bpy.data.objects.get(state.markers) if state is not None else None
    if state is None or not markers_object.is_markers(markers):
        return
    scale = context.preferences.system.ui_scale
    gpu.state.blend_set("ALPHA")
    _draw_picture(state, scale)
    _draw_names(context, state, markers, scale)
    gpu.state.blend_set("NONE")


@cache
def outline(side: Side) -> tuple[Floats, Floats]:
    """Return the triangles (T, 3, 2) of a hand seen from its back, and the steps' positions (S, 2).

    Both are in units of the hand's height."""
    skin = surface(adult(side))
    flat = skin.vertices[:, :2]
    low, height = flat.min(axis=0), float(np.ptp(flat[:, 1]))
    corners = np.concatenate([skin.quads[:, [0, 1, 2]], skin.quads[:, [0, 2, 3]]])
    return (flat[corners] - low) / height, (step_positions(side)[:, :2] - low) / height


def _draw_picture(state: AssigningMarkers, scale: float) -> None:
    triangles, dots = outline(state.side)
    size, corner = HEIGHT * scale, np.array(CORNER) * scale
    width = float(triangles[..., 0].max()) * size
    margin = 14 * scale
    step = state.hand.step
    instruction = f"Click {step.words}" if step is not None else "Press Enter to finish"
    blf.size(0, PROMPT_SIZE * scale)
    width = max(width, blf.dimensions(0, instruction)[0], MIN_WIDTH * scale)
    _rectangle(corner - margin, corner + [width + margin, size + margin + 44 * scale], BOARD)
    _triangles(triangles.reshape(-1, 2) * size + corner, SKIN)
    for index, dot in enumerate(dots * size + corner):
        is_current, is_done = index == state.hand.step_index, index in state.hand.assigned
        _disc(dot, (8 if is_current else 4) * scale, CURRENT if is_current else DONE if is_done else OPEN)
    top = corner + [0.0, size + 12 * scale]
    _text(top + [0.0, 20 * scale], f"{state.side.capitalize()} Hand, seen from its back", OPEN, 12 * scale)
    _text(top, instruction, CURRENT, PROMPT_SIZE * scale)


def _draw_names(context: "Context", state: AssigningMarkers, markers: "Object", scale: float) -> None:
    """Mark the markers of the view: assigned ones by their spot, the one of this step, and the one under the mouse."""
    labels = list(markers[markers_object.CAPTURE_PROPERTY]["names"])
    text_of_spot = {label: STEPS[step].words.removeprefix("the ") for step, (label, _) in state.hand.assigned.items()}
    positions = markers_object.positions_at(markers, context.scene.frame_current_final)
    for label, position in zip(labels, positions, strict=True):
        if label not in text_of_spot and label != state.hovered:
            continue
        if not np.isfinite(position[0]):
            continue
        pixel = location_3d_to_region_2d(context.region, context.region_data, Vector(position.tolist()))
        if pixel is None:
            continue
        colour = HOVERED if label == state.hovered else CURRENT if label == state.hand.label else DONE
        _ring(np.array(pixel), 9 * scale, 2.5 * scale, colour)
        text = text_of_spot.get(label, "")
        _text(
            np.array(pixel) + 12 * scale,
            f"{label}: {text}" if text and label == state.hovered else text or label,
            colour,
            11 * scale,
        )


def _triangles(points: Floats, colour: Colour) -> None:
    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    data: Any = points.astype(np.float32)
    batch = batch_for_shader(shader, "TRIS", {"pos": data})
    shader.bind()
    shader.uniform_float("color", colour)
    batch.draw(shader)


def _rectangle(low: Floats, high: Floats, colour: Colour) -> None:
    (left, bottom), (right, top) = low, high
    _triangles(
        np.array([(left, bottom), (right, bottom), (right, top), (left, bottom), (right, top), (left, top)]), colour
    )


def _circle(radius: float) -> Floats:
    angles = np.linspace(0.0, 2 * np.pi, 25)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _disc(middle: Floats, radius: float, colour: Colour) -> None:
    rim = middle + _circle(radius)
    centre = np.broadcast_to(middle, rim[1:].shape)
    _triangles(np.stack([centre, rim[:-1], rim[1:]], axis=1).reshape(-1, 2), colour)


def _ring(middle: Floats, radius: float, width: float, colour: Colour) -> None:
    inner, outer = middle + _circle(radius), middle + _circle(radius + width)
    quads = np.stack([inner[:-1], outer[:-1], outer[1:], inner[:-1], outer[1:], inner[1:]], axis=1)
    _triangles(quads.reshape(-1, 2), colour)


def _text(pixel: Iterable[float], text: str, colour: Colour, size: float) -> None:
    x, y = pixel
    blf.size(0, size)
    blf.enable(0, blf.SHADOW)
    blf.shadow(0, 3, 0.0, 0.0, 0.0, 0.9)
    blf.color(0, *colour)
    blf.position(0, x, y, 0)
    blf.draw(0, text)
    blf.disable(0, blf.SHADOW)
