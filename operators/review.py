"""Review a take: go from problem to problem, the worst first, and mark those that were seen."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, PointerProperty, StringProperty

from ..hand.joints import digit_of
from ..rig import detection_cache
from ..rig.keys.corrections.mended_problems import Reviewed
from ..rig.keys.take_problems import TakeProblem, mark_seen, playing_with, problems_of, seen_problems
from ..rig.keys.take_report import action_with_report
from ..rig.keys.visited_problems import Visits, keep_visits, visits_of
from .job import redraw_views
from .json_files import result_armature
from .reports import report_message
from .rig_hands import select_in_pose_mode
from .setting_properties import NOT_ANIMATED
from .time_editors import scroll_to_frame

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Object, Operator


class KnuckleReview(bpy.types.PropertyGroup):
    """The state of a review: the current problem and overlays."""

    current: StringProperty(name="Problem", description="The problem that is shown", options=NOT_ANIMATED)
    show_errors: BoolProperty(
        name="Show Errors",
        description="Draw a line from each marker to the point of the hand that it belongs to, colored by its length",
        options=NOT_ANIMATED,
        update=lambda _review, context: redraw_views(context),
    )
    show_heat: BoolProperty(
        name="Heat Strips",
        description="Draw the errors of each digit over time in the Dope Sheet and the Timeline",
        default=True,
        options=NOT_ANIMATED,
        update=lambda _review, context: redraw_views(context, "DOPESHEET_EDITOR"),
    )


def current_problem(context: "Context", problems: tuple[TakeProblem, ...]) -> int | None:
    """Return the index of the problem that is shown, None if there is none."""
    keys = [problem.key for problem in problems]
    current = context.scene.knuckle_review.current
    return keys.index(current) if current in keys else None


@dataclass(frozen=True, slots=True)
class BeforeCorrection:
    """The problems of a take before a new correction."""

    problems: tuple[TakeProblem, ...]
    """The take's problems."""
    displayed: TakeProblem | None
    """The problem shown on the current frame; None if it was mended or marked as seen."""

    @classmethod
    def of(cls, context: "Context") -> "BeforeCorrection":
        """Return the current problems of the displayed take."""
        armature, current = result_armature(context), problem_here(context)
        is_left = current is not None and armature is not None and current in remaining_problems(context, armature)
        return cls(problems_of(armature), current if is_left else None)

    def report_remains(self, operator: "Operator", context: "Context") -> None:
        """Report the rest of the problem that was shown, the number of problems, and how many are new."""
        armature = result_armature(context)
        if self.displayed is None or armature is None:
            return
        remaining = remaining_problems(context, armature)
        remainder = next((problem for problem in remains_of(self.displayed, self.problems, remaining)), None)
        if remainder is not None:
            report_message(operator, "INFO", f"What is left here: {remainder.hand} {remainder.reason}")
            return
        new_problems = sum(
            not any(problem.is_beside(old_problem) for old_problem in self.problems) for problem in remaining
        )
        message = f"Mended, {len(remaining) or 'no'} problem{'s are' if len(remaining) != 1 else ' is'} left"
        cause = "which the mend has caused" if len(remaining) == 1 else f"{new_problems} of them caused by the mend"
        report_message(operator, "INFO", f"{message}, {cause}" if new_problems else message)


def keep_current_problem(context: "Context", before: tuple[TakeProblem, ...]) -> None:
    """Show the rest of the current problem after a mend, and count it as visited.

    before: the problems of the take before the mend.
    """
    current, armature = current_problem(context, before), result_armature(context)
    if current is None or armature is None:
        return
    displayed, after = before[current], problems_of(armature)
    remains = remains_of(displayed, before, after)
    if displayed.key in {problem.key for problem in after} or not remains:
        return
    keep_visits(playing_with(armature, context.scene), visits_of(armature).with_remains(displayed, remains[::-1]))
    context.scene.knuckle_review.current = remains[0].key


def remains_of(
    displayed: TakeProblem, before: tuple[TakeProblem, ...], after: tuple[TakeProblem, ...]
) -> list[TakeProblem]:
    """Return the problems that a mend leaves of the displayed one."""
    others = [problem for problem in before if problem != displayed]
    neighbours = [problem for problem in after if problem.is_beside(displayed)]
    return [problem for problem in neighbours if not any(problem.is_same_problem(unchanged) for unchanged in others)]


def problem_here(context: "Context") -> TakeProblem | None:
    """Return the problem that is shown, if the current frame is one of its frames."""
    problems = problems_of(result_armature(context))
    current = current_problem(context, problems)
    problem = None if current is None else problems[current]
    return (
        problem if problem is not None and int(problem.first) <= context.scene.frame_current <= problem.last else None
    )


def remaining_problems(context: "Context", armature: "Object") -> tuple[TakeProblem, ...]:
    """Return the problems of the take that an armature plays that are neither mended nor marked as seen."""
    return Reviewed.of(action_with_report(armature), context.scene).left


class _ReviewOperator:
    """Mixin of the operators that need a take with problems."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if the take has problems."""
        if context.mode not in ("OBJECT", "POSE"):
            cls.poll_message_set("Problems are reviewed in Object Mode and Pose Mode")
        elif not problems_of(result_armature(context)):
            cls.poll_message_set("There is no take with problems")
        else:
            return True
        return False


class _GoToOperator(_ReviewOperator):
    """Mixin of the operators that go to a problem."""

    nothing = "All problems of the take were mended or seen"
    """The report if there is no problem to go to."""

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Go to the problem's worst frame and select the bones of its digits."""
        armature = result_armature(context)
        assert armature is not None, "poll"
        problems, visits = problems_of(armature), visits_of(armature)
        seen, current = seen_problems(armature), context.scene.knuckle_review.current
        unseen = tuple(problem for problem in problems if problem.key not in seen)
        # A mend may have removed the current problem entirely; its visit still has the frames.
        displayed = next(
            (candidate for candidate in (*problems, *reversed(visits.order)) if candidate.key == current), None
        )
        problem, visited = self.step(
            _ReviewState(problems, unseen, remaining_problems(context, armature), displayed), visits
        )
        if problem is None:
            report_message(self, "INFO", self.nothing)
            return {"CANCELLED"}
        if visited != visits:
            keep_visits(playing_with(armature, context.scene), visited)
        context.scene.knuckle_review.current = problem.key
        whole = int(problem.worst // 1)
        context.scene.frame_set(whole, subframe=problem.worst - whole)
        scroll_to_frame(context)
        if not _select(context, armature, problem):
            report_message(self, "WARNING", f"The {problem.hand} hand is hidden or was not found: nothing was selected")
        return {"FINISHED"}

    def step(self, state: "_ReviewState", visits: Visits) -> tuple[TakeProblem | None, Visits]:
        """Return the problem to go to, or None, and the visits with it."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class _ReviewState:
    """The state of a review."""

    problems: tuple[TakeProblem, ...]
    """The take's problems, the worst first."""
    unseen: tuple[TakeProblem, ...]
    """The problems that are not marked as seen."""
    left: tuple[TakeProblem, ...]
    """The unseen problems that no correction mends."""
    displayed: TakeProblem | None
    """One of the problems, or one that a mend has removed."""

    def first_of(self, problems: Iterable[TakeProblem]) -> TakeProblem | None:
        """Return the first of problems that is not shown and not marked as seen."""
        return next((problem for problem in problems if problem != self.displayed and problem in self.unseen), None)


class KNUCKLE_OT_next_problem(_GoToOperator, bpy.types.Operator):
    """Go to the worst problem of the take that was not visited, and select the bones of its digits. After Previous
    Problem, go forward again; after the last problem, start again. Problems mended or marked as seen are skipped"""

    bl_idname = "knuckle.next_problem"
    bl_label = "Next Problem"

    def step(self, state: _ReviewState, visits: Visits) -> tuple[TakeProblem | None, Visits]:
        """Return the problem visited after the current one, else the worst that was not visited, else the worst."""
        revisited = state.first_of(visits.later(state.displayed, state.problems))
        if revisited is not None:
            return revisited, visits
        unvisited = visits.unvisited(state.problems)
        target = next((problem for problem in state.left if problem in unvisited), None)
        if target is None:
            visits, target = visits.next_round(), next(iter(state.left), None)
        return target, visits if target is None else visits.with_visit(target)


class KNUCKLE_OT_previous_problem(_GoToOperator, bpy.types.Operator):
    """Go back to the problem that was visited before and was not marked as seen, and select the bones of its digits"""

    bl_idname = "knuckle.previous_problem"
    bl_label = "Previous Problem"
    nothing = "No other problem of the take was visited"

    def step(self, state: _ReviewState, visits: Visits) -> tuple[TakeProblem | None, Visits]:
        """Return the problem that was visited before the shown one, wrapping around from the first to the last."""
        return state.first_of(visits.earlier(state.displayed, state.problems)), visits


class KNUCKLE_OT_show_problem(_GoToOperator, bpy.types.Operator):
    """Go to this problem and select the bones of its digits"""

    bl_idname = "knuckle.show_problem"
    bl_label = "Show Problem"
    nothing = "This take no longer has that problem"

    problem: StringProperty(name="Problem", description="Which problem", options={"SKIP_SAVE"})

    def step(self, state: _ReviewState, visits: Visits) -> tuple[TakeProblem | None, Visits]:
        """Return the clicked problem."""
        target = next((problem for problem in state.problems if problem.key == self.problem), None)
        is_new = target is not None and target in visits.unvisited(state.problems)
        return target, visits.with_visit(target) if target is not None and is_new else visits


class KNUCKLE_OT_mark_seen(_ReviewOperator, bpy.types.Operator):
    """Mark this problem as seen, so that Next Problem skips it, or remove the mark"""

    bl_idname = "knuckle.mark_seen"
    bl_label = "Mark as Seen"

    problem: StringProperty(name="Problem", description="Which problem", options={"SKIP_SAVE"})

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Change the mark."""
        armature = result_armature(context)
        assert armature is not None, "poll"
        if self.problem not in {problem.key for problem in problems_of(armature)}:
            report_message(self, "ERROR", "This take no longer has that problem")
            return {"CANCELLED"}
        action = action_with_report(armature)
        if action is None or not action.is_editable:
            report_message(self, "ERROR", "The take's action is linked, expected one of this file to store the mark")
            return {"CANCELLED"}
        mark_seen(playing_with(armature, context.scene), seen_problems(armature) ^ {self.problem})
        return {"FINISHED"}


def _select(context: "Context", armature: "Object", problem: TakeProblem) -> bool:
    """Select the bones of a problem's parts in Pose Mode. Return False if they are hidden or not known."""
    for candidate in playing_with(armature, context.scene):
        hand = detection_cache.detected(candidate).hands.get(problem.hand)
        if hand is not None and candidate.visible_get():
            # The palm moves with its wrist.
            select_in_pose_mode(
                candidate,
                {name for joint, name in hand.bones.items() if (digit_of(joint) or "palm") in problem.parts},
            )
            return True
    return False


PROPERTIES: tuple[tuple[Any, str, Any], ...] = (
    (bpy.types.Scene, "knuckle_review", PointerProperty(type=KnuckleReview)),
)
CLASSES = (
    KnuckleReview,
    KNUCKLE_OT_next_problem,
    KNUCKLE_OT_previous_problem,
    KNUCKLE_OT_show_problem,
    KNUCKLE_OT_mark_seen,
)
