"""Measuring the performer on the capture."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import bpy

from .. import performer, pipeline
from ..captures.clean import clean
from ..pipeline import Progress
from .job import JobOperator, nothing_runs
from .settings import recipe_of

if TYPE_CHECKING:
    from bpy.types import Context


class KNUCKLE_OT_calibrate(JobOperator, bpy.types.Operator):
    """Measure the performer's hands on this capture and keep the measures for others"""

    bl_idname = "knuckle.calibrate"
    bl_label = "Measure"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """With a capture, and nothing else at work."""
        if not context.scene.knuckle.capture:
            cls.poll_message_set("There is no capture yet, import one")
            return False
        return nothing_runs(cls, context)

    def steps(self, context: "Context") -> Iterator[Progress]:
        """Reads, cleans, assigns, measures."""
        recipe = replace(recipe_of(context.scene), performer=None)
        yield Progress(0.0, "Reading the capture")
        raw = pipeline.read(recipe)
        yield Progress(0.4, "Cleaning")
        markers = clean(raw, recipe.cleaning)
        yield Progress(0.7, "Measuring the performer")
        self._performer, _ = pipeline.calibrate(recipe, markers, pipeline.assignment(recipe, raw))

    def finish(self, context: "Context") -> None:
        """Keeps the measures in the scene."""
        context.scene.knuckle.performer = json.dumps(performer.to_dict(self._performer))
