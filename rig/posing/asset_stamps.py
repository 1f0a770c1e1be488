"""By what a pose asset that Knuckle made is known again, so that only such are ever keyed anew.

Blender copies custom properties with what it copies. A mark therefore says what its action was called and how it was
keyed: an action that a person edited, or a copy beside the one that was made, is the person's. An armature is known by
an identifier that stays when it is renamed; a copy of it is another one.
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
"""The custom property of an action: the pose, its side, the armature, and the action's name and keys as they were made.
"""
KEPT = "knuckle_poses"
"""The custom property of an armature object whose poses were made assets: its identifier, and its name then."""


def identifier(armature: "Object") -> str:
    """Of an armature whose poses are made assets, kept on it from the first time on."""
    own = _own(armature) or _left_behind(armature.name) or uuid4().hex
    armature[KEPT] = {"id": own, "name": armature.name}
    return own


def mark(action: "Action", armature: "Object", pose: str, side: Side) -> None:
    """Says that an action was made so for an armature that has an identifier, as it is now."""
    kept = {"pose": pose, "side": side, "of": armature[KEPT]["id"], "armature": armature.name}
    action[MARK] = kept | {"name": action.name, "keys": _keys(action)}


def made_before(own: str, pose: str, side: Side) -> "Action | None":
    """The asset of a pose of an armature, by its identifier, that is as it was made, whatever its name.

    None where there is none, or where a copy of it may be it as well.
    """
    of = pose, side, own
    marked = {action: kept for action, kept in _marked() if (kept["pose"], kept["side"], kept["of"]) == of}
    named = [action for action, kept in marked.items() if kept["name"] == action.name]
    for action in named or (marked if len(marked) == 1 else ()):
        if action.is_editable and action.asset_data and marked[action]["keys"] == _keys(action):
            return action
    return None


def _own(armature: "Object") -> str | None:
    """What an armature was called by, None for one that is a copy of another or that was never called."""
    kept = _table(armature, KEPT)
    if kept is None:
        return None
    others = (_table(other, KEPT) for other in bpy.data.objects if other != armature and other.name == kept["name"])
    copied = any(other is not None and other["id"] == kept["id"] for other in others)
    return None if copied and armature.name != kept["name"] else str(kept["id"])


def _left_behind(name: str) -> str | None:
    """What an armature of this name was called by that is gone: a library override forgets it with each loading."""
    there = {kept["id"] for obj in bpy.data.objects if (kept := _table(obj, KEPT)) is not None}
    gone = (str(kept["of"]) for _, kept in _marked() if kept["armature"] == name and kept["of"] not in there)
    return next(gone, None)


def _marked() -> "Iterator[tuple[Action, dict[str, Any]]]":
    for action in bpy.data.actions:
        kept = _table(action, MARK)
        if kept is not None:
            yield action, kept


def _table(block: "bpy.types.ID", name: str) -> dict[str, Any] | None:
    """A custom property that is one of these tables, None for anything else."""
    kept: Any = block.get(name)
    table = kept.to_dict() if hasattr(kept, "to_dict") else {}
    expected = {"pose", "side", "of", "armature", "name", "keys"} if name == MARK else {"id", "name"}
    return table if expected <= table.keys() else None


def _keys(action: "Action") -> str:
    """A digest of what its curves say: whose channels they are, whether they are mute or modified, and their keys."""
    digest = hashlib.sha256()
    bags = (bag for layer in action.layers for strip in layer.strips for bag in getattr(strip, "channelbags", ()))
    for curve in (curve for bag in bags for curve in bag.fcurves):
        kinds = [key.interpolation for key in curve.keyframe_points]
        digest.update(repr((curve.data_path, curve.array_index, curve.mute, len(curve.modifiers), kinds)).encode())
        places = np.empty(2 * len(curve.keyframe_points), np.float32)
        curve.keyframe_points.foreach_get("co", places)
        digest.update(places.tobytes())
    return digest.hexdigest()
