"""Align the performer with the character: the markers and the poses solved from them are moved and rotated."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import bpy
from bpy.props import EnumProperty

from ..errors import RigError
from ..hand.generators import Progress
from ..pipeline.job import SolveJob
from ..rig.binding import is_armature
from ..rig.markers_object import set_transform
from ..rig.rig_query import RigQuery
from ..rig.sources.reading import read_capture
from .job import JobOperator, no_job_runs
from .scene_recipe import recipe_of
from .solve_take import markers_of_take, target

if TYPE_CHECKING:
    from bpy.types import Context

METHODS = [
    ("POSE", "Current Pose", "The captured hands start where the character's are now"),
    (
        "REST",
        "Rest Pose",
        "The captured hands start where the character's are at rest. If the character is posed or "
        "animated, its wrist then bends: use the current pose",
    ),
    ("FOREARMS", "Forearms", "The captured forearms start where the character's are now. The capture must show elbows"),
    (
        "POINTS",
        "Two Points",
        "The captured wrist starts at the active object, and the fingers point to the other selected one",
    ),
]


class KNUCKLE_OT_align_capture(JobOperator, bpy.types.Operator):
    """Move and rotate the markers to align the performer with the character"""

    bl_idname = "knuckle.align_capture"
    bl_label = "Align to Character"
    bl_options = {"REGISTER", "UNDO"}

    method: EnumProperty(name="Method", description="What is aligned", items=METHODS)

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with a capture, an armature, and no other job."""
        settings = context.scene.knuckle
        if not settings.capture:
            cls.poll_message_set("There is no capture yet, import one")
        elif settings.rig != "ARMATURE" or not is_armature(settings.armature):
            cls.poll_message_set("Choose the armature to align the performer with")
        else:
            return no_job_runs(cls, context)
        return False

    def steps(self, context: "Context") -> Iterator[Progress]:
        """Solve the capture, placed at the character."""
        armature = target(context)
        assert armature is not None, "poll has seen it"
        points = _points(context) if self.method == "POINTS" else None
        recipe = replace(recipe_of(context.scene), align=self.method.lower(), align_points=points)
        self._job = SolveJob(recipe, RigQuery.of(armature), reader=read_capture)
        yield from self._job.steps()

    def finish(self, context: "Context") -> None:
        """Move the markers."""
        take = self._job.take
        assert take is not None
        set_transform(markers_of_take(context, take), take.recipe.transform, mirror=take.recipe.mirror)


def _points(context: "Context") -> list[str]:
    """Return the names of the active object and the other selected one. Raises RigError unless these are two."""
    active = context.view_layer.objects.active
    others = [obj.name for obj in context.view_layer.objects.selected if obj != active]
    if active is None or not active.select_get() or len(others) != 1:
        raise RigError(
            f"{len(context.view_layer.objects.selected)} objects are selected, expected two: the active one at which "
            "the wrist starts, and the one to which the fingers point"
        )
    return [active.name, others[0]]


CLASSES = (KNUCKLE_OT_align_capture,)
