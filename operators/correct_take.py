"""Correct a take: keep a pose, snap to a named one, or take a stretch from another take."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import EnumProperty, FloatProperty, IntProperty, StringProperty

from ..errors import HandError, KnuckleError, RigError
from ..hand.joints import DIGITS, SIDES, Side, digit_title
from ..hand.poses import named
from ..pipeline.corrections.correction import Correction, PoseToHold, TimeRange
from ..rig.keys.corrections.corrected_take import check_correctable, hands_of_take
from ..rig.keys.corrections.making import Stretch, motion_of, posed_hands
from ..rig.keys.corrections.take_clock import clock_of
from ..rig.keys.corrections.written_take import is_same_capture
from .apply_hand_pose import POSE_ITEMS
from .posing_operator import side_property
from .reports import tell
from .review import BeforeMend, problem_here
from .saved_poses import saved_poses
from .take_corrections import ShownTake, expected_take, has_take

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Action, Context, Event, UILayout

DIGIT_ITEMS = [(digit, digit_title(digit), "") for digit in DIGITS]


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
        description="Frames at each end over which the correction begins and ends",
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
    """Return the side of the hand that was chosen of those of a take. Raises RigError unless it is one."""
    chosen = [side for side in sides if hand in ("AUTO", side)]
    if len(chosen) != 1:
        raise RigError(f"the take has the hands {' and '.join(sides)}, choose one of them")
    return chosen[0]


def digits_property() -> Any:
    """Make the property of the digits that a new correction moves."""
    return EnumProperty(
        name="Digits",
        description="Digits to correct",
        items=DIGIT_ITEMS,
        options={"ENUM_FLAG"},
        default=set(DIGITS),
    )


class OnRange:
    """Mixin of operators that add corrections of a range of frames."""

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with a take."""
        return has_take(cls, context)

    def fill_range(self, context: "Context") -> None:
        """Give the frames that were not given: those about the current one, or of the problem that is shown there.

        They are frames of the take, unless the current one is none.
        """
        operator: Any = self
        made, frame, shown_take = context.scene.knuckle_correction, context.scene.frame_current, expected_take(context)
        blend = operator.blend if operator.properties.is_property_set("blend") else made.blend
        first, last = frame - made.reach, frame + made.reach
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

    def ask_for_range(self, context: "Context") -> "set[OperatorReturnItems]":
        """Open a dialog with the frames, and what else the operator draws."""
        operator: Any = self
        try:
            self.fill_range(context)
        except KnuckleError as error:
            tell(operator, "ERROR", str(error))
            return {"CANCELLED"}
        return set(context.window_manager.invoke_props_dialog(operator))

    def draw_range(self, layout: "UILayout") -> None:
        """Draw the frames in a dialog."""
        operator: Any = self
        row = layout.row(align=True)
        row.prop(operator, "first")
        row.prop(operator, "last")
        layout.prop(operator, "blend")

    def range_of(self, shown: ShownTake) -> TimeRange:
        """Return the range that was chosen. Raises RigError for one that ends before it begins."""
        operator: Any = self
        if operator.last < operator.first:
            raise RigError(f"the last frame is {operator.last}, before the first, {operator.first}")
        return shown.range(operator.first, operator.last, operator.blend)


class Corrects(OnRange):
    """Mixin of operators that add corrections at once."""

    takes_pose = False
    """Whether the keys of a person's pose on this frame are what it keeps; other edited keys are told of."""

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Add them, and tell what was done."""
        try:
            self.fill_range(context)
            shown = expected_take(context)
            made, before = self.made(context, shown), BeforeMend.of(context)
            notes = shown.write((*shown.corrections, *made), posed_at=shown.frame if self.takes_pose else None)
        except KnuckleError as error:
            tell(self, "ERROR", str(error))
            return {"CANCELLED"}
        context.scene.knuckle_correction.selected = made[-1].id
        operator: Any = self
        before.tell(operator, context)
        if notes:
            tell(self, "WARNING", "; ".join(notes))
        return {"FINISHED"}

    def made(self, context: "Context", shown: ShownTake) -> list[Correction]:
        """Return the new corrections, at least one. Raises KnuckleError."""
        raise NotImplementedError

    def numbered(self, shown: ShownTake, corrections: list[Correction]) -> list[Correction]:
        """Return corrections, of which each has an id of its own."""
        result = list[Correction]()
        for correction in corrections:
            taken = ShownTake(shown.armature, shown.base, shown.clock, (*shown.corrections, *result), shown.scene)
            result.append(replace(correction, id=taken.new_id()))
        return result


class KNUCKLE_OT_correct_pose(Corrects, bpy.types.Operator):
    """Keep how the hand is posed on this frame as a correction: it is blended in and out over the frames around, and a
    new solve keeps it"""

    bl_idname = "knuckle.correct_pose"
    bl_label = "Correct Pose"
    bl_options = {"REGISTER", "UNDO"}
    takes_pose = True

    first: first_property()
    last: last_property()
    blend: blend_property()

    def made(self, context: "Context", shown: ShownTake) -> list[Correction]:
        """Return how each hand of the take is posed otherwise."""
        span, made = self.range_of(shown), list[Correction]()
        for armature in shown.armatures:
            hands = hands_of_take(armature, check_correctable(armature))
            for posed in posed_hands(armature, hands, shown.corrections, shown.clock, shown.frame):
                made.append(Correction("", f"Pose at {shown.frame:g}", posed.side, span, posed.difference))
        if not made:
            raise RigError(
                f"the hand is posed on frame {shown.frame:g} as the take has it: pose it first (what Auto Keying has "
                "keyed in a take without corrections is the take's own)"
            )
        return self.numbered(shown, made)


class KNUCKLE_OT_snap_to_pose(Corrects, bpy.types.Operator):
    """Bring digits to a named pose over a range of frames, as far as its factor, as a correction that a new solve
    keeps"""

    bl_idname = "knuckle.snap_to_pose"
    bl_label = "Snap to Pose"
    bl_options = {"REGISTER", "UNDO"}

    pose: EnumProperty(name="Pose", description="Which pose", items=POSE_ITEMS)
    saved: StringProperty(
        name="Saved Pose",
        description="Name of a saved pose, which is taken instead if it is not empty",
        options={"SKIP_SAVE"},
    )
    side: side_property()
    digits: digits_property()
    factor: FloatProperty(name="Factor", description="How far to go", subtype="FACTOR", min=0.0, max=1.0, default=1.0)
    first: first_property()
    last: last_property()
    blend: blend_property()

    def invoke(self, context: "Context", _event: "Event") -> "set[OperatorReturnItems]":
        """Ask for the pose and the frames."""
        return self.ask_for_range(context)

    def draw(self, _context: "Context") -> None:
        """Draw the choices."""
        layout = self.layout
        layout.prop(self, "pose")
        layout.prop(self, "side")
        layout.row().prop(self, "digits")
        layout.prop(self, "factor")
        self.draw_range(layout)

    def made(self, _context: "Context", shown: ShownTake) -> list[Correction]:
        """Return a correction for each hand that was asked for."""
        pose, label = self.pose, named(self.pose).label
        if self.saved:
            there = saved_poses()
            if self.saved not in there:
                raise HandError(f"there is no saved pose '{self.saved}', only {', '.join(there) or 'none at all'}")
            pose, label = there[self.saved], self.saved
        if not self.digits:
            raise RigError("no digit is chosen, choose some")
        change = PoseToHold(pose, tuple(digit for digit in DIGITS if digit in self.digits))
        span, sides = self.range_of(shown), _sides(shown, self.side)
        return self.numbered(shown, [Correction("", label, side, span, change, self.factor) for side in sides])


def _sides(shown: ShownTake, side: str) -> list[Any]:
    """Return the hands of a take that were asked for. Raises RigError without."""
    there = {
        of.hand.side for armature in shown.armatures for of in hands_of_take(armature, check_correctable(armature))
    }
    sides = [each for each in SIDES if each in there and side in ("BOTH", each)]
    if not sides:
        raise RigError(f"there is no {side} hand in the take")
    return sides


class KNUCKLE_OT_take_from(Corrects, bpy.types.Operator):
    """Take a stretch of another action of this armature, such as another solve of the capture, as a correction. It is
    kept with the take, and outlasts that action"""

    bl_idname = "knuckle.take_from"
    bl_label = "Take From"
    bl_options = {"REGISTER", "UNDO"}

    action: StringProperty(name="Action", description="The action to take it from", options={"SKIP_SAVE"})
    later: IntProperty(
        name="Frames Later",
        description="How many frames later the other action shows the same",
        default=0,
        options={"SKIP_SAVE"},
    )
    side: side_property()
    digits: digits_property()
    first: first_property()
    last: last_property()
    blend: blend_property()

    def invoke(self, context: "Context", _event: "Event") -> "set[OperatorReturnItems]":
        """Ask for the action and the frames."""
        return self.ask_for_range(context)

    def draw(self, _context: "Context") -> None:
        """Draw the choices."""
        layout = self.layout
        layout.prop_search(self, "action", bpy.data, "actions")
        layout.prop(self, "later")
        layout.prop(self, "side")
        layout.row().prop(self, "digits")
        self.draw_range(layout)

    def made(self, _context: "Context", shown: ShownTake) -> list[Correction]:
        """Return a correction for each hand that was asked for and is in the other action."""
        action: Action | None = bpy.data.actions.get(self.action)
        if action is None:
            raise RigError(f"there is no action '{self.action}', choose one")
        span, sides, made, problem = self.range_of(shown), _sides(shown, self.side), list[Correction](), None
        stretch = Stretch(span.start, span.end, self.later, tuple(d for d in DIGITS if d in self.digits))
        clock = clock_of(action, shown.scene) if is_same_capture(action, shown.base) else shown.clock
        for armature in shown.armatures:
            for of in hands_of_take(armature, check_correctable(armature)):
                if of.hand.side not in sides:
                    continue
                try:
                    motion = motion_of(armature, of.hand, action, stretch, clock)
                except RigError as error:
                    problem = error
                else:
                    made.append(Correction("", f"From {action.name}"[:60], of.hand.side, span, motion))
        if not made and problem is not None:
            raise problem
        return self.numbered(shown, made)


CLASSES = (
    KNUCKLE_OT_correct_pose,
    KNUCKLE_OT_snap_to_pose,
    KNUCKLE_OT_take_from,
)
