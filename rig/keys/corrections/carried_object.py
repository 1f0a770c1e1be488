"""Whether a hand of an armature carries an object, by parents or constraints, so that corrections move it, too."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from ....errors import RigError
from ...armature_hands import find_hands
from ...binding import RigBinding
from ...skin_bones import is_skin

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone


def is_carried(obj: "Object", armature: "Object", binding: RigBinding, arm: Collection[str] = ()) -> bool:
    """Return whether the wrist of a hand of an armature carries an object rigidly, as its parent.

    arm: bones of the arm that corrections also move. Raises RigError if the object moves with other bones of hands, or
    with bones of the arm. They may be corrected at the same time, and the object's position would then be unknown.
    """
    hands = find_hands(armature, ())
    bones = {bone for hand in hands for bone in (*hand.bones.values(), hand.carrier) if bone} | {*arm}
    wrist = {str(binding.bones[0]), binding.carrier}
    carriers = list(_carriers(obj, armature, bones))
    for bone, rigid in carriers:
        if not rigid or bone not in wrist:
            raise RigError(
                f"'{obj.name}' moves with '{bone}' of '{armature.name}', which corrections move: expected no parent or "
                "constraint of a hand, or the wrist of this one as its parent"
            )
    return bool(carriers)


def _carriers(obj: "Object", armature: "Object", bones: set[str]) -> Iterator[tuple[str, bool]]:
    """Yield the bones or the skin to which an object is attached, and whether rigidly, by parents alone."""
    visited: set[tuple[Object, str, bool]] = set()
    pending = [(obj, "", True)]
    while pending:
        step = pending.pop()
        if step in visited:
            continue
        visited.add(step)
        owner, bone, rigid = step
        if owner == armature and bone in bones:
            yield bone, rigid
        elif owner != obj and is_skin(owner, armature):
            yield owner.name, False
        else:
            pending += _next(owner, bone, rigid)


def _next(owner: "Object", bone: str, rigid: bool) -> "Iterator[tuple[Object, str, bool]]":
    """Yield what an object or one of its bones is attached to: objects, each with one of its bones or none."""
    posed: PoseBone | None = None
    if owner.type == "ARMATURE" and bone in owner.pose.bones:
        posed = owner.pose.bones[bone]
    constraints: Any = (posed or owner).constraints
    rigid = rigid and not len(constraints)
    if posed:
        yield owner, "", rigid
        if posed.parent:
            yield owner, posed.parent.name, rigid and posed.bone.use_inherit_rotation
    elif owner.parent:
        yield owner.parent, owner.parent_bone if owner.parent_type == "BONE" else "", rigid
    for constraint in constraints:
        for target, bone_of_target in _targets(constraint):
            if target:
                yield target, bone_of_target, False


def _targets(constraint: Any) -> "Iterator[tuple[Object | None, str]]":
    """Yield a constraint's targets: objects, each with one of its bones or none."""
    for name, bone in (
        ("target", "subtarget"),
        ("pole_target", "pole_subtarget"),
        ("space_object", "space_subtarget"),
    ):
        yield getattr(constraint, name, None), getattr(constraint, bone, "")
    for target in getattr(constraint, "targets", ()):
        yield target.target, target.subtarget
