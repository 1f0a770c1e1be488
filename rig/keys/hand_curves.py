"""Sample a hand's F-curves in takes and other actions, so that their keys can be reduced."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ...capture.cleaning import runs
from ...errors import RigError
from ...hand.joints import DIGIT_JOINTS, JOINT_INDEX, digit_of
from .. import rotation_channels
from ..armature_hands import FoundHand
from ..binding import joint_points, location_axes_of
from . import parent_motion
from .arm_keys import arm_of
from .bone_paths import bone_path, bones_with_paths
from .fcurves import FRAME_TOLERANCE, curves_of, key_enum, key_settings, key_values
from .nla_layers import TAKE_PROPERTY
from .predicted_keys import MARKER_SUFFIX
from .reduction.keyed_hand import MeasuredPoint, SampledBone, SampledHand

if TYPE_CHECKING:
    from bpy.types import Action, FCurve, Object, PoseBone

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Curves = dict[str, "dict[int, FCurve]"]
"""data path -> index -> curve"""

MAX_SAMPLES = 200_000
"""Maximum frames of an action that is sampled."""
MIN_JITTER_KEYS = 3
"""Minimum number of consecutive keys of type Jitter whose first and last are kept."""
WRIST_GROUP = "wrist"
"""Group of the wrist and the arm's bones."""
KEPT_TYPES = ("EXTREME", "BREAKDOWN")
"""Types by which an animator marks important keys."""


@dataclass(frozen=True, slots=True, eq=False)
class HandCurves:
    """A hand's F-curves and their samples."""

    hand: SampledHand
    paths: tuple[tuple[str, ...], ...]
    """Data paths of each bone's sampled channels."""


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """Bones of an armature and their sampled curves."""

    armature: "Object"
    action: "Action"
    found: FoundHand
    names: list[str]
    """Names of the bones, parents first."""
    paths: list[tuple[str, ...]]
    """As in HandCurves."""
    curves: Curves

    def of_bone(self, row: int) -> "list[FCurve]":
        """Return the curves of the bone in a row of `names`."""
        return [curve for path in self.paths[row] for curve in self.curves[path].values()]


def read_hand_curves(
    armature: "Object", found: FoundHand, action: "Action", slot: object, others: Iterable[FoundHand] = ()
) -> tuple[HandCurves | None, list[str]]:
    """Return a hand's curves in a slot of an action, and notes about bones whose keys cannot be reduced.

    In a take, they include the bones of the arm that the take keys, except those that also move other hands. The curves
    are None if none can be reduced; each note is a sentence. Raises RigError for keys whose values are not finite, and
    for an action that is too long.
    """
    curves = _curves(action, slot)
    names = _bones_of(armature, found, others, curves if action.get(TAKE_PROPERTY) else {})
    chosen = [_paths(armature, name, curves) for name in names]
    notes = [note for _, note in chosen if note]
    source = _Source(armature, action, found, names, [paths for paths, _ in chosen], curves)
    rows = range(len(names))
    frames = _frames(armature, [curve for row in rows for curve in source.of_bone(row)])
    if len(frames) < 2:
        return None, notes
    bones = tuple(_sampled(source, frames))
    hand = SampledHand(
        frames=frames,
        bones=bones,
        points=tuple(_points(source, bones)),
        to_world=np.array(armature.matrix_world, float)[:3, :3],
        wrist=names.index(found.bones["wrist"]),
        key_counts=tuple(max((len(c.keyframe_points) for c in source.of_bone(row)), default=0) for row in rows),
        kept=_kept_keys(source, bones, frames),
    )
    return HandCurves(hand, tuple(source.paths)), notes


def _curves(action: "Action", slot: object) -> Curves:
    found: Curves = {}
    for curve in curves_of(action, slot):
        found.setdefault(curve.data_path, {})[curve.array_index] = curve
    return found


def _bones_of(armature: "Object", found: FoundHand, others: Iterable[FoundHand], curves: Curves) -> list[str]:
    """Return the bones of a hand and those of its arm that a take's curves key, parents first.

    Children of the arm's bones, such as twist bones, belong to the arm.
    """
    bones, own, above = armature.data.bones, set(found.bones.values()), _bones_above(armature, found)
    if curves:
        arm = arm_of(armature, found)
        on_arm = above[: above.index(arm.upper) + 1] if arm and arm.upper in above else []
        keyed = bones_with_paths((bone.name for bone in bones), curves)
        of_arm = {name for name in keyed if name in above or (bones[name].parent and bones[name].parent.name in on_arm)}
        own |= of_arm.difference(*({*other.bones.values(), *_bones_above(armature, other)} for other in others))
    depth = {name: len(bones[name].parent_recursive) for name in own}
    # The wrist may be a control beside the digits, which follow it by constraints.
    return sorted(own, key=lambda name: (name not in above and name != found.bones["wrist"], depth[name], name))


def _bones_above(armature: "Object", found: FoundHand) -> list[str]:
    """Return the ancestors of the wrist's bone, the nearest first."""
    return [bone.name for bone in armature.data.bones[found.bones["wrist"]].parent_recursive]


def _paths(armature: "Object", name: str, curves: Curves) -> tuple[tuple[str, ...], str]:
    """Return the data paths of a bone's properties whose keys can be reduced, and a note about the others."""
    mode = armature.pose.bones[name].rotation_mode
    chosen, notes = list[str](), list[str]()
    for channel in (rotation_channels.channel(mode), "location"):
        path = bone_path(name, channel)
        of_path = curves.get(path, {})
        if not of_path or max(len(curve.keyframe_points) for curve in of_path.values()) < 2:
            continue
        check_finite(of_path)
        reason = _unreducible(of_path, 4 if channel in ("rotation_quaternion", "rotation_axis_angle") else 3)
        if reason:
            notes.append(f"bone '{name}' keeps the keys of its {channel.replace('_', ' ')}: {reason}")
        else:
            chosen.append(path)
    return tuple(chosen), "; ".join(notes)


def check_finite(curves: "dict[int, FCurve]") -> None:
    """Raise RigError if a key of the curves has a value or handle that is not finite."""
    for curve in curves.values():
        values = np.concatenate([key_values(curve, setting) for setting in ("co", "handle_left", "handle_right")])
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            key = int(bad[0]) % (2 * len(curve.keyframe_points)) // 2
            raise RigError(
                f"action '{curve.id_data.name}': key {key + 1} of {curve.data_path}[{curve.array_index}] is not a "
                "number, delete it first"
            )


def _unreducible(curves: "dict[int, FCurve]", count: int) -> str:
    """Return why the keys of a property with `count` channels stay as they are; empty if they can be reduced."""
    constant = key_enum("interpolation", "CONSTANT")
    if set(curves) != set(range(count)) or not all(len(curve.keyframe_points) for curve in curves.values()):
        return f"only {len(curves)} of {count} channels have keys, key all"
    if any(not modifier.mute for curve in curves.values() for modifier in curve.modifiers):
        return "it has modifiers, bake or remove them"
    if any(curve.mute for curve in curves.values()):
        return "it has muted channels, unmute them"
    if any(curve.extrapolation != "CONSTANT" for curve in curves.values()):
        return "it is extrapolated beyond its keys, choose Constant Extrapolation"
    for curve in curves.values():
        if (key_settings(curve, "interpolation")[:-1] == constant).any():
            return "it has stepped keys, choose another interpolation"
    return ""


def _frames(armature: "Object", curves: "list[FCurve]") -> Floats:
    """Return the frames (F,) to sample: those with keys, and all whole frames between them."""
    keyed = np.concatenate([np.empty(0), *(key_values(curve, "co")[::2].astype(float) for curve in curves)])
    if not len(keyed):
        return keyed
    if np.ptp(keyed) > MAX_SAMPLES:
        raise RigError(
            f"armature '{armature.name}' has keys from frame {keyed.min():.0f} to {keyed.max():.0f}, expected at most "
            f"{MAX_SAMPLES} frames"
        )
    frames = np.sort(np.concatenate([keyed, np.arange(np.ceil(keyed.min()), keyed.max() + 1e-6)]))
    distinct: Floats = frames[np.concatenate([[True], np.diff(frames) > FRAME_TOLERANCE])]
    return distinct


def _sampled(source: _Source, frames: Floats) -> "Iterator[SampledBone]":
    """Yield the bones with the values of their channels on frames (F,)."""
    digits = {name: digit_of(joint) for joint, name in source.found.bones.items()}
    armature, names = source.armature, source.names
    _, rests = parent_motion.parents_on_current_frame(armature, names)
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    for name, chosen in zip(names, source.paths, strict=True):
        bone = armature.pose.bones[name]
        values = {path.rpartition(".")[2]: _values(source.curves[path], frames) for path in chosen}
        channel, parent = rotation_channels.channel(bone.rotation_mode), _parent(source, name)
        relation = rests.get(name, np.array(bone.bone.matrix_local, float))
        if parent >= 0:
            relation = np.linalg.inv(np.array(posed[names[parent]].matrix.normalized(), float)) @ relation
        rotation = values.get(channel, _current_values(bone, channel))
        yield SampledBone(
            name=name,
            group=digits.get(name) or WRIST_GROUP,
            parent=parent,
            relation=relation,
            mode=bone.rotation_mode,
            rotation=_continuous(rotation, bone.rotation_mode) if channel in values else rotation,
            location=values.get("location", _current_values(bone, "location")),
            location_axes=location_axes_of(bone.bone),
        )


def _values(curves: "dict[int, FCurve]", frames: Floats) -> Floats:
    """Return the values (F, C) of a property on frames (F,)."""
    columns = [[curves[index].evaluate(frame) for frame in frames.tolist()] for index in range(len(curves))]
    return np.array(columns, float).T


def _current_values(bone: "PoseBone", channel: str) -> Floats:
    """Return the current values (1, C) of a bone's property."""
    return np.array(getattr(bone, channel), float)[None]


def _continuous(values: Floats, mode: str) -> Floats:
    """Return values (F, C) of the same rotations, without jumps by full turns or of sign between frames."""
    if mode in ("QUATERNION", "AXIS_ANGLE"):
        return rotation_channels.channel_values(rotation_channels.rotations(values, mode), mode)
    return np.unwrap(values, axis=0)


def _parent(source: _Source, name: str) -> int:
    """Return the index of the nearest ancestor among the bones, −1 if there is none.

    Children of the hand's carrier move with the wrist.
    """
    for bone in source.armature.data.bones[name].parent_recursive:
        if bone.name in source.names:
            return source.names.index(bone.name)
        if bone.name == source.found.carrier:
            return source.names.index(source.found.bones["wrist"])
    return -1


def _points(source: _Source, bones: tuple[SampledBone, ...]) -> "Iterator[MeasuredPoint]":
    """Yield the points at which errors are measured: fingertips, and heads of bones whose location is keyed."""
    found = source.found.bones
    tips = joint_points(source.armature, found)
    for digit, joints in DIGIT_JOINTS.items():
        mapped = [found[joint] for joint in joints if joint in found]
        if mapped:
            rest = np.linalg.inv(np.array(source.armature.data.bones[mapped[-1]].matrix_local, float))
            point = rest @ np.append(tips[JOINT_INDEX[joints[-1]]], 1.0)
            yield MeasuredPoint(source.names.index(mapped[-1]), point[:3], digit)
    yield from (MeasuredPoint(row, np.zeros(3)) for row, bone in enumerate(bones) if len(bone.location) > 1)


def _kept_keys(source: _Source, bones: tuple[SampledBone, ...], frames: Floats) -> dict[str, Bools]:
    """Return group -> (F,) frames whose keys are kept.

    These are keys of KEPT_TYPES, the first and last of consecutive Jitter keys, and frames with an animator's markers.
    """
    markers = source.action.pose_markers
    marked = np.array([marker.frame for marker in markers if MARKER_SUFFIX not in marker.name], float)
    masks = {bone.group: np.zeros(len(frames), bool) for bone in bones}
    for mask in masks.values():
        _keep_nearest(mask, frames, marked[(marked >= frames[0]) & (marked <= frames[-1])])
    for bone, chosen in zip(bones, source.paths, strict=True):
        for path in chosen:
            keyed, types = key_types(source.curves[path][0])
            is_kept = np.isin(types, [key_enum("type", kind) for kind in KEPT_TYPES])
            _keep_nearest(masks[bone.group], frames, keyed[is_kept])
            _, starts, stops = runs((types == key_enum("type", "JITTER"))[:, None])
            long = stops - starts >= MIN_JITTER_KEYS
            _keep_nearest(masks[bone.group], frames, keyed[np.concatenate([starts[long], stops[long] - 1])])
    return masks


def key_types(curve: "FCurve") -> tuple[Floats, Ints]:
    """Return the frames (N,) of a curve's keys and their types (N,), as numbers."""
    return key_values(curve, "co")[::2].astype(float), key_settings(curve, "type").astype(np.int64)


def _keep_nearest(mask: Bools, frames: Floats, kept_frames: Floats) -> None:
    """Set a mask (F,) at the sampled frames (F,) nearest to the kept frames (N,)."""
    mask[np.minimum(np.searchsorted(frames, kept_frames - FRAME_TOLERANCE), len(frames) - 1)] = True
