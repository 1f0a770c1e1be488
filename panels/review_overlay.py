"""Draw lines from a take's markers to the points of the hand that they belong to, coloured by their length."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import bpy
import gpu
import numpy as np

from ..operators.json_files import result_armature
from ..operators.load_capture import capture_object
from ..operators.session import SESSION
from ..rig.keys.marker_lines import MarkerLines, marker_lines
from ..rig.keys.take_problems import playing_with
from ..rig.keys.take_report import report_of
from .detection_refresh import detected_hands
from .line_batch import Batch, Colour

if TYPE_CHECKING:
    from bpy.types import Context

OVERLAY = "review"
LINE_WIDTH, POINT_SIZE = 3.0, 7.0
"""Pixels at a UI scale of 1."""
COLOURS: tuple[tuple[float, Colour], ...] = (
    (2.0, (0.35, 0.85, 0.35, 1.0)),
    (8.0, (0.95, 0.8, 0.2, 1.0)),
    (np.inf, (1.0, 0.25, 0.2, 1.0)),
)
"""Maximum length of a line, mm, and its colour. 2 mm are visible in a close-up; a fingertip 8 mm off is a problem."""


def register() -> None:
    """Register the draw handler."""
    handle = bpy.types.SpaceView3D.draw_handler_add(draw, (), "WINDOW", "POST_VIEW")
    SESSION.draw_handlers.setdefault(OVERLAY, []).append(handle)


def unregister() -> None:
    """Remove the draw handler."""
    for handle in SESSION.draw_handlers.pop(OVERLAY, []):
        bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")


def draw() -> None:
    """Draw the lines. Called by Blender for each 3D view, in world space."""
    context = bpy.context
    space = context.space_data
    assert isinstance(space, bpy.types.SpaceView3D), "drawn for these only"
    if not context.scene.knuckle_review.show_errors or not space.overlay.show_overlays:
        return
    lines, points = Batch(), Batch()
    for hand in _hands(context):
        for marker, solved, error in zip(hand.markers, hand.solved, hand.errors.tolist(), strict=True):
            lines.add(np.stack([marker, solved]), colour(error))
            points.add(solved[None], colour(error))
    scale = context.preferences.system.ui_scale
    gpu.state.depth_test_set("NONE")
    gpu.state.blend_set("ALPHA")
    gpu.state.point_size_set(POINT_SIZE * scale)
    lines.draw("LINES", "POLYLINE_FLAT_COLOR", width=LINE_WIDTH * scale)
    points.draw("POINTS", "FLAT_COLOR")
    gpu.state.point_size_set(1.0)
    gpu.state.blend_set("NONE")


def colour(error: float) -> Colour:
    """Return the colour of an error in mm."""
    return next(shade for maximum, shade in COLOURS if error <= maximum)


def _hands(context: "Context") -> Iterator[MarkerLines]:
    """Yield the lines of the hands of the take that is reviewed, on the scene's frame."""
    armature = result_armature(context)
    report = report_of(armature)
    if armature is None or report is None or armature.mode == "EDIT":
        return
    markers_obj = capture_object(context, str(report.get("capture")))
    for playing in playing_with(armature, context.scene) if markers_obj is not None else ():
        detected = detected_hands(playing)
        for side, binding in detected.bindings.items() if detected is not None else ():
            marker_spots = report["hands"].get(side, {}).get("markers")
            yield marker_lines(playing, binding, marker_spots, markers_obj, context.scene.frame_current_final)
