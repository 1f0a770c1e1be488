"""Place the performer at the character: the markers are moved and rotated, and so is what is solved from them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import bpy
from bpy.props import EnumProperty

from ..errors import RigError
from ..hand.generators import Progress
from ..pipeline.alignment import Frames, aligned, forearm_frames, wrist_frames
from ..pipeline.capture_transform import CaptureTransform, transform_of
from ..pipeline.job import SolveJob
from ..pipeline.take import Take
from ..rig import character_frames
from ..rig.binding import is_armature
from ..rig.markers_object import set_transform
from ..rig.rig_query import RigQuery
from ..rig.sources.reading import read_capture
from .job import JobOperator, no_job_runs
from .scene_recipe import recipe_of
from .solve_take import markers_of_take, target

if TYPE_CHECKING:
    from bpy.types import Context, Object

METHODS = [
    ("POSE", "Current Pose", "The captured hands begin where the character's are now"),
    (
        "REST",
        "Rest Pose",
        "The captured hands begin where the character's are at rest. Of a character that is posed or animated the "
        "wrist then bends: take the current pose",
    ),
    ("FOREARMS", "Forearms", "The captured forearms begin where the character's are now. The capture must show elbows"),
    (
        "POINTS",
        "Two Points",
        "The captured wrist begins at the active object, and the fingers point to the other selected one",
    ),
]


class KNUCKLE_OT_align_capture(JobOperator, bpy.types.Operator):
    """Move and rotate the markers so that the performer stands at the character"""

    bl_idname = "knuckle.align_capture"
    bl_label = "Align to Character"
    bl_options = {"REGISTER", "UNDO"}

    method: EnumProperty(name="Method", description="What is aligned", items=METHODS)

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with a capture, an armature, and no other job."""
        chosen = context.scene.knuckle
        if not chosen.capture:
            cls.poll_message_set("There is no capture yet, import one")
        elif chosen.rig != "ARMATURE" or not is_armature(chosen.armature):
            cls.poll_message_set("Choose the armature that the performer is placed at")
        else:
            return no_job_runs(cls, context)
        return False

    def steps(self, context: "Context") -> Iterator[Progress]:
        """Solve the capture where it was recorded, at its present scale."""
        armature = target(context)
        assert armature is not None, "poll has seen it"
        recipe = recipe_of(context.scene)
        self._job = SolveJob(
            replace(recipe, transform=CaptureTransform(scale=recipe.transform.scale)),
            RigQuery.of(armature),
            reader=read_capture,
        )
        yield from self._job.steps()

    def finish(self, context: "Context") -> None:
        """Move the markers."""
        take, armature = self._job.take, target(context)
        assert take is not None and armature is not None
        captured, character = self._frames(context, take, armature)
        if not captured.keys() & character.keys():
            raise RigError(
                f"armature '{armature.name}' has no {' and no '.join(captured)} hand: choose that hand, mirror the "
                "take, or choose another armature"
            )
        matrix = aligned(captured, character) @ take.recipe.transform.matrix()
        shown = markers_of_take(context, take)
        set_transform(shown, transform_of(matrix, "the alignment"), mirror=take.recipe.mirror)

    def _frames(self, context: "Context", take: Take, armature: "Object") -> tuple[Frames, Frames]:
        """Return what of the capture is to come to what of the character. Raises KnuckleError."""
        if self.method == "POINTS":
            return wrist_frames(take), character_frames.between_points(take, *_points(context))
        if self.method == "FOREARMS":
            return forearm_frames(take), character_frames.forearms(armature, take)
        return wrist_frames(take), character_frames.wrists(armature, take, at_rest=self.method == "REST")


def _points(context: "Context") -> "tuple[Object, Object]":
    """Return the active object and the other one that is selected. Raises RigError unless these are two."""
    active = context.view_layer.objects.active
    others = [obj for obj in context.view_layer.objects.selected if obj != active]
    if active is None or not active.select_get() or len(others) != 1:
        raise RigError(
            f"{len(others) + 1} objects are selected, expected two: the active one where the wrist begins, the other "
            "where the fingers point"
        )
    return active, others[0]


CLASSES = (KNUCKLE_OT_align_capture,)
