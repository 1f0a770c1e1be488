"""An animated armature of the scene as a capture."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import bpy

from ..capture.scene_files import ARMATURE
from ..hand.generators import Progress
from ..rig.binding import is_armature
from .import_capture import CaptureJob
from .job import no_job_runs

if TYPE_CHECKING:
    from bpy.types import Context, Object


class KNUCKLE_OT_capture_armature(CaptureJob, bpy.types.Operator):
    """Read the hands of an animated armature as a capture and show their joints as markers"""

    bl_idname = "knuckle.capture_armature"
    bl_label = "Capture from Armature"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with an armature to read, and no other job."""
        if _source(context) is None:
            cls.poll_message_set("Choose an animated armature, or make one the active object")
            return False
        return no_job_runs(cls, context)

    def steps(self, context: "Context") -> Iterator[Progress]:
        """Sample the armature and find its hands."""
        source = _source(context)
        assert source is not None
        yield from self.read(context, f"{ARMATURE}{source.name}")

    def finish(self, context: "Context") -> None:
        """Show the joints, and remember the armature."""
        super().finish(context)
        context.scene.knuckle.source = bpy.data.objects.get(self._path.removeprefix(ARMATURE))


def _source(context: "Context") -> "Object | None":
    """Return the armature that is chosen as the source, or else the active one."""
    candidates = (context.scene.knuckle.source, context.active_object)
    return next(filter(is_armature, candidates), None)


CLASSES = (KNUCKLE_OT_capture_armature,)
