"""The Grasp panel."""

from typing import TYPE_CHECKING

import bpy

from ..operators.grasp import selected_surfaces
from ..operators.posed_hands import chosen_hand, posed_armature
from .text_format import paragraph

if TYPE_CHECKING:
    from bpy.types import Context, UILayout


class KNUCKLE_PT_grasp(bpy.types.Panel):
    """Grasp an object"""

    bl_label = "Grasp"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle Pose"
    bl_order = 12
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Shown if an armature is active or selected."""
        return posed_armature(context) is not None

    def draw(self, context: "Context") -> None:
        """Draw the object, the grip and the keys."""
        layout, settings = self.layout, context.scene.knuckle_grasp
        layout.use_property_split, layout.use_property_decorate = True, False
        layout.prop(settings, "target")
        if settings.target is None:
            _selected(layout, context)
        layout.prop(settings, "grip")
        layout.prop(settings, "keyed")
        if settings.keyed:
            frames = layout.column(align=True)
            for name in ("begins", *(("start",) if settings.begins == "FRAME" else ()), "length", "steps"):
                frames.prop(settings, name)
        layout.prop(settings, "attached")
        layout.operator("knuckle.grasp", icon="VIEW_PAN")
        layout.operator("knuckle.release_object", icon="UNLINKED")


def _selected(layout: "UILayout", context: "Context") -> None:
    """Draw which object is grasped if none is chosen."""
    hand = chosen_hand(context)
    assert hand is not None, "poll"
    surfaces = selected_surfaces(context, hand[0])
    if len(surfaces) == 1:
        layout.label(text=f"Selected: {surfaces[0].name}", icon="RESTRICT_SELECT_OFF")
    else:
        paragraph(layout, context, "Select one object together with the armature, or choose it here", "INFO")


CLASSES = (KNUCKLE_PT_grasp,)
