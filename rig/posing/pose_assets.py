"""Make named poses pose assets of the open file, which Blender's pose library shows, applies, blends and flips.

A pose asset is an action with one keyed frame that is marked as an asset; the asset shelf of Pose Mode finds those of
the open file. Catalogs belong to the file's asset library, which alone knows their names.
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
from ...posing.pose_picture import pose_picture
from ..keys.keyframes import BoneCurves, write_curves
from .asset_stamps import existing_asset, identifier, mark
from .hand_poses import pose_curves
from .rig_hand import RigHand

if TYPE_CHECKING:
    from bpy.types import Action, Object, ViewLayer

Floats = NDArray[np.float32]

PREVIEWS = Path(__file__).parents[2] / "data" / "poses.png"
"""Square previews of the poses on a right hand, one below the other in the order of POSES."""
CATALOG = "Hand Poses"


def add_pose_assets(
    armature: "Object", hands: Sequence[RigHand], names: Sequence[str | NamedPose] = tuple(poses.POSES)
) -> "list[Action]":
    """Make named poses of an armature's hands pose assets of this file, one for each hand and pose.

    Unchanged assets that were made before for this armature are keyed again, and keep their name, tags and catalog. The
    armature's pose stays; it gets an identifier, see asset_stamps. Raises HandError for an unknown name before anything
    changes.
    """
    keyed = [(hand, name, pose_curves(armature, hand, name)) for hand in hands for name in names]
    own, rendered = identifier(armature), pictures()
    catalogs: dict[Side, str] = {}
    assets = []
    for hand, name, curves in keyed:
        side, pose = hand.hand.side, poses.named(name)
        action = existing_asset(own, pose.name, side)
        if action is None:
            action = _new_asset(armature, pose, side)
            if side not in catalogs:
                catalogs[side] = _catalog(armature, side)
            if catalogs[side]:
                action.asset_data.catalog_id = catalogs[side]
            saved = pose_picture(pose) if pose.group == poses.SAVED else None
            _show(action, rendered.get(pose.name, saved), side)
        _key(action, armature, curves)
        mark(action, armature, pose.name, side)
        assets.append(action)
    return assets


def _new_asset(armature: "Object", pose: NamedPose, side: Side) -> "Action":
    """Return an action without keys, named like "Fist L"."""
    action = bpy.data.actions.new(f"{pose.label} {side[0].upper()}")
    action.asset_mark()
    data: Any = action.asset_data
    data.description = f"{pose.about} The {side} hand of {armature.name}"
    for tag in ("hand", side, armature.name, poses.GROUPS.get(pose.group, pose.group).lower(), *pose.tags):
        data.tags.new(tag, skip_if_exists=True)
    return action


def _key(action: "Action", armature: "Object", curves: Sequence[BoneCurves]) -> None:
    """Replace the keys of an action: one slot for the armature, one frame."""
    for layer in list(action.layers):
        action.layers.remove(layer)
    slot = action.slots[0] if action.slots else action.slots.new(id_type="OBJECT", name=armature.name)
    strip = action.layers.new("Pose").strips.new(type="KEYFRAME")
    write_curves(strip.channelbag(slot, ensure=True), curves)


def _catalog(armature: "Object", side: Side) -> str:
    """Return the identifier of a side's catalog in this file's asset library, empty where Blender gives none.

    Only Blender's own operator makes a catalog that is available at once and saved with the file. It also makes a pose
    asset, which is removed.
    """
    before = set(bpy.data.actions)
    path = f"{CATALOG}/{side.capitalize()}"
    try:
        with _in_pose_mode(armature):
            bpy.ops.poselib.create_pose_asset(pose_name=path, asset_library_reference="LOCAL", catalog_path=path)
    except (RuntimeError, TypeError):
        # A hidden armature has no Pose Mode, and another Blender may have another operator. Assets need no catalog.
        return ""
    new_actions = [action for action in bpy.data.actions if action not in before]
    catalog = new_actions[0].asset_data.catalog_id if new_actions and new_actions[0].asset_data else ""
    for action in new_actions:
        action.asset_clear()
        bpy.data.actions.remove(action)
    return str(catalog)


@contextmanager
def _in_pose_mode(armature: "Object") -> Iterator[None]:
    """Enter Pose Mode on an armature, and restore modes, selection and active object afterwards."""
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
        # Blender changes the mode of the active and all selected objects.
        for obj in sorted(modes, key=lambda obj: obj == active):
            if obj.mode != modes[obj]:
                layer.objects.active = obj
                _select(layer, [obj for obj in modes if modes[obj] == modes[obj]])
                bpy.ops.object.mode_set(mode=modes[obj])
        layer.objects.active = active
        _select(layer, selected)


def _select(layer: "ViewLayer", objects: "Collection[Object]") -> None:
    for obj in layer.objects:
        obj.select_set(obj in objects)


def pictures() -> dict[str, Floats]:
    """Return pose -> its preview (N, N, 4), bottom row first as in Blender; an empty dictionary without the file."""
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


def _show(action: "Action", picture: NDArray[Any] | None, side: Side) -> None:
    """Set the preview of an asset, mirrored for a left hand."""
    if picture is None:
        return
    preview: Any = action.preview_ensure()
    preview.image_size = picture.shape[:2]
    pixels = picture if side == "right" else picture[:, ::-1]
    preview.image_pixels_float.foreach_set(np.ascontiguousarray(pixels, np.float32).ravel())
