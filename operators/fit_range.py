"""Set the scene's frame range to that of the take."""

from math import ceil, floor
from typing import TYPE_CHECKING

import bpy

from ..rig.keys.take_report import report_of
from .json_files import result_armature

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context


class KNUCKLE_OT_fit_range(bpy.types.Operator):
    """Set the scene's frame range to the take's"""

    bl_idname = "knuckle.fit_range"
    bl_label = "Set Scene Frame Range"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if there is a take."""
        armature = result_armature(context)
        if report_of(armature) is None or not (armature.animation_data and armature.animation_data.action):
            cls.poll_message_set("There is no take yet, solve a capture")
            return False
        return True

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Set the range from the first key to the last."""
        frames = result_armature(context).animation_data.action.frame_range
        context.scene.frame_start, context.scene.frame_end = max(floor(frames[0]), 0), max(ceil(frames[1]), 1)
        return {"FINISHED"}


CLASSES = (KNUCKLE_OT_fit_range,)
