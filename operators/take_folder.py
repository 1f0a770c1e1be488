"""The folder of takes, and captures that a device sends as a whole, which are written there."""

from pathlib import Path
from typing import TYPE_CHECKING

import bpy

from ..capture.devices.raw_take_recorder import free_path
from ..files import make_folder, written_whole
from .preferences import preferences

if TYPE_CHECKING:
    from bpy.types import Scene

UNSAVED_FOLDER = "Knuckle Takes"
"""The folder of takes of files that are not saved yet, in the home's Documents or in the home itself."""


def folder_of(scene: "Scene") -> Path:
    """Return the folder of takes: the scene's, the preferences', the .blend file's, or one among the documents."""
    folder_setting = scene.knuckle_live.folder or preferences().take_folder
    if folder_setting or bpy.data.filepath:
        return Path(bpy.path.abspath(folder_setting or "//"))
    documents = Path.home() / "Documents"
    return (documents if documents.is_dir() else documents.parent) / UNSAVED_FOLDER


def keep_capture(scene: "Scene", name: str, content: bytes) -> None:
    """Write a capture that arrived as a whole, such as that of a video, and list it with the takes.

    Raises KnuckleError.
    """
    folder = folder_of(scene)
    make_folder(folder)
    path = free_path(folder, name, ".json")
    with written_whole(path) as temporary:
        temporary.write_bytes(content)
    settings = scene.knuckle_live
    row = settings.takes.add()
    row.name, row.filepath = path.stem, str(path)
    settings.take = len(settings.takes) - 1
