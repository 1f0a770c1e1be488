"""Mark keys of joints that no marker determined: by their type in the Dope Sheet, and by markers of the action.

Blender calls these keys Jitter, "a filler or baked keyframe". Markers of an action are shown by *Marker > Show Pose
Markers* in the Action Editor, and belong to the action; those of the scene are the user's.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...capture.cleaning import runs
from .bone_paths import bone_and_channel
from .fcurves import key_enum, key_settings, key_values
from .hand_motion import KeyedHand

if TYPE_CHECKING:
    from bpy.types import Action, FCurve

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MARKER_SUFFIX = " Predicted"
MAX_MARKERS = 200
"""Maximum number of markers of an action for a take; the longest ranges get one."""
MIN_FRAME_TOLERANCE = 1e-3
"""Minimum distance, in frames, within which a key counts as one of the take's."""
SINGLE_PRECISION = 1.2e-7
"""Relative rounding error of a frame in a curve, which Blender stores in single precision."""


def mark_predicted(
    action: "Action", hands: Sequence[KeyedHand], frames: Floats, predicted: Mapping[str, Bools]
) -> None:
    """Mark predicted joints in the keys of hands at scene frames (F,); predicted: side -> (F, J).

    Other keys between the first and the last frame become ordinary again, and lose their markers.
    """
    curves = _curves_by_bone(action)
    for keyed in hands:
        mask = predicted[keyed.binding.side]
        for joint in keyed.joints:
            for curve in curves.get(str(keyed.binding.bones[joint]), ()):
                _set_types(curve, frames, mask[:, joint])
        _set_markers(action, keyed, frames, np.any(mask[:, list(keyed.joints)], axis=1))


def _curves_by_bone(action: "Action") -> dict[str, "list[FCurve]"]:
    """Return bone -> its curves in an action."""
    found: dict[str, list[Any]] = {}
    for curve in _curves(action):
        bone, _ = bone_and_channel(curve.data_path)
        if bone:
            found.setdefault(bone, []).append(curve)
    return found


def _curves(action: "Action") -> "Iterator[FCurve]":
    for layer in action.layers:
        for strip in layer.strips:
            for bag in strip.channelbags:
                yield from bag.fcurves


def _set_types(curve: "FCurve", frames: Floats, predicted: Bools) -> None:
    """Set the types of a curve's keys that are at frames (F,), by whether they were predicted (F,)."""
    points = curve.keyframe_points
    if len(points) < min(len(frames), 2):
        return  # a bone that does not move
    types, keyed = key_settings(curve, "type"), key_values(curve, "co")[::2].astype(float)
    tolerance = np.maximum(MIN_FRAME_TOLERANCE, SINGLE_PRECISION * np.abs(keyed))
    nearest = np.clip(np.searchsorted(frames, keyed - tolerance), 0, len(frames) - 1)
    own = np.abs(frames[nearest] - keyed) <= tolerance
    types[own] = np.where(predicted[nearest[own]], key_enum("type", "JITTER"), key_enum("type", "KEYFRAME"))
    points.foreach_set("type", types)
    curve.update()


def _set_markers(action: "Action", keyed: KeyedHand, frames: Floats, predicted: Bools) -> None:
    """Replace an action's markers of a hand's predicted ranges between the first and the last of frames (F,)."""
    name = f"{keyed.binding.side.capitalize()}{MARKER_SUFFIX}"
    for marker in [one for one in action.pose_markers if one.name.startswith(name)]:
        if frames[0] - 0.5 <= marker.frame <= frames[-1] + 0.5:
            action.pose_markers.remove(marker)
    _, starts, stops = runs(predicted[:, None])
    longest = np.argsort(starts - stops, kind="stable")[:MAX_MARKERS]
    for row in np.sort(longest):
        count = int(stops[row] - starts[row])
        marker = action.pose_markers.new(f"{name}, {count} frame{'s' if count > 1 else ''}")
        marker.frame = int(np.floor(frames[starts[row]] + 0.5))
