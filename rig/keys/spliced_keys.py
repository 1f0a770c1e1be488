"""Key a part of a take again: its range of frames is replaced and blended in and out; all other keys stay."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand import rotations as rot
from ...hand.smoothstep import smoothstep
from .. import rotation_channels
from .bone_paths import bone_path
from .fcurves import FRAME_TOLERANCE, key_enum, key_values
from .hand_motion import BoneValues, KeyedHand, concatenated, motion_of_hands
from .keyframes import BoneCurves, write_curves
from .nla_layers import TAKE_PROPERTY
from .played_action import played_action

if TYPE_CHECKING:
    from bpy.types import Action, FCurve, Object

Floats = NDArray[np.float64]

VALUE_TOLERANCE = 0.05
"""Maximum difference between channel values of the same rotation; larger ones have jumped by a full turn or in sign."""
BISECTIONS = 50
"""Number of bisections, enough for double precision."""
KEY_SETTINGS = {
    "handle_left": (2, np.float32),
    "handle_right": (2, np.float32),
    "interpolation": (1, np.int32),
    "easing": (1, np.int32),
    "handle_left_type": (1, np.int32),
    "handle_right_type": (1, np.int32),
    "type": (1, np.int32),
    "back": (1, np.float32),
    "amplitude": (1, np.float32),
    "period": (1, np.float32),
}
"""Properties of a key besides its frame and value -> count and type of their numbers."""


@dataclass(frozen=True, slots=True)
class Blend:
    """The number of frames over which new keys replace the old ones, and over which the old ones return."""

    frames_in: int = 0
    frames_out: int = 0

    def weights(self, frames: Floats, before: bool, after: bool) -> Floats:
        """Return the weight (F,) 0..1 of the new keys; before, after: whether there are old keys before and after
        them."""
        weights = np.ones(len(frames))
        if before and self.frames_in:
            weights = np.minimum(weights, (frames - frames[0]) / self.frames_in)
        if after and self.frames_out:
            weights = np.minimum(weights, (frames[-1] - frames) / self.frames_out)
        return smoothstep(weights)


def played_take(armature: "Object") -> "Action":
    """Return the take that an armature plays. Raises RigError if it plays none that can be changed."""
    action = played_action(armature)
    if action is None or not action.get(TAKE_PROPERTY):
        raise RigError(
            f"armature '{armature.name}' plays {repr(action.name) if action else 'no action'}, which is no take: solve "
            "into a new take first"
        )
    if not action.is_editable:
        raise RigError(f"the take '{action.name}' of armature '{armature.name}' is linked: solve into a new take")
    return action


def splice_keys(armature: "Object", hands: Sequence[KeyedHand], frames: Floats, blend: Blend) -> "Action":
    """Key the hands of one armature at scene frames (F,) in the take that it plays; return the take.

    The keyed bones' keys between the first and the last of the frames are replaced; all others stay. If it raises
    RigError, nothing has changed.
    """
    action = played_take(armature)
    pieces = list(motion_of_hands(armature, hands, frames))
    bag = action.layers[0].strips[0].channelbag(armature.animation_data.action_slot, ensure=True)
    for bone_pieces in zip(*pieces, strict=True):
        _splice_bone(armature, bag, concatenated(bone_pieces), frames, blend)
    return action


def _splice_bone(armature: "Object", bag: Any, values: BoneValues, frames: Floats, blend: Blend) -> None:
    bone = armature.pose.bones[values.bone]
    path, mode = bone_path(bone.name), bone.rotation_mode
    channel = path + rotation_channels.channel(mode)
    curves = _curves(bag, channel, 3 if "euler" in channel else 4)
    if curves is None:
        rotations = rotation_channels.channel_values(values.rotations, mode)
        write_curves(bag, [BoneCurves(bone.name, channel, frames[: len(rotations)], rotations)])
    elif not values.static:
        old, weights = evaluated_channels(curves, frames), _weights(curves, frames, blend)
        blended = rot.slerp(rotation_channels.rotations(old, mode), values.rotations, weights[:, None])
        new = near_channels(blended, mode, old[0])
        # Where only the old keys have weight, they stay unchanged: quaternion keys need not have unit length.
        kept = (weights == 0) & (np.abs(new - old).max(axis=1) < VALUE_TOLERANCE)
        _replace(curves, frames, np.where(kept[:, None], old, new))
    if values.locations is None:
        return
    curves = _curves(bag, path + "location", 3)
    if curves is None:
        write_curves(bag, [BoneCurves(bone.name, path + "location", frames, values.locations)])
    else:
        old, weights = evaluated_channels(curves, frames), _weights(curves, frames, blend)[:, None]
        _replace(curves, frames, old + weights * (values.locations - old))


def _curves(bag: Any, path: str, count: int) -> "list[FCurve] | None":
    """Return the curves of a property; None unless all exist and have keys."""
    found = [bag.fcurves.find(path, index=index) for index in range(count)]
    if all(curve is not None and len(curve.keyframe_points) for curve in found):
        return found
    for curve in found:
        if curve is not None:
            bag.fcurves.remove(curve)
    return None


def evaluated_channels(curves: "list[FCurve]", frames: Floats) -> Floats:
    """Return the values (F, C) of curves on frames (F,)."""
    return np.stack([_evaluated(curve, frames) for curve in curves], axis=-1)


def _evaluated(curve: "FCurve", frames: Floats) -> Floats:
    """Return the values (F,) of a curve, taken from its keys where possible, since most takes have one on each
    frame."""
    keyed, values = key_values(curve, "co").reshape(-1, 2).astype(float).T
    rows = np.clip(np.searchsorted(keyed, frames), 0, len(keyed) - 1)
    found = values[rows]
    # Modifiers act on keys, too.
    others = np.flatnonzero(keyed[rows] != frames) if not len(curve.modifiers) else np.arange(len(frames))
    for row in others.tolist():
        found[row] = curve.evaluate(frames[row])
    return np.asarray(found)


def _weights(curves: "list[FCurve]", frames: Floats, blend: Blend) -> Floats:
    keyed = [key_values(curve, "co")[::2] for curve in curves]
    before = any(key_frames.min() < frames[0] - FRAME_TOLERANCE for key_frames in keyed)
    after = any(key_frames.max() > frames[-1] + FRAME_TOLERANCE for key_frames in keyed)
    return blend.weights(frames, before, after)


def near_channels(rotations: Floats, mode: str, before: Floats) -> Floats:
    """Return channel values (F, C) of rotations (F, 4), each nearest to that of the previous frame."""
    if mode == "QUATERNION":
        return rot.make_continuous(np.concatenate([before[None], rotations]))[1:]
    values = []
    for rotation in rotations:
        before = rotation_channels.nearest_values(rotation, mode, before)
        values.append(before)
    return np.array(values)


def _replace(curves: "list[FCurve]", frames: Floats, values: Floats) -> None:
    """Replace the keys of C curves from the first to the last of frames (F,) by values (F, C)."""
    for curve, column in zip(curves, values.T, strict=True):
        replace_keys(curve, np.stack([frames, column], axis=-1).astype(np.float32))


def replace_keys(curve: "FCurve", *ranges: NDArray[np.float32]) -> None:
    """Replace the keys of a curve in one or more disjoint ranges of frames, in order, each by new keys (N, 2).

    The new keys are linear. The curve does not change outside the ranges, even if it has no keys at their ends.
    """
    for frame in [frame for new in ranges for frame in new[[0, -1], 0].tolist()]:
        _split(curve, frame)
    points, count, new = curve.keyframe_points, len(curve.keyframe_points), np.concatenate(ranges)
    # Add keys before reading anything, so that they have the settings of new keys.
    points.add(len(new))
    settings = {name: _read(points, name, *kind) for name, kind in KEY_SETTINGS.items()}
    co = _read(points, "co", 2, np.float32)
    co[count:] = new
    settings["interpolation"][count:] = key_enum("interpolation", "LINEAR")
    for name, direction in (("handle_left", -1.0), ("handle_right", 1.0)):
        settings[name][count:] = new + np.array([direction / 3, 0.0], np.float32)
    outside, start = np.ones(count, bool), count
    for new_keys in ranges:
        for row, side in ((start, "left"), (start + len(new_keys) - 1, "right")):
            old_row = int(np.argmin(np.abs(co[:count, 0] - co[row, 0])))
            if abs(co[old_row, 0] - co[row, 0]) < FRAME_TOLERANCE:
                _keep_handle(settings, co[row] - co[old_row], (old_row, row), side)
        first, last = new_keys[0, 0] - FRAME_TOLERANCE, new_keys[-1, 0] + FRAME_TOLERANCE
        outside &= (co[:count, 0] < first) | (co[:count, 0] > last)
        start += len(new_keys)
    rows = np.concatenate([np.flatnonzero(outside), np.arange(count, len(co))])
    rows = rows[np.argsort(co[rows, 0], kind="stable")]
    points.clear()
    points.add(len(rows))
    points.foreach_set("co", co[rows].ravel())
    for name, values in settings.items():
        points.foreach_set(name, values[rows].ravel())
    curve.update()


def _split(curve: "FCurve", frame: float) -> None:
    """Insert a key without changing the curve's shape; an easing keeps its shape on whole frames only."""
    keyed = key_values(curve, "co")[::2]
    if not keyed[0] < frame < keyed[-1] or np.abs(keyed - frame).min() < FRAME_TOLERANCE:
        return
    row = int(np.searchsorted(keyed, frame))
    before, after = curve.keyframe_points[row - 1], curve.keyframe_points[row]
    for neighbour in (before, after):
        # Handles that Blender computes would change with the neighbouring key.
        neighbour.handle_left_type = neighbour.handle_right_type = "FREE"
    if before.interpolation in ("LINEAR", "CONSTANT"):
        added = curve.keyframe_points.insert(frame, curve.evaluate(frame), options={"FAST"})
        added.interpolation = curve.keyframe_points[row - 1].interpolation
    elif before.interpolation == "BEZIER":
        corners = np.array([before.co, before.handle_right, after.handle_left, after.co], float)
        _split_bezier(curve, row, subdivided(corners, frame))
    else:
        _bake(curve, row, frame)


def _split_bezier(curve: "FCurve", row: int, parts: tuple[Floats, Floats]) -> None:
    """Insert a key at index `row`, between two parts (4, 2) of a Bézier curve."""
    left, right = parts
    key = curve.keyframe_points.insert(*left[3].tolist(), options={"FAST"})
    key.interpolation = "BEZIER"
    key.handle_left_type = key.handle_right_type = "FREE"
    key.handle_left, key.handle_right = left[2], right[1]
    # Look up the neighbours again, since a new key moves them in memory.
    curve.keyframe_points[row - 1].handle_right = left[1]
    curve.keyframe_points[row + 1].handle_left = right[2]


def _bake(curve: "FCurve", row: int, frame: float) -> None:
    """Insert linear keys on a frame and on all whole frames from key `row - 1` to `row`, since part of an easing is not
    an easing."""
    points = curve.keyframe_points
    first, last = points[row - 1].co[0], points[row].co[0]
    whole = np.arange(np.ceil(first + FRAME_TOLERANCE), last - FRAME_TOLERANCE)
    frames = np.append(whole[np.abs(whole - frame) > FRAME_TOLERANCE], frame).tolist()
    values = [curve.evaluate(each) for each in frames]
    points[row - 1].interpolation = "LINEAR"
    for each, value in zip(frames, values, strict=True):
        points.insert(each, value, options={"FAST"}).interpolation = "LINEAR"


def subdivided(corners: Floats, frame: float) -> tuple[Floats, Floats]:
    """Split a Bézier curve with corners (4, 2) at a frame by de Casteljau's construction; return the corners of both
    parts.

    Each corner is a frame and a value. The curve's parameter is found by bisection, since its frames increase.
    """
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        parameter = (low + high) / 2
        levels = [corners]
        while len(levels[-1]) > 1:
            levels.append(levels[-1][:-1] + parameter * np.diff(levels[-1], axis=0))
        low, high = (parameter, high) if levels[-1][0, 0] < frame else (low, parameter)
    return np.stack([level[0] for level in levels]), np.stack([level[-1] for level in reversed(levels)])


def _keep_handle(
    settings: dict[str, NDArray[Any]], shift: NDArray[np.float32], rows: tuple[int, int], side: str
) -> None:
    """Copy the handle that points out of the range from the replaced key to the new one; rows: of the old key and the
    new one.

    shift: (2,) frame and value of the new key minus those of the old one.
    """
    old, new = rows
    settings[f"handle_{side}"][new] = settings[f"handle_{side}"][old] + shift
    settings[f"handle_{side}_type"][new] = key_enum(f"handle_{side}_type", "FREE")
    if side == "right":
        settings["interpolation"][new] = settings["interpolation"][old]


def _read(points: Any, name: str, width: int, kind: Any) -> NDArray[Any]:
    values = np.empty(width * len(points), kind)
    points.foreach_get(name, values)
    return values.reshape(len(points), width)
