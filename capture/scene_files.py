"""Captures that only Blender can read: files of scenes with an animated armature, and armatures of the open file.

A recipe names an armature of the open file as `armature:NAME`.
"""

from dataclasses import dataclass
from pathlib import Path

from ..errors import CaptureError
from .lfs_pointers import refuse_pointer

ARMATURE = "armature:"
"""Prefix of the name of an armature of the open file, where a recipe names its capture."""
MAX_FILE_SIZE = 2 * 2**30
"""Maximum size of a scene's file in bytes."""


@dataclass(frozen=True, slots=True)
class SceneFormat:
    """A format of scenes that Blender imports."""

    name: str
    suffixes: tuple[str, ...]
    """File suffixes, by which Blender chooses the importer."""
    starts_with: tuple[bytes, ...]
    """The possible first bytes of a file of this format."""
    is_self_contained: bool = True
    """Whether the file contains all of its scene. Buffers of a glTF and layers of a USD may be in other files."""


SCENE_FORMATS: tuple[SceneFormat, ...] = (
    SceneFormat("FBX", (".fbx",), (b"Kaydara FBX Binary", b"; FBX")),
    SceneFormat("glTF", (".glb", ".vrma"), (b"glTF",)),
    SceneFormat("glTF", (".gltf",), (b"{",), is_self_contained=False),
    SceneFormat("USD", (".usd", ".usda", ".usdc"), (b"#usda", b"PXR-USDC"), is_self_contained=False),
    SceneFormat("USD", (".usdz",), (b"PK\x03\x04",)),
)

SCENE_SUFFIXES: tuple[str, ...] = tuple(suffix for scene_format in SCENE_FORMATS for suffix in scene_format.suffixes)


def armature_name(capture: str) -> str | None:
    """Return the name of the armature if a recipe's capture is one, None if it is a file."""
    return capture.removeprefix(ARMATURE) if capture.startswith(ARMATURE) else None


def is_scene_file(capture: str | Path) -> bool:
    """Return whether a capture is a file that Blender imports, by its suffix."""
    return Path(capture).suffix.lower() in SCENE_SUFFIXES


def is_self_contained(capture: str | Path) -> bool:
    """Return whether a capture's file contains all of it, by its suffix."""
    suffix = Path(capture).suffix.lower()
    return all(scene_format.is_self_contained for scene_format in SCENE_FORMATS if suffix in scene_format.suffixes)


def needs_blender(capture: str) -> bool:
    """Return whether only Blender can read a capture."""
    return armature_name(capture) is not None or is_scene_file(capture)


def check_scene_file(path: Path) -> SceneFormat:
    """Return the format of a scene's file. Raises CaptureError if it is missing, too large or of another format."""
    suffix = path.suffix.lower()
    scene_format = next(scene_format for scene_format in SCENE_FORMATS if suffix in scene_format.suffixes)
    if not path.is_file():
        raise CaptureError(f"{path.name}: no such file at {path}")
    try:
        with path.open("rb") as file:
            start = file.read(64)
    except OSError as error:
        raise CaptureError(f"{path.name}: cannot be opened, {str(error.strerror).lower()}") from None
    refuse_pointer(start, path.name)
    if not start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(scene_format.starts_with):
        raise CaptureError(
            f"{path.name}: the suffix is {suffix}, but the content does not start as {scene_format.name} does"
        )
    if path.stat().st_size > MAX_FILE_SIZE:
        raise CaptureError(f"{path.name}: larger than {MAX_FILE_SIZE >> 20} MiB, the most for {scene_format.name}")
    return scene_format
