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
    """The F-curves of one property."""

    group: str
    """The bone's name; empty for none."""
    data_path: str
    frames: Floats
    """(F,)"""
    values: Floats
    """(F, C)"""


def key_hands(armature: "Object", hands: Sequence[KeyedHand], frames: Floats, name: str) -> "Action":
    """Keys hands of one armature at scene frames (F,) into a new action, which the armature then plays.

    The action that was there keeps its keys, and gets a fake user if nothing else uses it, so that saving does not
    lose it; NLA strips, the rotation modes of bones and the scene stay as they are.
    """
    return new_action(armature, [curve for keyed in hands for curve in _curves(armature, keyed, frames)], name)


def new_action(obj: "Object", curves: Sequence[Curves], name: str) -> "Action":
    """An action of these curves in a slot of its own, which the object then plays."""
    action = bpy.data.actions.new(name)
    slot = action.slots.new(id_type="OBJECT", name=obj.name)
    strip = action.layers.new("Take").strips.new(type="KEYFRAME")
    _write(strip.channelbag(slot, ensure=True), curves)
    _play(obj, action, slot)
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
        if curve.group and curve.group not in groups:
            groups[curve.group] = channelbag.groups.new(curve.group)
        for index, column in enumerate(curve.values.T):
            fcurve = channelbag.fcurves.new(curve.data_path, index=index)
            if curve.group:
                fcurve.group = groups[curve.group]
            points = fcurve.keyframe_points
            points.add(len(column))
            points.foreach_set("co", np.stack([curve.frames, column], axis=-1).ravel().astype(np.float32))
            # Between two frames of a recording nothing is known: a straight line does not overshoot.
            points.foreach_set("interpolation", np.full(len(column), linear, np.int32))
            fcurve.update()


def check_keyable(armature: "Object") -> None:
    """Raises RigError for an armature that cannot be given an action, and says what to do."""
    if not is_armature(armature):
        raise RigError(f"'{armature.name}' is not an armature, choose the armature of the hand")
    if not armature.is_editable:
        raise RigError(f"armature '{armature.name}' is linked from another file, make a library override of it first")
    if armature.animation_data and armature.animation_data.use_tweak_mode:
        raise RigError(f"a strip of armature '{armature.name}' is being tweaked in the NLA, leave Tweak Mode first")


def _play(obj: "Object", action: "Action", slot: Any) -> None:
    animation = obj.animation_data or obj.animation_data_create()
    before = animation.action
    animation.action = action
    animation.action_slot = slot
    if before and before.users == 0 and before.is_editable:
        before.use_fake_user = True
