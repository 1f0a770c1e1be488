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
def unkeyed_changes_restored() -> Iterator[None]:
    """Within the context, frames may change; afterwards the values of all animated properties are restored."""
    saved = [(block, path, value) for block, path in _animated_properties() for value in _value(block, path)]
    try:
        yield
    finally:
        for block, path, value in saved:
            if _value(block, path) != [value]:
                _set_value(block, path, value)


def _animated_properties() -> "Iterator[tuple[ID, str]]":
    """Yield all data-blocks of the file with the data paths that their actions and NLA strips animate."""
    for block in _animated_blocks():
        animation = block.animation_data
        played = {(animation.action, animation.action_slot)}
        for track in animation.nla_tracks:
            played.update(_strip_actions(track.strips))
        paths = {curve.data_path for action, slot in played if action and slot for curve in curves_of(action, slot)}
        yield from ((block, path) for path in sorted(paths))


def _animated_blocks() -> "Iterator[Any]":
    for kind in bpy.data.bl_rna.properties:
        if kind.type == "COLLECTION" and kind.identifier != "all_ids":
            for block in getattr(bpy.data, kind.identifier):
                # The node tree of a material or a light is a separate data-block that no collection lists.
                owners = (block, getattr(block, "node_tree", None))
                yield from (owner for owner in owners if getattr(owner, "animation_data", None) is not None)


def _strip_actions(strips: Any) -> Iterator[tuple[Any, Any]]:
    for strip in strips:
        yield strip.action, strip.action_slot
        yield from _strip_actions(strip.strips)


def _value(block: "ID", path: str) -> list[Value]:
    """Return a property's value in a list; empty if it is missing, as for a deleted bone, or not a plain value."""
    try:
        value = block.path_resolve(path)
    except ValueError:
        return []
    if value is None or isinstance(value, bpy.types.bpy_struct | bpy.types.bpy_prop_collection):
        return []
    return [value if isinstance(value, bool | int | float | str) else tuple(value)]


def _set_value(block: "ID", path: str, value: Value) -> None:
    if path.endswith('"]'):
        owner_path, _, name = path[:-2].rpartition('["')
        owner: Any = block.path_resolve(owner_path) if owner_path else block
        owner[bpy.utils.unescape_identifier(name)] = value
    else:
        owner_path, _, name = path.rpartition(".")
        setattr(block.path_resolve(owner_path) if owner_path else block, name, value)
