"""Common parts of the operators that pose hands in one step."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bpy.props import EnumProperty

from ..errors import KnuckleError
from ..hand.joints import digit_of
from ..rig.posing.channel_diff import Channels, channels_of, moved_since, scaled_since
from ..rig.posing.rig_hand import RigHand
from .auto_key import key_posed, takes_no_keys
from .pin_properties import update_pins
from .pose_sliders import forget_values
from .posed_hands import can_pose, check_posable, posed_armatures, requested_hands
from .reports import report_message
from .rig_hands import SIDE_ITEMS

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context


def side_property(**settings: Any) -> Any:
    """Return the property for the hands that an operator poses or corrects; settings: further ones of EnumProperty."""
    items = [("BOTH", "Both", "All hands"), *SIDE_ITEMS]
    return EnumProperty(name="Hand", description="Which hand", items=items, **settings)


class PosingOperator:
    """A mixin for operators that pose hands, or report why they cannot; in that case nothing has changed."""

    bl_options: Any = {"REGISTER", "UNDO"}
    keys_pose = True
    """Whether auto-keying applies to the operator."""

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with an armature that can be posed."""
        return can_pose(cls, context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Pose the hands, or report the error."""
        operator: Any = self
        try:
            warning = self.change(context)
        except KnuckleError as error:
            report_message(operator, "ERROR", str(error))
            return {"CANCELLED"}
        if self.keys_pose:
            warning = warning or _unkeyed(context)
        if warning:
            report_message(operator, "WARNING", warning)
        forget_values()
        return {"FINISHED"}

    def change(self, context: "Context") -> str:
        """Pose the hands; return a warning for the user, or an empty string.

        Raises KnuckleError before anything changes.
        """
        raise NotImplementedError


def _unkeyed(context: "Context") -> str:
    """Return a warning if auto-keying is on, but an action cannot be keyed; else an empty string."""
    fixed = [armature.name for armature in posed_armatures(context) if takes_no_keys(armature)]
    if not (fixed and context.scene.tool_settings.use_keyframe_insert_auto):
        return ""
    return f"Nothing was keyed: the action of '{fixed[0]}' is linked from another file"


def hands_to_pose(context: "Context", side: str) -> list[RigHand]:
    """Return the hands of a side, or of BOTH. Raises RigError where there is none, or one cannot be posed."""
    hands = requested_hands(context, side)
    for rig_hand in hands:
        check_posable(rig_hand.armature_object())
    return hands


def channels_before(rig_hand: RigHand) -> dict[str, Channels]:
    """Return the channels of a hand's bones, to be read before posing and passed to finish_posing.

    Raises RigError where the hand is gone.
    """
    binding = rig_hand.binding
    return channels_of(rig_hand.armature_object(), [str(binding.bones[joint]) for joint in binding.mapped])


def finish_posing(
    context: "Context", rig_hand: RigHand, before: Mapping[str, Channels], *, moved: str | None = None
) -> bool:
    """Finish posing a hand regardless of its pins: move the pins of the digits that moved, and auto-key the bones.

    Args:
        context: Blender's context.
        rig_hand: the hand.
        before: the channels of its bones before, from channels_before.
        moved: a digit whose tip has moved with the arm alone; its pin moves, too.

    Returns whether bones were keyed. Raises RigError where the hand is gone.
    """
    armature, binding = rig_hand.armature_object(), rig_hand.binding
    bones, placed = moved_since(armature, before)
    joints = [rig_hand.hand.joints[joint] for joint in binding.mapped if binding.bones[joint] in bones]
    update_pins(rig_hand, {moved, *map(digit_of, joints)} - {None})
    return key_posed(context, armature, bones, placed, scaled_since(armature, before))
