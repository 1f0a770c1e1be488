"""Operators on a whole hand: mirror, relax, reset, select."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty

from ..hand.joints import DIGITS, SIDES
from ..rig.posing.bone_locks import to_rest
from ..rig.posing.mirror_pose import digit_joints, mirrored
from ..rig.posing.rig_hand import RigHand
from .posed_hands import can_pose, check_posable, posed_armatures, requested_hands
from .posing_operator import PosingOperator, channels_before, finish_posing, hands_to_pose, side_property
from .rig_hands import DIGIT_ITEMS

if TYPE_CHECKING:
    from bpy.types import Context, PoseBone

ALL_DIGITS = "ALL"


def _digits() -> Any:
    return EnumProperty(
        name="Digit",
        description="Digit, or the whole hand",
        items=[(ALL_DIGITS, "All", "The whole hand"), *DIGIT_ITEMS],
    )


def _joints(rig_hand: RigHand, digit: str) -> list[int]:
    """Return the joints of a digit, or of the whole hand."""
    return digit_joints(rig_hand, DIGITS if digit == ALL_DIGITS else (digit,))


class KNUCKLE_OT_pose_mirror(PosingOperator, bpy.types.Operator):
    """Mirror the pose of one hand to the other. The wrists do not move. If the hands are separate armatures, select
    both"""

    bl_idname = "knuckle.pose_mirror"
    bl_label = "Mirror Hand"

    direction: EnumProperty(
        name="Direction",
        description="Which hand's pose is mirrored to which hand",
        items=[
            ("TO_LEFT", "Right to Left", "Mirror the pose of the right hand to the left hand"),
            ("TO_RIGHT", "Left to Right", "Mirror the pose of the left hand to the right hand"),
            ("SWAP", "Swap", "Exchange the mirrored poses of both hands"),
        ],
    )

    def change(self, context: "Context") -> str:
        """Mirror the pose. Both hands are read before one is posed."""
        left, right = ((rig_hand, rig_hand.read()) for side in SIDES for rig_hand in requested_hands(context, side))
        pairs = {"TO_LEFT": [(right, left)], "TO_RIGHT": [(left, right)]}.get(
            self.direction, [(right, left), (left, right)]
        )
        states = [(target, mirrored(*source, *target)) for source, target in pairs]
        for (rig_hand, _), _ in states:
            check_posable(rig_hand.armature_object())
        for (rig_hand, _), state in states:
            before = channels_before(rig_hand)
            rig_hand.only(digit_joints(rig_hand)).write(state)
            finish_posing(context, rig_hand, before)
        return ""


class KNUCKLE_OT_pose_relax(PosingOperator, bpy.types.Operator):
    """Blend the pose of a hand towards a relaxed one"""

    bl_idname = "knuckle.pose_relax"
    bl_label = "Relax Hand"

    side: side_property()
    digit: _digits()
    factor: FloatProperty(
        name="Factor",
        description="0 keeps the pose, 1 is fully relaxed",
        subtype="FACTOR",
        min=0.0,
        max=1.0,
        default=0.5,
    )

    def change(self, context: "Context") -> str:
        """Blend the angles of the requested joints to the neutral pose."""
        for rig_hand in hands_to_pose(context, self.side):
            joints, before = _joints(rig_hand, self.digit), channels_before(rig_hand)
            if self.factor > 0:
                rig_hand.only(joints).write(rig_hand.read().toward(rig_hand.hand.neutral, self.factor, joints))
                finish_posing(context, rig_hand, before)
        return ""


class KNUCKLE_OT_pose_reset(PosingOperator, bpy.types.Operator):
    """Reset the bones of a hand to their rest pose. The wrist does not move"""

    bl_idname = "knuckle.pose_reset"
    bl_label = "Reset Hand"

    side: side_property()
    digit: _digits()

    def change(self, context: "Context") -> str:
        """Reset all unlocked channels of the hand's bones."""
        for rig_hand in hands_to_pose(context, self.side):
            armature, before = rig_hand.armature_object(), channels_before(rig_hand)
            for joint in _joints(rig_hand, self.digit):
                to_rest(armature.pose.bones[str(rig_hand.binding.bones[joint])])
            finish_posing(context, rig_hand, before)
        return ""


class KNUCKLE_OT_pose_select(PosingOperator, bpy.types.Operator):
    """Select the bones that posing a hand moves"""

    bl_idname = "knuckle.pose_select"
    bl_label = "Select Hand"
    keys_pose = False

    side: side_property()
    digit: _digits()
    extend: BoolProperty(name="Extend", description="Extend the selection", default=False)
    wrist: BoolProperty(name="Wrist", description="Also select the wrist, with the whole hand", default=False)
    tips: BoolProperty(name="Tips", description="Also select the bones of fingertips", default=False)

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available in Pose Mode."""
        if not can_pose(cls, context):
            return False
        if context.mode != "POSE":
            cls.poll_message_set("Only available in Pose Mode")
            return False
        return True

    def change(self, context: "Context") -> str:
        """Select the bones. Those in a hidden bone collection cannot be selected."""
        hands = requested_hands(context, self.side)
        bones_to_select = {
            (rig_hand.armature_object().name, name) for rig_hand in hands for name in self._names(rig_hand)
        }
        for armature in posed_armatures(context):
            for bone in armature.pose.bones:
                _select(bone, (armature.name, bone.name) in bones_to_select, self.extend)
        first_armature = hands[0].armature_object()
        names = sorted(name for armature, name in bones_to_select if armature == first_armature.name)
        if names:
            first_armature.data.bones.active = first_armature.data.bones[names[0]]
        return ""

    def _names(self, rig_hand: RigHand) -> Iterator[str]:
        moving: Collection[int] = {int(joint) for joint in rig_hand.hand.axis_joint}
        bones = rig_hand.binding.bones
        for joint in _joints(rig_hand, self.digit):
            if joint in moving or (self.tips and rig_hand.hand.joints[joint].endswith("-tip")):
                yield str(bones[joint])
        if self.wrist and self.digit == ALL_DIGITS:
            yield str(bones[0])


def _select(bone: "PoseBone", is_selected: bool, extend: bool) -> None:
    # From Blender 5 on, pose bones have the selection of Pose Mode; before, bones have it.
    holder: Any = bone if hasattr(bone, "select") else bone.bone
    holder.select = is_selected or (extend and holder.select)


CLASSES = (
    KNUCKLE_OT_pose_mirror,
    KNUCKLE_OT_pose_relax,
    KNUCKLE_OT_pose_reset,
    KNUCKLE_OT_pose_select,
)
