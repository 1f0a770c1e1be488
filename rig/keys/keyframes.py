"""Keys for the F frames of a solved hand: a new action for every take, written in bulk."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand.generators import Progress, Steps, run_to_end
from .. import rotation_channels
from ..binding import is_armature
from ..data_reference import DataReference
from . import parent_motion
from .bone_paths import bone_path
from .fcurves import key_enum
from .hand_motion import FRAMES_PER_PIECE, BoneValues, KeyedHand, concatenated, existing_armature, motion_of_hands
from .played_action import empty_action, play

if TYPE_CHECKING:
    from bpy.types import Action, Object, PoseBone

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class BoneCurves:
    """The F-curves of one property."""

    group: str
    """The bone's name; empty if there is none."""
    data_path: str
    frames: Floats
    """(F,)"""
    values: Floats
    """(F, C)"""


def key_hands(armature: "Object", hands: Sequence[KeyedHand], frames: Floats, name: str) -> "Action":
    """Key the hands of one armature at scene frames (F,) in a new action, which the armature then plays.

    The previous action keeps its keys, and gets a fake user if nothing else uses it, so that saving does not lose it.
    NLA strips, rotation modes and the scene do not change. If it raises RigError, nothing has changed.
    """
    return run_to_end(key_hands_stepwise(armature, hands, frames, name))


def key_hands_stepwise(armature: "Object", hands: Sequence[KeyedHand], frames: Floats, name: str) -> "Steps[Action]":
    """Do the same in pieces. Until the end, or if the generator is closed early, the armature plays its old action."""
    reference, bones = DataReference.of(armature), list[list[BoneValues]]()
    for number, piece in enumerate(motion_of_hands(armature, hands, frames), start=1):
        bones = bones or [[] for _ in piece]
        for pieces, values in zip(bones, piece, strict=True):
            pieces.append(values)
        yield Progress(0.6 * min(number * FRAMES_PER_PIECE / len(frames), 1.0), "Posing the bones")
    action, slot, bag = empty_action(name, existing_armature(reference).name)
    own, count = DataReference.of(action), len(bones)
    try:
        while bones:
            # Values that have been keyed are freed.
            whole = concatenated(bones.pop(0))
            write_curves(bag, list(_curves(existing_armature(reference).pose.bones[whole.bone], whole, frames)))
            yield Progress(1.0 - 0.4 * len(bones) / count, "Keying the bones")
        play(existing_armature(reference), action, slot)
    except BaseException:
        unfinished = own.find_in(bpy.data.actions)
        if unfinished is not None:
            bpy.data.actions.remove(unfinished)
        raise
    return action


def new_action(obj: "Object", curves: Sequence[BoneCurves], name: str) -> "Action":
    """Return a new action with these curves, which the object then plays."""
    action, slot, bag = empty_action(name, obj.name)
    write_curves(bag, curves)
    play(obj, action, slot)
    return action


def _curves(bone: "PoseBone", values: BoneValues, frames: Floats) -> Iterator[BoneCurves]:
    """Yield the curves of a bone. A bone that does not move gets a single key."""
    path, mode = bone_path(bone.name), bone.rotation_mode
    frames = frames[: len(values.rotations)]
    if values.locations is not None:
        yield BoneCurves(bone.name, path + "location", frames, values.locations)
    rotations = rotation_channels.channel_values(values.rotations, mode)
    yield BoneCurves(bone.name, path + rotation_channels.channel(mode), frames, rotations)


def write_curves(channelbag: Any, curves: Sequence[BoneCurves]) -> None:
    """Add curves to a channelbag."""
    groups: dict[str, Any] = {}
    linear = key_enum("interpolation", "LINEAR")
    for curve in curves:
        if curve.group and curve.group not in groups:
            groups[curve.group] = channelbag.groups.get(curve.group) or channelbag.groups.new(curve.group)
        for index, column in enumerate(curve.values.T):
            fcurve = channelbag.fcurves.new(curve.data_path, index=index)
            if curve.group:
                fcurve.group = groups[curve.group]
            points = fcurve.keyframe_points
            points.add(len(column))
            points.foreach_set("co", np.stack([curve.frames, column], axis=-1).ravel().astype(np.float32))
            # The motion between two recorded frames is unknown, and linear interpolation does not overshoot.
            points.foreach_set("interpolation", np.full(len(column), linear, np.int32))
            fcurve.update()


def check_keyable(armature: "Object") -> None:
    """Raise RigError for an armature that cannot be keyed, and say what to do."""
    check_changeable(armature)
    # Changes since the last redraw, by a script or by opening a file, are not evaluated yet.
    bpy.context.view_layer.update()
    parent_motion.check_depth(armature.name, np.array(armature.matrix_world))


def check_changeable(armature: "Object") -> None:
    """Do the same without updating the view layer or checking the armature's scale."""
    if not is_armature(armature):
        raise RigError(f"'{armature.name}' is not an armature, choose the armature of the hand")
    if not armature.is_editable:
        raise RigError(f"armature '{armature.name}' is linked from another file, make a library override of it first")
    if armature.animation_data and armature.animation_data.use_tweak_mode:
        raise RigError(f"a strip of armature '{armature.name}' is being tweaked in the NLA, leave Tweak Mode first")
    if armature.data.is_editmode:
        raise RigError(f"armature '{armature.name}' is being edited, leave Edit Mode first")
    if not parent_motion.is_evaluated(armature):
        raise RigError(
            f"armature '{armature.name}' is excluded from this view layer or disabled in viewports, so that Blender "
            "does not evaluate it: include it first"
        )
