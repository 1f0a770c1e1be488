"""Corrections that take effect in the solve, whose ranges are solved again: hide, swap, other solvers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.props import EnumProperty
from numpy.typing import NDArray

from ..errors import KnuckleError, RigError
from ..hand.generators import Progress
from ..hand.joints import SIDES, Side
from ..pipeline.corrections.correction import Correction, HiddenMarkers, OtherMethods, SolveChange, SwappedLabels
from ..pipeline.job import SolveJob
from ..rig.data_reference import DataReference
from ..rig.keys.corrections.corrected_take import check_correctable
from ..rig.keys.corrections.resolved_take import is_on_rig, recipe_of_take, solved_with, write_ranges
from ..rig.keys.corrections.solved_keys import edited_frames, edits_in
from ..rig.keys.take_report import report_of
from ..rig.rig_query import RigQuery
from ..rig.sources.reading import read_capture
from ..solvers import LABELS, SMOOTHING_LABELS
from .correction_range import RangeOperator, blend_property, chosen_side, first_property, hand_property, last_property
from .job import ConfirmedJob, no_job_runs
from .json_files import result_armature
from .marker_labels import hand_of_labels, is_unseen_here, label_property, marker_of_problem
from .reports import report_message
from .review import BeforeCorrection, keep_current_problem
from .session import SESSION
from .take_corrections import ShownTake, has_take, required_take

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event, UILayout

UNSEEN_HINT = (
    "Markers were not seen here: hiding one makes",
    "more frames a guess. Pose the hand,",
    "or solve the range with another solver",
)
"""Rows of a dialog that say why hiding a marker does not help where it was not seen."""


@dataclass(frozen=True, slots=True, eq=False)
class TakeEdits:
    """The frames of a take that were edited by hand, and those that are solved again anyway."""

    frames: NDArray[np.float64]
    ranges: tuple[tuple[float, float], ...]
    """First and last frame of the ranges with corrections in the solve, present or previous."""

    @classmethod
    def of(cls, take: ShownTake) -> "TakeEdits":
        """Return the edits of the shown take. Raises KnuckleError if it cannot be solved again."""
        frames = np.concatenate([edited_frames(check_correctable(armature)) for armature in take.armatures])
        recipe = recipe_of_take(take.base, ())
        if recipe.hold_contacts or recipe.keep_apart:
            return cls(frames, ((-np.inf, np.inf),))
        solve_corrections = [
            correction for correction in (*take.corrections, *solved_with(take.base)) if correction.is_before_solving
        ]
        frame_ranges = [
            take.clock.frames([correction.range.start, correction.range.end]).tolist()
            for correction in solve_corrections
        ]
        return cls(frames, tuple((first, last) for first, last in frame_ranges))

    def in_words(self, *own: float) -> str:
        """Describe which edited frames are replaced; own: first and last frame of an additional range."""
        return edits_in(self.frames, (*self.ranges, own) if len(own) == 2 else self.ranges)


class _SolveAgainJob(ConfirmedJob):
    """Mixin of jobs that solve ranges of the take again."""

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with a take, and no other job."""
        return has_take(cls, context) and no_job_runs(cls, context)

    def corrections(self, context: "Context", take: ShownTake) -> tuple[Correction, ...]:
        """Return the corrections to solve with. Raises KnuckleError."""
        raise NotImplementedError

    def steps(self, context: "Context") -> Iterator[Progress]:
        """Solve the take's recipe with its corrections."""
        take = required_take(context)
        self._corrections = self.corrections(context, take)
        armatures = take.armatures
        self._armatures = [DataReference.of(armature) for armature in armatures]
        recipe = recipe_of_take(take.base, self._corrections)
        rig = RigQuery.of(*armatures) if is_on_rig(take.base) else None
        self._job = SolveJob(recipe, rig, reader=read_capture, cached=SESSION.solved)
        yield from self._job.steps()

    def finish(self, context: "Context") -> None:
        """Write the ranges, and show them."""
        take, scene = self._job.take, context.scene
        SESSION.solved = self._job.cached
        armatures = [
            armature for reference in self._armatures if (armature := reference.find_in(bpy.data.objects)) is not None
        ]
        if take is None or len(armatures) < len(self._armatures):
            raise RigError(f"armature '{self._armatures[0].name}' is gone: nothing was changed")
        before_correction = BeforeCorrection.of(context)
        notes = write_ranges(take, armatures, self._corrections, scene)
        keep_current_problem(context, before_correction.problems)
        scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
        operator: Any = self
        before_correction.report_remains(operator, context)
        notes = (*(note for note in take.report["warnings"] if note.startswith("correction ")), *notes)
        if notes:
            report_message(self, "WARNING", "; ".join(dict.fromkeys(notes)))


class _AddRangeJob(_SolveAgainJob, RangeOperator):
    """Mixin of jobs that add a correction and solve its range again."""

    def invoke(self, context: "Context", _event: "Event") -> "set[OperatorReturnItems]":
        """Open a dialog for the frames."""
        try:
            self._edits = TakeEdits.of(required_take(context))
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        return self.open_range_dialog(context)

    def draw_range(self, layout: "UILayout") -> None:
        """Draw the frames in a dialog, and which of the user's edits are replaced."""
        super().draw_range(layout)
        operator: Any = self
        edits = self._edits.in_words(operator.first, operator.last) if "_edits" in vars(self) else ""
        if edits:
            column = layout.column(align=True)
            column.label(text=f"{edits.capitalize()}: keys edited by hand", icon="ERROR")
            column.label(text="are replaced, and kept in another action", icon="BLANK1")

    def corrections(self, context: "Context", take: ShownTake) -> tuple[Correction, ...]:
        """Return the take's corrections and the new one."""
        self.fill_range(context)
        side, name, change = self.make_change(context, take)
        new_correction = Correction(take.new_id(), name, side, self.range_of(take), change)
        self._new = new_correction.id
        return (*take.corrections, new_correction)

    def make_change(self, context: "Context", take: ShownTake) -> tuple[Side, str, SolveChange]:
        """Return hand, name and change of the new correction. Raises KnuckleError."""
        raise NotImplementedError

    def finish(self, context: "Context") -> None:
        """Write the range, and select the correction."""
        super().finish(context)
        context.scene.knuckle_correction.selected = self._new


class KNUCKLE_OT_hide_marker(_AddRangeJob, bpy.types.Operator):
    """Treat a marker as not seen over a range of frames, where it is wrong or has another's label. The range is solved
    again and blended in, and a new solve keeps that"""

    bl_idname = "knuckle.hide_marker"
    bl_label = "Hide Marker"
    bl_options = {"REGISTER", "UNDO"}

    marker: label_property("Marker", "Label of the marker")
    first: first_property()
    last: last_property()
    blend: blend_property()

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Begin with the fingertip of the problem that is shown, unless it was not seen."""
        if not self.marker:
            self.marker = marker_of_problem(context)
        return super().invoke(context, event)

    def draw(self, context: "Context") -> None:
        """Draw the choices, and why it does not help where markers were not seen."""
        if is_unseen_here(context):
            column = self.layout.column(align=True)
            for number, row in enumerate(UNSEEN_HINT):
                column.label(text=row, icon="BLANK1" if number else "INFO")
        self.layout.prop(self, "marker")
        self.draw_range(self.layout)

    def make_change(self, context: "Context", _take: ShownTake) -> tuple[Side, str, SolveChange]:
        """Return the hand of the marker, and that it is hidden."""
        return hand_of_labels(context, self.marker), f"{self.marker} hidden"[:200], HiddenMarkers((self.marker,))


class KNUCKLE_OT_swap_labels(_AddRangeJob, bpy.types.Operator):
    """Swap the labels of two markers over a range of frames. The range is solved again, and a new solve keeps
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

    def make_change(self, context: "Context", _take: ShownTake) -> tuple[Side, str, SolveChange]:
        """Return the hand of the markers, and that they are swapped."""
        if not (self.marker and self.other):
            raise RigError("Two markers are swapped, choose both")
        if self.marker == self.other:
            raise RigError(f"'{self.marker}' cannot be swapped with itself, choose two markers")
        side = hand_of_labels(context, self.marker, self.other)
        return side, f"{self.marker} and {self.other} swapped"[:200], SwappedLabels((self.marker, self.other))


class KNUCKLE_OT_solve_range(_AddRangeJob, bpy.types.Operator):
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
    hand: hand_property()
    first: first_property()
    last: last_property()
    blend: blend_property()

    def draw(self, _context: "Context") -> None:
        """Draw the choices."""
        for name in ("solver", "smoothing", "hand"):
            self.layout.prop(self, name)
        self.draw_range(self.layout)

    def make_change(self, context: "Context", _take: ShownTake) -> tuple[Side, str, SolveChange]:
        """Return the hand, and the solver and smoothing."""
        sides = [side for side in SIDES if side in (report_of(result_armature(context)) or {}).get("hands", {})]
        side = chosen_side(sides, self.hand)
        name = LABELS[self.solver].name
        name += "" if self.smoothing == "off" else f", {SMOOTHING_LABELS[self.smoothing].name.lower()}"
        return side, name, OtherMethods(self.solver, {}, self.smoothing, {})


class KNUCKLE_OT_solve_corrections(_SolveAgainJob, bpy.types.Operator):
    """Solve the ranges of corrections that were changed again: of hidden markers, swapped labels and other solvers"""

    bl_idname = "knuckle.solve_corrections"
    bl_label = "Solve Ranges Again"
    bl_options = {"REGISTER", "UNDO"}

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Solve after the user has agreed to replace edits."""
        try:
            edits = TakeEdits.of(required_take(context)).in_words()
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        if not edits:
            return self.begin(context)
        message = f"Keys that were edited by hand on {edits} are replaced, and kept in another action"
        return set(
            context.window_manager.invoke_confirm(
                self, event, title=self.bl_label, message=message, confirm_text="Solve", icon="WARNING"
            )
        )

    def corrections(self, _context: "Context", take: ShownTake) -> tuple[Correction, ...]:
        """Return the take's corrections."""
        return take.corrections


CLASSES = (
    KNUCKLE_OT_hide_marker,
    KNUCKLE_OT_swap_labels,
    KNUCKLE_OT_solve_range,
    KNUCKLE_OT_solve_corrections,
)
