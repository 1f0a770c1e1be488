"""The take of a Blender file, for its report page."""

from pathlib import Path
from typing import TYPE_CHECKING

import bpy

from ..errors import RigError
from ..pipeline.report_page.content import ReviewedTake
from .blend_file import armatures_in_scene, open_file
from .keys.corrections.take_marks import marked_take
from .keys.take_report import action_with_report

if TYPE_CHECKING:
    from bpy.types import Object


def open_take(path: Path, name: str | None = None) -> "tuple[Object, ReviewedTake]":
    """Open a file that has a take; return the armature that plays it and the take.

    name: name of the armature; by default the first one. Works in background mode only. Raises RigError if there is no
    take.
    """
    if path.suffix.lower() != ".blend":
        raise RigError(f"{path}: expected a .blend file with a take")
    open_file(path, "a take")
    takes = [
        (armature, action) for armature in armatures_in_scene() if (action := action_with_report(armature)) is not None
    ]
    if not takes:
        raise RigError(f"{path}: it contains no take, expected a file in which a capture was solved")
    for armature, action in takes:
        if name in (None, armature.name):
            return armature, marked_take(action, bpy.context.scene, path.stem)
    names = " and ".join(repr(armature.name) for armature, _ in takes)
    raise RigError(f"{path}: no armature '{name}' plays a take in it, only {names}")


def take_in_scene(armature: str, name: str) -> "tuple[Object, ReviewedTake]":
    """Return an armature of the open scene and its take. Raises RigError."""
    playing = bpy.context.scene.objects[armature]
    action = action_with_report(playing)
    if action is None:
        raise RigError(f"armature '{armature}' plays no take")
    return playing, marked_take(action, bpy.context.scene, name)
