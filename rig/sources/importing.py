"""Import a scene file into an empty file of Blender, and read the hands in it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import bpy

from ...capture.marker_labels import quoted
from ...capture.recording import Recording
from ...capture.scene_files import check_scene_file
from ...errors import CaptureError, KnuckleError
from ...hand.generators import Steps
from ..binding import is_armature
from ..importer_reasons import importer_reason
from ..keys.frame_times import set_scene_rate
from ..linked import ObjectName
from .frame_span import actions_played, is_animated
from .object_skeleton import add_armatures_of_objects
from .sampling import Source, sample
from .source_hands import source_hands

if TYPE_CHECKING:
    from bpy.types import Action, Object


def _import_fbx(path: str) -> set[str]:
    return bpy.ops.wm.fbx_import(filepath=path, use_anim=True)


def _import_gltf(path: str) -> set[str]:
    # addon_utils is part of Blender's module and can be imported only after bpy.
    import addon_utils

    addon_utils.enable("io_scene_gltf2")
    return bpy.ops.import_scene.gltf(filepath=path)


def _import_usd(path: str) -> set[str]:
    result = bpy.ops.wm.usd_import(filepath=path, import_materials=False, import_cameras=False, import_lights=False)
    # The importer keys frames by the file's time codes, but does not set the scene's rate.
    bpy.utils.expose_bundled_modules()
    from pxr import Usd

    set_scene_rate(bpy.context.scene, Usd.Stage.Open(path).GetTimeCodesPerSecond())
    return result


_IMPORTERS: dict[str, Callable[[str], set[str]]] = {"FBX": _import_fbx, "glTF": _import_gltf, "USD": _import_usd}
"""Name of a SceneFormat -> Blender's importer, which returns the result of its operator."""


def import_recording(path: Path, animation: str = "") -> Steps[Recording]:
    """Replace the open file by an empty one, import a file and return the motion of its hands.

    animation: the name of an action that the importer makes; empty for those that play after the import.

    All animated armatures with hands are read. Raises CaptureError for a file that Blender cannot import, and for one
    without such an armature.
    """
    scene_format = check_scene_file(path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    refused = f"{path.name}: Blender cannot import it as {scene_format.name}"
    try:
        result = _IMPORTERS[scene_format.name](str(path))
    except RuntimeError as error:
        raise CaptureError(
            f"{refused}{importer_reason(str(error))}, export it again from the program that made it"
        ) from error
    except (AttributeError, ImportError) as error:
        raise CaptureError(f"{refused}: this build of Blender lacks the importer, save it as FBX or BVH") from error
    if result != {"FINISHED"}:
        raise CaptureError(f"{refused}, export it again from the program that made it")
    if not bpy.context.scene.objects:
        raise CaptureError(f"{path.name}: Blender finds nothing in it, expected an armature with an animated hand")
    if animation:
        _play(animation, path)
    bpy.context.view_layer.update()
    sources, notes = _sources(path)
    try:
        recording = yield from sample(sources, bpy.context.scene, scene_format.name)
    except CaptureError as problem:
        raise CaptureError(f"{path.name}: {problem}") from problem
    return replace(recording, warnings=notes + recording.warnings)


def _play(animation: str, path: Path) -> None:
    """Let each object play only an action, if it has a slot for the object. Raises CaptureError if it is missing."""
    action: Action | None = bpy.data.actions.get(animation)
    if action is None:
        names = ", ".join(map(quoted, sorted(bpy.data.actions.keys())[:8]))
        content = f"it holds {names}" if names else "it holds none"
        raise CaptureError(f"{path.name}: there is no animation {quoted(animation)} in it, {content}")
    slots = {slot.identifier: slot for slot in action.slots}
    for obj in bpy.context.scene.objects:
        slot = slots.get(f"OB{obj.name}")
        if slot is not None:
            data = obj.animation_data or obj.animation_data_create()
            data.action = action
            data.action_slot = slot
        elif obj.animation_data is not None:
            obj.animation_data.action = None


def _sources(path: Path) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """Return the animated armatures with hands, and notes on those omitted. Raises CaptureError if there are none."""
    scene = bpy.context.scene
    sources, problems = _usable([obj for obj in scene.objects if is_armature(obj)])
    if not sources:
        sources, object_problems = _usable(add_armatures_of_objects(scene))
        # Hands of armatures that are parented to empties are read together with the empties.
        problems = object_problems if sources else problems + object_problems
    if not sources:
        nothing = "it contains no armature, expected one with an animated hand"
        raise CaptureError(f"{path.name}: {problems[0] if problems else nothing}")
    return tuple(sources), tuple(f"left out: {problem}" for problem in problems) + _clips(sources)


def _usable(armatures: "list[Object]") -> tuple[list[Source], list[str]]:
    """Return the animated armatures with hands, and the reasons why others are omitted."""
    sources: list[Source] = []
    problems: list[str] = []
    for armature in armatures:
        try:
            hands = source_hands(armature, tails_known=False)
        except KnuckleError as problem:
            problems.append(str(problem))
            continue
        if is_animated(armature):
            sources.append(Source(ObjectName.of(armature), hands))
        else:
            problems.append(f"armature '{armature.name}' is not animated")
    return sources, problems


def _clips(sources: list[Source]) -> tuple[str, ...]:
    """Return a note about the file's animations that are not read, if any."""
    played = {name for source in sources for name in actions_played(source.find())}
    unread = sorted({action.name for action in bpy.data.actions} - played)
    if not unread:
        return ()
    names = ", ".join(map(quoted, unread[:4])) + (f" and {len(unread) - 4} more" if len(unread) > 4 else "")
    read = ", ".join(map(quoted, sorted(played)))
    return (f"the file holds several animations: {read} was read, not {names}; choose another by its name",)
