"""Draw the axes of the driven armature's hands in the 3D views, in front of everything, in the current pose."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import blf
import bpy
import gpu
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector
from numpy.typing import NDArray

from ..operators.preferences import overlay_colour
from ..operators.rig_hands import driven_armature
from ..operators.session import SESSION
from ..rig.armature_hands import FoundHand
from ..rig.binding import posed_frames
from ..rig.hand_axes import HandAxes, arrow_head, hand_axes, label_positions
from .detection_refresh import cancel_detection, detected_hands
from .line_batch import Batch, Colour
from .text_format import DIGIT_NAMES, MIN_CONFIDENCE

if TYPE_CHECKING:
    from bpy.types import Context, Object, PoseBone

Floats = NDArray[np.float64]

FAN_OPACITY = 0.16
"""Opacity of the sector that a fingertip sweeps as the digit curls."""
LINE_WIDTH = 2.5
"""Line width in pixels at a UI scale of 1."""
TEXT_SIZE = 13.0
"""Text size in pixels at a UI scale of 1."""
OVERLAY = "axes"


def register() -> None:
    """Register the draw handlers."""
    for draw, draw_type in ((draw_lines, "POST_VIEW"), (draw_labels, "POST_PIXEL")):
        handle = bpy.types.SpaceView3D.draw_handler_add(draw, (), "WINDOW", draw_type)
        SESSION.draw_handlers.setdefault(OVERLAY, []).append(handle)


def unregister() -> None:
    """Remove the draw handlers."""
    for handle in SESSION.draw_handlers.pop(OVERLAY, []):
        bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")
    cancel_detection()


def draw_lines() -> None:
    """Draw the axes. Called by Blender for each 3D view, in world space."""
    context = bpy.context
    armature = _armature_to_draw(context)
    if armature is None:
        return
    lines, fans = Batch(), Batch()
    for _, frames in _hands(context, armature):
        _add_axes(hand_axes(frames), lines, fans)
    _add_picked_bone(armature, lines)
    gpu.state.depth_test_set("NONE")
    gpu.state.blend_set("ALPHA")
    with gpu.matrix.push_pop():
        gpu.matrix.multiply_matrix(armature.matrix_world)
        fans.draw("TRIS", "FLAT_COLOR")
        lines.draw("LINES", "POLYLINE_FLAT_COLOR", width=LINE_WIDTH * context.preferences.system.ui_scale)
    gpu.state.blend_set("NONE")


def draw_labels() -> None:
    """Draw the names of digits, palms and the picked bone. Called by Blender for each 3D view, in pixels."""
    context = bpy.context
    armature = _armature_to_draw(context)
    if armature is None:
        return
    scale = context.preferences.system.ui_scale
    blf.size(0, TEXT_SIZE * scale)
    blf.enable(0, blf.SHADOW)
    blf.shadow(0, 3, 0.0, 0.0, 0.0, 0.9)
    for position, text, colour in _labels(context, armature):
        point = location_3d_to_region_2d(
            context.region, context.region_data, armature.matrix_world @ Vector(position.tolist())
        )
        if point is not None:
            blf.color(0, *colour)
            blf.position(0, point.x + 10 * scale, point.y + 10 * scale, 0)
            blf.draw(0, text)
    blf.disable(0, blf.SHADOW)


def label(found: FoundHand, digit: str) -> str:
    """Return a digit's name, with its confidence if that is low."""
    confidence = found.confidence.get(digit, 0.0)
    return DIGIT_NAMES[digit] if confidence >= MIN_CONFIDENCE else f"{DIGIT_NAMES[digit]}? {confidence:.0%}"


def _armature_to_draw(context: "Context") -> "Object | None":
    """Return the armature to draw on, None to draw nothing."""
    armature = driven_armature(context.scene)
    space = context.space_data
    assert isinstance(space, bpy.types.SpaceView3D), "the draw handlers are those of 3D views"
    if armature is None or armature.mode == "EDIT" or not space.overlay.show_overlays:
        return None
    picked = SESSION.picked_bone
    is_shown = context.scene.knuckle_rig.axes or (picked is not None and picked.armature == armature.name)
    return armature if is_shown and armature.visible_in_viewport_get(space) else None


def _hands(context: "Context", armature: "Object") -> Iterator[tuple[FoundHand, Floats]]:
    """Yield the hands whose axes are shown, and the frames of their joints (J, 4, 4)."""
    if not context.scene.knuckle_rig.axes:
        return
    detected = detected_hands(armature)
    if detected is None:
        return
    for side, binding in detected.bindings.items():
        yield detected.hands[side], posed_frames(armature, binding)


def _labels(context: "Context", armature: "Object") -> Iterator[tuple[Floats, str, Colour]]:
    """Yield the position (3,) in armature space, text and colour of each label."""
    for hand, frames in _hands(context, armature):
        tips, normal = label_positions(frames)
        for digit, tip in tips.items():
            is_certain = hand.confidence.get(digit, 0.0) >= MIN_CONFIDENCE
            yield tip, label(hand, digit), overlay_colour(digit if is_certain else "uncertain")
        if len(normal):
            yield normal[-1], f"{hand.side.capitalize()} palm", overlay_colour("palm")
    bone = _picked_bone(armature)
    if bone is not None:
        yield np.array(bone.center), bone.name, overlay_colour("picked")


def _picked_bone(armature: "Object") -> "PoseBone | None":
    """Return the bone of the armature that is under the eyedropper."""
    picked = SESSION.picked_bone
    bone: PoseBone | None = None
    if picked is not None and picked.armature == armature.name:
        bone = armature.pose.bones.get(picked.bone)
    return bone


def _add_axes(axes: HandAxes, lines: Batch, fans: Batch) -> None:
    """Add the axes of a hand, and the fan of triangles that each fingertip sweeps as its digit curls."""
    lines.chain(axes.knuckles, overlay_colour("palm"))
    if len(axes.normal):
        lines.chain(axes.normal, overlay_colour("palm"))
        across = axes.knuckles[-1] - axes.knuckles[0] if len(axes.knuckles) > 1 else np.array([1.0, 0.0, 0.0])
        _add_arrow(axes.normal, across, lines, overlay_colour("palm"))
    for digit_axes in axes.digits:
        colour = overlay_colour(digit_axes.digit)
        lines.chain(digit_axes.joints, (*colour[:3], 0.55))
        for hinge in digit_axes.hinges:
            lines.chain(hinge, colour)
        if len(digit_axes.tip_path):
            lines.chain(digit_axes.tip_path, colour)
            centre = digit_axes.hinges[0].mean(axis=0)
            _add_arrow(digit_axes.tip_path, digit_axes.tip_path[-1] - centre, lines, colour)
            triangles = [
                np.broadcast_to(centre, (len(digit_axes.tip_path) - 1, 3)),
                digit_axes.tip_path[:-1],
                digit_axes.tip_path[1:],
            ]
            fans.add(np.stack(triangles, axis=1).reshape(-1, 3), (*colour[:3], FAN_OPACITY))


def _add_arrow(line: Floats, across: Floats, lines: Batch, colour: Colour) -> None:
    """Add an arrow head at the end of a line (N, 3), its barbs spread along `across` (3,)."""
    size = 0.15 * float(np.linalg.norm(line[-1] - line[0]))
    lines.chain(arrow_head(line, across, size), colour)


def _add_picked_bone(armature: "Object", lines: Batch) -> None:
    bone = _picked_bone(armature)
    if bone is not None:
        lines.chain(np.array([bone.head, bone.tail]), overlay_colour("picked"))
