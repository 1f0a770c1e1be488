"""Clear the settings that were loaded from files.

Each has its own operator, since a button's tooltip begins with the operator's label.
"""

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context


class ClearSetting:
    """Mixin that clears a text setting of the scene."""

    bl_options = {"REGISTER", "UNDO", "INTERNAL"}
    setting = ""
    """Name of the scene's property that is cleared."""

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Clear the setting."""
        setattr(context.scene.knuckle, self.setting, "")
        return {"FINISHED"}


class KNUCKLE_OT_clear_performer(ClearSetting, bpy.types.Operator):
    """Clear the performer's measurements, and measure the performer on the capture"""

    bl_idname = "knuckle.clear_performer"
    bl_label = "Clear Performer"
    setting = "performer"


class KNUCKLE_OT_clear_marker_map(ClearSetting, bpy.types.Operator):
    """Clear the marker map, and use the marker set that fits"""

    bl_idname = "knuckle.clear_marker_map"
    bl_label = "Clear Marker Map"
    setting = "marker_map"


class KNUCKLE_OT_clear_align(ClearSetting, bpy.types.Operator):
    """Leave the markers where they are when the capture is solved"""

    bl_idname = "knuckle.clear_align"
    bl_label = "Clear Alignment"
    setting = "align"


class KNUCKLE_OT_clear_rig_file(ClearSetting, bpy.types.Operator):
    """Clear the recipe's target, and use the one that is chosen in the panel"""

    bl_idname = "knuckle.clear_rig_file"
    bl_label = "Clear Target"
    setting = "rig_file"


class KNUCKLE_OT_clear_recipe_corrections(ClearSetting, bpy.types.Operator):
    """Solve without the corrections of the recipe that was loaded"""

    bl_idname = "knuckle.clear_recipe_corrections"
    bl_label = "Clear Recipe's Corrections"
    setting = "corrections"


CLASSES = (
    KNUCKLE_OT_clear_performer,
    KNUCKLE_OT_clear_marker_map,
    KNUCKLE_OT_clear_align,
    KNUCKLE_OT_clear_rig_file,
    KNUCKLE_OT_clear_recipe_corrections,
)
"""The classes that registration.py registers."""
