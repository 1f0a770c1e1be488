"""The Poses panel: named poses for the active armature's hand."""

from typing import TYPE_CHECKING

import bpy

from ..operators.posed_hands import chosen_hand
from .sliders_panel import KNUCKLE_PT_posing

if TYPE_CHECKING:
    from bpy.types import Context


class KNUCKLE_PT_hand_poses(bpy.types.Panel):
    """Named poses"""

    bl_label = "Poses"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle Pose"
    bl_parent_id = KNUCKLE_PT_posing.__name__

    def draw(self, context: "Context") -> None:
        """Draw a menu to apply a pose, and a button to add all poses to the asset shelf."""
        hand = chosen_hand(context)
        if hand is None:
            return
        column = self.layout.column(align=True)
        column.operator_context = "EXEC_DEFAULT"
        row = column.row(align=True)
        applied = row.operator_menu_enum("knuckle.apply_hand_pose", "pose", text="Apply Pose", icon="VIEW_PAN")
        applied.side = hand[1]
        column.operator("knuckle.add_hand_poses", text="Add to Asset Shelf", icon="ASSET_MANAGER").side = "BOTH"


CLASSES = (KNUCKLE_PT_hand_poses,)
