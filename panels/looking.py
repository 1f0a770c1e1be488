"""Finding the hands of the armature that is driven for what is drawn: never while drawing, but right after it."""

from typing import TYPE_CHECKING

import bpy

from ..operators.rig_hands import driven_armature
from ..rig import known_hands
from ..rig.known_hands import KnownHands

if TYPE_CHECKING:
    from bpy.types import Object


def known_or_looked_for(armature: "Object") -> KnownHands | None:
    """What is known of an armature's hands; if nothing is, None, and what asks is drawn again once they are found."""
    known = known_hands.known(armature)
    if known is None and not bpy.app.timers.is_registered(_look):
        bpy.app.timers.register(_look, first_interval=0.0)
    return known


def stop() -> None:
    """Nothing is looked for any more."""
    if bpy.app.timers.is_registered(_look):
        bpy.app.timers.unregister(_look)


def _look() -> None:
    for window in bpy.context.window_manager.windows:
        armature = driven_armature(window.scene)
        if armature is not None and known_hands.known(armature) is None:
            known_hands.look(armature)
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()
