"""The gizmos by which hands of armatures in Pose Mode are dragged."""

from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from mathutils import Matrix

from ..hand.joints import KNUCKLES, Side, digit_of
from ..operators.drag_hand import KNUCKLE_OT_drag_hand
from ..operators.mouse_picking import draggable_points
from ..operators.pin_properties import pin_of
from ..operators.posed_hands import in_pose_mode
from ..operators.preferences import overlay_colour
from ..posing.dragging import WRIST
from .detection_refresh import detected_hands

if TYPE_CHECKING:
    from bpy.types import Context, Object

SIZES = {"tip": 0.10, "joint": 0.07, "knuckle": 0.07, "palm": 0.16}
"""Radii relative to the gizmo size in the Preferences, 75 pixels by default."""
HIGHLIGHT = (1.0, 1.0, 1.0)


def kind_of(joint: str) -> str:
    """Return a joint's key in SIZES."""
    if joint == WRIST:
        return "palm"
    if joint in KNUCKLES:
        return "knuckle"
    return "tip" if joint.endswith("-tip") else "joint"


class KNUCKLE_GGT_hand(bpy.types.GizmoGroup):
    """A ring for each point that can be dragged. Rings of pinned fingertips are filled."""

    bl_idname = "KNUCKLE_GGT_hand"
    bl_label = "Hand"
    bl_space_type = "VIEW_3D"
    bl_region_type = "WINDOW"
    bl_options = {"3D", "TOOL_FALLBACK_KEYMAP"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Shown in Pose Mode."""
        return bool(in_pose_mode(context))

    def setup(self, _context: "Context") -> None:
        """Make no gizmos yet: they are made when they are needed."""
        self.made: dict[tuple[str, Side, str], Any] = {}

    def draw_prepare(self, context: "Context") -> None:
        """Update the gizmos before each redraw: bones may have been moved, hidden or deleted."""
        for armature in in_pose_mode(context):
            detected_hands(armature)
        current_keys = set()
        for armature, side, points in draggable_points(context):
            for joint, position in points.items():
                key = armature.name, side, joint
                current_keys.add(key)
                gizmo = self.made.get(key) or self._new(*key)
                gizmo.matrix_basis = Matrix.Translation(position.tolist())
                _show_pin(gizmo, armature, side, joint)
        # Gizmos of renamed or deleted armatures would accumulate.
        for key in self.made.keys() - current_keys:
            self.gizmos.remove(self.made.pop(key))

    def _new(self, armature: str, side: Side, joint: str) -> Any:
        gizmo: Any = self.gizmos.new("GIZMO_GT_move_3d")
        digit = digit_of(joint)
        colour = np.array(overlay_colour(digit or "palm"))[:3]
        gizmo.draw_style = "RING_2D"
        gizmo.color, gizmo.alpha = colour, 0.9 if kind_of(joint) in ("tip", "palm") else 0.6
        gizmo.color_highlight, gizmo.alpha_highlight = HIGHLIGHT, 1.0
        gizmo.scale_basis = SIZES[kind_of(joint)]
        gizmo.line_width = 3.0
        gizmo.use_draw_modal = False
        # Of overlapping rings Blender may choose the one behind, so the operator itself finds the one under the mouse.
        gizmo.target_set_operator(KNUCKLE_OT_drag_hand.bl_idname)
        self.made[armature, side, joint] = gizmo
        return gizmo


def _show_pin(gizmo: Any, armature: "Object", side: Side, joint: str) -> None:
    digit = digit_of(joint)
    pinned = digit is not None and joint.endswith("-tip") and pin_of(armature, side, digit) is not None
    options = {"ALIGN_VIEW", "FILL"} if pinned else {"ALIGN_VIEW", "FILL_SELECT"}
    if gizmo.draw_options != options:
        gizmo.draw_options = options


CLASSES = (KNUCKLE_GGT_hand,)
