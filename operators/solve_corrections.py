"""Corrections that take effect in the solve, whose ranges are solved again: hide, swap, other solvers."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import EnumProperty, StringProperty

from ..errors import RigError
from ..hand.generators import Progress
from ..hand.joints import SIDES, Side
from ..pipeline.corrections.correction import Correction, HiddenMarkers, OtherMethods, SolveChange, SwappedLabels
from ..pipeline.job import SolveJob
from ..rig.data_reference import DataReference
from ..rig.keys.corrections.resolved_take import is_on_rig, recipe_of_take, write_ranges
from ..rig.keys.take_problems import problems_of
from ..rig.keys.take_report import report_of
from ..rig.rig_query import RigQuery
from ..rig.sources.reading import read_capture
from ..solvers import LABELS, SMOOTHING_LABELS
from .correct_take import OnRange, blend_property, first_property, last_property
from .job import JobOperator, no_job_runs
from .json_files import result_armature
from .reports import tell
from .review import current_problem
from .take_corrections import ShownTake, expected_take, has_take

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event


def labels_of_take(context: "Context") -> dict[str, tuple[Side, str]]:
    """Return label -> hand and joint, of the markers that the shown take was solved from."""
    report = report_of(result_armature(context)) or {}
    found: dict[str, tuple[Side, str]] = {}
    for side in SIDES:
        worn = report.get("hands", {}).get(side, {}).get("markers", {})
        for label, spot in worn.items() if isinstance(worn, dict) else ():
            found[str(label)] = side, str(spot.get("joint", "")) if isinstance(spot, dict) else ""
    return found


def _suggested(_operator: Any, context: "Context", typed: str) -> list[str]:
    return [label for label in labels_of_take(context) if typed.lower() in label.lower()]


def label_property(name: str, description: str) -> Any:
    """Make the property of a marker's label, with those of the take to choose from."""
    return StringProperty(name=name, description=description, search=_suggested, options={"SKIP_SAVE"})


class _SolvesAgain(JobOperator):
    """Mixin of jobs that solve ranges of the take again."""

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with a take, and no other job."""
        return has_take(cls, context) and no_job_runs(cls, context)

    def corrections(self, context: "Context", shown: ShownTake) -> tuple[Correction, ...]:
        """Return the corrections to solve with. Raises KnuckleError."""
        raise NotImplementedError

    def steps(self, context: "Context") -> Iterator[Progress]:
        """Solve the take's recipe with its corrections."""
        shown = expected_take(context)
        self._corrections = self.corrections(context, shown)
        armatures = shown.armatures
        self._armatures = [DataReference.of(armature) for armature in armatures]
        recipe = recipe_of_take(shown.base, self._corrections)
        rig = RigQuery.of(*armatures) if is_on_rig(shown.base) else None
        self._job = SolveJob(recipe, rig, reader=read_capture)
        yield from self._job.steps()

    def finish(self, context: "Context") -> None:
        """Write the ranges, and show them."""
        take, scene = self._job.take, context.scene
        armatures = [found for one in self._armatures if (found := one.among(bpy.data.objects)) is not None]
        if take is None or len(armatures) < len(self._armatures):
            raise RigError(f"armature '{self._armatures[0].name}' is gone: nothing was changed")
        notes = write_ranges(take, armatures, self._corrections, scene)
        scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
        notes = (*(note for note in take.report["warnings"] if note.startswith("correction ")), *notes)
        if notes:
            tell(self, "WARNING", "; ".join(dict.fromkeys(notes)))


class _AddsRange(_SolvesAgain, OnRange):
    """Mixin of jobs that add a correction and solve its range again."""

    def invoke(self, context: "Context", _event: "Event") -> "set[OperatorReturnItems]":
        """Ask for the frames."""
        return self.ask_for_range(context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Run at once in a script, or in slices if a person chose the frames in the dialog."""
        chosen_by_hand = self.options.is_invoke and not self.options.is_repeat
        return self.begin(context) if chosen_by_hand else super().execute(context)

    def corrections(self, context: "Context", shown: ShownTake) -> tuple[Correction, ...]:
        """Return those of the take and the new one."""
        self.fill_range(context)
        side, name, change = self.made(context, shown)
        one = Correction(shown.new_id(), name, side, self.range_of(shown), change)
        self._new = one.id
        return (*shown.corrections, one)

    def made(self, context: "Context", shown: ShownTake) -> tuple[Side, str, SolveChange]:
        """Return hand, name and change of the new correction. Raises KnuckleError."""
        raise NotImplementedError

    def finish(self, context: "Context") -> None:
        """Write the range, and select the correction."""
        super().finish(context)
        context.scene.knuckle_correction.selected = self._new


def _hand_of(context: "Context", *labels: str) -> Side:
    """Return the hand that has markers of these labels. Raises RigError unless it is one."""
    known = labels_of_take(context)
    unknown = [label for label in labels if label not in known]
    if unknown:
        raise RigError(f"the take has no marker '{unknown[0]}', only {', '.join(known) or 'none at all'}")
    sides = {known[label][0] for label in labels}
    if len(sides) > 1:
        raise RigError(f"{' and '.join(labels)} are markers of different hands, expected those of one")
    return sides.pop()


class KNUCKLE_OT_hide_marker(_AddsRange, bpy.types.Operator):
    """Let a marker count as not seen in a range of frames, where it is wrong or has the label of another. The range is
    solved again and blended in, and a new solve keeps that"""

    bl_idname = "knuckle.hide_marker"
    bl_label = "Hide Marker"
    bl_options = {"REGISTER", "UNDO"}

    marker: label_property("Marker", "Label of the marker")
    first: first_property()
    last: last_property()
    blend: blend_property()

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Begin with the fingertip of the problem that is shown."""
        if not self.marker:
            self.marker = _marker_of_problem(context)
        return super().invoke(context, event)

    def draw(self, _context: "Context") -> None:
        """Draw the choices."""
        self.layout.prop(self, "marker")
        self.draw_range(self.layout)

    def made(self, context: "Context", _shown: ShownTake) -> tuple[Side, str, SolveChange]:
        """Return the hand of the marker, and that it is hidden."""
        return _hand_of(context, self.marker), f"{self.marker} hidden"[:200], HiddenMarkers((self.marker,))


def _marker_of_problem(context: "Context") -> str:
    """Return the outermost marker of the digit of the problem that is shown; empty without one."""
    problems = problems_of(result_armature(context))
    current = current_problem(context, problems)
    if current is None:
        return ""
    problem, known = problems[current], labels_of_take(context)
    own = [
        label for label, (side, joint) in known.items() if (side, f"{problem.parts[0]}-tip") == (problem.hand, joint)
    ]
    return own[0] if own else ""


class KNUCKLE_OT_swap_labels(_AddsRange, bpy.types.Operator):
    """Give two markers each other's labels in a range of frames. The range is solved again, and a new solve keeps
    that"""

    bl_idname = "knuckle.swap_labels"
    bl_label = "Swap Labels"
    bl_options = {"REGISTER", "UNDO"}

    marker: label_property("Marker", "Label of the one marker")
    other: label_property("Other", "Label of the other marker")
    first: first_property()
    last: last_property()
    blend: blend_property()

    def draw(self, _context: "Context") -> None:
        """Draw the choices."""
        self.layout.prop(self, "marker")
        self.layout.prop(self, "other")
        self.draw_range(self.layout)

    def made(self, context: "Context", _shown: ShownTake) -> tuple[Side, str, SolveChange]:
        """Return the hand of the markers, and that they are swapped."""
        if self.marker == self.other:
            raise RigError(f"'{self.marker}' is to be swapped with itself, choose two markers")
        side = _hand_of(context, self.marker, self.other)
        return side, f"{self.marker} and {self.other} swapped"[:200], SwappedLabels((self.marker, self.other))


class KNUCKLE_OT_solve_range(_AddsRange, bpy.types.Operator):
    """Solve a range of frames with another solver or smoothing, and blend it in. A new solve keeps that"""

    bl_idname = "knuckle.solve_range"
    bl_label = "Solve Range With"
    bl_options = {"REGISTER", "UNDO"}

    solver: EnumProperty(
        name="Solver",
        description="Which solver",
        items=[(name, kind.name, kind.about) for name, kind in LABELS.items()],
    )
    smoothing: EnumProperty(
        name="Smoothing",
        description="Which smoothing",
        items=[(name, kind.name, kind.about) for name, kind in SMOOTHING_LABELS.items()],
    )
    hand: EnumProperty(
        name="Hand",
        description="Which hand",
        items=[("AUTO", "Auto", "The only one of the take"), *((side, side.capitalize(), "") for side in SIDES)],
    )
    first: first_property()
    last: last_property()
    blend: blend_property()

    def draw(self, _context: "Context") -> None:
        """Draw the choices."""
        for name in ("solver", "smoothing", "hand"):
            self.layout.prop(self, name)
        self.draw_range(self.layout)

    def made(self, context: "Context", _shown: ShownTake) -> tuple[Side, str, SolveChange]:
        """Return the hand and the methods."""
        there = [side for side in SIDES if side in (report_of(result_armature(context)) or {}).get("hands", {})]
        sides = [side for side in there if self.hand in ("AUTO", side)]
        if len(sides) != 1:
            raise RigError(f"the take has the hands {' and '.join(there)}, choose one of them")
        name = LABELS[self.solver].name
        name += "" if self.smoothing == "off" else f", {SMOOTHING_LABELS[self.smoothing].name.lower()}"
        return sides[0], name, OtherMethods(self.solver, {}, self.smoothing, {})


class KNUCKLE_OT_solve_corrections(_SolvesAgain, bpy.types.Operator):
    """Solve the ranges of corrections that were changed again: of hidden markers, swapped labels and other solvers"""

    bl_idname = "knuckle.solve_corrections"
    bl_label = "Solve Ranges Again"
    bl_options = {"REGISTER", "UNDO"}

    def corrections(self, _context: "Context", shown: ShownTake) -> tuple[Correction, ...]:
        """Return those of the take."""
        return shown.corrections


CLASSES = (
    KNUCKLE_OT_hide_marker,
    KNUCKLE_OT_swap_labels,
    KNUCKLE_OT_solve_range,
    KNUCKLE_OT_solve_corrections,
)
