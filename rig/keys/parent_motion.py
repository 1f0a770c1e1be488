"""Transforms of the parents of a hand, the armature object and the bones above the wrist, on the frames to key."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from .unkeyed_changes import unkeyed_changes_restored

if TYPE_CHECKING:
    from bpy.types import LayerCollection, Object

Floats = NDArray[np.float64]
Read = TypeVar("Read")

FLAT_SCALE_RATIO = 1e-6
"""Ratio of an armature's smallest scale to its largest below which it is flat, so that no hand can be keyed on it."""

_PLAYED = {"TRANSFORM_CACHE", "FOLLOW_TRACK", "CAMERA_SOLVER", "OBJECT_SOLVER"}
"""Constraints that are animated without keys, by a file or a movie clip."""


def parents_on_frames(armature: "Object", bones: Iterable[str], frames: Floats) -> tuple[Floats, dict[str, Floats]]:
    """Return T_world_armature, and each bone's rest transform as its parent moves it, in armature space.

    They are (F, 4, 4) at scene frames (F,), or (4, 4) each if nothing above the hand is animated. Bones without a
    parent are left out. Raises RigError for an armature that is scaled flat.
    """
    names = [name for name in bones if armature.pose.bones[name].parent]
    with _in_pose_position(armature):
        if not carriers_move(armature):
            world, rests = _evaluate(armature, names)
        else:
            evaluated = on_frames(armature, frames, lambda _: _evaluate(armature, names))
            worlds, frame_rests = zip(*evaluated, strict=True)
            world, rests = np.stack(worlds), np.stack(frame_rests, axis=1)
    check_depth(armature.name, world)
    return world, dict(zip(names, rests, strict=True))


def on_frames(armature: "Object", frames: Floats, read: Callable[[float], Read], *beside: "Object") -> list[Read]:
    """Return the results of `read` on scene frames (F,), on which an armature and objects beside it are evaluated."""
    with (
        _in_pose_position(armature),
        unkeyed_changes_restored(),
        current_frame_restored(),
        _separate_scene(armature, *beside),
    ):
        found = []
        for frame in frames.tolist():
            whole = int(np.floor(frame))
            bpy.context.scene.frame_set(whole, subframe=frame - whole)
            found.append(read(frame))
    return found


def parents_on_current_frame(armature: "Object", bones: Iterable[str]) -> tuple[Floats, dict[str, Floats]]:
    """Return the same as parents_on_frames, (4, 4) each, for the scene's frame as it was last evaluated."""
    names = [name for name in bones if armature.pose.bones[name].parent]
    world, rests = _evaluate(armature, names)
    return world, dict(zip(names, rests, strict=True))


def rests_between(
    armature: "Object", between: Mapping[int, tuple[str, str]], carried: Mapping[str, Floats]
) -> dict[int, Floats]:
    """Return joint -> (4, 4) or (F, 4, 4), its bone's rest transform R if the hand's bone above it were at rest.

    between: see intermediate_bones.bones_between. carried: see `parents_on_frames`. H is the motion from rest of the
    hand's bone above, and C the rest transform of the first bone between. Their parents move C to H C and R to H R, so
    R = C · (H C)^-1 · (H R). If no bone between has moved, R is the bone's own rest transform.
    """
    return {
        joint: np.array(armature.data.bones[first].matrix_local) @ np.linalg.inv(carried[first]) @ carried[own]
        for joint, (first, own) in between.items()
    }


def is_evaluated(armature: "Object") -> bool:
    """Return whether Blender evaluates an armature: it is in the current view layer and not disabled in viewports.

    The evaluated object does not show it: a copy that is no longer updated looks the same.
    """
    return not armature.hide_viewport and _includes(bpy.context.view_layer.layer_collection, armature)


def _includes(layer: "LayerCollection", obj: "Object") -> bool:
    if layer.collection.hide_viewport:
        return False
    if not layer.exclude and layer.collection.objects.get(obj.name) == obj:
        return True
    return any(_includes(child, obj) for child in layer.children)


def check_depth(name: str, world: Floats) -> None:
    """Raise RigError if any T_world_armature (..., 4, 4) is scaled to zero or flat."""
    if np.isfinite(world).all():
        stretch = np.linalg.svd(world[..., :3, :3], compute_uv=False)
        if (stretch[..., -1] > FLAT_SCALE_RATIO * stretch[..., 0]).all():
            return
    raise RigError(f"armature '{name}' is scaled to zero, give it a size along all axes")


def _evaluate(armature: "Object", names: list[str]) -> tuple[Floats, Floats]:
    """Return T_world_armature (4, 4) and the rests (B, 4, 4) on the scene's frame, see `parents_on_frames`.

    Raises RigError for a parent that is scaled to zero.
    """
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    rests = np.empty((len(names), 4, 4))
    for row, name in enumerate(names):
        bone = posed.pose.bones[name]
        offset = bone.parent.bone.matrix_local.inverted() @ bone.bone.matrix_local
        rests[row] = np.array((bone.parent.matrix @ offset).normalized())
    flat = np.flatnonzero(~(np.abs(np.linalg.det(rests[:, :3, :3])) > FLAT_SCALE_RATIO))
    if len(flat):
        name = posed.pose.bones[names[flat[0]]].parent.name
        raise RigError(f"armature '{armature.name}': bone '{name}' is scaled to zero, give it a size along all axes")
    return np.array(posed.matrix_world), rests


@contextmanager
def _in_pose_position(armature: "Object") -> Iterator[None]:
    """Within the context, show an armature in Pose Position, since keys have no effect in Rest Position."""
    if armature.data.pose_position == "POSE":
        yield
        return
    armature.data.pose_position = "POSE"
    bpy.context.view_layer.update()
    try:
        yield
    finally:
        armature.data.pose_position = "REST"


@contextmanager
def _separate_scene(*objects: "Object") -> Iterator[None]:
    """Within the context, use a new scene with these objects alone, so that a change of frame evaluates no other
    meshes.

    If a parent is simulated, the scene stays the same, since Blender simulates an object only in its own scene.
    """
    current = bpy.context.scene
    if any(_is_simulated(each) for obj in objects for each in _parents_and_targets(obj)):
        yield
        return
    scene, render = bpy.data.scenes.new("Knuckle"), current.render
    scene.render.frame_map_old, scene.render.frame_map_new = render.frame_map_old, render.frame_map_new
    try:
        for obj in objects:
            scene.collection.objects.link(obj)
        with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0]):
            yield
    finally:
        bpy.data.scenes.remove(scene)


@contextmanager
def current_frame_restored() -> Iterator[None]:
    """Return the scene to its frame after the body."""
    scene = bpy.context.scene
    frame, part = scene.frame_current, scene.frame_subframe
    try:
        yield
    finally:
        scene.frame_set(frame, subframe=part)


def carriers_move(armature: "Object") -> bool:
    """Return whether the armature, or anything that moves it or its bones, may move over time.

    The armature's own action does not count, as the take's action replaces it.
    """
    return any(_moves(obj, ignore_action=obj == armature) for obj in _parents_and_targets(armature))


def _parents_and_targets(armature: "Object") -> "Iterator[Object]":
    """Yield the armature, its parents and the targets of their and their bones' constraints, recursively, each once."""
    visited: set[Object] = set()
    pending = [armature]
    while pending:
        obj = pending.pop()
        if obj in visited:
            continue
        visited.add(obj)
        yield obj
        targets = [target for constraint in _constraints(obj) for target in _constraint_targets(constraint)]
        pending += [other for other in (obj.parent, *targets) if other]


def _moves(obj: "Object", *, ignore_action: bool) -> bool:
    """Return whether an object may move over time, its own action aside if `ignore_action`."""
    has_action = not ignore_action and obj.animation_data and obj.animation_data.action
    if has_action or _is_animated(obj) or _is_animated(obj.data) or _is_simulated(obj):
        return True
    return any(constraint.type in _PLAYED for constraint in _constraints(obj))


def _is_simulated(obj: "Object") -> bool:
    """Return whether an object is a rigid body, or its parent is a mesh's vertices, which may be simulated."""
    return bool(obj.rigid_body or (obj.parent and "VERTEX" in obj.parent_type))


def _is_animated(block: Any) -> bool:
    """Return whether a data-block has drivers or NLA strips, or, other than an object, an action."""
    animation = block.animation_data if block else None
    if animation is None:
        return False
    has_action = animation.action and not isinstance(block, bpy.types.Object)
    return bool(has_action or animation.drivers or any(track.strips for track in animation.nla_tracks))


def _constraints(obj: "Object") -> "Iterator[Any]":
    """Yield the constraints of an object and of its bones."""
    for owner in (obj, *(obj.pose.bones if obj.pose else ())):
        yield from owner.constraints


def _constraint_targets(constraint: Any) -> "Iterator[Object | None]":
    """Yield the target objects of a constraint, None for those not set."""
    for name in ("target", "pole_target", "space_object"):
        yield getattr(constraint, name, None)
    for target in getattr(constraint, "targets", ()):
        yield target.target
