"""Changes of animated properties without keys: evaluating other frames loses them, so they are saved and restored."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import bpy

from .fcurves import curves_of

if TYPE_CHECKING:
    from bpy.types import ID

Value = float | str | tuple[Any, ...]


@contextmanager
def unkeyed_comes_back() -> Iterator[None]:
    """Restore the values of all animated properties afterwards; the body may change frames."""
    kept = [(holder, path, value) for holder, path in _animated() for value in _value(holder, path)]
    try:
        yield
    finally:
        for holder, path, value in kept:
            if _value(holder, path) != [value]:
                _give(holder, path, value)


def _animated() -> "Iterator[tuple[ID, str]]":
    """Yield all data-blocks of the file with the data paths that their actions and NLA strips animate."""
    for holder in _holders():
        animation = holder.animation_data
        played = {(animation.action, animation.action_slot)}
        for track in animation.nla_tracks:
            played.update(_of_strips(track.strips))
        paths = {curve.data_path for action, slot in played if action and slot for curve in curves_of(action, slot)}
        yield from ((holder, path) for path in sorted(paths))


def _holders() -> "Iterator[Any]":
    for kind in bpy.data.bl_rna.properties:
        if kind.type == "COLLECTION" and kind.identifier != "all_ids":
            for block in getattr(bpy.data, kind.identifier):
                # The node tree of a material or a light is a data-block of its own that no collection lists.
                yield from (part for part in (block, getattr(block, "node_tree", None)) if _plays(part))


def _plays(block: "ID | None") -> bool:
    return getattr(block, "animation_data", None) is not None


def _of_strips(strips: Any) -> Iterator[tuple[Any, Any]]:
    for strip in strips:
        yield strip.action, strip.action_slot
        yield from _of_strips(strip.strips)


def _value(holder: "ID", path: str) -> list[Value]:
    """Return a property's value in a list; empty if it is missing, as for a deleted bone, or not a plain value."""
    try:
        value = holder.path_resolve(path)
    except ValueError:
        return []
    if value is None or isinstance(value, bpy.types.bpy_struct | bpy.types.bpy_prop_collection):
        return []
    return [value if isinstance(value, bool | int | float | str) else tuple(value)]


def _give(holder: "ID", path: str, value: Value) -> None:
    if path.endswith('"]'):
        owner, _, name = path[:-2].rpartition('["')
        owned: Any = holder.path_resolve(owner) if owner else holder
        owned[bpy.utils.unescape_identifier(name)] = value
    else:
        owner, _, name = path.rpartition(".")
        setattr(holder.path_resolve(owner) if owner else holder, name, value)
