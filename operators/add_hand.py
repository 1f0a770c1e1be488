"""Add > Armature > Knuckle Hand."""

from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import EnumProperty, FloatProperty
from bpy_extras.object_utils import AddObjectHelper, add_object_align_init

from ..errors import KnuckleError
from ..hand import proportions
from ..hand.joints import SIDES
from ..rig.keys.take_scene import new_hand
from .import_capture import select_only
from .reports import report_message

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context


class KNUCKLE_OT_add_hand(bpy.types.Operator, AddObjectHelper):
    """Add a hand: 25 bones with a human hand's limits as constraints, and a skin"""

    bl_idname = "knuckle.add_hand"
    bl_label = "Knuckle Hand"
    bl_options = {"REGISTER", "UNDO"}

    side: EnumProperty(
        name="Side",
        description="Which hand",
        items=[(side, side.capitalize(), f"A {side} hand") for side in reversed(SIDES)],
    )
    size: FloatProperty(
        name="Size",
        description="From the wrist to the tip of the middle finger",
        default=round(proportions.adult("right").size, 3),
        min=0.01,
        max=10.0,
        subtype="DISTANCE",
        unit="LENGTH",
        precision=3,
    )

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Requires Object Mode."""
        if context.mode != "OBJECT":
            cls.poll_message_set("Hands can only be added in Object Mode")
            return False
        return True

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Build the hand and place it."""
        try:
            measures = proportions.adult(self.side, self.size)
            armature, _ = new_hand(measures, proportions.build(measures), context.collection)
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        if context.space_data is None or context.space_data.type != "VIEW_3D":
            # There is no view to align with. A rotation that is set keeps Blender from asking the preferences.
            alignment: Any = self
            alignment.align, alignment.rotation = "WORLD", alignment.rotation.copy()
        armature.matrix_world = add_object_align_init(context, operator=self)
        select_only(context, armature)
        return {"FINISHED"}

    def draw(self, _context: "Context") -> None:
        """Draw the hand's own properties before its alignment."""
        self.layout.use_property_split = True
        self.layout.use_property_decorate = False
        for name in ("side", "size", "align", "location", "rotation"):
            self.layout.prop(self, name)


def draw_add(self: bpy.types.Menu, _context: "Context") -> None:
    """Draw the entry in Add > Armature."""
    self.layout.operator(KNUCKLE_OT_add_hand.bl_idname, icon="VIEW_PAN")


CLASSES = (KNUCKLE_OT_add_hand,)
MENUS = ((bpy.types.VIEW3D_MT_armature_add, draw_add),)
