"""The Hand Pose panel: sliders that show and change the pose of the active armature's hand."""

from typing import TYPE_CHECKING, Any

import bpy

from ..errors import KnuckleError
from ..hand.joints import SIDES, Side
from ..operators.pose_sliders import clear_stale_values, setting
from ..operators.posed_hands import check_pose_displayed, chosen_hand, posed_armature, posed_armatures, sides_of
from ..operators.reports import sentence
from ..operators.slider_drag import sliders_of
from ..posing.sliders import SLIDERS, Slider, SliderKind, Sliders
from ..rig import detection_cache
from ..rig.posing.posable_cache import posable_hand
from ..rig.posing.rig_hand import RigHand
from .detection_refresh import detected_hands
from .text_format import DIGIT_NAMES, paragraph

if TYPE_CHECKING:
    from bpy.types import Context, UILayout

COLUMNS: tuple[SliderKind, ...] = ("curl", "spread", "tip")


class KNUCKLE_PT_posing(bpy.types.Panel):
    """The hand of the active armature"""

    bl_label = "Hand Pose"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle Pose"

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Shown if an armature can be posed."""
        return posed_armature(context) is not None

    def draw(self, context: "Context") -> None:
        """Draw the choice of hand, its sliders, and the operators on it."""
        layout, settings, hand = self.layout, context.scene.knuckle_posing, chosen_hand(context)
        assert hand is not None, "poll"
        detections = [detected_hands(posed) for posed in posed_armatures(context)]
        if None in detections:
            layout.label(text="Looking for hands", icon="VIEWZOOM")
            return
        armature, side = hand
        has_both_sides = len(sides_of(posed_armatures(context))) > 1
        row = layout.row(align=True)
        row.enabled = has_both_sides
        for choice in SIDES:
            row.prop_enum(settings, "side", choice)
        detected = detection_cache.detected(armature)
        clear_stale_values(detected)
        try:
            rig_hand = posable_hand(armature, side, detected)
        except KnuckleError as error:
            paragraph(layout, context, sentence(str(error)), "INFO")
            return
        body = layout.column()
        try:
            check_pose_displayed(armature)
        except KnuckleError as error:
            paragraph(body, context, sentence(str(error)), "INFO")
            body = layout.column()
            body.enabled = False
        _sliders(body, settings, rig_hand, sliders_of(rig_hand.hand, settings.dip_lock))
        _buttons(body, side, has_both_sides)


def _sliders(layout: "UILayout", settings: Any, rig_hand: RigHand, sliders: Sliders) -> None:
    kinds = [kind for kind in COLUMNS if kind != "tip" or not settings.dip_lock]
    column = layout.column(align=True)
    cells = _cells(column, "")
    for kind in kinds:
        cells.label(text=kind.capitalize())
    for digit in (None, *rig_hand.digits):
        cells = _cells(column, DIGIT_NAMES[digit] if digit else "All")
        for kind in kinds:
            _slider(cells, settings, sliders, Slider(kind, digit), "")
        if digit is None:
            column.separator(factor=0.5)
    column = layout.column(align=True)
    for kind in ("oppose", "cup"):
        _slider(column, settings, sliders, Slider(kind), kind.capitalize())
    layout.prop(settings, "dip_lock")


def _cells(layout: "UILayout", name: str) -> "UILayout":
    split = layout.split(factor=0.22, align=True)
    split.label(text=name)
    return split.row(align=True)


def _slider(layout: "UILayout", settings: Any, sliders: Sliders, slider: Slider, text: str) -> None:
    if slider not in SLIDERS:
        layout.label(text="")
        return
    cell = layout.row(align=True)
    cell.enabled = bool(sliders.moves(slider))
    cell.prop(settings, setting(slider), text=text, slider=True)


def _buttons(layout: "UILayout", side: Side, both: bool) -> None:
    column = layout.column(align=True)
    row = column.row(align=True)
    buttons: list[Any] = [
        row.operator("knuckle.pose_relax", text="Relax", icon="MOD_SMOOTH"),
        row.operator("knuckle.pose_reset", text="Reset", icon="LOOP_BACK"),
    ]
    row = column.row(align=True)
    buttons.append(row.operator("knuckle.pose_select", text="Select", icon="RESTRICT_SELECT_OFF"))
    for button in buttons:
        button.side = side
    mirror = row.row(align=True)
    mirror.enabled = both
    mirror.operator_menu_enum("knuckle.pose_mirror", "direction", text="Mirror", icon="MOD_MIRROR")


CLASSES = (KNUCKLE_PT_posing,)
