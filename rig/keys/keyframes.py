"""Keys for the F frames of a solved hand: a new action for every take, written in bulk."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from .. import rotation_channels
from ..binding import RigBinding, is_armature
from ..intermediate_bones import bones_between
from ..pose_transfer import transfer
from . import parent_motion
from .arm_keys import ArmBones, move_arm

if TYPE_CHECKING:
    from bpy.types import Action, Object

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class KeyedHand:
    """A solved hand and the hand of an armature to key with it."""

    binding: RigBinding
    hand: HandModel
    pose: Pose
    arm: ArmBones | None = None
    """The arm that brings the wrist to its position in the pose; None leaves the arm unchanged."""
    offsets: Mapping[int, tuple[Floats, Floats]] = field(default_factory=dict)
    """joint -> location (3,) and rotation (4,) wxyz of its bone on top of the pose."""


@dataclass(frozen=True, slots=True, eq=False)
class BoneCurves:
    """The F-curves of one property."""

    group: str
    """The bone's name; empty for none."""
    data_path: str
    frames: Floats
    """(F,)"""
    values: Floats
    """(F, C)"""


@dataclass(frozen=True, slots=True, eq=False)
class _PlayedAction:
    """The action and slot that an object played."""

    action: "Action | None"
    slot: Any


def key_hands(armature: "Object", hands: Sequence[KeyedHand], frames: Floats, name: str) -> "Action":
    """Key the hands of one armature at scene frames (F,) in a new action, which the armature then plays.

    The previous action keeps its keys, and gets a fake user if nothing else uses it, so that saving does not lose it.
    NLA strips, rotation modes and the scene do not change. If it raises RigError, nothing has changed.
    """
    # The motion of parent bones is evaluated with the new action: what only the previous one moved is at rest.
    action, bag, before = _play_empty(armature, name)
    try:
        write_curves(bag, list(_curves(armature, hands, frames)))
    except BaseException:
        _restore_played(armature, before)
        bpy.data.actions.remove(action)
        raise
    _keep_action(before)
    return action


def new_action(obj: "Object", curves: Sequence[BoneCurves], name: str) -> "Action":
    """Return a new action with these curves, which the object then plays."""
    action, bag, before = _play_empty(obj, name)
    write_curves(bag, curves)
    _keep_action(before)
    return action


def _curves(armature: "Object", hands: Sequence[KeyedHand], frames: Floats) -> Iterator[BoneCurves]:
    """Yield the curves of all bones of the hands."""
    outside_children = [bones_with_outside_parents(armature, keyed.binding) for keyed in hands]
    shoulders = [keyed.arm.upper for keyed in hands if keyed.arm]
    evaluated = [name for bones in outside_children for name in bones.values()]
    between_bones = [bones_between(armature, keyed.binding) for keyed in hands]
    evaluated += [name for bones in between_bones for pair in bones.values() for name in pair]
    world, rests = parent_motion.standing(armature, [*evaluated, *shoulders], frames)
    for keyed, bones, inner in zip(hands, outside_children, between_bones, strict=True):
        held_rests = {joint: rests[name] for joint, name in bones.items()}
        held_rests |= parent_motion.rests_between(armature, inner, rests)
        keyed_hand = keyed
        if keyed.arm:
            keyed_hand, arm_rests = yield from _arm_curves(armature, keyed, frames, world, rests)
            held_rests |= arm_rests
        yield from _hand_curves(armature, keyed_hand, frames, world, held_rests)


def _arm_curves(
    armature: "Object", keyed: KeyedHand, frames: Floats, world: Floats, rests: dict[str, Floats]
) -> Generator[BoneCurves, None, tuple[KeyedHand, dict[int, Floats]]]:
    """Yield the arm's curves; return the hand bound to the arm, and joint -> its bone's rest as moved by the arm."""
    binding, bones, rest = keyed.binding, keyed.arm, armature.data.bones
    shoulder = rests.get(bones.upper, np.array(rest[bones.upper].matrix_local))
    motion = move_arm(armature, bones, binding, keyed.pose, world=world, shoulder_rest=shoulder)
    for name, rotations in motion.rotations.items():
        mode = armature.pose.bones[name].rotation_mode
        path = f'pose.bones["{bpy.utils.escape_identifier(name)}"].{rotation_channels.channel(mode)}'
        yield BoneCurves(name, path, frames, rotation_channels.channel_values(rotations, mode))
    location_keyed = binding.location_keyed.copy()
    held_rests = {}
    for joint, name in bones_with_outside_parents(armature, binding).items():
        if rest[bones.fore] in rest[name].parent_recursive:
            held_rests[joint] = motion.forearm @ np.array(rest[name].matrix_local)
            location_keyed[joint] = False
    return replace(keyed, binding=replace(binding, location_keyed=location_keyed)), held_rests


def _hand_curves(
    armature: "Object", keyed: KeyedHand, frames: Floats, world: Floats, held_rests: dict[int, Floats]
) -> Iterator[BoneCurves]:
    binding = keyed.binding
    motion = transfer(binding, keyed.hand, keyed.pose, world, held_rests).with_offsets(keyed.offsets)
    for joint in binding.mapped:
        name = str(binding.bones[joint])
        bone = armature.pose.bones[name]
        path = f'pose.bones["{bpy.utils.escape_identifier(name)}"].'
        # A bone that does not move gets a single key.
        count = 1 if motion.static[joint] else len(frames)
        if binding.location_keyed[joint]:
            yield BoneCurves(name, path + "location", frames[:count], motion.locations[:count, joint])
        values = rotation_channels.channel_values(motion.rotations[:count, joint], bone.rotation_mode)
        yield BoneCurves(name, path + rotation_channels.channel(bone.rotation_mode), frames[:count], values)


def bones_with_outside_parents(armature: "Object", binding: RigBinding) -> dict[int, str]:
    """Return joint -> bone for the bones whose parents do not belong to the hand."""
    bones = {joint: str(binding.bones[joint]) for joint in binding.mapped if binding.mapped_parents[joint] < 0}
    return {joint: name for joint, name in bones.items() if armature.pose.bones[name].parent}


def write_curves(channelbag: Any, curves: Sequence[BoneCurves]) -> None:
    """Add curves to a channelbag."""
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
            # Nothing is known between two recorded frames, and linear interpolation does not overshoot.
            points.foreach_set("interpolation", np.full(len(column), linear, np.int32))
            fcurve.update()


def check_keyable(armature: "Object") -> None:
    """Raise RigError for an armature that cannot be keyed, and say what to do."""
    check_changeable(armature)
    # Changes since the last redraw, by a script or by opening a file, are not evaluated yet.
    bpy.context.view_layer.update()
    parent_motion.check_depth(armature.name, np.array(armature.matrix_world))


def check_changeable(armature: "Object") -> None:
    """Do the same without an update of the view layer, and without a check of the armature's scale."""
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


def _play_empty(obj: "Object", name: str) -> "tuple[Action, Any, _PlayedAction | None]":
    """Let the object play a new action; return the action, its channelbag, and what the object played before."""
    action = bpy.data.actions.new(name)
    slot = action.slots.new(id_type="OBJECT", name=obj.name)
    strip = action.layers.new("Take").strips.new(type="KEYFRAME")
    animation, before = obj.animation_data, None
    if animation:
        before = _PlayedAction(animation.action, animation.action_slot)
    else:
        animation = obj.animation_data_create()
    animation.action = action
    animation.action_slot = slot
    return action, strip.channelbag(slot, ensure=True), before


def _restore_played(obj: "Object", before: "_PlayedAction | None") -> None:
    if before is None:
        obj.animation_data_clear()
        return
    obj.animation_data.action = before.action
    if before.action:
        obj.animation_data.action_slot = before.slot


def _keep_action(before: "_PlayedAction | None") -> None:
    """Give an action that nothing plays any more a fake user, so that the file keeps it."""
    if before and before.action and before.action.users == 0 and before.action.is_editable:
        before.action.use_fake_user = True
