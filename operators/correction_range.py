"""The range of a new correction: the frames, hands and digits that the user chose, and defaults for the rest."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bpy.props import EnumProperty, IntProperty

from ..errors import KnuckleError, RigError
from ..hand.joints import DIGITS, SIDES, Side
from ..pipeline.corrections.correction import TimeRange
from .reports import report_message
from .review import problem_here
from .rig_hands import DIGIT_ITEMS
from .take_corrections import ShownTake, has_take, required_take

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, UILayout


def first_property() -> Any:
    """Make the property of the first frame of a new correction."""
    return IntProperty(name="First", description="First frame to correct", options={"SKIP_SAVE"})


def last_property() -> Any:
    """Make the property of the last frame of a new correction."""
    return IntProperty(name="Last", description="Last frame to correct", options={"SKIP_SAVE"})


def blend_property() -> Any:
    """Make the property of the blends of a new correction."""
    return IntProperty(
        name="Blend",
        description="Frames at each end over which the correction is blended in and out",
        min=0,
        max=10_000,
        options={"SKIP_SAVE"},
    )


def hand_property() -> Any:
    """Make the property of the hand that a new correction changes."""
    return EnumProperty(
        name="Hand",
        description="Which hand",
        items=[("AUTO", "Auto", "The only one of the take"), *((side, side.capitalize(), "") for side in SIDES)],
    )


def chosen_side(sides: Sequence[Side], hand: str) -> Side:
    """Return the side of the chosen hand, of those of a take. Raises RigError if the choice is ambiguous."""
    matches = [side for side in sides if hand in ("AUTO", side)]
    if len(matches) != 1:
        raise RigError(f"the take has the hands {' and '.join(sides)}, choose one of them")
    return matches[0]


def digits_property() -> Any:
    """Make the property of the digits that a new correction moves."""
    return EnumProperty(
        name="Digits",
        description="Digits to correct",
        items=DIGIT_ITEMS,
        options={"ENUM_FLAG", "SKIP_SAVE"},
        default=set(DIGITS),
    )


class RangeOperator:
    """Mixin of operators that add corrections of a range of frames."""

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with a take."""
        return has_take(cls, context)

    def fill_range(self, context: "Context") -> None:
        """Set the frames that were not given: those around the current one, or those of the problem shown there.

        They are frames of the take, unless the current frame is not.
        """
        operator: Any = self
        settings, frame, shown_take = (
            context.scene.knuckle_correction,
            context.scene.frame_current,
            required_take(context),
        )
        blend = operator.blend if operator.properties.is_property_set("blend") else settings.blend
        first, last = frame - settings.reach, frame + settings.reach
        problem = problem_here(context)
        if problem is not None:
            first = min(first, int(problem.first) - blend)
            last = max(last, int(problem.last + 0.999) + blend)
        start, end = shown_take.ends
        if start <= frame <= end:
            first, last = max(first, start), min(last, end)
        for name, value in (("blend", blend), ("first", first), ("last", last)):
            if not operator.properties.is_property_set(name):
                setattr(operator, name, value)

    def open_range_dialog(self, context: "Context") -> "set[OperatorReturnItems]":
        """Open a dialog with the frames and the operator's other properties."""
        operator: Any = self
        try:
            self.fill_range(context)
        except KnuckleError as error:
            report_message(operator, "ERROR", str(error))
            return {"CANCELLED"}
        return set(context.window_manager.invoke_props_dialog(operator))

    def draw_range(self, layout: "UILayout") -> None:
        """Draw the frames in a dialog."""
        operator: Any = self
        row = layout.row(align=True)
        row.prop(operator, "first")
        row.prop(operator, "last")
        layout.prop(operator, "blend")

    def range_of(self, take: ShownTake) -> TimeRange:
        """Return the range that was chosen. Raises RigError for one that ends before it begins."""
        operator: Any = self
        if operator.last < operator.first:
            raise RigError(f"the last frame is {operator.last}, before the first, {operator.first}")
        return take.range(operator.first, operator.last, operator.blend)
