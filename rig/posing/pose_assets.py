"""Named poses as pose assets of the open file, which Blender's pose library shows, applies, blends and flips.

A pose asset is an action that is keyed on one frame and marked as an asset; the asset shelf of Pose Mode finds those of
the open file by itself. Its catalog is a matter of the file's asset library, and has a name only there.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...hand import poses
from ...hand.joints import Side
from ...hand.poses import NamedPose
from ..keys.keyframes import BoneCurves, write_curves
from .asset_stamps import identifier, made_before, mark
from .hand_poses import pose_curves
from .rig_hand import RigHand

if TYPE_CHECKING:
    from bpy.types import Action, Object, ViewLayer

Floats = NDArray[np.float32]

PREVIEWS = Path(__file__).parents[2] / "data" / "poses.png"
"""The pictures of the poses on a right hand, one below the other in the order of POSES, each as wide as it is high."""
CATALOG = "Hand Poses"


def add_pose_assets(
    armature: "Object", hands: Sequence[RigHand], names: Sequence[str] = tuple(poses.POSES)
) -> "list[Action]":
    """Makes named poses of hands of an armature pose assets of this file, each hand's its own.

    Those that were made before for this armature and are as they were made are keyed anew, and keep all else that their
    person gave them. The armature stays as it is, and keeps by what they are known again, see pose_marks. Raises
    HandError for a name that is not known, and then nothing has changed.
    """
    keyed = [(hand, name, pose_curves(armature, hand, name)) for hand in hands for name in names]
    own, pictures = identifier(armature), _pictures()
    catalogs: dict[Side, str] = {}
    made = []
    for hand, name, curves in keyed:
        side = hand.hand.side
        action = made_before(own, name, side)
        if action is None:
            action = _new_asset(armature, poses.named(name), side)
            if side not in catalogs:
                catalogs[side] = _catalog(armature, side)
            if catalogs[side]:
                action.asset_data.catalog_id = catalogs[side]
            _show(action, pictures.get(name), side)
        _key(action, armature, curves)
        mark(action, armature, name, side)
        made.append(action)
    return made


def _new_asset(armature: "Object", pose: NamedPose, side: Side) -> "Action":
    """An action without keys: "Fist L"."""
    action = bpy.data.actions.new(f"{pose.label} {side[0].upper()}")
    action.asset_mark()
    data: Any = action.asset_data
    data.description = f"{pose.about} The {side} hand of {armature.name}"
    for tag in ("hand", side, armature.name, poses.GROUPS[pose.group].lower(), *pose.tags):
        data.tags.new(tag, skip_if_exists=True)
    return action


def _key(action: "Action", armature: "Object", curves: Sequence[BoneCurves]) -> None:
    """Keys an action anew: a slot for the armature, and one frame."""
    for layer in list(action.layers):
        action.layers.remove(layer)
    slot = action.slots[0] if action.slots else action.slots.new(id_type="OBJECT", name=armature.name)
    strip = action.layers.new("Pose").strips.new(type="KEYFRAME")
    write_curves(strip.channelbag(slot, ensure=True), curves)


def _catalog(armature: "Object", side: Side) -> str:
    """The catalog of a side in this file's asset library: its identifier, empty where Blender gives none.

    Only Blender's own operator makes a catalog that Blender knows at once, and writes it beside the file when that is
    saved. It makes a pose asset in it, which nobody asked for.
    """
    before = set(bpy.data.actions)
    path = f"{CATALOG}/{side.capitalize()}"
    try:
        with _in_pose_mode(armature):
            bpy.ops.poselib.create_pose_asset(pose_name=path, asset_library_reference="LOCAL", catalog_path=path)
    except (RuntimeError, TypeError):
        # A hidden armature has no Pose Mode, another Blender another operator: without a catalog assets are shown too.
        return ""
    made = [action for action in bpy.data.actions if action not in before]
    catalog = made[0].asset_data.catalog_id if made and made[0].asset_data else ""
    for action in made:
        action.asset_clear()
        bpy.data.actions.remove(action)
    return str(catalog)


@contextmanager
def _in_pose_mode(armature: "Object") -> Iterator[None]:
    """Pose Mode on an armature; afterwards each object's mode, the selection and the active object are as they were."""
    layer = bpy.context.view_layer
    active, selected = layer.objects.active, [obj for obj in layer.objects if obj.select_get()]
    if active == armature and armature.mode == "POSE":
        yield
        return
    modes = {obj: obj.mode for obj in layer.objects if obj.mode != "OBJECT"}
    if active in modes:
        bpy.ops.object.mode_set(mode="OBJECT")
    try:
        layer.objects.active = armature
        bpy.ops.object.mode_set(mode="POSE")
        yield
    finally:
        if armature.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        # Into a mode go the active object and those that are selected, some of which may not have been.
        for obj in sorted(modes, key=lambda obj: obj == active):
            if obj.mode != modes[obj]:
                layer.objects.active = obj
                _select(layer, [other for other in modes if modes[other] == modes[obj]])
                bpy.ops.object.mode_set(mode=modes[obj])
        layer.objects.active = active
        _select(layer, selected)


def _select(layer: "ViewLayer", objects: "Collection[Object]") -> None:
    for obj in layer.objects:
        obj.select_set(obj in objects)


def _pictures() -> dict[str, Floats]:
    """(N, N, 4) by pose, bottom row first, as Blender has pictures; none where the file is not there."""
    if not PREVIEWS.is_file():
        return {}
    image = bpy.data.images.load(str(PREVIEWS), check_existing=False)
    try:
        width, height = image.size
        stored = np.empty(width * height * 4, np.float32)
        pixels: Any = image.pixels
        pixels.foreach_get(stored)
    finally:
        bpy.data.images.remove(image)
    tiles = stored.reshape(-1, width, width, 4)[::-1]
    return dict(zip(poses.POSES, tiles, strict=False))


def _show(action: "Action", picture: Floats | None, side: Side) -> None:
    """Gives an asset its picture; the left hand's is the right one's in the mirror."""
    if picture is None:
        return
    preview: Any = action.preview_ensure()
    preview.image_size = picture.shape[:2]
    seen = picture if side == "right" else picture[:, ::-1]
    preview.image_pixels_float.foreach_set(np.ascontiguousarray(seen).ravel())
