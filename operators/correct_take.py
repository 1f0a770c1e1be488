"""Correct a take: keep a pose, snap to a named one, or take a range from another take."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import EnumProperty, FloatProperty, IntProperty, StringProperty

from ..errors import HandError, KnuckleError, RigError
from ..hand.joints import DIGITS, SIDES
from ..hand.poses import named
from ..pipeline.corrections.correction import Correction, PoseToHold
from ..rig.keys.corrections.corrected_take import check_correctable, hands_of_take
from ..rig.keys.corrections.making import SourceRange, motion_of, posed_hands
from ..rig.keys.corrections.take_clock import clock_of
from ..rig.keys.corrections.written_take import is_same_capture
from .apply_hand_pose import POSE_ITEMS
from .correction_range import RangeOperator, blend_property, digits_property, first_property, last_property
from .posing_operator import side_property
from .reports import report_message
from .review import BeforeCorrection, problem_here
from .saved_poses import saved_poses
from .take_corrections import ShownTake, required_take

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Action, Context, Event


class CorrectionOperator(RangeOperator):
    """Mixin of operators that add corrections without a job."""

    takes_pose = False
    """Whether it stores the user's pose on this frame; other edited keys are reported."""

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Add the corrections, and report the result."""
        try:
            self.fill_range(context)
            take = required_take(context)
            new_corrections, before_correction = self.make_corrections(context, take), BeforeCorrection.of(context)
            notes = take.write((*take.corrections, *new_corrections), posed_at=take.frame if self.takes_pose else None)
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        context.scene.knuckle_correction.selected = new_corrections[-1].id
        operator: Any = self
        before_correction.report_remains(operator, context)
        if notes:
            report_message(self, "WARNING", "; ".join(notes))
        return {"FINISHED"}

    def make_corrections(self, context: "Context", take: ShownTake) -> list[Correction]:
        """Return the new corrections, at least one. Raises KnuckleError."""
        raise NotImplementedError

    def numbered(self, take: ShownTake, corrections: list[Correction]) -> list[Correction]:
        """Return corrections with unique ids."""
        result = list[Correction]()
        for correction in corrections:
            numbered_take = ShownTake(take.armature, take.base, take.clock, (*take.corrections, *result), take.scene)
            result.append(replace(correction, id=numbered_take.new_id()))
        return result


class DigitCorrectionOperator(CorrectionOperator):
    """Mixin of operators that correct chosen digits of chosen hands; by default those of the problem on the current
    frame."""

    def fill_range(self, context: "Context") -> None:
        """Set the frames and the digits that were not given."""
        super().fill_range(context)
        operator: Any = self
        problem, given_digits = problem_here(context), operator.properties.is_property_set
        digits = {problem_part for problem_part in problem.parts if problem_part in DIGITS} if problem else set()
        if problem and digits and not given_digits("digits") and not given_digits("side"):
            operator.side, operator.digits = problem.hand, digits


class KNUCKLE_OT_correct_pose(CorrectionOperator, bpy.types.Operator):
    """Keep the hand's pose on this frame as a correction. It is blended in and out over the frames around, and a new
    solve keeps it"""

    bl_idname = "knuckle.correct_pose"
    bl_label = "Correct Pose"
    bl_options = {"REGISTER", "UNDO"}
    takes_pose = True

    first: first_property()
    last: last_property()
    blend: blend_property()

    def make_corrections(self, context: "Context", take: ShownTake) -> list[Correction]:
        """Return a correction for each hand of the take whose pose was changed."""
        span, corrections = self.range_of(take), list[Correction]()
        for armature in take.armatures:
            hands = hands_of_take(armature, check_correctable(armature))
            for posed in posed_hands(armature, hands, take.corrections, take.clock, take.frame):
                corrections.append(Correction("", f"Pose at {take.frame:g}", posed.side, span, posed.difference))
        if not corrections:
            raise RigError(
                f"the hand's pose on frame {take.frame:g} is the take's own: pose it first (keys that Auto Keying "
                "has made in a take without corrections belong to the take)"
            )
        return self.numbered(take, corrections)


class KNUCKLE_OT_snap_to_pose(DigitCorrectionOperator, bpy.types.Operator):
    """Blend digits towards a named pose over a range of frames, as a correction with a factor. A new solve keeps it"""

    bl_idname = "knuckle.snap_to_pose"
    bl_label = "Snap to Pose"
    bl_options = {"REGISTER", "UNDO"}

    pose: EnumProperty(name="Pose", description="Which pose", items=POSE_ITEMS)
    saved: StringProperty(
        name="Saved Pose",
        description="Name of a saved pose, which is taken instead if it is not empty",
        options={"SKIP_SAVE"},
    )
    side: side_property(options={"SKIP_SAVE"})
    digits: digits_property()
    factor: FloatProperty(name="Factor", description="How far to go", subtype="FACTOR", min=0.0, max=1.0, default=1.0)
    first: first_property()
    last: last_property()
    blend: blend_property()

    def invoke(self, context: "Context", _event: "Event") -> "set[OperatorReturnItems]":
        """Open a dialog for the pose and the frames."""
        return self.open_range_dialog(context)

    def draw(self, _context: "Context") -> None:
        """Draw the choices."""
        layout = self.layout
        layout.prop(self, "pose")
        layout.prop(self, "side")
        layout.row().prop(self, "digits")
        layout.prop(self, "factor")
        self.draw_range(layout)

    def make_corrections(self, _context: "Context", take: ShownTake) -> list[Correction]:
        """Return a correction for each requested hand."""
        pose, label = self.pose, named(self.pose).label
        if self.saved:
            poses = saved_poses()
            if self.saved not in poses:
                raise HandError(f"there is no saved pose '{self.saved}', only {', '.join(poses) or 'none at all'}")
            pose, label = poses[self.saved], self.saved
        if not self.digits:
            raise RigError("no digit is chosen, choose at least one")
        change = PoseToHold(pose, tuple(digit for digit in DIGITS if digit in self.digits))
        span, sides = self.range_of(take), _sides(take, self.side)
        return self.numbered(take, [Correction("", label, side, span, change, self.factor) for side in sides])


def _sides(take: ShownTake, side: str) -> list[Any]:
    """Return the requested hands of a take. Raises RigError if there are none."""
    keyed_sides = {
        take_hand.hand.side
        for armature in take.armatures
        for take_hand in hands_of_take(armature, check_correctable(armature))
    }
    sides = [choice for choice in SIDES if choice in keyed_sides and side in ("BOTH", choice)]
    if not sides:
        raise RigError(f"there is no {side} hand in the take")
    return sides


class KNUCKLE_OT_take_from(DigitCorrectionOperator, bpy.types.Operator):
    """Take a range of another action of this armature, such as another solve of the capture, as a correction. It is
    kept with the take, and outlasts that action"""

    bl_idname = "knuckle.take_from"
    bl_label = "Take From"
    bl_options = {"REGISTER", "UNDO"}

    action: StringProperty(name="Action", description="The action to take it from", options={"SKIP_SAVE"})
    later: IntProperty(
        name="Frames Later",
        description="Offset of the other action: number of frames by which it shows the same motion later",
        default=0,
        options={"SKIP_SAVE"},
    )
    side: side_property(options={"SKIP_SAVE"})
    digits: digits_property()
    first: first_property()
    last: last_property()
    blend: blend_property()

    def invoke(self, context: "Context", _event: "Event") -> "set[OperatorReturnItems]":
        """Open a dialog for the action and the frames."""
        return self.open_range_dialog(context)

    def draw(self, _context: "Context") -> None:
        """Draw the choices."""
        layout = self.layout
        layout.prop_search(self, "action", bpy.data, "actions")
        layout.prop(self, "later")
        layout.prop(self, "side")
        layout.row().prop(self, "digits")
        self.draw_range(layout)

    def make_corrections(self, _context: "Context", take: ShownTake) -> list[Correction]:
        """Return a correction for each requested hand that is in the other action."""
        action: Action | None = bpy.data.actions.get(self.action)
        if action is None:
            raise RigError(f"there is no action '{self.action}', choose one")
        span, sides, corrections, problem = self.range_of(take), _sides(take, self.side), list[Correction](), None
        source_range = SourceRange(span.start, span.end, self.later, tuple(d for d in DIGITS if d in self.digits))
        clock = clock_of(action, take.scene) if is_same_capture(action, take.base) else take.clock
        for armature in take.armatures:
            for take_hand in hands_of_take(armature, check_correctable(armature)):
                if take_hand.hand.side not in sides:
                    continue
                try:
                    motion = motion_of(armature, take_hand.hand, action, source_range, clock)
                except RigError as error:
                    problem = error
                else:
                    corrections.append(Correction("", f"From {action.name}"[:60], take_hand.hand.side, span, motion))
        if not corrections and problem is not None:
            raise problem
        return self.numbered(take, corrections)


CLASSES = (
    KNUCKLE_OT_correct_pose,
    KNUCKLE_OT_snap_to_pose,
    KNUCKLE_OT_take_from,
)
