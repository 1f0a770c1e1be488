"""Auto-keying after a pose was changed: insert the keys that Blender's own tools would insert."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import bpy

from ..rig.keys.fcurves import curves_on, key_on
from ..rig.posing.rig_hand import RigHand
from ..rig.rotation_channels import channel

if TYPE_CHECKING:
    from bpy.types import Action, Area, Context, FCurve, KeyingSet, Object, PoseBone, Window

VALUE_TOLERANCE = 1e-6
"""A channel whose value differs by less from its F-curve needs no key."""


def key_hand(context: "Context", rig_hand: RigHand, joints: Collection[int]) -> bool:
    """Key the bones of some joints of a hand as auto-keying would. Returns whether it did.

    Raises RigError if the hand is gone.
    """
    return key_posed(context, rig_hand.armature_object(), *bones_of(rig_hand, joints))


def bones_of(rig_hand: RigHand, joints: Collection[int]) -> tuple[list[str], list[str]]:
    """Return the names of the joints' bones, and the names of the bones that are also translated."""
    binding = rig_hand.binding
    posed_joints = [joint for joint in binding.mapped if joint in joints]
    names = [str(binding.bones[joint]) for joint in posed_joints]
    return names, [str(binding.bones[joint]) for joint in posed_joints if binding.location_keyed[joint]]


def key_posed(
    context: "Context",
    armature: "Object",
    bones: Collection[str],
    placed: Collection[str] = (),
    scaled: Collection[str] = (),
) -> bool:
    """Key bones that were rotated, `placed` (translated) or `scaled`, like auto-keying. Return whether keys were set.

    As in Blender: with Only Active Keying Set the active keying set alone is keyed, otherwise the channels that were
    changed; of these, with Only Insert Available those that have an F-curve, with Only Insert Needed those that differ
    from it, and in Replace mode those that have a key on this frame.
    """
    tools = context.scene.tool_settings
    if not tools.use_keyframe_insert_auto or takes_no_keys(armature):
        return False
    keying_set = context.scene.keying_sets_all.active
    if tools.use_keyframe_insert_keyingset and keying_set is not None and armature.mode == "POSE":
        _key_by_set(context, armature, keying_set, bones)
        return True
    options = {"INSERTKEY_CYCLE_AWARE"} if tools.use_keyframe_cycle_aware else set()
    if context.preferences.edit.use_visual_keying:
        options.add("INSERTKEY_VISUAL")
    frame, kind = context.scene.frame_current_final, tools.keyframe_type
    for name in bones:
        bone = armature.pose.bones[name]
        for path in _channels(bone, name in placed, name in scaled):
            for index in _wanted(context, bone, path):
                bone.keyframe_insert(path, index=index, frame=frame, group=name, keytype=kind, options=options)
    return True


def takes_no_keys(armature: "Object") -> bool:
    """Return whether the armature's action is not editable.

    Blender's own tools then pose without keys, and report it.
    """
    action = armature.animation_data.action if armature.animation_data else None
    return action is not None and not action.is_editable


def _channels(bone: "PoseBone", placed: bool, scaled: bool) -> Iterator[str]:
    yield channel(bone.rotation_mode)
    if placed:
        yield "location"
    if scaled:
        yield "scale"


def _wanted(context: "Context", bone: "PoseBone", path: str) -> Iterator[int]:
    """Yield the components of a channel that are to be keyed.

    Done here because Blender's own options report each component that they skip. A quaternion or an axis and angle is
    keyed as a whole, since a part of it is no rotation.
    """
    edit, tools = context.preferences.edit, context.scene.tool_settings
    armature: Any = bone.id_data
    frame, values = context.scene.frame_current_final, list(getattr(bone, path))
    curves = [_curve(armature, bone.path_from_id(path), index) for index in range(len(values))]
    is_keyed = [True] * len(values)
    if edit.use_auto_keyframe_insert_needed:
        is_keyed = [
            curve is None or curve.is_empty or abs(curve.evaluate(frame) - value) > VALUE_TOLERANCE
            for curve, value in zip(curves, values, strict=True)
        ]
        if len(values) == 4:
            is_keyed = [any(is_keyed)] * 4
    for index, curve in enumerate(curves):
        may_insert = curve is not None or not edit.use_keyframe_insert_available
        replaces = tools.auto_keying_mode != "REPLACE_KEYS" or (curve is not None and key_on(curve, frame) is not None)
        if is_keyed[index] and may_insert and replaces:
            yield index


def _curve(armature: "Object", path: str, index: int) -> "FCurve | None":
    """Return a channel's F-curve in the armature's action, if it has one."""
    animation = armature.animation_data
    action: Action | None = animation.action if animation else None
    if action is None or animation.action_slot is None:
        return None
    for layer in action.layers:
        for strip in layer.strips:
            bag: Any = strip.channelbag(animation.action_slot)
            curve: FCurve | None = bag.fcurves.find(path, index=index) if bag else None
            if curve is not None:
                return curve
    return None


def _key_by_set(context: "Context", armature: "Object", keying_set: "KeyingSet", bones: Collection[str]) -> None:
    """Key these bones by a keying set; or the channels that the keying set names, if it does."""
    if keying_set.bl_idname == "Available":
        # Blender's own operator fails if there is nothing to key, which is no error here.
        _key_existing_channels(armature, bones)
        return
    window, area = _view(context)
    pose_bones: Any = [armature.pose.bones[name] for name in bones]
    override: Any = {"window": window, "area": area} if area else {}
    override |= {"active_object": armature, "object": armature, "selected_pose_bones": pose_bones, "mode": "POSE"}
    # Blender refuses a keying set with missing channels. That is no error: its own tools ignore it as well.
    with context.temp_override(**override), suppress(RuntimeError):
        bpy.ops.anim.keyframe_insert()


def _key_existing_channels(armature: "Object", bones: Collection[str]) -> None:
    frame = bpy.context.scene.frame_current_final
    for name in bones:
        path = armature.pose.bones[name].path_from_id()
        for curve in list(curves_on(armature)):
            if curve.data_path.startswith(path):
                armature.keyframe_insert(curve.data_path, index=curve.array_index, frame=frame, group=name)


def _view(context: "Context") -> "tuple[Window | None, Area | None]":
    """Return a window and an area in which an operator can insert keys: the current ones, or in a script a 3D view."""
    if context.area is not None:
        return context.window, context.area
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                return window, area
    return None, None
