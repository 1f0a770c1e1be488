"""The keys of a composed action: those of its base, and over them what corrections make of hands."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import rotation_channels
from ..fcurves import SAME_FRAME, curves_of, key_values
from ..spliced_keys import KEY_SETTINGS, evaluated_channels, near_channels, replace_keys
from .composing import Composed, HandOfTake, runs_with_ends

if TYPE_CHECKING:
    from bpy.types import Action, FCurve

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOVED = ("handle_left", "handle_right")
"""The settings of a key that change with its value."""


def copy_keys(base: "Action", composed: "Action") -> None:
    """Give the curves of a composed action the keys of the base where they differ."""
    for slot in base.slots:
        own = next((one for one in composed.slots if one.identifier == slot.identifier), None)
        of_composed = {(c.data_path, c.array_index): c for c in curves_of(composed, own)} if own else {}
        for curve in curves_of(base, slot):
            copy = of_composed.get((curve.data_path, curve.array_index))
            if copy is not None and not np.array_equal(key_values(curve, "co"), key_values(copy, "co")):
                _copy_curve(curve, copy)


def _copy_curve(curve: "FCurve", copy: "FCurve") -> None:
    """Give a curve the keys of the base's: of as many keys only values were changed, and the handles with them."""
    points = copy.keyframe_points
    settings = list(MOVED)
    if len(points) != len(curve.keyframe_points):
        points.clear()
        points.add(len(curve.keyframe_points))
        settings = list(KEY_SETTINGS)
    points.foreach_set("co", key_values(curve, "co"))
    for name in settings:
        width, kind = KEY_SETTINGS[name]
        values = np.empty(width * len(points), kind)
        curve.keyframe_points.foreach_get(name, values)
        points.foreach_set(name, values)
    copy.update()


def write_hand(action: "Action", slot: object, of: HandOfTake, composed: Composed) -> None:
    """Write the rotations of a hand into an action that has the keys of the base."""
    curves = {(curve.data_path, curve.array_index): curve for curve in curves_of(action, slot)}
    rows = np.flatnonzero(composed.rows)
    for joint, bone in of.bones.items():
        in_range = np.zeros(len(of.frames), bool)
        in_range[rows[composed.in_range[:, joint]]] = True
        if not in_range.any():
            continue
        own = [curves[bone.path, index] for index in range(len(bone.curves))]
        keyed = np.all([_has_keys(curve, of.frames) for curve in own], axis=0)
        columns: list[list[NDArray[np.float32]]] = [[] for _ in own]
        for first, last in runs_with_ends(in_range, keyed):
            frames = of.frames[first : last + 1]
            values = _channels(of, composed, joint, slice(first, last + 1))
            for column, of_curve in enumerate(columns):
                of_curve.append(np.stack([frames, values[:, column]], axis=-1).astype(np.float32))
        for curve, ranges in zip(own, columns, strict=True):
            if keyed[in_range].all():
                _move_keys(curve, np.concatenate(ranges))
            else:
                replace_keys(curve, *ranges)


def _move_keys(curve: "FCurve", new: NDArray[np.float32]) -> None:
    """Give keys of a curve other values; new (N, 2): frames that have keys, and the values. Handles move along."""
    points, co = curve.keyframe_points, key_values(curve, "co").reshape(-1, 2)
    after = np.clip(np.searchsorted(co[:, 0], new[:, 0]), 1, max(len(co) - 1, 1))
    nearer = np.abs(co[after - 1, 0] - new[:, 0]) <= np.abs(co[np.minimum(after, len(co) - 1), 0] - new[:, 0])
    rows = np.where(nearer, after - 1, after)
    moved = new[:, 1] - co[rows, 1]
    for name in MOVED:
        handles = key_values(curve, name).reshape(-1, 2)
        handles[rows, 1] += moved
        points.foreach_set(name, handles.ravel())
    co[rows, 1] = new[:, 1]
    points.foreach_set("co", co.ravel())
    curve.update()


def _channels(of: HandOfTake, composed: Composed, joint: int, rows: slice) -> Floats:
    """Return the channel values (N, C) of a bone on rows of the take's frames; those of the base where none counts."""
    bone, frames = of.bones[joint], of.frames[rows]
    old = evaluated_channels(bone.curves, frames)
    position = np.cumsum(composed.rows)[rows] - 1
    known = composed.rows[rows]
    changed = known & composed.changed[position, joint]
    rotations = rotation_channels.rotations(old, bone.mode)
    rotations[changed] = composed.rotations[position[changed], joint]
    values: Floats = np.where(changed[:, None], near_channels(rotations, bone.mode, old[0]), old)
    return values


def _has_keys(curve: "FCurve", frames: Floats) -> Bools:
    """Return on which of the frames (F,) a curve has a key."""
    keyed = np.sort(key_values(curve, "co")[::2].astype(float))
    after = np.clip(np.searchsorted(keyed, frames), 1, len(keyed)) - 1
    nearest = np.minimum(np.abs(keyed[after] - frames), np.abs(keyed[np.minimum(after + 1, len(keyed) - 1)] - frames))
    return np.asarray(nearest < SAME_FRAME)


def edited_frames(action: "Action", expected: "Action", slot_identifier: str) -> Floats:
    """Return the frames (N,) on which keys of an action's slot are not those of another, moved, added or deleted."""
    found = list[Floats]()
    slots = [next(one for one in of.slots if one.identifier == slot_identifier) for of in (action, expected)]
    wanted = {(curve.data_path, curve.array_index): curve for curve in curves_of(expected, slots[1])}
    for curve in curves_of(action, slots[0]):
        other = wanted.pop((curve.data_path, curve.array_index), None)
        keys = [{tuple(key) for key in key_values(one, "co").reshape(-1, 2).tolist()} for one in (curve, other) if one]
        found.append(np.array([frame for frame, _ in keys[0] ^ keys[1]] if len(keys) > 1 else [k[0] for k in keys[0]]))
    found += [key_values(curve, "co")[::2].astype(float) for curve in wanted.values()]
    return np.unique(np.concatenate([np.empty(0), *found]))
