"""A hand of an armature, and the channels of its rotations and its location that an action keys."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ....errors import RigError
from ....hand import rotations as rot
from ....hand.joints import JOINTS
from ....pipeline.corrections.correction import Correction, HeldOnObject
from ... import rotation_channels
from ..fcurves import FRAME_TOLERANCE, key_values
from .hand_to_correct import HandToCorrect
from .keyed_channels import Curves, KeyedBone, KeyedLocation, keyed_bone
from .keyed_wrist import NO_WRIST_KEYS, HandKeys, KeyedWrist, keyed_wrist
from .take_clock import TakeClock

if TYPE_CHECKING:
    from bpy.types import FCurve, Object

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class HandOfTake:
    """A hand and its channels in an action."""

    hand: HandToCorrect
    bones: dict[int, KeyedBone]
    """Joint -> its bone, for bones whose rotation is keyed."""
    frames: Floats
    """(F,) scene frames with keys, and the whole frames in larger gaps between them."""
    displayed: Floats
    """(J, 4) displayed rotations, used for bones without keys."""
    wrist: KeyedWrist
    """The channels that move the whole hand, for corrections that move its palm."""

    @property
    def keyed(self) -> tuple[KeyedBone | KeyedLocation, ...]:
        """The channels that corrections are composed into."""
        return (*self.bones.values(), *self.wrist.keyed)

    def moved_by(self, corrections: Iterable[Correction]) -> "HandOfTake":
        """Return the hand for corrections, without the channels that move the whole hand if no correction moves the
        palm.

        The user's edits of those channels then stay.
        """
        palms = (
            correction
            for correction in corrections
            if isinstance(correction.change, HeldOnObject) and correction.change.palm is not None
        )
        return (
            self
            if any(correction.hand == self.hand.side for correction in palms)
            else replace(self, wrist=NO_WRIST_KEYS)
        )

    def rotations(self, frames: Floats) -> Floats:
        """Return the rotations (F, J, 4) of its bones on scene frames (F,)."""
        found = np.broadcast_to(self.displayed, (len(frames), *self.displayed.shape)).copy()
        for joint, bone in self.bones.items():
            found[:, joint] = bone.rotations(frames)
        return found

    def keys(self, frames: Floats) -> HandKeys:
        """Return the values of its keyed channels on scene frames (F,)."""
        return HandKeys(self.rotations(frames), self.wrist.keys(frames))

    def rows(self, correction: Correction, clock: TakeClock) -> Bools:
        """Return (F,) whether each frame is in the range of a correction."""
        return self.rows_between(*clock.frames([correction.range.start, correction.range.end]))

    def rows_between(self, first: float, last: float) -> Bools:
        """Return (F,) whether each frame is between two scene frames, ends included."""
        return np.asarray((self.frames > first - FRAME_TOLERANCE) & (self.frames < last + FRAME_TOLERANCE))

    def expected_rows(self, first: float, last: float) -> Bools:
        """Return the same as rows_between. Raises RigError if no frame is between them."""
        rows = self.rows_between(first, last)
        if not rows.any():
            have = f"{self.frames[0]:.0f} to {self.frames[-1]:.0f}"
            raise RigError(f"frames {first:.0f} to {last:.0f} are not in the take, which has {have}")
        return rows


def hand_of_take(armature: "Object", hand: HandToCorrect, curves: "Iterable[tuple[str, FCurve]]") -> HandOfTake:
    """Return a hand with its curves, chosen from curves with data paths.

    Raises RigError for keys that are not finite.
    """
    found: Curves = {}
    for path, curve in curves:
        found.setdefault(path, {})[curve.array_index] = curve
    bones, displayed = {}, np.tile(rot.IDENTITY, (len(JOINTS), 1))
    for joint in hand.joints:
        bone = armature.pose.bones[hand.bone(joint)]
        channels = np.array(getattr(bone, rotation_channels.channel(bone.rotation_mode)), float)[None]
        displayed[joint] = rotation_channels.rotations(channels, bone.rotation_mode)[0]
        if keyed := keyed_bone(armature, bone.name, found):
            bones[joint] = keyed
    frames = _frames([curve for bone in bones.values() for curve in bone.curves])
    return HandOfTake(hand, bones, frames, displayed, keyed_wrist(armature, hand.found, found))


def _frames(curves: "Sequence[FCurve]") -> Floats:
    """Return the frames (F,) of the keys of curves, and the whole frames in gaps of more than one."""
    keyed = np.unique(np.concatenate([np.empty(0), *(key_values(curve, "co")[::2].astype(float) for curve in curves)]))
    if len(keyed) < 2:
        return keyed
    keyed = keyed[np.concatenate([[True], np.diff(keyed) > FRAME_TOLERANCE])]
    gaps = np.flatnonzero(np.diff(keyed) > 1 + FRAME_TOLERANCE)
    whole = [np.arange(np.floor(keyed[row] + FRAME_TOLERANCE) + 1, keyed[row + 1] - FRAME_TOLERANCE) for row in gaps]
    return np.sort(np.concatenate([keyed, *whole]))
