"""Reduce the keys of an armature's hands, and play the dense action again."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import bpy

from ..errors import KnuckleError, RigError
from ..hand.generators import Progress, Steps, part_of
from ..rig.binding import is_armature
from ..rig.data_reference import DataReference
from ..rig.keys.played_action import played_action
from ..rig.keys.reduced_take import (
    ReducedAction,
    dense_action,
    key_figures,
    reduced_stepwise,
    restore_dense,
)
from ..rig.keys.reduction.reduce_hand import Reduction
from ..rig.keys.take_problems import playing_with
from .job import JobOperator, no_job_runs
from .json_files import result_armature
from .reduction_properties import (
    reduction_angle_property,
    reduction_distance_property,
    reduction_of,
    reduction_shared_property,
)
from .reports import report_message

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event, Object


def keyed_armature(context: "Context") -> "Object | None":
    """Return the armature whose keys are shown: the active one if it plays an action, else that of the result."""
    active: Object | None = context.active_object
    if is_armature(active) and played_action(active) is not None:
        return active
    return result_armature(context)


class _KeysOperator:
    """Mixin of the operators on the action that an armature plays."""

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with an armature that plays an action, and no other job."""
        armature = keyed_armature(context)
        if context.mode not in ("OBJECT", "POSE"):
            cls.poll_message_set("Keys are reduced in Object Mode and Pose Mode")
        elif armature is None or played_action(armature) is None:
            cls.poll_message_set("There is no armature with an action: solve a capture, or select one")
        else:
            return no_job_runs(cls, context)
        return False


class KNUCKLE_OT_reduce_keys(_KeysOperator, JobOperator, bpy.types.Operator):
    """Reduce the keys of the hands to few keys with handles, in a copy of the action. The dense action is kept"""

    bl_idname = "knuckle.reduce_keys"
    bl_label = "Reduce Keys"
    bl_options = {"REGISTER", "UNDO"}

    distance: reduction_distance_property()
    angle: reduction_angle_property()
    shared: reduction_shared_property()

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Begin with the scene's settings, unless others are given."""
        settings = context.scene.knuckle
        for name in ("distance", "angle", "shared"):
            if not self.properties.is_property_set(name):
                setattr(self, name, getattr(settings, f"reduce_{name}"))
        return self.begin(context)

    def steps(self, context: "Context") -> Iterator[Progress]:
        """Find the keys of all armatures that play the take; those that cannot be reduced are reported at the end."""
        armature = keyed_armature(context)
        assert armature is not None, "poll"
        reduction = reduction_of(self.distance, self.angle, shared=self.shared)
        references = [DataReference.of(playing) for playing in playing_with(armature, context.scene)]
        self._reduced, self._left = list[ReducedAction](), list[str]()
        for number, reference in enumerate(references):
            start, end = number / len(references), (number + 1) / len(references)
            try:
                self._reduced.append((yield from part_of(start, end, "Reducing keys", _reduced(reference, reduction))))
            except RigError as error:
                self._left.append(str(error))
        if not self._reduced:
            raise RigError("; ".join(self._left))

    def finish(self, context: "Context") -> None:
        """Write the keys, and report how many remain."""
        for reduced in self._reduced:
            reduced.check()
        for reduced in self._reduced:
            notes = reduced.write()
            report_message(self, "INFO", f"{reduced.armature.name}: {reduced.figures.sentence()}")
            if notes:
                report_message(self, "WARNING", "; ".join(notes))
        for error in self._left:
            report_message(self, "WARNING", error)


def _reduced(reference: DataReference, reduction: Reduction) -> Steps[ReducedAction]:
    """Return the reduced keys of a referenced armature. Raises RigError."""
    armature = reference.find_in(bpy.data.objects)
    if armature is None:
        raise RigError(f"armature '{reference.name}' is gone, its keys were not reduced")
    return (yield from reduced_stepwise(armature, reduction))


class KNUCKLE_OT_restore_dense_keys(_KeysOperator, bpy.types.Operator):
    """Play the dense action again, from which the keys were reduced. The reduced action is kept"""

    bl_idname = "knuckle.restore_dense_keys"
    bl_label = "Restore Dense Keys"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if the action was reduced and its dense one is still there."""
        if not super().poll(context):
            return False
        if dense_action(keyed_armature(context)) is None:
            is_reduced = key_figures(keyed_armature(context)) is not None
            cls.poll_message_set("The dense action was deleted" if is_reduced else "These keys were not reduced")
            return False
        return True

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Let all armatures of the take play their dense actions."""
        armature = keyed_armature(context)
        assert armature is not None, "poll"
        try:
            for playing in playing_with(armature, context.scene):
                if dense_action(playing) is not None:
                    restore_dense(playing)
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        return {"FINISHED"}


CLASSES = (
    KNUCKLE_OT_reduce_keys,
    KNUCKLE_OT_restore_dense_keys,
)
