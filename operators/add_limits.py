"""Add a human hand's limits to the bones of a rig that have none, and remove them again."""

from typing import TYPE_CHECKING

import bpy

from ..errors import KnuckleError
from ..hand import proportions
from ..hand.joints import Side
from ..hand.model import HandModel
from ..pipeline.performer import from_dict
from ..rig import detection_cache
from ..rig.armature_hands import find_hands
from ..rig.binding import is_armature
from ..rig.bound_hand import bound_hand
from ..rig.keys.keyframes import check_keyable
from ..rig.limits.limit_constraints import remove_limit, suggest_limits
from .reports import report_message
from .scene_recipe import performer_of

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context


class _ArmatureOperator:
    """Mixin of operators on the armature that is driven."""

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if an armature is driven."""
        settings = context.scene.knuckle
        if settings.rig != "ARMATURE" or not is_armature(settings.armature):
            cls.poll_message_set("Choose a target armature")
            return False
        return True


class KNUCKLE_OT_add_limits(_ArmatureOperator, bpy.types.Operator):
    """Add a human hand's limits as Limit Rotation constraints to the bones of the armature's hands that have none"""

    bl_idname = "knuckle.add_limits"
    bl_label = "Add Limits"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Find the hands and add limits to bones that have none."""
        armature = context.scene.knuckle.armature
        try:
            check_keyable(armature)
            hands = [
                (bound_hand(armature, detected_hand, hand), hand)
                for detected_hand in find_hands(armature, ())
                for hand in [_hand_model(context, detected_hand.side)]
            ]
            count = sum(suggest_limits(armature, binding, hand) for binding, hand in hands)
            detection_cache.clear()
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        if not count:
            report_message(
                self, "INFO", "All bones have limits already, or are not part of a chain: nothing was changed"
            )
            return {"CANCELLED"}
        report_message(self, "INFO", f"Limits added to {count} bones")
        return {"FINISHED"}


class KNUCKLE_OT_remove_limits(_ArmatureOperator, bpy.types.Operator):
    """Remove only the constraints that Add Limits added"""

    bl_idname = "knuckle.remove_limits"
    bl_label = "Remove Limits"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Remove the limits from all bones of the armature."""
        count = sum(remove_limit(bone) for bone in context.scene.knuckle.armature.pose.bones)
        detection_cache.clear()
        report_message(self, "INFO", f"Limits removed from {count} bones")
        return {"FINISHED"} if count else {"CANCELLED"}


def _hand_model(context: "Context", side: Side) -> HandModel:
    """Return the performer's measured hand, or a mean adult's."""
    performer = performer_of(context.scene)
    measured_hand = from_dict(performer, "performer").hands.get(side) if performer else None
    return measured_hand.model if measured_hand else proportions.build(proportions.adult(side))


CLASSES = (
    KNUCKLE_OT_add_limits,
    KNUCKLE_OT_remove_limits,
)
