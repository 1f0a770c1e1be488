"""The hands detected on the driven armature: bones, confidence, and buttons to correct them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bpy

from ..hand.joints import DIGIT_JOINTS, DIGITS, SIDES, Side
from ..operators.reports import sentence
from ..operators.rig_hands import driven_armature
from ..operators.rig_properties import setting
from ..rig.armature_hands import FoundHand
from ..rig.detection import MIN_SIDE_CONFIDENCE
from .detection_refresh import detected_hands
from .text_format import DIGIT_NAMES, MIN_CONFIDENCE, pair, paragraph

if TYPE_CHECKING:
    from bpy.types import Context, Object, UILayout


class KNUCKLE_PT_rig_hands(bpy.types.Panel):
    """The bones of the target's hands"""

    bl_label = "Hand Mapping"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle"
    bl_parent_id = "KNUCKLE_PT_solve"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Shown if an armature is chosen."""
        return driven_armature(context.scene) is not None

    def draw_header_preset(self, context: "Context") -> None:
        """Draw a warning icon and the switch of the axes, visible while the panel is closed."""
        armature = driven_armature(context.scene)
        detected = detected_hands(armature) if armature else None
        if detected and (detected.problem or detected.problems or any(map(_is_unsure, detected.hands.values()))):
            self.layout.label(text="", icon="ERROR")
        self.layout.prop(context.scene.knuckle_rig, "axes", text="", icon="EMPTY_AXIS")
        self.layout.separator()

    def draw(self, context: "Context") -> None:
        """Draw the operators on both hands, and a subpanel for each."""
        layout, armature = self.layout, driven_armature(context.scene)
        assert armature is not None, "poll"
        detected = detected_hands(armature)
        if detected is None:
            layout.label(text="Looking for hands", icon="VIEWZOOM")
            return
        for message in filter(None, (detected.refused, detected.problem)):
            paragraph(layout, context, sentence(message), "ERROR")
        row = layout.row(align=True)
        row.operator("knuckle.detect_again", icon="FILE_REFRESH")
        row.operator("knuckle.mirror_hand", icon="MOD_MIRROR")
        row.operator("knuckle.import_mapping", text="", icon="IMPORT")
        for side in SIDES:
            bones = getattr(context.scene.knuckle_rig, side)
            _hand(
                layout, context, _Hand(armature, side, detected.hands.get(side), detected.problems.get(side, ""), bones)
            )


@dataclass(frozen=True)
class _Hand:
    """The hand of one side, for drawing."""

    armature: "Object"
    side: Side
    found: FoundHand | None
    problem: str
    """A sentence why the hand cannot be keyed, empty if it can."""
    bones: Any
    """The properties of `operators.rig_properties` for this side."""


def _hand(layout: "UILayout", context: "Context", hand: _Hand) -> None:
    found = hand.found
    header, body = layout.panel(f"knuckle_rig_{hand.side}", default_closed=hand.found is None and not hand.problem)
    header.label(text=f"{hand.side.capitalize()} Hand", icon="VIEW_PAN")
    right = header.row()
    right.alignment = "RIGHT"
    right.label(text=_state(found), icon="ERROR" if hand.problem else "NONE")
    if not body:
        return
    if hand.problem:
        paragraph(body, context, sentence(hand.problem), "ERROR")
    if found is None:
        paragraph(body, context, "Pick the bone of the wrist, and the first bone of each digit that bends")
    else:
        _how_found(body, context, found)
    column = body.column(align=True)
    column.enabled = hand.armature.is_editable
    _joint(column, hand, "wrist", "Wrist")
    for digit in DIGITS:
        _digit(column, hand, digit)
    if found is not None:
        _buttons(body, found)


def _is_unsure(found: FoundHand) -> bool:
    return min(found.confidence.values(), default=1.0) < MIN_CONFIDENCE or found.side_confidence < MIN_SIDE_CONFIDENCE


def _state(found: FoundHand | None) -> str:
    """Describe a hand by the confidence of its least certain digit."""
    if found is None:
        return "not found"
    return "custom" if found.corrected else f"{min(found.confidence.values(), default=0.0):.0%}"


def _how_found(layout: "UILayout", context: "Context", found: FoundHand) -> None:
    naming = f"named as in {found.family}" if found.family else "unknown names"
    # This row is always drawn, so that buttons below do not move when the mapping becomes custom.
    pair(layout, "Bones", "custom" if found.corrected else naming)
    if found.side_confidence < MIN_SIDE_CONFIDENCE:
        paragraph(
            layout,
            context,
            f"It is not certain that this is a {found.side} hand. If it is not, use Swap Left/Right",
            "INFO",
        )
    for uncertainty in found.doubts:
        paragraph(layout, context, sentence(uncertainty), "INFO")


def _digit(layout: "UILayout", hand: _Hand, digit: str) -> None:
    found = hand.found
    header, body = layout.panel(f"knuckle_rig_{hand.side}_{digit}", default_closed=True)
    row = header.row(align=True)
    cells = row.split(factor=0.3, align=True)
    confidence = found.confidence.get(digit, 0.0) if found else 0.0
    is_corrected = found is not None and found.corrected
    cells.alert = 0 < confidence < MIN_CONFIDENCE
    cells.label(text=DIGIT_NAMES[digit])
    cells.progress(
        factor=confidence, text=("custom" if is_corrected else f"{confidence:.0%}") if confidence > 0 else "none"
    )
    flip = row.row(align=True)
    flip.enabled = confidence > 0
    flips = found is not None and abs(found.curl_angles.get(digit, 0.0)) > 90
    button: Any = flip.operator("knuckle.flip_digit", text="", icon="ARROW_LEFTRIGHT", depress=flips)
    button.side, button.digit = hand.side, digit
    _pick(row, hand.side, digit)
    if not body:
        return
    joints = body.column(align=True)
    for joint in DIGIT_JOINTS[digit]:
        _joint(joints, hand, joint, joint.removeprefix(f"{digit}-").removeprefix("phalanx-").title())
    body.prop(hand.bones, setting(f"{digit}-turn"), slider=True)


def _joint(layout: "UILayout", hand: _Hand, joint: str, name: str) -> None:
    row = layout.row(align=True)
    split = row.split(factor=0.35, align=True)
    split.label(text=name)
    split.prop_search(hand.bones, setting(joint), hand.armature.data, "bones", text="")
    _pick(row, hand.side, joint)


def _pick(layout: "UILayout", side: Side, what: str) -> None:
    pick: Any = layout.operator("knuckle.pick_bone", text="", icon="EYEDROPPER")
    pick.side, pick.what = side, what


def _buttons(layout: "UILayout", found: FoundHand) -> None:
    row = layout.row(align=True)
    select: Any = row.operator("knuckle.select_bones", icon="RESTRICT_SELECT_OFF")
    select.side = found.side
    unsaved = row.row(align=True)
    unsaved.enabled = not found.corrected
    save: Any = unsaved.operator("knuckle.save_mapping", icon="PINNED" if found.corrected else "UNPINNED")
    save.side = found.side
    export: Any = row.operator("knuckle.export_mapping", text="", icon="EXPORT")
    export.side = found.side


CLASSES = (KNUCKLE_PT_rig_hands,)
