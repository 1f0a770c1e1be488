"""Finding the hands of an armature for what is drawn: never while drawing, but right after it."""

from typing import TYPE_CHECKING

import bpy

from ..operators.job import redraw_views
from ..rig import detection_cache
from ..rig.binding import is_armature
from ..rig.data_reference import DataReference
from ..rig.detection_cache import DetectedHands

if TYPE_CHECKING:
    from bpy.types import Object


_wanted: set[DataReference] = set()
"""Armatures that are looked at next."""


def known_or_looked_for(armature: "Object") -> DetectedHands | None:
    """What is known of an armature's hands; if nothing is, None, and what asks is drawn again once they are found."""
    known = detection_cache.known(armature)
    if known is None:
        _wanted.add(DataReference.of(armature))
        if not bpy.app.timers.is_registered(_look):
            bpy.app.timers.register(_look, first_interval=0.0)
    return known


def stop() -> None:
    """Nothing is looked for any more."""
    _wanted.clear()
    if bpy.app.timers.is_registered(_look):
        bpy.app.timers.unregister(_look)


def _look() -> None:
    while _wanted:
        armature: Object | None = _wanted.pop().among(bpy.data.objects)
        if is_armature(armature) and detection_cache.known(armature) is None:
            detection_cache.look(armature)
    redraw_views(bpy.context)
