"""Detect the hands of armatures for panels and overlays: not while drawing, but right after it."""

from typing import TYPE_CHECKING

import bpy

from ..operators.job import redraw_views
from ..operators.session import SESSION
from ..rig import detection_cache
from ..rig.binding import is_armature
from ..rig.data_reference import DataReference
from ..rig.detection_cache import DetectedHands

if TYPE_CHECKING:
    from bpy.types import Object


def detected_hands(armature: "Object") -> DetectedHands | None:
    """Return the detected hands of an armature. If none are cached yet, return None, detect them and redraw."""
    detected = detection_cache.cached(armature)
    if detected is None:
        SESSION.armatures_to_detect.add(DataReference.of(armature))
        if not bpy.app.timers.is_registered(_detect_pending):
            bpy.app.timers.register(_detect_pending, first_interval=0.0)
    return detected


def cancel_detection() -> None:
    """Cancel detections that have not run yet."""
    SESSION.armatures_to_detect.clear()
    if bpy.app.timers.is_registered(_detect_pending):
        bpy.app.timers.unregister(_detect_pending)


def _detect_pending() -> None:
    while SESSION.armatures_to_detect:
        armature: Object | None = SESSION.armatures_to_detect.pop().find_in(bpy.data.objects)
        if is_armature(armature) and detection_cache.cached(armature) is None:
            detection_cache.detect(armature)
    redraw_views(bpy.context)
