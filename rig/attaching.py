"""An object goes along with the hand that holds it, by a Child Of constraint, until the hand lets go of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import bpy

from ..errors import RigError
from .following import Follower
from .held import armature_held
from .unkeyed import curves_of

if TYPE_CHECKING:
    from bpy.types import Constraint, Object

NAME = "Held"
"""How the constraint is called: one of a person's own is left alone."""
PLACED = ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle", "scale")


def check_attachable(who: Follower, obj: "Object") -> None:
    """Raises RigError for an object that cannot go along with a hand."""
    armature = armature_held(who.held)
    if not obj.is_editable:
        raise RigError(f"'{obj.name}' is linked from another file, make a library override of it first to attach it")
    if obj in _above(armature):
        raise RigError(f"'{armature.name}' hangs on '{obj.name}', which can therefore not go along with its hand")
    if _bone_of(who) is None:
        raise RigError(f"'{armature.name}' has no bone of this hand's wrist to which '{obj.name}' could be attached")
    if any(held.influence > 0 for held in _holds(obj)):
        raise RigError(f"'{obj.name}' is attached to a hand already, let go of it first")


def attach(who: Follower, obj: "Object", frames: tuple[float, float] | None = None) -> "Constraint":
    """An object goes along with a hand as the hand stands now; frames: the last one on which it does not yet, and the
    one from which on it does, else for ever. Raises RigError where the hand is gone."""
    armature, bone = armature_held(who.held), _bone_of(who)
    assert bone is not None, "check_attachable"
    seen = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    held: Any = obj.constraints.new("CHILD_OF")
    held.name = f"{NAME} by {bone}"
    held.target, held.subtarget = armature, bone
    held.inverse_matrix = (seen.matrix_world @ seen.pose.bones[bone].matrix).inverted_safe()
    if frames:
        for influence, frame in enumerate(frames):
            held.influence = influence
            _key_held(obj, held, frame)
    return held  # type: ignore[no-any-return]


def held_by(who: Follower) -> "Iterator[tuple[Object, Constraint]]":
    """The objects that go along with a hand now, and what makes them. Raises RigError where the hand is gone."""
    armature, bone = armature_held(who.held), _bone_of(who)
    for obj in bpy.context.view_layer.objects:
        for held in _holds(obj):
            if held.target == armature and held.subtarget == bone and held.influence > 0:
                yield obj, held


def let_go(obj: "Object", held: "Constraint", frame: float) -> None:
    """An object stays from now on where it is; on a frame, with what is keyed before left as it is, if it was attached
    by keys."""
    world = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world.copy()
    if not _is_keyed(obj, held):
        obj.constraints.remove(held)
        obj.matrix_world = world
        return
    paths = [path for path in PLACED if not path.startswith("rotation") or path == _rotation(obj)]
    for path in paths:
        obj.keyframe_insert(path, frame=frame - 1)
    obj.matrix_world = world
    for path in paths:
        obj.keyframe_insert(path, frame=frame)
        _hold_key(obj, path, frame - 1)
    held.influence = 0.0
    _key_held(obj, held, frame)


def _bone_of(who: Follower) -> str | None:
    """What carries a hand: not its control, which stands aside where another moves the hand."""
    binding = who.held.posed.binding
    return binding.carrier or binding.bones[0]


def _holds(obj: "Object") -> "list[Constraint]":
    return [one for one in obj.constraints if one.type == "CHILD_OF" and one.name.startswith(NAME) and not one.mute]


def _above(armature: "Object") -> "set[Object]":
    """The objects on which an armature hangs: those above it, and those to which it or its bones are constrained."""
    found: set[Object] = set()
    left: list[Any] = [armature]
    while left:
        one = left.pop()
        bones = one.pose.bones if one.pose else ()
        constraints = [*one.constraints, *(held for bone in bones for held in bone.constraints)]
        near = [one.parent, *(getattr(held, "target", None) for held in constraints)]
        near += [target.target for held in constraints for target in getattr(held, "targets", ())]
        fresh = {other for other in near if other is not None} - found
        found |= fresh
        left += fresh
    return found


def _rotation(obj: "Object") -> str:
    return {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(
        obj.rotation_mode, "rotation_euler"
    )


def _path(held: "Constraint") -> str:
    return f"{held.path_from_id()}.influence"


def _is_keyed(obj: "Object", held: "Constraint") -> bool:
    animation = obj.animation_data
    if animation is None or animation.action is None:
        return False
    return any(curve.data_path == _path(held) for curve in curves_of(animation.action, animation.action_slot))


def _key_held(obj: "Object", held: "Constraint", frame: float) -> None:
    obj.keyframe_insert(_path(held), frame=frame)
    _hold_key(obj, _path(held), frame)


def _hold_key(obj: "Object", path: str, frame: float) -> None:
    """What is keyed on a frame stays until the next key."""
    animation = obj.animation_data
    assert animation is not None and animation.action is not None, "a key was set"
    for curve in curves_of(animation.action, animation.action_slot):
        for key in curve.keyframe_points:
            if curve.data_path == path and abs(key.co[0] - frame) < 0.01:
                key.interpolation = "CONSTANT"
