"""Attach an object to the hand that holds it, by a Child Of constraint, and release it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import bpy

from ...errors import RigError
from ..keys.fcurves import FRAME_TOLERANCE, key_on
from ..object_ancestors import ancestors
from ..rotation_channels import channel
from .following import HandArm
from .stillness import changes, check_still, differ, moving_parent, played, transform_curves

if TYPE_CHECKING:
    from bpy.types import Constraint, Object

NAME = "Held"
"""Prefix of the constraint's name; constraints with other names are left alone."""


def check_attachable(hand_arm: HandArm, obj: "Object", frame: float) -> None:
    """Raise RigError for an object that cannot follow a hand from a frame on, or that something else moves as well."""
    armature = hand_arm.rig_hand.armature_object()
    if not obj.is_editable:
        raise RigError(f"'{obj.name}' is linked from another file, make a library override of it first to attach it")
    if obj in _above(armature):
        raise RigError(f"'{armature.name}' moves with '{obj.name}', which therefore cannot be attached to its hand")
    if _carrying_bone(hand_arm) is None:
        raise RigError(f"'{armature.name}' has no bone of this hand's wrist that '{obj.name}' could be attached to")
    holds = _holding_constraints(obj)
    keyed_later = {_path(constraint) for constraint in holds} & {
        curve.data_path for curve in played(obj) if changes(curve, frame)
    }
    if keyed_later or any(constraint.influence > 0 for constraint in holds):
        raise RigError(f"'{obj.name}' is already attached to a hand, release it first")
    check_still(obj, frame, holds)
    frame_now = bpy.context.scene.frame_current_final
    values = ((curve, float(getattr(obj, curve.data_path)[curve.array_index])) for curve in transform_curves(obj))
    if any(differ(curve.evaluate(frame_now), value) for curve, value in values):
        raise RigError(f"'{obj.name}' has been moved since its last key, insert a key for its current transform first")
    # An ancestor of both would move the object twice.
    shared = [parent for _, parent in ancestors(obj) if parent == armature or parent in _above(armature)]
    parent = moving_parent(obj, frame) or next(iter(shared), None)
    if parent is not None:
        raise RigError(f"'{obj.name}' is moved by '{parent.name}', its parent: clear that first (Keep Transformation)")


def has_keys(obj: "Object") -> bool:
    """Return whether an object's own keys move it."""
    return any(changes(curve, curve.range()[0]) for curve in transform_curves(obj))


def attach(hand_arm: HandArm, obj: "Object", frames: tuple[float, float] | None = None) -> "Constraint":
    """Attach an object to a hand in its current pose.

    frames: the last frame on which it is not attached yet, and the first one on which it is. By default it is attached
    on all frames. Raises RigError if the hand no longer exists.
    """
    armature, bone = hand_arm.rig_hand.armature_object(), _carrying_bone(hand_arm)
    assert bone is not None, "check_attachable"
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    constraint: Any = obj.constraints.new("CHILD_OF")
    constraint.name = f"{NAME} by {bone}"
    constraint.target, constraint.subtarget = armature, bone
    constraint.inverse_matrix = (evaluated.matrix_world @ evaluated.pose.bones[bone].matrix).inverted_safe()
    if frames:
        for influence, frame in enumerate(frames):
            constraint.influence = influence
            _key_constraint(obj, constraint, frame)
    return constraint  # type: ignore[no-any-return]


def attached_objects(hand_arm: HandArm) -> "Iterator[tuple[Object, Constraint]]":
    """Yield the objects attached to a hand with their constraints. Raises RigError if the hand no longer exists."""
    armature, bone = hand_arm.rig_hand.armature_object(), _carrying_bone(hand_arm)
    for obj in bpy.context.view_layer.objects:
        for constraint in _holding_constraints(obj):
            if constraint.target == armature and constraint.subtarget == bone and constraint.influence > 0:
                yield obj, constraint


def check_loose(obj: "Object", constraint: "Constraint", frame: float) -> None:
    """Raise RigError for an object that would not stay where it is if it were released on a frame."""
    if _path(constraint) in {curve.data_path for curve in played(obj) if changes(curve, frame)}:
        raise RigError(f"'{obj.name}' is already released by keys after frame {frame:g}, delete those first")
    check_still(obj, frame, _holding_constraints(obj))


def release(obj: "Object", constraint: "Constraint", frame: float) -> None:
    """Release an object that passes check_loose, so that it stays where it is.

    If it was attached by keys or has its own keys, it is released on a frame, and earlier keys stay.
    """
    world = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world.copy()
    if not (_is_keyed(obj, constraint) or transform_curves(obj)):
        obj.constraints.remove(constraint)
        obj.matrix_world = world
        return
    if not _is_keyed(obj, constraint):
        _key_constraint(obj, constraint, frame - 1)
    paths = ("location", channel(obj.rotation_mode), "scale")
    for path in paths:
        _keep_before(obj, path, frame)
    obj.matrix_world = world
    for path in paths:
        obj.keyframe_insert(path, frame=frame)
        _hold_key(obj, path, frame)
    constraint.influence = 0.0
    _key_constraint(obj, constraint, frame)


def _carrying_bone(hand_arm: HandArm) -> str | None:
    """Return the bone that carries a hand. It is not its control, which stays if another bone moves the hand."""
    binding = hand_arm.rig_hand.binding
    return binding.carrier or binding.bones[0]


def _holding_constraints(obj: "Object") -> "list[Constraint]":
    child_of = (constraint for constraint in obj.constraints if constraint.type == "CHILD_OF")
    return [constraint for constraint in child_of if constraint.name.startswith(NAME) and not constraint.mute]


def _above(armature: "Object") -> "set[Object]":
    """Return the objects that move an armature: its ancestors, and targets of its and its bones' constraints."""
    ancestors_found: set[Object] = set()
    remaining: list[Any] = [armature]
    while remaining:
        obj = remaining.pop()
        bones = obj.pose.bones if obj.pose else ()
        constraints = [*obj.constraints, *(constraint for bone in bones for constraint in bone.constraints)]
        movers = [obj.parent, *(getattr(constraint, "target", None) for constraint in constraints)]
        movers += [target.target for constraint in constraints for target in getattr(constraint, "targets", ())]
        fresh = {mover for mover in movers if mover is not None} - ancestors_found
        ancestors_found |= fresh
        remaining += fresh
    return ancestors_found


def _path(constraint: "Constraint") -> str:
    return f"{constraint.path_from_id()}.influence"


def _is_keyed(obj: "Object", constraint: "Constraint") -> bool:
    return any(curve.data_path == _path(constraint) for curve in played(obj))


def _keep_before(obj: "Object", path: str, frame: float) -> None:
    """Preserve the values of a channel before a frame, whatever is keyed on the frame."""
    curves = {curve.array_index: curve for curve in played(obj) if curve.data_path == path}
    for index in range(len(getattr(obj, path))):
        if index not in curves:
            obj.keyframe_insert(path, index=index, frame=frame - 1)
            continue
        points = curves[index].keyframe_points
        earlier = [key for key in points if key.co[0] < frame - FRAME_TOLERANCE]
        if len(earlier) < len(points) or not earlier:
            # There is a key on or after this frame, or none before it.
            points.insert(frame - 1, curves[index].evaluate(frame - 1))
        else:
            # An automatic handle would change when the next key is inserted.
            earlier[-1].handle_left_type = earlier[-1].handle_right_type = "FREE"
            earlier[-1].interpolation = "CONSTANT"
    _hold_key(obj, path, frame - 1)


def _key_constraint(obj: "Object", constraint: "Constraint", frame: float) -> None:
    obj.keyframe_insert(_path(constraint), frame=frame)
    _hold_key(obj, _path(constraint), frame)


def _hold_key(obj: "Object", path: str, frame: float) -> None:
    """Make a channel constant from a frame to the next key."""
    for curve in played(obj):
        key = key_on(curve, frame) if curve.data_path == path else None
        if key is not None:
            key.interpolation = "CONSTANT"
