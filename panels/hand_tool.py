"""The tool in Pose Mode's toolbar for dragging hands."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy

from ..posing.dragging import NEAREST
from .hand_gizmos import KNUCKLE_GGT_hand

if TYPE_CHECKING:
    from bpy.types import Context, UILayout, WorkSpaceTool


class KnuckleHandTool(bpy.types.WorkSpaceTool):
    """Drag hands."""

    bl_space_type = "VIEW_3D"
    bl_context_mode = "POSE"
    bl_idname = "knuckle.hand_tool"
    bl_label = "Hand"
    bl_description = (
        "Drag a fingertip, a knuckle or the palm.\n"
        "• Pin the fingertip under the mouse, or let it go: P. Again: the next one there.\n"
        "• While dragging, Shift: precision, Ctrl: to the surface under the mouse, Alt: no pinch"
    )
    # Made by tools/tool_icon.py.
    bl_icon = str(Path(__file__).parent / "icons" / "hand")
    bl_widget = KNUCKLE_GGT_hand.bl_idname
    bl_options: Any = {"KEYMAP_FALLBACK"}
    bl_keymap: Any = (
        # If gizmos are hidden, or Blender has not highlighted one yet.
        ("knuckle.drag_hand", {"type": "LEFTMOUSE", "value": "CLICK_DRAG"}, None),
        ("knuckle.pin_fingertip", {"type": "P", "value": "PRESS"}, {"properties": [("toggle", True)]}),
        ("knuckle.unpin_all", {"type": "P", "value": "PRESS", "alt": True}, None),
    )

    @staticmethod
    def draw_settings(context: "Context", layout: "UILayout", _tool: "WorkSpaceTool") -> None:
        """Draw the settings in the tool header."""
        settings = context.scene.knuckle_posing
        layout.prop(settings, "solver")
        lock = layout.row()
        lock.active = settings.solver == NEAREST
        lock.prop(settings, "dip_lock")
        layout.operator("knuckle.reach_pins")
        layout.operator("knuckle.unpin_all")


def register() -> None:
    """Add the tool below Blender's own tools of Pose Mode. Without a window there is no toolbar."""
    if not bpy.app.background:
        bpy.utils.register_tool(KnuckleHandTool, separator=True)


def unregister() -> None:
    """Remove the tool."""
    if not bpy.app.background:
        bpy.utils.unregister_tool(KnuckleHandTool)
