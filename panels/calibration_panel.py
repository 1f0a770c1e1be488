"""The Calibration panel: clips, joint radii, the measurements and their spread."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import bpy

from ..errors import KnuckleError
from ..hand.joints import DIGITS
from ..hand.limits import DIP_PER_PIP
from ..hand.measured_hand import MeasuredHand
from ..hand.measurements import format_value
from ..pipeline import performer
from ..pipeline.performer import Performer
from ..pipeline.recipe import decode_json
from .text_format import DIGIT_NAMES, line, pair, paragraph

if TYPE_CHECKING:
    from bpy.types import Context, UILayout


class KNUCKLE_PT_calibrate(bpy.types.Panel):
    """The performer's measurements"""

    bl_label = "Calibration"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle"
    bl_parent_id = "KNUCKLE_PT_hand"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: "Context") -> None:
        """Draw clips, radii and measurements. The button is in the parent panel."""
        layout, settings = self.layout, context.scene.knuckle_calibration
        _clips(layout, settings)
        column = layout.column(align=True)
        column.label(text="Joint Radii")
        column.row(align=True).prop(settings, "radii_from", expand=True)
        if settings.radii_from == "TYPED":
            _radii(layout.column(align=True), settings)
        performer = performer_of(context.scene.knuckle.performer)
        if performer is None:
            return
        for hand in performer.hands.values():
            _hand(layout.box(), hand)
        for clip, texts in performer.clips.items():
            paragraph(layout, context, f"{clip.capitalize()}: {texts}")
        for note in performer.notes:
            paragraph(layout, context, note, "INFO")


def _clips(layout: "UILayout", settings: Any) -> None:
    _span(layout, settings, "still")
    column = layout.column(align=True)
    column.label(text="Free Motion Capture")
    column.prop(settings, "motion_capture", text="")
    _span(layout, settings, "motion")


def _span(layout: "UILayout", settings: Any, clip: str) -> None:
    column = layout.column(align=True)
    column.prop(settings, f"use_{clip}")
    if getattr(settings, f"use_{clip}"):
        row = column.row(align=True)
        row.prop(settings, f"{clip}_first")
        row.prop(settings, f"{clip}_last")


def _radii(layout: "UILayout", settings: Any) -> None:
    line(layout, "mm", "MCP", "PIP", "DIP")
    for number, digit in enumerate(DIGITS):
        row = layout.split(factor=0.24, align=True)
        row.label(text=DIGIT_NAMES[digit])
        fields = row.row(align=True)
        for joint in range(3):
            fields.prop(settings, "radii", index=3 * number + joint, text="")


def _hand(layout: "UILayout", hand: MeasuredHand) -> None:
    """Draw the spread of the bones' lengths, and ρ and the radii of each digit."""
    pair(layout, f"{hand.proportions.side.capitalize()} hand", f"{1000 * hand.proportions.size:.0f} mm")
    spreads = [
        measurement.spread
        for measurement in hand.measurements
        if measurement.kind == "bone" and measurement.spread is not None
    ]
    column = layout.column(align=True)
    if spreads:
        pair(column, f"{len(spreads)} of 15 bones measured", f"± {min(spreads):.1f} to {max(spreads):.1f} mm")
    line(column, "", "DIP per PIP", "Radii, mm")
    for row, digit in enumerate(DIGITS):
        thickness = " ".join(f"{1000 * radius:.1f}" for radius in hand.radii[row])
        line(column, DIGIT_NAMES[digit], _rho(hand, digit), thickness)
    radii = [measurement for measurement in hand.measurements if measurement.kind == "radius"]
    radius_spreads = [measurement.spread for measurement in radii if measurement.spread is not None]
    radii_mm = sum(measurement.how == "typed" for measurement in radii)
    if radius_spreads:
        pair(column, f"{len(radius_spreads)} of 15 radii estimated", f"± {max(radius_spreads):.1f} mm at most")
    if radii_mm:
        pair(column, f"{radii_mm} of 15 radii", "manual")
    if len(radius_spreads) + radii_mm < len(radii):
        pair(column, f"{len(radii) - len(radius_spreads) - radii_mm} of 15 radii", "from the hand's size")


def _rho(hand: MeasuredHand, digit: str) -> str:
    """Format ρ as '0.62 ± 0.03', or the default if it was not measured. The thumb has none."""
    value = hand.rho[DIGITS.index(digit)]
    if value is not None:
        return format_value(value, hand.measurement("rho", digit), 2)
    return "–" if digit == "thumb" else f"{DIP_PER_PIP:.2f} as usual"


@lru_cache(maxsize=1)
def performer_of(text: str) -> Performer | None:
    """Decode a scene's performer, or None. Cached, since panels are drawn all the time."""
    try:
        return performer.from_dict(decode_json(text, "performer"), "performer") if text else None
    except KnuckleError:
        return None


CLASSES = (KNUCKLE_PT_calibrate,)
