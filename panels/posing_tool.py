"""The tool in Pose Mode's toolbar that drags hands, and the panel of what is pinned."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy

from ..hand.joints import digit_words
from ..operators.posing_hands import posed_armatures
from ..operators.posing_pins import holds, pins_on
from .posing_gizmos import KNUCKLE_GGT_hand

if TYPE_CHECKING:
    from bpy.types import Context, UILayout, WorkSpaceTool


class KnuckleHandTool(bpy.types.WorkSpaceTool):
    """Drags hands."""

    bl_space_type = "VIEW_3D"
    bl_context_mode = "POSE"
    bl_idname = "knuckle.hand_tool"
    bl_label = "Hand"
    bl_description = (
        "Drag a fingertip, a knuckle or the palm.\n"
        "• Pin the fingertip under the mouse, or let it go: P.\n"
        "• While dragging, Shift: precision, Ctrl: to the surface under the mouse"
    )
    # Made by tools/tool_icon.py.
    bl_icon = str(Path(__file__).parent / "icons" / "hand")
    bl_widget = KNUCKLE_GGT_hand.bl_idname
    bl_options: Any = {"KEYMAP_FALLBACK"}
    bl_keymap: Any = (
        # Where gizmos are not shown, or Blender has not lit one up yet.
        ("knuckle.drag_hand", {"type": "LEFTMOUSE", "value": "CLICK_DRAG"}, None),
        ("knuckle.pin_fingertip", {"type": "P", "value": "PRESS"}, {"properties": [("toggle", True)]}),
        ("knuckle.unpin_all", {"type": "P", "value": "PRESS", "alt": True}, None),
    )

    @staticmethod
    def draw_settings(context: "Context", layout: "UILayout", _tool: "WorkSpaceTool") -> None:
        """In the header."""
        layout.prop(context.scene.knuckle_posing, "dip_lock")
        layout.operator("knuckle.reach_pins")
        layout.operator("knuckle.unpin_all")


class KNUCKLE_PT_pins(bpy.types.Panel):
    """Pinned fingertips"""

    bl_label = "Pins"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """In Pose Mode."""
        return bool(posed_armatures(context))

    def draw(self, context: "Context") -> None:
        """Each pin, and what can be done with all of them."""
        layout = self.layout
        rows = layout.column(align=True)
        for armature in posed_armatures(context):
            for pin in pins_on(armature):
                row = rows.row(align=True)
                row.label(text=f"{pin.side.capitalize()} {digit_words(pin.digit)}", icon="PINNED")
                row.label(text=where(pin))
                unpin = row.operator("knuckle.unpin_fingertip", text="", icon="X", emboss=False)
                unpin.armature, unpin.side, unpin.digit = armature.name, pin.side, pin.digit
        if not any(pins_on(armature) for armature in posed_armatures(context)):
            rows.label(text="P over a fingertip pins it", icon="UNPINNED")
        row = layout.row(align=True)
        row.operator("knuckle.reach_pins")
        row.operator("knuckle.unpin_all")


def where(pin: Any) -> str:
    """What a fingertip is pinned to, as a person says it."""
    if pin.kind == "DIGIT":
        return f"to the {digit_words(pin.other)}"
    if pin.kind == "OBJECT":
        return f"on {pin.target.name}" if holds(pin) else "on nothing any more"
    return "in the world"


def register() -> None:
    """The tool below Blender's own of Pose Mode. Without a window there is no toolbar."""
    if not bpy.app.background:
        bpy.utils.register_tool(KnuckleHandTool, separator=True)


def unregister() -> None:
    """Takes it out again."""
    if not bpy.app.background:
        bpy.utils.unregister_tool(KnuckleHandTool)
