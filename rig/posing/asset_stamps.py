"""Recognise the pose assets that Knuckle made, so that only these are keyed again.

Blender copies custom properties with a data-block. The mark of an action therefore holds its name and a digest of its
keys: an action that a person edited, or a copy of it, belongs to the person. An armature has an identifier that
survives renaming; a copy of the armature counts as another one.
"""

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import bpy
import numpy as np

from ...hand.joints import Side

if TYPE_CHECKING:
    from bpy.types import Action, Object

MARK = "knuckle_pose"
"""Custom property of an action: the pose, its side, the armature, and the action's name and keys when it was made."""
POSED_MARK = "knuckle_poses"
"""Custom property of an armature object with pose assets: its identifier, and its name at that time."""


def identifier(armature: "Object") -> str:
    """Return the identifier of an armature, and store it on the first call."""
    identity = _own(armature) or _missing_identifier(armature.name) or uuid4().hex
    armature[POSED_MARK] = {"id": identity, "name": armature.name}
    return identity


def mark(action: "Action", armature: "Object", pose: str, side: Side) -> None:
    """Mark an action as made for an armature that has an identifier."""
    origin = {"pose": pose, "side": side, "of": armature[POSED_MARK]["id"], "armature": armature.name}
    action[MARK] = origin | {"name": action.name, "keys": _keys(action)}


def existing_asset(identity: str, pose: str, side: Side) -> "Action | None":
    """Return the unchanged asset of a pose, even if it was renamed. identity: identifier of the armature.

    None if there is none, or if it cannot be distinguished from a copy.
    """
    origin = pose, side, identity
    marked = {action: stamp for action, stamp in _marked() if (stamp["pose"], stamp["side"], stamp["of"]) == origin}
    named = [action for action, stamp in marked.items() if stamp["name"] == action.name]
    for action in named or (marked if len(marked) == 1 else ()):
        if action.is_editable and action.asset_data and marked[action]["keys"] == _keys(action):
            return action
    return None


def _own(armature: "Object") -> str | None:
    """Return the identifier on an armature; None without one, or if the armature is a copy of another."""
    identity = _table(armature, POSED_MARK)
    if identity is None:
        return None
    tables = (_table(obj, POSED_MARK) for obj in bpy.data.objects if obj != armature and obj.name == identity["name"])
    copied = any(table is not None and table["id"] == identity["id"] for table in tables)
    return None if copied and armature.name != identity["name"] else str(identity["id"])


def _missing_identifier(name: str) -> str | None:
    """Return the identifier of a missing armature of this name: library overrides lose theirs on loading."""
    present = {identity["id"] for obj in bpy.data.objects if (identity := _table(obj, POSED_MARK)) is not None}
    missing = (str(stamp["of"]) for _, stamp in _marked() if stamp["armature"] == name and stamp["of"] not in present)
    return next(missing, None)


def _marked() -> "Iterator[tuple[Action, dict[str, Any]]]":
    for action in bpy.data.actions:
        stamp = _table(action, MARK)
        if stamp is not None:
            yield action, stamp


def _table(block: "bpy.types.ID", name: str) -> dict[str, Any] | None:
    """Return a custom property that has the expected entries, None otherwise."""
    value: Any = block.get(name)
    table = value.to_dict() if hasattr(value, "to_dict") else {}
    expected = {"pose", "side", "of", "armature", "name", "keys"} if name == MARK else {"id", "name"}
    return table if expected <= table.keys() else None


def _keys(action: "Action") -> str:
    """Return a digest of an action's F-curves: their channels, keys, modifiers, and whether they are muted."""
    digest = hashlib.sha256()
    bags = (bag for layer in action.layers for strip in layer.strips for bag in getattr(strip, "channelbags", ()))
    for curve in (curve for bag in bags for curve in bag.fcurves):
        kinds = [key.interpolation for key in curve.keyframe_points]
        digest.update(repr((curve.data_path, curve.array_index, curve.mute, len(curve.modifiers), kinds)).encode())
        coordinates = np.empty(2 * len(curve.keyframe_points), np.float32)
        curve.keyframe_points.foreach_get("co", coordinates)
        digest.update(coordinates.tobytes())
    return digest.hexdigest()
