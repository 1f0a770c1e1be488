"""The Snap and Follow panel."""

from typing import TYPE_CHECKING

import bpy

from ..operators.touch_and_follow import AROUND

if TYPE_CHECKING:
    from bpy.types import Context


class KNUCKLE_PT_follow(bpy.types.Panel):
    """Snap to a target, and follow a path"""

    bl_label = "Snap and Follow"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle Pose"
    bl_parent_id = "KNUCKLE_PT_posing"
    bl_order = 20
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: "Context") -> None:
        """Draw the end effector, its target and the path."""
        layout, settings = self.layout, context.scene.knuckle_follow
        layout.use_property_split, layout.use_property_decorate = True, False
        layout.prop(settings, "end")
        finger = layout.row()
        finger.enabled = settings.end != "wrist"
        finger.prop(settings, "alone")
        layout.prop(settings, "target")
        layout.operator(
            "knuckle.touch",
            text="Snap to Target" if settings.target else "Snap to 3D Cursor",
            icon="EMPTY_SINGLE_ARROW",
        )
        layout.separator()
        layout.prop(settings, "kind")
        if settings.kind == "LINE":
            layout.prop(settings, "other")
            layout.prop(settings, "reverse")
        elif settings.kind in AROUND:
            column = layout.column(align=True)
            for name in ("turn", "axis", "gap"):
                column.prop(settings, name)
            layout.prop(settings, "aim")
            layout.prop(settings, "reverse")
        frames = layout.column(align=True)
        frames.prop(settings, "first")
        frames.prop(settings, "last", text="End")
        layout.operator("knuckle.follow", icon="CON_FOLLOWPATH")


CLASSES = (KNUCKLE_PT_follow,)
