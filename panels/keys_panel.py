"""The Keys panel: how keys are reduced, and how many remain."""

from typing import TYPE_CHECKING

import bpy

from ..operators.reduce_keys import keyed_armature
from ..rig.keys.played_action import played_action
from ..rig.keys.reduced_take import key_figures
from .text_format import pair, paragraph

if TYPE_CHECKING:
    from bpy.types import Context


class KNUCKLE_PT_keys(bpy.types.Panel):
    """Keys of the hand, few enough to edit"""

    bl_label = "Keys"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: "Context") -> None:
        """Draw the settings, the operators and the result."""
        layout, armature = self.layout, keyed_armature(context)
        if armature is None or played_action(armature) is None:
            paragraph(layout, context, "No keys yet")
            return
        settings = context.scene.knuckle
        column = layout.column(align=True)
        column.prop(settings, "reduce_distance")
        column.prop(settings, "reduce_angle")
        layout.prop(settings, "reduce_shared")
        figures = key_figures(armature)
        layout.operator("knuckle.reduce_keys", icon="IPO_BEZIER")
        if figures is not None:
            column = layout.column(align=True)
            pair(column, "Keys", f"{figures.after} of {figures.before}, {figures.share:.1%}")
            pair(column, "Fingertips / Joints", f"{figures.distance_mm:.2f} mm / {figures.angle_deg:.2f}°")
            layout.operator("knuckle.restore_dense_keys", icon="LOOP_BACK")


CLASSES = (KNUCKLE_PT_keys,)
