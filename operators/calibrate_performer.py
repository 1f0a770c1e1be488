"""Calibrate the performer on a still clip and a clip of free motion."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import bpy

from ..hand.generators import Progress
from ..pipeline import performer
from ..pipeline.calibration import CalibrationJob
from ..rig.sources.reading import read_capture
from .calibration_settings import choices_of
from .job import JobOperator, no_job_runs
from .scene_recipe import recipe_of

if TYPE_CHECKING:
    from bpy.types import Context


class KNUCKLE_OT_calibrate(JobOperator, bpy.types.Operator):
    """Measure the performer's hands on this capture, for this and other captures"""

    bl_idname = "knuckle.calibrate"
    bl_label = "Calibrate"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if there is a capture and no other job is running."""
        if not context.scene.knuckle.capture:
            cls.poll_message_set("There is no capture yet, import one")
            return False
        return no_job_runs(cls, context)

    def steps(self, context: "Context") -> Iterator[Progress]:
        """Read, clean, assign and measure."""
        self._calibration = CalibrationJob(recipe_of(context.scene), choices_of(context.scene), read_capture)
        yield from self._calibration.steps()

    def finish(self, context: "Context") -> None:
        """Store the performer in the scene, and the estimated radii as a start for entering others."""
        measured_performer = self._calibration.performer
        assert measured_performer is not None
        context.scene.knuckle.performer = json.dumps(performer.to_dict(measured_performer))
        context.scene.knuckle_calibration.radii = 1000 * next(iter(measured_performer.hands.values())).radii.ravel()


CLASSES = (KNUCKLE_OT_calibrate,)
