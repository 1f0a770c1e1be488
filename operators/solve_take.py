"""Solve the scene's recipe and key the hands."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import bpy
from bpy.app.handlers import persistent

from ..capture.scene_files import armature_name
from ..errors import RigError
from ..hand.generators import Progress, run_to_end
from ..pipeline.job import SolveJob
from ..pipeline.take import Take
from ..rig import markers_object
from ..rig.armature_hands import find_hands
from ..rig.binding import is_armature
from ..rig.keys.corrections.written_take import left_corrections_note
from ..rig.keys.drive import check_drive
from ..rig.keys.take_report import notes_of_keying
from ..rig.keys.take_scene import TakeTiming, target_armatures, write_take
from ..rig.linked import ObjectName, check_target, editable, is_in_scene, library_of
from ..rig.rig_query import RigQuery
from ..rig.sources.reading import read_capture
from .import_capture import select_only
from .job import JobOperator, no_job_runs
from .load_capture import capture_object, describe_hands, show_capture
from .reports import report_message
from .scene_recipe import recipe_of
from .session import SESSION

if TYPE_CHECKING:
    from bpy.types import Context, Object, Scene


class KNUCKLE_OT_solve(JobOperator, bpy.types.Operator):
    """Solve the capture and key the hand in a new action, or in the take that it plays. No other action changes"""

    bl_idname = "knuckle.solve"
    bl_label = "Solve"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with a capture, an armature if one is to be driven, and no other job."""
        settings = context.scene.knuckle
        if not settings.capture:
            cls.poll_message_set("There is no capture yet, import one")
        elif context.mode not in ("OBJECT", "POSE"):
            cls.poll_message_set("Solving works in Object Mode and Pose Mode")
        elif settings.rig == "ARMATURE" and not is_armature(settings.armature):
            cls.poll_message_set("Choose a target armature, or a new hand")
        elif settings.rig == "NEW" and settings.rig_file:
            cls.poll_message_set(
                "The recipe's target is in another file: append its armature and choose it, or clear the target"
            )
        else:
            return no_job_runs(cls, context)
        return False

    def steps(self, context: "Context") -> Iterator[Progress]:
        """Check the rig, then read, clean, assign and solve."""
        armature, recipe = target(context), recipe_of(context.scene)
        self._target = ObjectName.of(armature) if armature else None
        if armature is not None:
            if armature.name == armature_name(recipe.capture):
                raise RigError(f"armature '{armature.name}' is the capture's source, choose another as the target")
            # A rig without a hand or an arm is reported before solving.
            check_target(armature, context.scene)
            check_drive(armature, find_hands(armature, ()), recipe.drive)
        armatures = target_armatures(armature, recipe.into, context.scene)
        rig = RigQuery.of(*armatures) if armatures else None
        self._job = SolveJob(recipe, rig, reader=read_capture, cached=SESSION.solved)
        yield from self._job.steps()

    def finish(self, context: "Context") -> None:
        """Key the hands and mark predicted markers."""
        take, SESSION.solved = self._job.take, self._job.cached
        assert take is not None
        scene = context.scene
        armature = self._armature(scene)
        corrections_note = left_corrections_note(armature, take.recipe) if armature else ""
        with editable(armature, scene, context.view_layer) if armature else nullcontext() as editable_armature:
            armatures = write_take(take, editable_armature, scene, context.collection, take_timing(context, take))
        if armature is not None and (notes := notes_of_keying(editable_armature, take)):
            report_message(self, "WARNING", "; ".join(notes))
        if corrections_note:
            report_message(self, "WARNING", corrections_note)
        if editable_armature != armature:
            scene.knuckle.armature = editable_armature
            message = f"A library override of '{armature.name}' of {library_of(armature)} was made and keyed"
            report_message(self, "INFO", message)
        markers_obj = markers_of_take(context, take)
        if take.recipe.align != "off":
            # The markers have this transform now, and the next solve uses it, too.
            markers_object.set_transform(markers_obj, take.recipe.transform, mirror=take.recipe.mirror)
            scene.knuckle.align = ""
        markers_object.show_solved(markers_obj, take.markers)
        markers_object.show_mirrored(markers_obj, take.recipe.mirror)
        scene.knuckle.corrections = ""
        scene.knuckle.result = armatures[0]
        scene.knuckle_review.current = ""
        if context.mode == "OBJECT" and armature is None:
            select_only(context, *armatures)

    def _armature(self, scene: "Scene") -> "Object | None":
        """Return the armature that was chosen when the job started. Raises RigError if it has left the scene."""
        if self._target is None:
            return None
        armature = self._target.find()
        if armature is None or not is_in_scene(armature, scene):
            raise RigError(f"armature '{self._target.name}' is no longer in scene '{scene.name}': nothing was changed")
        return armature


def target(context: "Context") -> "Object | None":
    """Return the armature to key, None for new hands. Raises RigError if the chosen one is not in the scene."""
    settings = context.scene.knuckle
    if settings.rig == "NEW":
        # A hand that an earlier solve built is an armature like any other when its take is changed.
        return settings.result if settings.into == "this" and is_armature(settings.result) else None
    if not is_armature(settings.armature) or not is_in_scene(settings.armature, context.scene):
        raise RigError("the armature that was chosen is not in this scene, choose another")
    return settings.armature


def markers_of_take(context: "Context", take: Take) -> "Object":
    """Return the object with the markers from which a take was solved; show them if they are not in the scene yet."""
    markers_obj = capture_object(context, take.recipe.capture)
    if markers_obj is None:
        hands = run_to_end(describe_hands(take.recipe, take.markers))
        markers_obj = show_capture(context, take.markers, take.recipe.capture, hands)
    return markers_obj


def take_timing(context: "Context", take: Take) -> TakeTiming:
    """Return the timing of the take: that of the markers from which it was solved."""
    markers_obj = capture_object(context, take.recipe.capture)
    origin = float(markers_obj[markers_object.CAPTURE_PROPERTY]["first"]) if markers_obj else None
    return TakeTiming(float(context.scene.knuckle.start), origin)


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def forget_solve(*_: Any) -> None:
    """Forget the last solve, since another file has other captures."""
    SESSION.solved = None


CLASSES = (KNUCKLE_OT_solve,)
HANDLERS = ((bpy.app.handlers.load_post, forget_solve),)
