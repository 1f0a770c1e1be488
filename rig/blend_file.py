"""A take in a new file, for the shell: keyed hands, markers, camera and light in a new scene or a rig's file."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy

from ..errors import RigError
from ..files import FileError, written_whole
from ..pipeline.recipe import DriveChoice, IntoChoice, Recipe
from ..pipeline.rig_constraints import Rig
from ..pipeline.take import Take
from .armature_hands import find_hands
from .binding import is_armature
from .camera_framing import add_surroundings, add_view
from .compressed_blend import is_whole
from .importer_reasons import importer_reason
from .keys.corrections.written_take import corrections_report, kept_corrections
from .keys.drive import check_drive
from .keys.frame_times import scene_rate, set_scene_rate
from .keys.take_report import notes_of_keying
from .keys.take_scene import TakeTiming, take_frames, take_name, target_armatures, timing_of, write_take
from .linked import check_target, editable, is_in_scene
from .mapping import Mapping, check_whole, from_dict, save_mapping
from .markers_object import add_markers, object_name, set_transform
from .rig_query import RigQuery

if TYPE_CHECKING:
    from bpy.types import Collection, Object, Scene

DEFAULT_RIG = "default"
RIG_FILES = (".blend", ".glb", ".gltf", ".vrm", ".fbx")
"""Extensions of files with a rig. A VRM is a glTF file, and Blender's importer reads it as one."""


@dataclass(frozen=True, slots=True)
class RigChoice:
    """Which armature of a rig's file to drive, and the user's mappings of its hands."""

    armature: str | None = None
    """Name of the armature object; None takes the only one with hands, or the active one."""
    mappings: tuple[Mapping, ...] = ()

    @classmethod
    def of(cls, recipe: Recipe) -> "RigChoice":
        """Return the choice made in a recipe. Raises RigError for an invalid mapping."""
        mappings = [from_dict(data, f"mapping of the {side} hand") for side, data in (recipe.mappings or {}).items()]
        for mapping in mappings:
            check_whole(mapping)
        return cls(recipe.armature, tuple(mappings))


DEFAULT_CHOICE = RigChoice()


@dataclass(frozen=True, slots=True)
class TakeInScene:
    """Names of the data-blocks that new_scene_with_take made."""

    armatures: tuple[str, ...]
    markers: str
    seconds: float
    """s, the time to build and key the hands."""
    notes: tuple[str, ...] = ()
    """Warnings about the take on this rig, one sentence each."""
    corrections: tuple[dict[str, Any], ...] = ()
    """Corrections of the take, as a report lists them."""


def new_scene_with_take(take: Take, rig: str = DEFAULT_RIG, wanted: RigChoice = DEFAULT_CHOICE) -> TakeInScene:
    """Replace the open file by one that shows the take from frame 1.

    rig: 'default' or the path of a file with an armature, see RIG_FILES. A new scene gets the take's frame rate, a
    camera and light; the scene of a rig's .blend keeps its rate, range and everything else. Works only in background
    mode, so that a user's session is never replaced. Raises RigError as check_rig does, or if the rig lacks a requested
    hand.
    """
    rig_armature, rig_notes = open_rig(rig, wanted)
    scene = bpy.context.scene
    new = Path(rig).suffix.lower() != ".blend"
    if new:
        set_scene_rate(scene, take.recipe.fps or take.markers.rate)
    collection = bpy.data.collections.new(take_name(take))
    scene.collection.children.link(collection)
    timing = TakeTiming()
    started = time.perf_counter()
    with editable(rig_armature, scene, bpy.context.view_layer) if rig_armature else nullcontext() as armature:
        armatures = write_take(take, armature, scene, collection, timing)
        notes = (*rig_notes, *notes_of_keying(armatures[0], take))
    seconds = time.perf_counter() - started
    first = float(take_frames(take, scene, timing_of(take, armatures[0], timing))[0])
    name = f"{object_name(take.markers)} markers"
    markers = add_markers(take.markers, name, collection, start=first, rate=scene_rate(scene))
    set_transform(markers, take.recipe.transform, mirror=take.recipe.mirror)
    if new:
        _add_camera_and_light(take, scene, collection, timing)
    scene.frame_set(scene.frame_start)
    corrections = tuple(corrections_report(armatures, scene))
    return TakeInScene(tuple(target.name for target in armatures), markers.name, seconds, notes, corrections)


def _add_camera_and_light(take: Take, scene: "Scene", collection: "Collection", timing: TakeTiming) -> None:
    """Add a camera and light and set the frame range, so that a new file looks right when opened."""
    frames = take_frames(take, scene, timing)
    add_surroundings(scene)
    add_view(take, frames, scene, collection)
    scene.frame_start, scene.frame_end = int(frames[0]), max(int(frames[-1] + 0.999), int(frames[0]))


def check_rig(
    rig: str, drive: DriveChoice = "auto", wanted: RigChoice = DEFAULT_CHOICE, into: IntoChoice = "new"
) -> Rig | None:
    """Check before solving that a take can be keyed on a rig; return its interface for a job, None for Knuckle's hand.

    Opens the rig's file, so it works in background mode only. Raises RigError if the rig cannot be driven, or lacks the
    arm that is to be driven or the take that is to be changed.
    """
    armature = open_rig(rig, wanted)[0] if rig != DEFAULT_RIG else None
    if armature is not None:
        check_drive(armature, find_hands(armature, ()), drive)
    armatures = target_armatures(armature, into, bpy.context.scene)
    return RigQuery.of(*armatures) if armatures else None


def with_kept_corrections(recipe: Recipe, wanted: RigChoice) -> Recipe:
    """Return a recipe with the corrections of the take that its rig plays in the open file, unless it has some.

    Raises RigError as open_rig does, and RecipeError if they are damaged.
    """
    if recipe.corrections is not None or recipe.rig == DEFAULT_RIG:
        return recipe
    armature, _ = _armature_with_hand(Path(recipe.rig), wanted)
    return replace(recipe, corrections=kept_corrections(armature, recipe.capture))


def open_rig(rig: str, wanted: RigChoice) -> "tuple[Object | None, tuple[str, ...]]":
    """Open the scene to write to; return the rig's armature (None for Knuckle's own hand) and notes for the user.

    Raises RigError for a file without an armature that can be driven.
    """
    if rig == DEFAULT_RIG:
        open_empty_file()
        return None, ()
    path = Path(rig)
    if path.suffix.lower() not in RIG_FILES:
        raise RigError(f"{path}: a rig is 'default' or a .blend, .glb, .vrm or .fbx file")
    open_file(path, "a rig")
    return _armature_with_hand(path, wanted)


def open_file(path: Path, expected: str) -> None:
    """Open a file; in background mode only. Raises RigError if it cannot be read."""
    kind = path.suffix.lower()
    if not path.is_file():
        raise RigError(f"{path}: there is no such file, expected {expected}")
    try:
        with suppressed_output():
            loaded = _load(path.resolve(), kind)
    except RuntimeError as error:
        raise _unreadable(path, kind, str(error)) from error
    if loaded != {"FINISHED"}:
        raise _unreadable(path, kind)


def _unreadable(path: Path, kind: str, error: str = "") -> RigError:
    """Return the error of a file, with Blender's message."""
    reason = importer_reason(error)
    return RigError(
        f"{path}: Blender cannot read it as a {kind} file{reason}, export it again from the program that made it"
    )


def _load(path: Path, kind: str) -> set[str]:
    """Open a file or import it into an empty one; return the result of Blender's operator."""
    if kind == ".blend":
        return bpy.ops.wm.open_mainfile(filepath=str(path), load_ui=False, use_scripts=False)
    open_empty_file()
    if kind == ".fbx":
        return bpy.ops.wm.fbx_import(filepath=str(path))
    # addon_utils comes with Blender's module and can be imported only after bpy.
    import addon_utils

    addon_utils.enable("io_scene_gltf2")
    return bpy.ops.import_scene.gltf(filepath=str(path))


def armatures_in_scene() -> "list[Object]":
    """Return the armatures in the open scene."""
    return [obj for obj in bpy.data.objects if is_armature(obj) and is_in_scene(obj, bpy.context.scene)]


def in_background() -> bool:
    """Return whether Blender runs without windows, and so has no user's session that a new file would replace."""
    return bool(bpy.app.background)


def open_empty_file() -> None:
    """Replace the open file by an empty one; in background mode only."""
    if not in_background():
        raise RuntimeError("a new file is made for the shell only, it would replace the one that the person works in")
    # The preferences are kept, and with them this add-on stays enabled.
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def _armature_with_hand(path: Path, wanted: RigChoice) -> "tuple[Object, tuple[str, ...]]":
    """Return the armature to drive, with the user's mappings saved on it, and a note if it was one of several."""
    scene, armatures = bpy.context.scene, armatures_in_scene()
    if not armatures:
        raise RigError(f"{path}: there is no armature in it, choose a file with a rigged hand")
    if wanted.armature is not None:
        armatures = [_armature_named(path, armatures, wanted.armature)]
    usable: list[Object] = []
    problem: RigError | None = None
    for armature in armatures:
        try:
            check_target(armature, scene)
            for mapping in wanted.mappings:
                save_mapping(armature, mapping)
            find_hands(armature, ())
        except RigError as error:
            problem = problem or error
        else:
            usable.append(armature)
    if not usable:
        raise RigError(f"{path}: {problem}")
    if len(usable) == 1:
        return usable[0], ()
    names = " and ".join(repr(candidate.name) for candidate in usable)
    choose = "name the one to drive by --armature, or make it the active object and save the file"
    active = bpy.context.view_layer.objects.active
    if active not in usable:
        raise RigError(f"{path}: {len(usable)} armatures have hands, {names}: {choose}")
    note = f"{len(usable)} armatures of the rig's file have hands, {names}: '{active.name}' is driven, the active one"
    return active, (f"{note}; to drive another, {choose}",)


def _armature_named(path: Path, armatures: "list[Object]", name: str) -> "Object":
    for armature in armatures:
        if armature.name == name:
            return armature
    names = " and ".join(repr(candidate.name) for candidate in armatures)
    raise RigError(f"{path}: there is no armature '{name}' in it, only {names}")


def save(path: str | Path) -> None:
    """Save the open file under a path, completely or not at all. Raises FileError if it cannot be written."""
    with written_whole(Path(path)) as half:
        write(half, Path(path))


def write(half: Path, target: Path) -> None:
    """Write the open file to `half`, which will be renamed to `target`.

    Raises:
        FileError: The file cannot be written, or not all of it was: Blender reports success on a full disk too.
    """
    with suppressed_output(), blender_file_errors(target):
        bpy.ops.wm.save_as_mainfile(filepath=str(half), copy=True, check_existing=False, compress=True)
    if not is_whole(half):
        raise FileError(f"{target}: cannot be written, the saved file is cut short (is the disk full?)")


@contextmanager
def blender_file_errors(path: Path) -> Iterator[None]:
    """Convert the RuntimeError of a Blender operator that cannot write a file to a FileError that names `path`."""
    try:
        yield
    except RuntimeError as error:
        raise FileError(f"{path}: cannot be written (is the folder there, and may it be written to?)") from error


@contextmanager
def suppressed_output() -> Iterator[None]:
    """Suppress the output of Blender and its importers: the shell command reports problems in its own words.

    Blender prints from C, so file descriptors 1 and 2 are redirected rather than Python's streams.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(descriptor) for descriptor in (1, 2)]
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        os.dup2(null, 2)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for descriptor, copy in zip((1, 2), saved, strict=True):
            os.dup2(copy, descriptor)
            os.close(copy)
        os.close(null)
