"""What the operators that pose hands at once are made of."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bpy.props import EnumProperty

from ..errors import KnuckleError
from ..hand.joints import digit_of
from ..rig.posing.channel_diff import Channels, channels_of, moved_since, scaled_since
from ..rig.posing.rig_hand import RigHand
from .auto_key import key_posed, takes_no_keys
from .pin_properties import pins_along
from .pose_sliders import forget_values
from .posed_hands import can_pose, check_posable, hands_asked, posed_armatures
from .rig_hands import SIDE_ITEMS

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context


def side_property() -> Any:
    """Which hands an operator is for."""
    return EnumProperty(
        name="Hand", description="Which hand", items=[("BOTH", "Both", "Each hand that there is"), *SIDE_ITEMS]
    )


class PosesHands:
    """Beside bpy.types.Operator: does something with hands, or says why not. Either it is done, or nothing is."""

    bl_options: Any = {"REGISTER", "UNDO"}
    keys_pose = True
    """Whether auto-keying keys what it does."""

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """With an armature that may be posed."""
        return can_pose(cls, context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Does it, or says why not."""
        operator: Any = self
        try:
            told = self.change(context)
        except KnuckleError as error:
            operator.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        if self.keys_pose:
            told = told or _unkeyed(context)
        if told:
            operator.report({"WARNING"}, told)
        forget_values()
        return {"FINISHED"}

    def change(self, context: "Context") -> str:
        """What is done; what a person should be told of it, empty for nothing.

        Raises KnuckleError, and then nothing has changed.
        """
        raise NotImplementedError


def _unkeyed(context: "Context") -> str:
    """What to tell where auto-keying is on, and cannot."""
    fixed = [armature.name for armature in posed_armatures(context) if takes_no_keys(armature)]
    if not (fixed and context.scene.tool_settings.use_keyframe_insert_auto):
        return ""
    return f"Nothing was keyed: the action of '{fixed[0]}' is linked from another file"


def hands_to_pose(context: "Context", side: str) -> list[RigHand]:
    """The hands of a side, or of BOTH. Raises RigError where there is none, or one that cannot be posed."""
    hands = hands_asked(context, side)
    for held in hands:
        check_posable(held.armature_object())
    return hands


def as_it_stands(held: RigHand) -> dict[str, Channels]:
    """How the bones of a hand stand, to be asked before they are posed: what `posed` asks for. Raises RigError where
    the hand is gone."""
    binding = held.binding
    return channels_of(held.armature_object(), [str(binding.bones[joint]) for joint in binding.mapped])


def posed(context: "Context", held: RigHand, before: Mapping[str, Channels], *, led: str | None = None) -> bool:
    """What follows when a hand was posed whatever its fingertips are pinned to: of the bones that stood otherwise
    `before`, pins of the digits that they bend go along, and they are keyed as key_posed has it, and no others; whether
    they were.

    led: a digit that was led somewhere, maybe by the arm alone. Its pin goes along as well. Raises RigError where the
    hand is gone.
    """
    armature, binding = held.armature_object(), held.binding
    bones, placed = moved_since(armature, before)
    joints = [held.hand.joints[joint] for joint in binding.mapped if binding.bones[joint] in bones]
    pins_along(held, {led, *map(digit_of, joints)} - {None})
    return key_posed(context, armature, bones, placed, scaled_since(armature, before))
