"""A hand of an armature and what an action keys of its rotations."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ....errors import RigError
from ....hand import rotations as rot
from ....hand.joints import JOINTS
from ....pipeline.corrections.correction import Correction
from ... import rotation_channels
from ..fcurves import SAME_FRAME, key_values
from ..hand_curves import check_finite
from ..spliced_keys import evaluated_channels
from .hand_to_correct import HandToCorrect
from .take_clock import TakeClock

if TYPE_CHECKING:
    from bpy.types import FCurve, Object

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class KeyedBone:
    """The rotation of a bone in an action."""

    path: str
    mode: str
    curves: "list[FCurve]"
    """Of its channels, each with keys."""

    def rotations(self, frames: Floats) -> Floats:
        """Return its rotations (F, 4) on scene frames (F,)."""
        return rotation_channels.rotations(evaluated_channels(self.curves, frames), self.mode)


@dataclass(frozen=True, slots=True, eq=False)
class HandOfTake:
    """A hand and what an action keys of it."""

    hand: HandToCorrect
    bones: dict[int, KeyedBone]
    """Joint -> its bone, of those whose rotation is keyed."""
    frames: Floats
    """(F,) scene frames with keys, and the whole ones between those that are further apart."""
    shown: Floats
    """(J, 4) the rotations that bones without keys have."""

    def rotations(self, frames: Floats) -> Floats:
        """Return the rotations (F, J, 4) of its bones on scene frames (F,)."""
        found = np.broadcast_to(self.shown, (len(frames), *self.shown.shape)).copy()
        for joint, bone in self.bones.items():
            found[:, joint] = bone.rotations(frames)
        return found

    def rows(self, correction: Correction, clock: TakeClock) -> Bools:
        """Return which of its frames (F,) are in the range of a correction."""
        return self.rows_between(*clock.frames([correction.range.start, correction.range.end]))

    def rows_between(self, first: float, last: float) -> Bools:
        """Return which of its frames (F,) are between two scene frames, ends included."""
        return np.asarray((self.frames > first - SAME_FRAME) & (self.frames < last + SAME_FRAME))

    def expected_rows(self, first: float, last: float) -> Bools:
        """Return the same. Raises RigError if there are none."""
        rows = self.rows_between(first, last)
        if not rows.any():
            have = f"{self.frames[0]:.0f} to {self.frames[-1]:.0f}"
            raise RigError(f"frames {first:.0f} to {last:.0f} are not in the take, which has {have}")
        return rows


def hand_of_take(armature: "Object", hand: HandToCorrect, curves: "Iterable[tuple[str, FCurve]]") -> HandOfTake:
    """Return what curves, each with its data path, key of a hand. Raises RigError for keys that are no numbers."""
    found: dict[str, dict[int, FCurve]] = {}
    for path, curve in curves:
        found.setdefault(path, {})[curve.array_index] = curve
    bones, shown = {}, np.tile(rot.IDENTITY, (len(JOINTS), 1))
    for joint in hand.joints:
        bone = armature.pose.bones[hand.bone(joint)]
        channel = rotation_channels.channel(bone.rotation_mode)
        path = f'pose.bones["{bpy.utils.escape_identifier(bone.name)}"].{channel}'
        now = np.array(getattr(bone, channel), float)[None]
        shown[joint] = rotation_channels.rotations(now, bone.rotation_mode)[0]
        of_path = found.get(path, {})
        if set(of_path) == set(range(now.shape[1])) and all(len(curve.keyframe_points) for curve in of_path.values()):
            check_finite(armature, bone.name, of_path)
            bones[joint] = KeyedBone(path, bone.rotation_mode, [of_path[index] for index in sorted(of_path)])
    return HandOfTake(hand, bones, _frames([curve for bone in bones.values() for curve in bone.curves]), shown)


def _frames(curves: "Sequence[FCurve]") -> Floats:
    """Return the frames (F,) of the keys of curves, and whole ones where these are more than one apart."""
    keyed = np.unique(np.concatenate([np.empty(0), *(key_values(curve, "co")[::2].astype(float) for curve in curves)]))
    if len(keyed) < 2:
        return keyed
    keyed = keyed[np.concatenate([[True], np.diff(keyed) > SAME_FRAME])]
    gaps = np.flatnonzero(np.diff(keyed) > 1 + SAME_FRAME)
    whole = [np.arange(np.floor(keyed[row] + SAME_FRAME) + 1, keyed[row + 1] - SAME_FRAME) for row in gaps]
    return np.sort(np.concatenate([keyed, *whole]))
