"""Blender armatures as plain data for hand detection."""

from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ..errors import RigError
from .detection import Bone
from .detection.skeleton import Point

if TYPE_CHECKING:
    from bpy.types import Constraint, Object, PoseBone

Floats = NDArray[np.float64]

OVERRIDING_CONSTRAINTS = {
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
"""Constraint types that set where a bone points and so override its keys."""
COPYING_CONSTRAINTS = {"COPY_TRANSFORMS", "COPY_ROTATION", "COPY_LOCATION"}
"""Constraint types that move a bone onto another; the last one wins."""
DECIDING = OVERRIDING_CONSTRAINTS | COPYING_CONSTRAINTS
MIN_INFLUENCE = 0.5
"""Constraints with less influence than this leave most of the motion to the keys, such as those of an IK chain while
the arm is in FK."""


def expect_current_pose(armature: "Object") -> None:
    """Let Blender compute the pose of bones that a script has made since the last evaluation.

    Raises RigError if Blender does not evaluate the armature.
    """
    if _pose_is_current(armature):
        return
    bpy.context.view_layer.update()
    if not _pose_is_current(armature):
        raise RigError(
            f"armature '{armature.name}' has bones without a pose, leave Edit Mode and show it in the view layer"
        )


def _pose_is_current(armature: "Object") -> bool:
    pose = armature.pose
    return all(pose is not None and bone.name in pose.bones for bone in armature.data.bones)


def plain_bones(armature: "Object") -> list[Bone]:
    """Return all bones of an armature at rest, in world space. Raises RigError as `expect_current_pose` does."""
    if not armature.data.bones:
        # An armature that never had bones has no pose either.
        return []
    expect_current_pose(armature)
    world = np.array(armature.matrix_world)
    ik_bones = _bones_in_ik(armature)
    bones = []
    for bone in armature.data.bones:
        pose_bone = armature.pose.bones[bone.name]
        bones.append(
            Bone(
                name=bone.name,
                parent=bone.parent.name if bone.parent else None,
                head=_to_world(world, bone.head_local),
                tail=_to_world(world, bone.tail_local),
                deform=bone.use_deform,
                driven=bone.name in ik_bones or any(map(_overrides, pose_bone.constraints)),
                locked=all(pose_bone.lock_rotation),
                follows=_follows(armature, pose_bone),
            )
        )
    return bones


def constraint_states(armature: "Object") -> tuple[tuple[str | int, ...], ...]:
    """Return everything that `plain_bones` reads from active constraints; it changes when an arm switches IK and FK."""
    if armature.pose is None:
        return ()
    attributes = "type", "mix_mode", "subtarget", "chain_count"
    return tuple(
        (
            bone.name,
            *(getattr(constraint, name, "") for name in attributes),
            getattr(constraint, "target", None) == armature,
        )
        for bone in armature.pose.bones
        for constraint in bone.constraints
        if constraint.type in DECIDING and is_in_use(constraint)
    )


def _to_world(world: Floats, point: object) -> Point:
    x, y, z = (float(value) for value in world[:3, :3] @ np.array(point) + world[:3, 3])
    return x, y, z


def _overrides(constraint: "Constraint") -> bool:
    # A constraint that adds to the bone's own rotation does not override its keys.
    replaces = getattr(constraint, "mix_mode", "REPLACE") == "REPLACE"
    return is_in_use(constraint) and constraint.type in OVERRIDING_CONSTRAINTS and replaces


def is_in_use(constraint: "Constraint") -> bool:
    """Return whether a constraint has an effect now."""
    return not constraint.mute and constraint.influence > MIN_INFLUENCE


def _follows(armature: "Object", bone: "PoseBone") -> str | None:
    """Return the target bone of a bone's last active copy constraint, else its parent."""
    targets = [
        constraint.subtarget
        for constraint in bone.constraints
        if constraint.type in COPYING_CONSTRAINTS and is_in_use(constraint) and constraint.target == armature
    ]
    named = [target for target in targets if target]
    return named[-1] if named else bone.parent.name if bone.parent else None


def _bones_in_ik(armature: "Object") -> set[str]:
    """Return the bones that IK constraints rotate: the constrained bones and their chains."""
    names: set[str] = set()
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            if constraint.type == "IK" and is_in_use(constraint) and constraint.target:
                chain = [bone, *bone.parent_recursive]
                names |= {member.name for member in chain[: constraint.chain_count or len(chain)]}
    return names
