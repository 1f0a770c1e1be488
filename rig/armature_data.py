"""An armature of Blender's as plain data for the detection."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .detection import Bone
from .detection.skeleton import Point

if TYPE_CHECKING:
    from bpy.types import Constraint, Object, PoseBone

Floats = NDArray[np.float64]

OVERRIDING = {
    "COPY_TRANSFORMS",
    "COPY_ROTATION",
    "STRETCH_TO",
    "DAMPED_TRACK",
    "LOCKED_TRACK",
    "TRACK_TO",
    "ARMATURE",
    "SPLINE_IK",
    "IK",
}
"""The constraints that say where a bone points, whatever its keys say."""
FOLLOWING = {"COPY_TRANSFORMS", "COPY_ROTATION", "COPY_LOCATION"}
"""The constraints that bring a bone to another; the last one wins."""
DECIDING = OVERRIDING | FOLLOWING
IN_USE = 0.5
"""A constraint of less influence leaves most to the keys: the one of IK and FK that is not in use."""


def plain_bones(armature: "Object") -> list[Bone]:
    """All bones of an armature at rest, in the world as its object stands."""
    if not armature.data.bones:
        # An armature that never had bones has no pose either.
        return []
    world = np.array(armature.matrix_world)
    chained = _in_ik_chains(armature)
    bones = []
    for bone in armature.data.bones:
        posed = armature.pose.bones[bone.name]
        bones.append(
            Bone(
                name=bone.name,
                parent=bone.parent.name if bone.parent else None,
                head=_placed(world, bone.head_local),
                tail=_placed(world, bone.tail_local),
                deform=bone.use_deform,
                driven=bone.name in chained or any(map(_overrides, posed.constraints)),
                locked=all(posed.lock_rotation),
                follows=_follows(armature, posed),
            )
        )
    return bones


def switches(armature: "Object") -> tuple[tuple[str | int, ...], ...]:
    """All that `plain_bones` asks of constraints that are in use: of IK or FK, of an arm that has both."""
    if armature.pose is None:
        return ()
    asked = "type", "mix_mode", "subtarget", "chain_count"
    return tuple(
        (bone.name, *(getattr(each, name, "") for name in asked), getattr(each, "target", None) == armature)
        for bone in armature.pose.bones
        for each in bone.constraints
        if each.type in DECIDING and _is_in_use(each)
    )


def _placed(world: Floats, point: object) -> Point:
    x, y, z = (float(value) for value in world[:3, :3] @ np.array(point) + world[:3, 3])
    return x, y, z


def _overrides(constraint: "Constraint") -> bool:
    # What adds to the bone's own rotation leaves its keys at work.
    replaces = getattr(constraint, "mix_mode", "REPLACE") == "REPLACE"
    return _is_in_use(constraint) and constraint.type in OVERRIDING and replaces


def _is_in_use(constraint: "Constraint") -> bool:
    return not constraint.mute and constraint.influence > IN_USE


def _follows(armature: "Object", bone: "PoseBone") -> str | None:
    """The bone that another one is brought to by its last constraint in use, else its parent."""
    targets = [
        constraint.subtarget
        for constraint in bone.constraints
        if constraint.type in FOLLOWING and _is_in_use(constraint) and constraint.target == armature
    ]
    named = [target for target in targets if target]
    return named[-1] if named else bone.parent.name if bone.parent else None


def _in_ik_chains(armature: "Object") -> set[str]:
    """The bones above a bone with an IK constraint that it turns."""
    chained: set[str] = set()
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            if constraint.type == "IK" and _is_in_use(constraint) and constraint.target:
                above = [bone, *bone.parent_recursive]
                chained |= {one.name for one in above[: constraint.chain_count or len(above)]}
    return chained
