"""Bones of nobody's that hang between two bones of a hand: a driver, a constraint or a person may have turned them.

Rigify turns such bones where its person bends a finger by one control for all of it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .binding import RigBinding

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]


def bones_between(armature: "Object", binding: RigBinding) -> dict[int, tuple[str, str]]:
    """joint -> the first bone below the one that holds it and its own bone, where these are not the same."""
    own = {name for name in (*binding.bones, binding.carrier) if name}
    found = {}
    for joint in binding.mapped:
        name = str(binding.bones[joint])
        if binding.holders[joint] < 0:
            continue
        first = armature.data.bones[name]
        while first.parent and first.parent.name not in own:
            first = first.parent
        if first.name != name:
            found[joint] = first.name, name
    return found


def rests_between(
    armature: "Object", between: Mapping[int, tuple[str, str]], carried: Mapping[str, Floats]
) -> dict[int, Floats]:
    """joint -> (4, 4) or (F, 4, 4) where its bone's rest would be, were the bone that holds it at rest.

    carried: see carriers.standing. With H how the holder is moved from its rest, C the first bone's rest and B its own,
    H C and H R are where theirs are carried to, so R = C · (H C)^-1 · (H R); where nothing between is turned, R = B.
    """
    return {
        joint: np.array(armature.data.bones[first].matrix_local) @ np.linalg.inv(carried[first]) @ carried[own]
        for joint, (first, own) in between.items()
    }
