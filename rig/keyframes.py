"""F frames of a solved hand as keys: a new action for every take, written in bulk."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..errors import RigError
from ..hand.model import HandModel, Pose
from . import channels
from .binding import RigBinding, is_armature
from .transfer import transfer

if TYPE_CHECKING:
    from bpy.types import Action, Object

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class KeyedHand:
    """A solved hand and the hand of an armature that it goes to."""

    binding: RigBinding
    hand: HandModel
    pose: Pose


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """The F-curves of one property of one bone."""

    bone: str
    data_path: str
    frames: Floats
    """(F,)"""
    values: Floats
    """(F, C)"""


def key_hands(armature: "Object", hands: Sequence[KeyedHand], frames: Floats, name: str) -> "Action":
    """Keys hands of one armature at scene frames (F,) into a new action, which the armature then plays.

    The action that was there keeps its keys and gets a fake user, so that saving does not lose it; NLA strips,
    the rotation modes of bones and the scene stay as they are. Raises RigError if the armature is gone.
    """
    if not is_armature(armature):
        raise RigError(f"'{armature.name}' is not an armature, choose the armature of the hand")
    curves = [curve for keyed in hands for curve in _curves(armature, keyed, frames)]
    action = bpy.data.actions.new(name)
    slot = action.slots.new(id_type="OBJECT", name=armature.name)
    strip = action.layers.new("Take").strips.new(type="KEYFRAME")
    _write(strip.channelbag(slot, ensure=True), curves)
    _play(armature, action, slot)
    return action


def _curves(armature: "Object", keyed: KeyedHand, frames: Floats) -> Iterator[Curves]:
    binding = keyed.binding
    motion = transfer(binding, keyed.hand, keyed.pose, np.array(armature.matrix_world), _held(armature, binding))
    for joint in binding.mapped:
        name = str(binding.bones[joint])
        bone = armature.pose.bones[name]
        path = f'pose.bones["{bpy.utils.escape_identifier(name)}"].'
        # A bone that stands still has one key: the take says where it stands, and no more.
        count = 1 if motion.still[joint] else len(frames)
        if binding.placed[joint]:
            yield Curves(name, path + "location", frames[:count], motion.locations[:count, joint])
        values = channels.in_mode(motion.rotations[:count, joint], bone.rotation_mode)
        yield Curves(name, path + channels.channel(bone.rotation_mode), frames[:count], values)


def _held(armature: "Object", binding: RigBinding) -> dict[int, Floats]:
    """joint -> (4, 4) where the rest of a bone that no mapped bone holds is carried to by its parent as it stands."""
    held = {}
    for joint in binding.mapped:
        bone = armature.pose.bones[str(binding.bones[joint])]
        if binding.holders[joint] < 0 and bone.parent:
            offset = bone.parent.bone.matrix_local.inverted() @ bone.bone.matrix_local
            held[joint] = np.array((bone.parent.matrix @ offset).normalized())
    return held


def _write(channelbag: Any, curves: Sequence[Curves]) -> None:
    groups: dict[str, Any] = {}
    linear = bpy.types.Keyframe.bl_rna.properties["interpolation"].enum_items["LINEAR"].value
    for curve in curves:
        if curve.bone not in groups:
            groups[curve.bone] = channelbag.groups.new(curve.bone)
        for index, column in enumerate(curve.values.T):
            fcurve = channelbag.fcurves.new(curve.data_path, index=index)
            fcurve.group = groups[curve.bone]
            points = fcurve.keyframe_points
            points.add(len(column))
            points.foreach_set("co", np.stack([curve.frames, column], axis=-1).ravel().astype(np.float32))
            # Between two frames of a recording nothing is known: a straight line does not overshoot.
            points.foreach_set("interpolation", np.full(len(column), linear, np.int32))
            fcurve.update()


def _play(armature: "Object", action: "Action", slot: Any) -> None:
    animation = armature.animation_data or armature.animation_data_create()
    if animation.action:
        animation.action.use_fake_user = True
    animation.action = action
    animation.action_slot = slot
