"""What carries a hand: the armature object and the bones above the wrist, on each frame on which the hand is keyed."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from .unkeyed_changes import unkeyed_changes_restored

if TYPE_CHECKING:
    from bpy.types import LayerCollection, Object

Floats = NDArray[np.float64]

FLAT = 1e-6
"""An armature whose smallest scale is this part of its largest, or less, has no depth to key a hand in."""

_PLAYED = {"TRANSFORM_CACHE", "FOLLOW_TRACK", "CAMERA_SOLVER", "OBJECT_SOLVER"}
"""Constraints that move by themselves, from a file or a film."""


def standing(armature: "Object", bones: Iterable[str], frames: Floats) -> tuple[Floats, dict[str, Floats]]:
    """Where an armature object is in the world, and where the rest of each bone is carried to by its parent.

    Each is (4, 4), in armature space for the bones, where nothing above the hand is animated, and else (F, 4, 4) at
    scene frames (F,). Bones without a parent are left out. Raises RigError for an armature without any depth.
    """
    names = [name for name in bones if armature.pose.bones[name].parent]
    with _in_pose(armature):
        if not carriers_move(armature):
            world, held = _now(armature, names)
        else:
            with unkeyed_changes_restored(), frames_come_back(), _alone(armature):
                seen = [_at(armature, names, frame) for frame in frames]
            world, held = np.stack([place for place, _ in seen]), np.stack([carried for _, carried in seen], axis=1)
    check_depth(armature.name, world)
    return world, dict(zip(names, held, strict=True))


def standing_now(armature: "Object", bones: Iterable[str]) -> tuple[Floats, dict[str, Floats]]:
    """As `standing`, (4, 4) each, on the scene's frame as it was last evaluated."""
    names = [name for name in bones if armature.pose.bones[name].parent]
    world, held = _now(armature, names)
    return world, dict(zip(names, held, strict=True))


def rests_between(
    armature: "Object", between: Mapping[int, tuple[str, str]], carried: Mapping[str, Floats]
) -> dict[int, Floats]:
    """Joint -> (4, 4) or (F, 4, 4) where its bone's rest would be with the bone that holds it at rest.

    between: see intermediate_bones.bones_between. carried: see `standing`. With H the holder's motion from its rest, C
    the first bone's rest and B its own, H C and H R are where theirs are carried to, so R = C · (H C)^-1 · (H R). R = B
    where nothing between has moved.
    """
    return {
        joint: np.array(armature.data.bones[first].matrix_local) @ np.linalg.inv(carried[first]) @ carried[own]
        for joint, (first, own) in between.items()
    }


def is_evaluated(armature: "Object") -> bool:
    """Whether Blender works out where an armature is: in the open view layer, and not disabled for viewports.

    What the evaluated object says of itself does not tell: a pointer to it is enough for one that stays as it was.
    """
    return not armature.hide_viewport and _holds(bpy.context.view_layer.layer_collection, armature)


def _holds(layer: "LayerCollection", obj: "Object") -> bool:
    if layer.collection.hide_viewport:
        return False
    if not layer.exclude and layer.collection.objects.get(obj.name) == obj:
        return True
    return any(_holds(child, obj) for child in layer.children)


def check_depth(name: str, world: Floats) -> None:
    """Raises RigError for an armature that is scaled to nothing, or flat, anywhere in (..., 4, 4)."""
    if np.isfinite(world).all():
        stretch = np.linalg.svd(world[..., :3, :3], compute_uv=False)
        if (stretch[..., -1] > FLAT * stretch[..., 0]).all():
            return
    raise RigError(f"armature '{name}' is scaled to nothing, give it a size along all axes")


def _at(armature: "Object", names: list[str], frame: float) -> tuple[Floats, Floats]:
    whole = int(np.floor(frame))
    bpy.context.scene.frame_set(whole, subframe=float(frame) - whole)
    return _now(armature, names)


def _now(armature: "Object", names: list[str]) -> tuple[Floats, Floats]:
    """(4, 4) and (B, 4, 4) on the scene's frame. Raises RigError for a parent that is scaled to nothing."""
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    held = np.empty((len(names), 4, 4))
    for row, name in enumerate(names):
        bone = posed.pose.bones[name]
        offset = bone.parent.bone.matrix_local.inverted() @ bone.bone.matrix_local
        held[row] = np.array((bone.parent.matrix @ offset).normalized())
    flat = np.flatnonzero(~(np.abs(np.linalg.det(held[:, :3, :3])) > FLAT))
    if len(flat):
        name = posed.pose.bones[names[flat[0]]].parent.name
        raise RigError(f"armature '{armature.name}': bone '{name}' is scaled to nothing, give it a size along all axes")
    return np.array(posed.matrix_world), held


@contextmanager
def _in_pose(armature: "Object") -> Iterator[None]:
    """An armature that is shown at rest stands in its pose meanwhile: keys are made for when it is posed again."""
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
def _alone(armature: "Object") -> Iterator[None]:
    """A scene of the armature and of what carries it is the context's: playing that asks for no skin to be worked out.

    What Blender simulates is so in its own scene only, which is played then.
    """
    own = bpy.context.scene
    if any(_simulated(obj) for obj in _above(armature)):
        yield
        return
    scene = bpy.data.scenes.new("Knuckle")
    scene.render.frame_map_old, scene.render.frame_map_new = own.render.frame_map_old, own.render.frame_map_new
    scene.collection.objects.link(armature)
    try:
        with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0]):
            yield
    finally:
        bpy.data.scenes.remove(scene)


@contextmanager
def frames_come_back() -> Iterator[None]:
    """The scene is at its frame again afterwards."""
    scene = bpy.context.scene
    frame, part = scene.frame_current, scene.frame_subframe
    try:
        yield
    finally:
        scene.frame_set(frame, subframe=part)


def carriers_move(armature: "Object") -> bool:
    """Whether anything that carries the hands of an armature may move over time.

    The armature's own action does not count: the take's replaces it.
    """
    return any(_moves(obj, own=obj == armature) for obj in _above(armature))


def _above(armature: "Object") -> "Iterator[Object]":
    """The armature, the objects above it and all that their constraints and their bones' aim at, each once."""
    met: set[Object] = set()
    waiting = [armature]
    while waiting:
        obj = waiting.pop()
        if obj in met:
            continue
        met.add(obj)
        yield obj
        aims = [aim for owner in _constrained(obj) for constraint in owner.constraints for aim in _aims(constraint)]
        waiting += [above for above in (obj.parent, *aims) if above]


def _moves(obj: "Object", *, own: bool) -> bool:
    """Whether an object may move over time; own: its own action does not count."""
    acted = not own and obj.animation_data and obj.animation_data.action
    if acted or _animated(obj) or _animated(obj.data) or _simulated(obj):
        return True
    return any(constraint.type in _PLAYED for owner in _constrained(obj) for constraint in owner.constraints)


def _simulated(obj: "Object") -> bool:
    """Whether an object goes by a simulation, or by points of a mesh, which may."""
    return bool(obj.rigid_body or (obj.parent and "VERTEX" in obj.parent_type))


def _animated(holder: Any) -> bool:
    """Whether an object has drivers or NLA strips, or an object's data have an action as well."""
    animation = holder.animation_data if holder else None
    if animation is None:
        return False
    acted = animation.action and not isinstance(holder, bpy.types.Object)
    return bool(acted or animation.drivers or any(track.strips for track in animation.nla_tracks))


def _constrained(obj: "Object") -> "list[Any]":
    return [obj, *(obj.pose.bones if obj.pose else ())]


def _aims(constraint: Any) -> "Iterator[Object | None]":
    """The objects that a constraint looks at."""
    for name in ("target", "pole_target", "space_object"):
        yield getattr(constraint, name, None)
    for target in getattr(constraint, "targets", ()):
        yield target.target
