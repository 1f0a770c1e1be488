"""Restore the keys that auto-keying changed, after a slider's drag is cancelled by Escape."""

from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..rig.keys.fcurves import FRAME_TOLERANCE, curves_on, key_on, key_values

if TYPE_CHECKING:
    from bpy.types import Context, FCurve, Keyframe, Object

KEY_PROPERTIES = (
    "interpolation",
    "easing",
    "type",
    "handle_left_type",
    "handle_right_type",
    "handle_left",
    "handle_right",
    "co",
)

Key = tuple[Any, ...]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class KeysBefore:
    """The keys of bones before a drag. It holds only names and numbers, so it stays valid after undo."""

    frame: float
    """The scene's frame."""
    has_animation_data: bool
    action: str
    """Name of the active action; empty if there is none."""
    has_slot: bool
    """Whether the armature had an active slot."""
    slots: frozenset[tuple[int, int]]
    """All slots of the file, by action and handle: auto-keying may use an existing slot of another object."""
    paths: frozenset[str]
    """Data paths of the bones."""
    keys: dict[tuple[str, int], tuple[Key | None, Floats, Floats, Floats]]
    """Data path and index of an F-curve -> its key on the frame, or None, and the co, handle_left and handle_right of
    all its keys: a new key shortens its neighbours' handles, and cyclic curves are keyed at both ends."""


def keys_before(context: "Context", armature: "Object", bones: Collection[str]) -> KeysBefore | None:
    """Read the keys of bones on the scene's frame; None if auto-keying is off."""
    if not context.scene.tool_settings.use_keyframe_insert_auto:
        return None
    animation, frame = armature.animation_data, context.scene.frame_current_final
    action = animation.action if animation else None
    keys = {}
    for curve in _curves(armature, bones):
        key = key_on(curve, frame)
        values = None if key is None else tuple(_values(key))
        points, left, right = (key_values(curve, field) for field in ("co", "handle_left", "handle_right"))
        keys[curve.data_path, curve.array_index] = values, points, left, right
    slots = frozenset(
        (datablock.session_uid, slot.handle) for datablock in bpy.data.actions for slot in datablock.slots
    )
    has_slot = bool(animation and animation.action_slot)
    return KeysBefore(
        frame, animation is not None, action.name if action else "", has_slot, slots, _paths(armature, bones), keys
    )


def keys_fingerprint(armature: "Object", bones: Collection[str]) -> Hashable:
    """Return a fingerprint of the bones' keys. It changes when a key is inserted, moved or removed."""
    animation = armature.animation_data
    action = animation.action.name if animation and animation.action else ""
    return action, *(
        (curve.data_path, curve.array_index, hash(key_values(curve, "co").tobytes()))
        for curve in _curves(armature, bones)
    )


def restore_keys(armature: "Object", before: KeysBefore) -> None:
    """Restore the bones' keys. F-curves of the bones, a slot and an action that are new are removed.

    All other contents of the action are kept.
    """
    animation: Any = armature.animation_data
    if animation is None or animation.action is None or before.action not in ("", animation.action.name):
        return
    action, slot = animation.action, animation.action_slot
    is_new = slot is not None and (action.session_uid, slot.handle) not in before.slots
    if slot is None or not (before.has_slot or is_new):
        # The slot existed but was not active, so its curves were not read.
        return
    for layer in action.layers:
        for strip in layer.strips:
            bag: Any = strip.channelbag(slot)
            curves = bag.fcurves if bag else ()
            for curve in [curve for curve in curves if curve.data_path.rpartition(".")[0] in before.paths]:
                _restore_curve(bag, curve, before)
    if before.has_slot:
        return
    action.slots.remove(slot)
    if before.action:
        return
    animation.action = None
    if not action.users and not len(action.slots):
        bpy.data.actions.remove(action)
    if not before.has_animation_data:
        armature.animation_data_clear()


def _restore_curve(bag: Any, curve: "FCurve", before: KeysBefore) -> None:
    channel = curve.data_path, curve.array_index
    if channel not in before.keys:
        bag.fcurves.remove(curve)
        return
    values, points, left, right = before.keys[channel]
    for key in [
        key for key in curve.keyframe_points if np.abs(points[::2] - key.co[0]).min(initial=1.0) > FRAME_TOLERANCE
    ]:
        curve.keyframe_points.remove(key)
    key = key_on(curve, before.frame)
    if key is not None and values is not None:
        for name, value in zip(KEY_PROPERTIES, values, strict=True):
            setattr(key, name, value)
    curve.update()
    if len(points) == 2 * len(curve.keyframe_points):
        for property_name, coordinates in (("co", points), ("handle_left", left), ("handle_right", right)):
            curve.keyframe_points.foreach_set(property_name, coordinates)


def _curves(armature: "Object", bones: Collection[str]) -> "Iterator[FCurve]":
    paths = _paths(armature, bones)
    return (curve for curve in curves_on(armature) if curve.data_path.rpartition(".")[0] in paths)


def _paths(armature: "Object", bones: Collection[str]) -> frozenset[str]:
    return frozenset(armature.pose.bones[name].path_from_id() for name in bones)


def _values(key: "Keyframe") -> Iterator[Any]:
    for name in KEY_PROPERTIES:
        value = getattr(key, name)
        yield value if isinstance(value, str) else tuple(value)
