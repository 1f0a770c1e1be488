"""The Pins panel."""

from typing import TYPE_CHECKING, Any

import bpy

from ..errors import KnuckleError
from ..hand.joints import SIDES, Side, digit_label
from ..operators.pin_properties import has_target, pin_of, pins_on
from ..operators.posed_hands import in_pose_mode, sides_of
from ..operators.reports import sentence
from ..rig.posing.posable_cache import posable_hand
from .detection_refresh import detected_hands
from .text_format import DIGIT_NAMES, paragraph

if TYPE_CHECKING:
    from bpy.types import Context, Object, UILayout


class KNUCKLE_PT_pins(bpy.types.Panel):
    """Pinned fingertips"""

    bl_label = "Pins"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle Pose"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Shown in Pose Mode."""
        return bool(in_pose_mode(context))

    def draw(self, context: "Context") -> None:
        """Draw each digit of the chosen hand, the pins of other hands, and the operators on all pins."""
        layout, armatures = self.layout, in_pose_mode(context)
        if None in [detected_hands(target_armature) for target_armature in armatures]:
            layout.label(text="Looking for hands", icon="VIEWZOOM")
            return
        sides = sides_of(armatures)
        side = next(iter(sides)) if len(sides) == 1 else context.scene.knuckle_posing.side
        hand = sides.get(side, armatures[0]), side
        if len(sides) > 1:
            row = layout.row(align=True)
            for side in SIDES:
                row.prop_enum(context.scene.knuckle_posing, "side", side)
        try:
            digits = posable_hand(*hand).digits
        except KnuckleError as error:
            digits = ()
            paragraph(layout, context, sentence(str(error)), "INFO")
        rows = layout.column(align=True)
        for digit in digits:
            _row(rows, *hand, digit, DIGIT_NAMES[digit])
        other_pins = [(armature, pin) for armature in armatures for pin in pins_on(armature)]
        other_pins = [(armature, pin) for armature, pin in other_pins if (armature, pin.side) != hand]
        if other_pins:
            rows = layout.column(align=True)
        for armature, pin in other_pins:
            _row(rows, armature, pin.side, pin.digit, f"{pin.side.capitalize()} {DIGIT_NAMES[pin.digit].lower()}")
        row = layout.row(align=True)
        row.operator("knuckle.reach_pins")
        row.operator("knuckle.unpin_all")


def _row(layout: "UILayout", armature: "Object", side: Side, digit: str, name: str) -> None:
    """Draw a digit, a menu of pin targets, and a button to unpin it."""
    pin = pin_of(armature, side, digit)
    split = layout.split(factor=0.36, align=True)
    split.enabled = armature.is_editable
    split.label(text=name, icon="PINNED" if pin else "UNPINNED")
    row = split.row(align=True)
    target_menu = row.operator_menu_enum("knuckle.pin_fingertip", "to", text=pin_text(pin) if pin else "Free")
    of_digit: list[Any] = [target_menu]
    if pin:
        of_digit.append(row.operator("knuckle.unpin_fingertip", text="", icon="X"))
    for operator in of_digit:
        operator.armature, operator.side, operator.digit = armature.name, side, digit


def pin_text(pin: Any) -> str:
    """Describe the target of a fingertip's pin."""
    if pin.kind == "DIGIT":
        return digit_label(pin.other).capitalize()
    if pin.kind == "OBJECT":
        return pin.target.name if has_target(pin) else "Missing Object"
    return "World"


CLASSES = (KNUCKLE_PT_pins,)
