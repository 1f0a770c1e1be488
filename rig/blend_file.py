"""A take in a file of its own, for the shell: an empty scene or a rig's file, hands, keys, markers, camera, light."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import bpy

from ..errors import RigError
from ..files import FileError, written_whole
from ..pipeline.job import Take
from ..pipeline.recipe import Recipe
from ..pipeline.rig_constraints import Rig
from .armature_hands import find_hands
from .binding import is_armature
from .camera_framing import add_surroundings, add_view
from .keys.arm_keys import check_arms
from .keys.frame_times import scene_rate, set_scene_rate
from .keys.keying_notes import keying_notes
from .keys.take_scene import TakeTiming, take_frames, take_name, write_take
from .linked import check_target, editable, stands_in
from .mapping import Mapping, check_whole, from_dict, save_mapping
from .markers_object import add_markers, object_name, show_mirrored
from .rig_query import RigQuery

if TYPE_CHECKING:
    from bpy.types import Collection, Object, Scene

DEFAULT_RIG = "default"


@dataclass(frozen=True, slots=True)
class RigChoice:
    """Which armature of a rig's file is driven, and what its person says of its hands."""

    armature: str | None = None
    """Its object's name; None takes the only one that has hands, or the active one."""
    mappings: tuple[Mapping, ...] = ()

    @classmethod
    def of(cls, recipe: Recipe) -> "RigChoice":
        """What a recipe says. Raises RigError for a mapping that is not understood."""
        mappings = [from_dict(data, f"mapping of the {side} hand") for side, data in (recipe.mappings or {}).items()]
        for mapping in mappings:
            check_whole(mapping)
        return cls(recipe.armature, tuple(mappings))


ANY = RigChoice()


@dataclass(frozen=True, slots=True)
class TakeInScene:
    """What new_scene_with_take made, by name."""

    armatures: tuple[str, ...]
    markers: str
    seconds: float
    """s that building the hands and keying them took."""
    notes: tuple[str, ...] = ()
    """What a person should know of the take on their rig, each in a sentence."""


def new_scene_with_take(take: Take, rig: str = DEFAULT_RIG, wanted: RigChoice = ANY) -> TakeInScene:
    """Replaces the file that is open by one that shows the take, from frame 1.

    A new scene has the take's own rate, a camera and light. The scene of a rig's own .blend keeps its rate, range and
    all else. For Blender without windows only: a person's session is never replaced. `rig` is 'default' or the path of
    a .blend or .glb file with an armature. Raises RigError as check_rig does, or for a rig that lacks a hand asked for.
    """
    found, chosen = open_rig(rig, wanted)
    scene = bpy.context.scene
    new = not _is_own_scene(rig)
    if new:
        set_scene_rate(scene, take.recipe.fps or take.markers.rate)
    collection = bpy.data.collections.new(take_name(take))
    scene.collection.children.link(collection)
    placing = TakeTiming()
    began = time.perf_counter()
    with editable(found, scene, bpy.context.view_layer) if found else nullcontext() as armature:
        notes = (*chosen, *keying_notes(armature, take)) if armature else ()
        armatures = write_take(take, armature, scene, collection, placing)
    seconds = time.perf_counter() - began
    name = f"{object_name(take.markers)} markers"
    markers = add_markers(take.markers, name, collection, start=placing.start, rate=scene_rate(scene))
    show_mirrored(markers, take.recipe.mirror)
    if new:
        _dress(take, scene, collection, placing)
    scene.frame_set(scene.frame_start)
    return TakeInScene(tuple(target.name for target in armatures), markers.name, seconds, notes)


def _is_own_scene(rig: str) -> bool:
    """Whether the rig comes with a scene that is its person's own."""
    return Path(rig).suffix.lower() == ".blend"


def _dress(take: Take, scene: "Scene", collection: "Collection", placing: TakeTiming) -> None:
    """Camera, light and frame range, so that a new file looks right when it is opened."""
    frames = take_frames(take, scene, placing)
    add_surroundings(scene)
    add_view(take, frames, scene, collection)
    scene.frame_start, scene.frame_end = int(frames[0]), max(int(frames[-1] + 0.999), int(frames[0]))


def check_rig(rig: str, arm: bool = False, wanted: RigChoice = ANY) -> Rig | None:
    """What a job asks of a rig; None for the hand that Knuckle builds.

    For Blender without windows only: a rig's file is opened to look into it. Raises RigError for a rig that no take
    can go to, or where `arm` is asked for that has none: asked before the solving, not after it.
    """
    armature = open_rig(rig, wanted)[0] if rig != DEFAULT_RIG else None
    if armature is not None and arm:
        check_arms(armature, find_hands(armature, ()))
    return RigQuery.of(armature) if armature else None


def open_rig(rig: str, wanted: RigChoice) -> "tuple[Object | None, tuple[str, ...]]":
    """Opens the scene that is written to; the rig's armature, None for the hand that Knuckle builds, and notes.

    Raises RigError for a file that is no rig, or has none that can be driven.
    """
    if rig == DEFAULT_RIG:
        empty_file()
        return None, ()
    path = Path(rig)
    kind = path.suffix.lower()
    if kind not in (".blend", ".glb", ".gltf"):
        raise RigError(f"{path}: a rig is 'default' or a .blend or .glb file")
    if not path.is_file():
        raise RigError(f"{path}: there is no such file, expected a rig")
    try:
        with quiet():
            _read(path.resolve(), kind)
    except RuntimeError as error:
        raise RigError(f"{path}: Blender cannot read it as a {kind} file, save it again from its source") from error
    return _armature_with_hand(path, wanted)


def _read(path: Path, kind: str) -> None:
    if kind == ".blend":
        bpy.ops.wm.open_mainfile(filepath=str(path), load_ui=False, use_scripts=False)
        return
    # Blender's module brings addon_utils along: it is there only once bpy is.
    import addon_utils

    empty_file()
    addon_utils.enable("io_scene_gltf2")
    bpy.ops.import_scene.gltf(filepath=str(path))


def in_background() -> bool:
    """Whether Blender has no windows, and so no session of a user that a new file would replace."""
    return bool(bpy.app.background)


def empty_file() -> None:
    """Replaces the open file by one with nothing in it; in Blender without windows only."""
    if not in_background():
        raise RuntimeError("a new file is made for the shell only, it would replace the one that the person works in")
    # The preferences stay, and with them the add-on that this runs in.
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def _armature_with_hand(path: Path, wanted: RigChoice) -> "tuple[Object, tuple[str, ...]]":
    """The armature to drive, with what its person says of its hands kept on it; of several it is told which."""
    scene = bpy.context.scene
    armatures = [obj for obj in bpy.data.objects if is_armature(obj) and stands_in(obj, scene)]
    if not armatures:
        raise RigError(f"{path}: there is no armature in it, choose a file with a rigged hand")
    if wanted.armature is not None:
        armatures = [_named(path, armatures, wanted.armature)]
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
    named = " and ".join(repr(one.name) for one in usable)
    choose = "name the one to drive by --armature, or make it the active object and save the file"
    active = bpy.context.view_layer.objects.active
    if active not in usable:
        raise RigError(f"{path}: {len(usable)} armatures have hands, {named}: {choose}")
    note = f"{len(usable)} armatures of the rig's file have hands, {named}: '{active.name}' is driven, the active one"
    return active, (f"{note}; to drive another, {choose}",)


def _named(path: Path, armatures: "list[Object]", name: str) -> "Object":
    for armature in armatures:
        if armature.name == name:
            return armature
    there = " and ".join(repr(one.name) for one in armatures)
    raise RigError(f"{path}: there is no armature '{name}' in it, only {there}")


def save(path: str | Path) -> None:
    """Saves the open file under a path, whole or not at all. Raises FileError if it cannot be written."""
    with written_whole(Path(path)) as half, quiet(), written_by_blender(Path(path)):
        bpy.ops.wm.save_as_mainfile(filepath=str(half), copy=True, check_existing=False, compress=True)


@contextmanager
def written_by_blender(path: Path) -> Iterator[None]:
    """For one operator of Blender's that writes a file: it says that it cannot by a RuntimeError.

    Raises FileError naming `path`.
    """
    try:
        yield
    except RuntimeError as error:
        raise FileError(f"{path}: cannot be written (is the folder there, and may it be written to?)") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps what Blender and its importers print off the terminal: a shell command tells of problems in its own words.

    Blender prints from C, so the terminal's file descriptors are turned aside and not Python's streams.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(descriptor) for descriptor in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for descriptor, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, descriptor)
            os.close(copy)
        os.close(nowhere)
