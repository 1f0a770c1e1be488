"""The keys of a composed action: those of its base, replaced by the corrected channels of hands."""

import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..fcurves import FRAME_TOLERANCE, key_settings, key_values
from ..spliced_keys import KEY_SETTINGS, replace_keys
from .composing import Composed, ComposedChannels, runs_with_ends
from .hand_of_take import HandOfTake
from .keyed_wrist import KeyedWrist

if TYPE_CHECKING:
    from bpy.types import FCurve

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

VALUE_SETTINGS = ("handle_left", "handle_right")
"""The settings of a key that change with its value."""


def hand_curves_in(bag: Any, take_hand: HandOfTake) -> "Iterator[tuple[FCurve, FCurve]]":
    """Yield the curves of a hand in the base, each with its counterpart in a channelbag, which is made if missing."""
    for keyed in take_hand.keyed:
        for index, curve in enumerate(keyed.curves):
            copy = bag.fcurves.find(keyed.path, index=index)
            yield curve, copy if copy is not None else bag.fcurves.new(keyed.path, index=index)


def copy_keys(bag: Any, take_hand: HandOfTake) -> None:
    """Copy the keys of the base to the curves of a hand in a channelbag; all other curves stay."""
    for curve, copy in hand_curves_in(bag, take_hand):
        if curve != copy and not np.array_equal(key_values(curve, "co"), key_values(copy, "co")):
            _copy_curve(curve, copy)


def has_other_keys(bag: Any, wrist: KeyedWrist) -> bool:
    """Return whether a channelbag has other keys than the base for the channels that move a whole hand."""
    return any(
        copy is not None and not np.array_equal(key_values(curve, "co"), key_values(copy, "co"))
        for keyed in wrist.keyed
        for index, curve in enumerate(keyed.curves)
        for copy in [bag.fcurves.find(keyed.path, index=index)]
    )


def keys_id(bag: Any, hands: "Sequence[HandOfTake]") -> str:
    """Return a short text that identifies the keys of hands in a channelbag."""
    known = 0
    for take_hand in hands:
        for _, copy in hand_curves_in(bag, take_hand):
            for content in (key_values(copy, "co"), key_settings(copy, "interpolation"), key_settings(copy, "type")):
                known = zlib.crc32(content.tobytes(), known)
    return f"{known:08x}"


def _copy_curve(curve: "FCurve", copy: "FCurve") -> None:
    """Give a curve the keys of the base's curve. If both have as many keys, only their values and handles differ."""
    points = copy.keyframe_points
    settings = [*VALUE_SETTINGS, "interpolation", "type"]
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


def write_hand(bag: Any, take_hand: HandOfTake, composed: Composed) -> None:
    """Write the corrected channels of a hand into a channelbag that has the keys of the base."""
    for channels in composed.channels(take_hand):
        if channels.in_range.any():
            _write(bag, take_hand.frames, channels)


def _write(bag: Any, frames: Floats, composed: ComposedChannels) -> None:
    """Write the channels of a bone on frames (F,), some of which are in a range."""
    own = [bag.fcurves.find(composed.keyed.path, index=index) for index in range(len(composed.keyed.curves))]
    has_keys = np.all([_has_keys(curve, frames) for curve in own], axis=0)
    columns: list[list[NDArray[np.float32]]] = [[] for _ in own]
    for first, last in runs_with_ends(composed.in_range, has_keys):
        rows = slice(first, last + 1)
        channels = composed.keyed.channels(
            frames[rows], composed.changed[rows], composed.values[rows][composed.changed[rows]]
        )
        for column, of_curve in enumerate(columns):
            of_curve.append(np.stack([frames[rows], channels[:, column]], axis=-1).astype(np.float32))
    for curve, ranges in zip(own, columns, strict=True):
        if has_keys[composed.in_range].all():
            _move_keys(curve, np.concatenate(ranges))
        else:
            replace_keys(curve, *ranges)


def _move_keys(curve: "FCurve", new: NDArray[np.float32]) -> None:
    """Change values of a curve's keys, and move their handles along; new: (N, 2) frames that have keys, and the
    values."""
    points, co = curve.keyframe_points, key_values(curve, "co").reshape(-1, 2)
    after = np.clip(np.searchsorted(co[:, 0], new[:, 0]), 1, max(len(co) - 1, 1))
    nearer = np.abs(co[after - 1, 0] - new[:, 0]) <= np.abs(co[np.minimum(after, len(co) - 1), 0] - new[:, 0])
    rows = np.where(nearer, after - 1, after)
    moved = new[:, 1] - co[rows, 1]
    for name in VALUE_SETTINGS:
        handles = key_values(curve, name).reshape(-1, 2)
        handles[rows, 1] += moved
        points.foreach_set(name, handles.ravel())
    co[rows, 1] = new[:, 1]
    points.foreach_set("co", co.ravel())
    curve.update()


def _has_keys(curve: "FCurve", frames: Floats) -> Bools:
    """Return (F,) whether a curve has a key on each of the frames (F,)."""
    keyed = np.sort(key_values(curve, "co")[::2].astype(float))
    after = np.clip(np.searchsorted(keyed, frames), 1, len(keyed)) - 1
    nearest = np.minimum(np.abs(keyed[after] - frames), np.abs(keyed[np.minimum(after + 1, len(keyed) - 1)] - frames))
    return np.asarray(nearest < FRAME_TOLERANCE)


def edited_frames(bag: Any, expected: Any, hands: "Sequence[HandOfTake]") -> Floats:
    """Return the frames (N,) on which the keys of hands in a channelbag differ from the expected ones."""
    found = [np.empty(0)]
    for take_hand in hands:
        for (_, curve), (_, expected_curve) in zip(
            hand_curves_in(bag, take_hand), hand_curves_in(expected, take_hand), strict=True
        ):
            keys = [
                {tuple(key) for key in key_values(either, "co").reshape(-1, 2).tolist()}
                for either in (curve, expected_curve)
            ]
            found.append(np.array([frame for frame, _ in keys[0] ^ keys[1]], float))
    return np.unique(np.concatenate(found))
