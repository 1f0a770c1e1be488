"""Whether the bones that a take keys still have the rest pose with which it was solved."""

import zlib
from typing import TYPE_CHECKING

import numpy as np

from ..bone_paths import bone_and_channel
from ..fcurves import curves_of

if TYPE_CHECKING:
    from bpy.types import Action, Object

REST_PROPERTY = "knuckle_solved_rest"
"""Custom property of a take's action: a short text that identifies its bones' rest pose."""
PRECISION = 1e-5
"""Maximum difference of equal positions, in the armature's unit."""


def remember_rest(action: "Action", armature: "Object") -> None:
    """Store the rest pose of the bones that a take keys."""
    rest = _rest_id(action, armature)
    if rest is not None:
        action[REST_PROPERTY] = rest


def has_other_rest(action: "Action", armature: "Object") -> bool:
    """Return whether the rest pose of bones that a take keys has changed since the solve.

    Return False if that is unknown, or if one of its bones is missing.
    """
    known, current = action.get(REST_PROPERTY), _rest_id(action, armature)
    return isinstance(known, str) and current is not None and known != current


def _rest_id(action: "Action", armature: "Object") -> str | None:
    """Return a short text that identifies the rest pose of keyed bones; None if one of them is missing."""
    paths = {curve.data_path for slot in action.slots for curve in curves_of(action, slot)}
    known = 0
    for name in {bone for path in paths if (bone := bone_and_channel(path)[0])}:
        bone = armature.data.bones.get(name)
        if bone is None:
            return None
        at_rest = np.array([*np.array(bone.matrix_local).ravel(), bone.length])
        # A sum, since names may change, and with them the order.
        known += zlib.crc32(np.round(at_rest / PRECISION).astype(np.int64).tobytes())
    return f"{known:x}"
