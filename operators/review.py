"""Review a take: go from problem to problem, the worst first, and mark those that were seen."""

from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, PointerProperty, StringProperty

from ..hand.joints import digit_of
from ..rig import detection_cache
from ..rig.keys.take_problems import TakeProblem, mark_seen, playing_with, problems_of, seen_problems
from ..rig.keys.take_report import action_with_report
from .job import redraw_views
from .json_files import result_armature
from .reports import tell
from .rig_hands import select_in_pose_mode
from .setting_properties import NOT_ANIMATED

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Object


class KnuckleReview(bpy.types.PropertyGroup):
    """The state of a review: the current problem and what is drawn."""

    current: StringProperty(name="Problem", description="The problem that is shown", options=NOT_ANIMATED)
    shown: StringProperty(
        name="Shown", description="The problems that Next Problem has gone to, one a line", options=NOT_ANIMATED
    )
    show_errors: BoolProperty(
        name="Show Errors",
        description="Draw a line from each marker to the point of the hand that it belongs to, colored by its length",
        options=NOT_ANIMATED,
        update=lambda _review, context: redraw_views(context),
    )
    show_heat: BoolProperty(
        name="Heat Strips",
        description="Draw in the Dope Sheet and the Timeline how bad each digit of the take is over time",
        default=True,
        options=NOT_ANIMATED,
        update=lambda _review, context: redraw_views(context, "DOPESHEET_EDITOR"),
    )


def current_problem(context: "Context", problems: tuple[TakeProblem, ...]) -> int | None:
    """Return the index of the problem that is shown, None if there is none."""
    keys = [problem.key for problem in problems]
    current = context.scene.knuckle_review.current
    return keys.index(current) if current in keys else None


def keep_place(context: "Context", before: tuple[TakeProblem, ...], after: tuple[TakeProblem, ...]) -> None:
    """Let Next Problem go on from where it was, in a take whose problems were others before.

    The problem that is shown is then what is left of it, else the one before it that is still there.
    """
    current = current_problem(context, before)
    if current is None:
        return
    shown, left = before[current], {problem.key for problem in after}
    same = [problem.key for problem in after if _is_same_place(problem, shown)]
    earlier = [problem.key for problem in reversed(before[:current]) if problem.key in left]
    context.scene.knuckle_review.current = next(iter((*same, *earlier)), "")


def _is_same_place(problem: TakeProblem, other: TakeProblem) -> bool:
    overlap = problem.first <= other.last and other.first <= problem.last
    return overlap and problem.hand == other.hand and not set(problem.parts).isdisjoint(other.parts)


class _Review:
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


class _GoTo(_Review):
    """Mixin of the operators that go to a problem."""

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Go to the problem's worst frame and select the bones of its digits."""
        armature = result_armature(context)
        assert armature is not None, "poll"
        problems = problems_of(armature)
        index = self.index_of(context, problems, seen_problems(armature))
        if index is None:
            tell(self, "INFO", "All problems of the take were seen")
            return {"CANCELLED"}
        problem = problems[index]
        context.scene.knuckle_review.current = problem.key
        whole = int(problem.worst // 1)
        context.scene.frame_set(whole, subframe=problem.worst - whole)
        if not _select(context, armature, problem):
            tell(self, "WARNING", f"The {problem.hand} hand is hidden or was not found: nothing was selected")
        return {"FINISHED"}

    def index_of(self, context: "Context", problems: tuple[TakeProblem, ...], seen: frozenset[str]) -> int | None:
        """Return the index of the problem to go to."""
        raise NotImplementedError


class KNUCKLE_OT_next_problem(_GoTo, bpy.types.Operator):
    """Go to the next problem of the take that was not seen, the worst first, and select the bones of its digits"""

    bl_idname = "knuckle.next_problem"
    bl_label = "Next Problem"

    def index_of(self, context: "Context", problems: tuple[TakeProblem, ...], seen: frozenset[str]) -> int | None:
        """Return the first one after the current one; after the last comes the first.

        What lasts comes when all others were shown, which a mend may have moved to other places of the list.
        """
        current, review = current_problem(context, problems), context.scene.knuckle_review
        start = 0 if current is None else current + 1
        shown = set(review.shown.splitlines()) if current is not None else set()
        order = [*range(start, len(problems)), *range(start)]
        new = [index for index in order if problems[index].key not in shown]
        new.sort(key=lambda index: problems[index].lasts)
        found = _first_unseen(new, problems, seen)
        kept = shown if found is not None else set()
        found = _first_unseen(order, problems, seen) if found is None else found
        review.shown = "\n".join(sorted(kept | ({problems[found].key} if found is not None else set())))
        return found


class KNUCKLE_OT_previous_problem(_GoTo, bpy.types.Operator):
    """Go to the problem before, a worse one that was not seen, and select the bones of its digits"""

    bl_idname = "knuckle.previous_problem"
    bl_label = "Previous Problem"

    def index_of(self, context: "Context", problems: tuple[TakeProblem, ...], seen: frozenset[str]) -> int | None:
        """Return the last one before the current one; before the first comes the last."""
        current = current_problem(context, problems)
        start = len(problems) if current is None else current
        return _first_unseen([*reversed(range(start)), *reversed(range(start, len(problems)))], problems, seen)


class KNUCKLE_OT_show_problem(_GoTo, bpy.types.Operator):
    """Go to this problem and select the bones of its digits"""

    bl_idname = "knuckle.show_problem"
    bl_label = "Show Problem"

    problem: StringProperty(name="Problem", description="Which problem", options={"SKIP_SAVE"})

    def index_of(self, context: "Context", problems: tuple[TakeProblem, ...], seen: frozenset[str]) -> int | None:
        """Return the one that was clicked."""
        return next((index for index, problem in enumerate(problems) if problem.key == self.problem), None)


class KNUCKLE_OT_mark_seen(_Review, bpy.types.Operator):
    """Mark this problem as seen, so that Next Problem leaves it out, or take the mark away"""

    bl_idname = "knuckle.mark_seen"
    bl_label = "Mark as Seen"

    problem: StringProperty(name="Problem", description="Which problem", options={"SKIP_SAVE"})

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Change the mark."""
        armature = result_armature(context)
        assert armature is not None, "poll"
        if self.problem not in {problem.key for problem in problems_of(armature)}:
            tell(self, "ERROR", "This take does not have that problem any more")
            return {"CANCELLED"}
        action = action_with_report(armature)
        if action is None or not action.is_editable:
            tell(self, "ERROR", "The take's action is linked, expected one of this file to keep the mark in")
            return {"CANCELLED"}
        mark_seen(playing_with(armature, context.scene), seen_problems(armature) ^ {self.problem})
        return {"FINISHED"}


def _first_unseen(indices: list[int], problems: tuple[TakeProblem, ...], seen: frozenset[str]) -> int | None:
    return next((index for index in indices if problems[index].key not in seen), None)


def _select(context: "Context", armature: "Object", problem: TakeProblem) -> bool:
    """Select the bones of a problem's parts in Pose Mode. Return False if they are hidden or not known."""
    for candidate in playing_with(armature, context.scene):
        found = detection_cache.now(candidate).hands.get(problem.hand)
        if found is not None and candidate.visible_get():
            # The palm moves with its wrist.
            select_in_pose_mode(
                candidate,
                {name for joint, name in found.bones.items() if (digit_of(joint) or "palm") in problem.parts},
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
