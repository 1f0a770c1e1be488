"""Unmapped bones between two bones of a hand: a driver, a constraint or a person may have rotated them.

Rigify rotates such bones when a finger is bent by its single control for the whole finger.
"""

from typing import TYPE_CHECKING

from .binding import RigBinding

if TYPE_CHECKING:
    from bpy.types import Object


def bones_between(armature: "Object", binding: RigBinding) -> dict[int, tuple[str, str]]:
    """Return joint -> the first bone below the nearest mapped ancestor of its bone, and its bone, if these differ."""
    own = {name for name in (*binding.bones, binding.carrier) if name}
    found = {}
    for joint in binding.mapped:
        name = str(binding.bones[joint])
        if binding.mapped_parents[joint] < 0:
            continue
        first = armature.data.bones[name]
        while first.parent and first.parent.name not in own:
            first = first.parent
        if first.name != name:
            found[joint] = first.name, name
    return found
