"""The Solver Debug panel."""

from typing import TYPE_CHECKING, Any

import bpy

from ..errors import KnuckleError
from ..operators.algebra_overlay_settings import MAX_STEPS
from ..operators.posed_hands import chosen_hand
from ..operators.reports import sentence
from ..rig.posing.algebra import PARTS
from . import algebra_overlay
from .detection_refresh import detected_hands
from .text_format import paragraph

if TYPE_CHECKING:
    from bpy.types import Context, UILayout


class KNUCKLE_PT_algebra(bpy.types.Panel):
    """The spheres, circles, planes and limits with which the solver finds a pose"""

    bl_label = "Solver Debug"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle Pose"
    bl_parent_id = "KNUCKLE_PT_posing"
    bl_order = 30
    bl_options = {"DEFAULT_CLOSED"}

    def draw_header(self, context: "Context") -> None:
        """Draw the switch, so that it can be used while the panel is closed."""
        self.layout.prop(context.window_manager.knuckle_algebra, "show", text="")

    def draw(self, context: "Context") -> None:
        """Draw the choice of digits and step, and the description of the step."""
        layout, settings = self.layout, context.window_manager.knuckle_algebra
        layout.active = settings.show
        column = layout.column(align=True)
        for parts in (PARTS[:3], PARTS[3:]):
            row = column.row(align=True)
            for part in parts:
                row.prop_enum(settings, "parts", part)
        row = layout.row(align=True)
        row.prop(settings, "step", text="Step" if settings.step else "All Steps", slider=True)
        layout.prop(settings, "names")
        if settings.show:
            _describe_steps(layout, context, settings)


def _describe_steps(layout: "UILayout", context: "Context", settings: Any) -> None:
    """Describe the step for each part that is shown."""
    hand = chosen_hand(context)
    detected = detected_hands(hand[0]) if hand else None
    if hand is None or detected is None:
        return
    try:
        traces = algebra_overlay.traces(hand[0], detected, hand[1], settings.parts)
    except KnuckleError as error:
        paragraph(layout, context, sentence(str(error)), "INFO")
        return
    steps = range(MAX_STEPS) if settings.step == 0 and len(traces) == 1 else [settings.step - 1]
    for trace in traces:
        for step in steps:
            if 0 <= step < len(trace.steps):
                paragraph(layout, context, sentence(trace.steps[step]))


CLASSES = (KNUCKLE_PT_algebra,)
