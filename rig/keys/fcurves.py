"""F-curves and their keys."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bpy.types import ID, FCurve, Keyframe

FRAME_TOLERANCE = 0.01
"""Frames; Blender merges keys that are nearer to each other than this."""


def curves_of(action: Any, slot: Any) -> "Iterator[FCurve]":
    """Yield the F-curves of an action for a slot."""
    for layer in action.layers:
        for strip in layer.strips:
            bag = strip.channelbag(slot)
            yield from bag.fcurves if bag else ()


def curves_on(block: "ID") -> "Iterator[FCurve]":
    """Yield the F-curves of a data-block's action."""
    holder: Any = block
    animation = holder.animation_data
    if animation is not None and animation.action is not None and animation.action_slot is not None:
        yield from curves_of(animation.action, animation.action_slot)


def key_enum(setting: str, kind: str) -> int:
    """Return the number that `foreach_get` and `foreach_set` have for a value of a key's setting."""
    enum: Any = bpy.types.Keyframe.bl_rna.properties[setting]
    return int(enum.enum_items[kind].value)


def key_settings(curve: "FCurve", setting: str) -> NDArray[np.int32]:
    """Return an enum setting (N,) of a curve's N keys, as numbers."""
    kinds = np.empty(len(curve.keyframe_points), np.int32)
    curve.keyframe_points.foreach_get(setting, kinds)
    return kinds


def key_values(curve: "FCurve", setting: str) -> NDArray[np.float32]:
    """Return frames and values (2 N,) of a curve's N keys: their `co`, or one of their handles."""
    values = np.empty(2 * len(curve.keyframe_points), np.float32)
    curve.keyframe_points.foreach_get(setting, values)
    return values


def key_on(curve: "FCurve", frame: float) -> "Keyframe | None":
    """Return a curve's key on a frame, None if there is none."""
    found = np.flatnonzero(np.abs(key_values(curve, "co")[::2] - frame) < FRAME_TOLERANCE)
    return curve.keyframe_points[int(found[0])] if len(found) else None
