"""Draw the solver's algebra in the 3D views. While it is switched off, no draw handler is registered."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import blf
import bpy
import gpu
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from gpu_extras.batch import batch_for_shader
from mathutils import Vector
from numpy.typing import NDArray

from ..errors import KnuckleError
from ..hand.joints import Side
from ..operators.posed_hands import chosen_hand
from ..operators.session import SESSION
from ..posing.algebra_shapes.line_drawing import Strokes, View, strokes
from ..posing.algebra_shapes.shapes import Kind, Shape, Trace
from ..rig.detection_cache import DetectedHands
from .detection_refresh import detected_hands
from .text_format import DIGIT_NAMES

if TYPE_CHECKING:
    from bpy.types import Context, Object

Floats = NDArray[np.float64]
Colour = tuple[float, float, float, float]

LINE_WIDTHS = {"strong": 2.0, "thin": 1.0}
"""Line widths in pixels at a UI scale of 1."""
THIN_OPACITY = 0.35
FAINT_OPACITY = 0.4
HIDDEN_OPACITY = 0.45
"""Opacity of thin lines, of faint shapes, and of shapes behind other objects."""
FILL_OPACITY = {"plane": 0.10, "arc": 0.18, "point": 1.0, "pair": 1.0}
TEXT_BOTTOM = 70
"""Pixels from the bottom, to stay clear of the panel of the last operator."""
TEXT_SIZE = 16.0
"""Text size in pixels at a UI scale of 1."""
OVERLAY = "algebra"


def register() -> None:
    """Let the settings switch the overlay on and off."""
    SESSION.draw_algebra = _switch


def unregister() -> None:
    """Switch the overlay off."""
    SESSION.algebra_shown = False
    _switch(False)


def is_drawn() -> bool:
    """Return whether draw handlers are registered."""
    return OVERLAY in SESSION.draw_handlers


def _switch(on: bool) -> None:
    if on and not is_drawn():
        SESSION.draw_handlers[OVERLAY] = [
            bpy.types.SpaceView3D.draw_handler_add(draw, (), "WINDOW", draw_type)
            for draw, draw_type in ((draw_shapes, "POST_VIEW"), (draw_names, "POST_PIXEL"))
        ]
    if not on:
        for handle in SESSION.draw_handlers.pop(OVERLAY, []):
            bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")
        SESSION.algebra.forget()
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


def traces(armature: "Object", detected: DetectedHands, side: Side, parts: Collection[str]) -> tuple[Trace, ...]:
    """Return the traces that are drawn, see TraceCache.traces."""
    targets = SESSION.drag_targets
    dragged = targets is not None and (targets.armature, targets.side) == (armature.name, side)
    return SESSION.algebra.traces(armature, detected, side, parts, targets.tips if targets and dragged else None)


def draw_shapes() -> None:
    """Draw the shapes. Called by Blender for each 3D view, in world space."""
    context = bpy.context
    SESSION.algebra_names.clear()
    displayed = _traces(context)
    if not displayed:
        return
    view, colours = _view(context), _colours(context)
    batches = _Batches()
    for shape, plane_direction in _shapes(context, displayed):
        lines = strokes(shape, view, plane_direction)
        batches.add(shape, lines, colours[shape.kind])
        if shape.name:
            SESSION.algebra_names.append((shape, lines.label))
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_mask_set(False)
    for test, opacity in (("GREATER", HIDDEN_OPACITY), ("LESS_EQUAL", 1.0)):
        gpu.state.depth_test_set(test)
        batches.draw(opacity, context.preferences.system.ui_scale)
    gpu.state.depth_test_set("NONE")
    gpu.state.blend_set("NONE")


def draw_names() -> None:
    """Draw the texts. Called by Blender for each 3D view, in pixels."""
    context = bpy.context
    displayed = _traces(context)
    if not displayed:
        return
    scale, chosen = context.preferences.system.ui_scale, context.window_manager.knuckle_algebra
    blf.size(0, TEXT_SIZE * scale)
    blf.enable(0, blf.SHADOW)
    blf.shadow(0, 3, 0.0, 0.0, 0.0, 0.9)
    if chosen.names:
        colours = _colours(context)
        taken_positions: list[tuple[float, float]] = []
        for shape, position in SESSION.algebra_names:
            _write(context, taken_positions, shape, position, colours[shape.kind])
    if chosen.step:
        lines = [
            f"{DIGIT_NAMES.get(trace.part, trace.part.capitalize())} · {trace.steps[chosen.step - 1]}"
            for trace in displayed
            if chosen.step <= len(trace.steps)
        ]
        blf.color(0, 1.0, 1.0, 1.0, 1.0)
        for number, line in enumerate(reversed(lines)):
            blf.position(0, 16 * scale, (TEXT_BOTTOM + 1.5 * TEXT_SIZE * number) * scale, 0)
            blf.draw(0, line)
    blf.disable(0, blf.SHADOW)


def _traces(context: "Context") -> tuple[Trace, ...]:
    """Return the shapes to draw in this view."""
    hand, space = chosen_hand(context), context.space_data
    assert isinstance(space, bpy.types.SpaceView3D), "drawn for these only"
    if hand is None or not space.overlay.show_overlays or not hand[0].visible_in_viewport_get(space):
        return ()
    armature, side = hand
    detected = detected_hands(armature)
    if detected is None or side not in detected.usable:
        return ()
    try:
        return traces(armature, detected, side, context.window_manager.knuckle_algebra.parts)
    except KnuckleError:
        # The panel shows the reason.
        return ()


def _shapes(context: "Context", displayed: tuple[Trace, ...]) -> Iterator[tuple[Shape, Floats]]:
    """Yield the shapes of the chosen step, and the direction along which planes are drawn."""
    step = context.window_manager.knuckle_algebra.step
    for trace in displayed:
        chain = next((shape.points for shape in trace.shapes if shape.kind == "chain"), None)
        plane_direction = chain[-1] - chain[0] if chain is not None else np.array([0.0, 1.0, 0.0])
        for shape in trace.shapes:
            if step in (0, shape.step) or shape.kind == "chain":
                yield shape, plane_direction


def _colours(context: "Context") -> dict[Kind, Colour]:
    """Return colours of the theme, which contrast with its background."""
    theme = context.preferences.themes[0].user_interface

    def opaque(colour: Any) -> Colour:
        return colour[0], colour[1], colour[2], 1.0

    return {
        "sphere": opaque(theme.axis_z),
        "circle": opaque(theme.axis_x),
        "plane": opaque(theme.axis_y),
        "line": opaque(theme.gizmo_secondary),
        "pair": opaque(theme.gizmo_primary),
        "point": opaque(theme.gizmo_hi),
        "arc": opaque(theme.gizmo_primary),
        "chain": opaque(theme.gizmo_hi),
    }


def _view(context: "Context") -> View:
    region, space = context.region, context.region_data
    view_matrix = np.array(space.view_matrix.inverted())
    perspective, window = np.array(space.perspective_matrix), np.array(space.window_matrix)
    # Width of a pixel where w = 1.
    wide = 2.0 / (window[0, 0] * region.width)
    return View(
        view_matrix[:3, 3], view_matrix[:3, 0], view_matrix[:3, 1], bool(space.is_perspective), wide * perspective[3]
    )


class _Batches:
    """Lines and triangles with their colours, drawn in one batch for each kind."""

    def __init__(self) -> None:
        self.points: dict[str, list[Floats]] = {"strong": [], "thin": [], "filled": []}
        self.colours: dict[str, list[Floats]] = {"strong": [], "thin": [], "filled": []}

    def add(self, shape: Shape, strokes: Strokes, colour: Colour) -> None:
        """Add the lines and triangles of a shape."""
        opacity = FAINT_OPACITY if shape.faint else 1.0
        for name, chains, part in (("strong", strokes.strong, 1.0), ("thin", strokes.thin, THIN_OPACITY)):
            for chain in chains:
                pairs = np.stack([chain[:-1], chain[1:]], axis=1).reshape(-1, 3)
                self._add(name, pairs, colour, opacity * part)
        for triangles in strokes.filled:
            self._add("filled", triangles, colour, opacity * FILL_OPACITY.get(shape.kind, 1.0))

    def _add(self, name: str, points: Floats, colour: Colour, opacity: float) -> None:
        self.points[name].append(points)
        self.colours[name].append(np.tile([*colour[:3], opacity * colour[3]], (len(points), 1)))

    def draw(self, opacity: float, scale: float) -> None:
        """Draw everything with the current depth test. opacity: a factor. scale: UI scale."""
        _, _, *size = gpu.state.viewport_get()
        for name, points in self.points.items():
            if not points:
                continue
            colours = np.concatenate(self.colours[name]).astype(np.float32)
            colours[:, 3] *= opacity
            lines = name in LINE_WIDTHS
            program = gpu.shader.from_builtin("POLYLINE_FLAT_COLOR" if lines else "FLAT_COLOR")
            data: Any = {"pos": np.concatenate(points).astype(np.float32), "color": colours}
            batch = batch_for_shader(program, "LINES" if lines else "TRIS", data)
            program.bind()
            if lines:
                program.uniform_float("viewportSize", size)
                program.uniform_float("lineWidth", LINE_WIDTHS[name] * scale)
            batch.draw(program)


def _write(
    context: "Context", taken_positions: list[tuple[float, float]], shape: Shape, position: Floats, colour: Colour
) -> None:
    """Write a shape's name beside a position, below names that are already there."""
    name_position = location_3d_to_region_2d(context.region, context.region_data, Vector(position.tolist()))
    if name_position is None:
        return
    scale = context.preferences.system.ui_scale
    x, y = name_position.x + 7 * scale, name_position.y + 5 * scale
    height = 1.15 * TEXT_SIZE * scale
    while any(abs(x - label[0]) < 1.6 * height and abs(y - label[1]) < height for label in taken_positions):
        y -= 0.5 * height
    taken_positions.append((x, y))
    blf.color(0, *colour[:3], 0.6 if shape.faint else 1.0)
    blf.position(0, x, y, 0)
    blf.draw(0, shape.name)
