"""Unmapped bones between two bones of a hand: a driver, a constraint or a person may have turned them.

Rigify turns such bones where its person bends a finger by one control for all of it.
"""

from typing import TYPE_CHECKING

from .binding import RigBinding

if TYPE_CHECKING:
    from bpy.types import Object


def bones_between(armature: "Object", binding: RigBinding) -> dict[int, tuple[str, str]]:
    """joint -> the first bone below the one that holds it and its own bone, where these are not the same."""
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
