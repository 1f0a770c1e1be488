"""What is done to a posed hand at once: mirrored, relaxed, put back to rest, its bones selected."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty
from mathutils import Matrix

from ..errors import KnuckleError, RigError
from ..hand.joints import DIGITS, SIDES, Side
from ..rig import known_hands
from ..rig.binding import is_armature
from ..rig.held import HeldHand, show, standing
from ..rig.held_known import held_hand
from ..rig.held_mirror import digit_joints, mirrored
from .posing_keys import key_hand, key_posed
from .posing_sliders import forget_shown
from .rig_hands import DIGIT_ITEMS, SIDE_ITEMS, posed_armature

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Object

WHOLE = "ALL"


def side_property() -> Any:
    """Which hands an operator is for."""
    return EnumProperty(
        name="Hand", description="Which hand", items=[("BOTH", "Both", "Each hand that there is"), *SIDE_ITEMS]
    )


def _digits() -> Any:
    return EnumProperty(
        name="Digit", description="What of the hand", items=[(WHOLE, "All", "The whole hand"), *DIGIT_ITEMS]
    )


class OfPosedHand:
    """What the operators are made of, beside bpy.types.Operator: do something with the hands of the active armature."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """With an armature that may be posed."""
        return can_pose(cls, context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Does it, or says why not."""
        armature = posed_armature(context)
        assert armature is not None, "poll"
        try:
            self.change(context, armature)
        except KnuckleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        forget_shown()
        return {"FINISHED"}

    def change(self, context: "Context", armature: "Object") -> None:
        """What is done. Raises KnuckleError, and then nothing has changed."""
        raise NotImplementedError

    def hands(self, armature: "Object") -> list[HeldHand]:
        """Those that were asked for. Raises RigError where there is none."""
        known = known_hands.known(armature) or known_hands.look(armature)
        there = known.usable or tuple(known.problems) or SIDES
        sides = there if self.side == "BOTH" else [self.side]
        return [held_hand(armature, side, known) for side in sides]

    def joints(self, held: HeldHand) -> list[int]:
        """Those of the digits that were asked for."""
        return digit_joints(held, DIGITS if self.digit == WHOLE else (self.digit,))


def can_pose(operator: type, context: "Context") -> bool:
    """For poll: the active object is an armature whose bones can be posed."""
    armature = posed_armature(context)
    if armature is None:
        operator.poll_message_set("Make the armature of the hand the active object, in Pose Mode or Object Mode")
    elif not armature.is_editable:
        operator.poll_message_set("The armature is linked from another file, make a library override of it first")
    else:
        return True
    return False


class KNUCKLE_OT_pose_mirror(OfPosedHand, bpy.types.Operator):
    """Pose a hand like the armature's other one, as seen in a mirror. The wrists stay. Of hands that are armatures of
    their own, select both"""

    bl_idname = "knuckle.pose_mirror"
    bl_label = "Mirror Hand"

    way: EnumProperty(
        name="Way",
        description="Which hand is posed like which",
        items=[
            ("TO_LEFT", "Right to Left", "The left hand is posed like the right one"),
            ("TO_RIGHT", "Left to Right", "The right hand is posed like the left one"),
            ("SWAP", "Swap", "Each hand is posed like the other"),
        ],
    )

    def change(self, context: "Context", armature: "Object") -> None:
        """Both are read before one is posed."""
        there = [armature, *other_armatures(context, armature)]
        left, right = ((held, standing(held)) for held in (_hand_of(there, side) for side in SIDES))
        ways = {"TO_LEFT": [(right, left)], "TO_RIGHT": [(left, right)]}.get(self.way, [(right, left), (left, right)])
        posed = [(other, mirrored(*one, *other)) for one, other in ways]
        for (held, _), stands in posed:
            show(held, stands, digit_joints(held))
            key_hand(context, held, digit_joints(held))


def other_armatures(context: "Context", armature: "Object") -> "list[Object]":
    """Those that are selected beside one, and may be posed."""
    selected = [other for other in context.selected_objects if is_armature(other) and other.is_editable]
    return [other for other in selected if other != armature]


def _hand_of(armatures: "list[Object]", side: Side) -> HeldHand:
    """The hand of a side of the first armature that has it. Raises RigError."""
    for armature in armatures:
        known = known_hands.known(armature) or known_hands.look(armature)
        if side in known.hands:
            return held_hand(armature, side, known)
    raise RigError(f"armature '{armatures[0].name}' has no {side} hand, select the armature that has it as well")


class KNUCKLE_OT_pose_relax(OfPosedHand, bpy.types.Operator):
    """Bring a hand nearer to how it hangs at ease"""

    bl_idname = "knuckle.pose_relax"
    bl_label = "Relax Hand"

    side: side_property()
    digit: _digits()
    factor: FloatProperty(
        name="Factor",
        description="How far: 0 leaves it, 1 is at ease",
        subtype="FACTOR",
        min=0.0,
        max=1.0,
        default=0.5,
    )

    def change(self, context: "Context", armature: "Object") -> None:
        """Each digit, with all that was posed on top of it."""
        for held in self.hands(armature):
            joints = self.joints(held)
            show(held, standing(held).toward(held.hand.neutral, self.factor, joints), joints)
            key_hand(context, held, joints)


class KNUCKLE_OT_pose_reset(OfPosedHand, bpy.types.Operator):
    """Put the bones of a hand back to rest; its wrist stays"""

    bl_idname = "knuckle.pose_reset"
    bl_label = "Reset Hand"

    side: side_property()
    digit: _digits()

    def change(self, context: "Context", armature: "Object") -> None:
        """All channels of exactly these bones."""
        for held in self.hands(armature):
            names = [str(held.posed.binding.bones[joint]) for joint in self.joints(held)]
            moved = [name for name in names if armature.pose.bones[name].location.length > 0]
            for name in names:
                armature.pose.bones[name].matrix_basis = Matrix()
            key_posed(context, armature, names, moved)


class KNUCKLE_OT_pose_select(OfPosedHand, bpy.types.Operator):
    """Select the bones that posing a hand moves"""

    bl_idname = "knuckle.pose_select"
    bl_label = "Select Hand"

    side: side_property()
    digit: _digits()
    extend: BoolProperty(name="Extend", description="Keep what is selected", default=False)
    wrist: BoolProperty(name="Wrist", description="The wrist as well, with the whole hand", default=False)
    tips: BoolProperty(name="Tips", description="Bones of fingertips as well, which no joint turns", default=False)

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Bones are selected in Pose Mode."""
        if can_pose(cls, context) and context.mode == "POSE":
            return True
        if posed_armature(context) is not None:
            cls.poll_message_set("Bones are selected in Pose Mode")
        return False

    def change(self, _context: "Context", armature: "Object") -> None:
        """Those of a hidden collection cannot be."""
        wanted = {name for held in self.hands(armature) for name in self._names(held)}
        for bone in armature.pose.bones:
            # Blender 5 keeps the selection of Pose Mode in the pose.
            holder: Any = bone if hasattr(bone, "select") else bone.bone
            holder.select = bone.name in wanted or (self.extend and holder.select)
        if wanted:
            armature.data.bones.active = armature.data.bones[min(wanted)]

    def _names(self, held: HeldHand) -> Iterator[str]:
        moving: Collection[int] = {int(joint) for joint in held.hand.axis_joint}
        bones = held.posed.binding.bones
        for joint in self.joints(held):
            if joint in moving or (self.tips and held.hand.joints[joint].endswith("-tip")):
                yield str(bones[joint])
        if self.wrist and self.digit == WHOLE:
            yield str(bones[0])
