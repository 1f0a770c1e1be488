"""Recognise the pose assets that Knuckle made, so that only these are ever keyed again.

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
KEPT = "knuckle_poses"
"""Custom property of an armature object whose poses were made assets: its identifier, and its name then."""


def identifier(armature: "Object") -> str:
    """Return the identifier of an armature, which it keeps from the first call on."""
    own = _own(armature) or _left_behind(armature.name) or uuid4().hex
    armature[KEPT] = {"id": own, "name": armature.name}
    return own


def mark(action: "Action", armature: "Object", pose: str, side: Side) -> None:
    """Mark an action as made for an armature that has an identifier."""
    kept = {"pose": pose, "side": side, "of": armature[KEPT]["id"], "armature": armature.name}
    action[MARK] = kept | {"name": action.name, "keys": _keys(action)}


def made_before(own: str, pose: str, side: Side) -> "Action | None":
    """Return the unchanged asset of a pose of the armature with an identifier, even if it was renamed.

    None where there is none, or where it cannot be told from a copy.
    """
    of = pose, side, own
    marked = {action: kept for action, kept in _marked() if (kept["pose"], kept["side"], kept["of"]) == of}
    named = [action for action, kept in marked.items() if kept["name"] == action.name]
    for action in named or (marked if len(marked) == 1 else ()):
        if action.is_editable and action.asset_data and marked[action]["keys"] == _keys(action):
            return action
    return None


def _own(armature: "Object") -> str | None:
    """Return the identifier on an armature; None without one, or if the armature is a copy of another."""
    kept = _table(armature, KEPT)
    if kept is None:
        return None
    others = (_table(other, KEPT) for other in bpy.data.objects if other != armature and other.name == kept["name"])
    copied = any(other is not None and other["id"] == kept["id"] for other in others)
    return None if copied and armature.name != kept["name"] else str(kept["id"])


def _left_behind(name: str) -> str | None:
    """Return the identifier of a missing armature of this name: library overrides lose theirs on loading."""
    there = {kept["id"] for obj in bpy.data.objects if (kept := _table(obj, KEPT)) is not None}
    gone = (str(kept["of"]) for _, kept in _marked() if kept["armature"] == name and kept["of"] not in there)
    return next(gone, None)


def _marked() -> "Iterator[tuple[Action, dict[str, Any]]]":
    for action in bpy.data.actions:
        kept = _table(action, MARK)
        if kept is not None:
            yield action, kept


def _table(block: "bpy.types.ID", name: str) -> dict[str, Any] | None:
    """Return a custom property that has the expected entries, None otherwise."""
    kept: Any = block.get(name)
    table = kept.to_dict() if hasattr(kept, "to_dict") else {}
    expected = {"pose", "side", "of", "armature", "name", "keys"} if name == MARK else {"id", "name"}
    return table if expected <= table.keys() else None


def _keys(action: "Action") -> str:
    """Return a digest of an action's F-curves: their channels, keys, modifiers, and whether they are muted."""
    digest = hashlib.sha256()
    bags = (bag for layer in action.layers for strip in layer.strips for bag in getattr(strip, "channelbags", ()))
    for curve in (curve for bag in bags for curve in bag.fcurves):
        kinds = [key.interpolation for key in curve.keyframe_points]
        digest.update(repr((curve.data_path, curve.array_index, curve.mute, len(curve.modifiers), kinds)).encode())
        places = np.empty(2 * len(curve.keyframe_points), np.float32)
        curve.keyframe_points.foreach_get("co", places)
        digest.update(places.tobytes())
    return digest.hexdigest()
