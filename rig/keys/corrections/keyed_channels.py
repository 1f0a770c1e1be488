"""F-curves of a bone's rotation or location in an action."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import rotation_channels
from ..bone_paths import bone_path
from ..hand_curves import check_finite
from ..spliced_keys import evaluated_channels, near_channels

if TYPE_CHECKING:
    from bpy.types import FCurve, Object

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Curves = dict[str, "dict[int, FCurve]"]
"""data path -> index -> curve"""


@dataclass(frozen=True, slots=True)
class KeyedBone:
    """F-curves of a bone's rotation."""

    path: str
    mode: str
    curves: "list[FCurve]"
    """One for each channel, each with keys."""

    def rotations(self, frames: Floats) -> Floats:
        """Return the rotations (F, 4) on scene frames (F,)."""
        return rotation_channels.rotations(evaluated_channels(self.curves, frames), self.mode)

    def channels(self, frames: Floats, changed: Bools, values: Floats) -> Floats:
        """Return channel values (F, C) on frames (F,), with rotations (N, 4) on the N that are `changed` (F,)."""
        old = evaluated_channels(self.curves, frames)
        rotations = rotation_channels.rotations(old, self.mode)
        rotations[changed] = values
        return np.where(changed[:, None], near_channels(rotations, self.mode, old[0]), old)


@dataclass(frozen=True, slots=True)
class KeyedLocation:
    """F-curves of a bone's location."""

    path: str
    curves: "list[FCurve]"
    """One for each axis, each with keys."""

    def locations(self, frames: Floats) -> Floats:
        """Return the locations (F, 3) on scene frames (F,)."""
        return evaluated_channels(self.curves, frames)

    def channels(self, frames: Floats, changed: Bools, values: Floats) -> Floats:
        """Return channel values (F, 3) on frames (F,), with locations (N, 3) on the N that are `changed` (F,)."""
        channels = evaluated_channels(self.curves, frames)
        channels[changed] = values
        return channels


def keyed_bone(armature: "Object", name: str, curves: Curves) -> KeyedBone | None:
    """Return the curves of a bone's rotation; None unless all of its channels have keys.

    Raises RigError for keys whose values are not finite.
    """
    mode = armature.pose.bones[name].rotation_mode
    channel = rotation_channels.channel(mode)
    found = _keyed(name, channel, len(getattr(armature.pose.bones[name], channel)), curves)
    return KeyedBone(found[0], mode, found[1]) if found else None


def keyed_location(name: str, curves: Curves) -> KeyedLocation | None:
    """Return the curves of a bone's location; None unless all of its channels have keys.

    Raises RigError for keys whose values are not finite.
    """
    found = _keyed(name, "location", 3, curves)
    return KeyedLocation(*found) if found else None


def _keyed(name: str, channel: str, count: int, curves: Curves) -> "tuple[str, list[FCurve]] | None":
    """Return the data path of a bone's property and a curve for each of its `count` values; None if any has no keys.

    Raises RigError for keys whose values are not finite.
    """
    path = bone_path(name, channel)
    of_path = curves.get(path, {})
    if set(of_path) != set(range(count)) or not all(len(curve.keyframe_points) for curve in of_path.values()):
        return None
    check_finite(of_path)
    return path, [of_path[index] for index in sorted(of_path)]
