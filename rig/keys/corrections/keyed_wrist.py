"""The keyed channels that move a whole hand: the location of the wrist's bone, or the rotations of the arm above it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ....hand import rotations as rot
from ...armature_data import is_in_use
from ...armature_hands import FoundHand
from ..arm_keys import arm_ending_at
from ..forearm_twist import ForearmBones, find_forearm
from .keyed_channels import Curves, KeyedBone, KeyedLocation, keyed_bone, keyed_location

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class WristKeys:
    """Keys that move a wrist, over F frames."""

    locations: Floats
    """(F, 3) of its bone, in the armature's unit; (F, 0) if they are not keyed."""
    arm: Floats
    """(F, A, 4) rotations of the arm's bones; (F, 0, 4) if they are not keyed."""

    def select(self, rows: Bools) -> "WristKeys":
        """Return them in some of the frames."""
        return WristKeys(self.locations[rows], self.arm[rows])

    def mixed(self, other: "WristKeys", weights: Floats) -> "WristKeys":
        """Return the keys blended to other keys by weights (F,) 0..1; bit by bit unchanged where weights are 0."""
        locations = self.locations + weights[:, None] * (other.locations - self.locations)
        arm = rot.slerp(self.arm, other.arm, weights[:, None, None])
        return WristKeys(locations, np.where(weights[:, None, None] > 0, arm, self.arm))

    def with_rows(self, rows: Bools, other: "WristKeys") -> "WristKeys":
        """Return them with others in some of the frames."""
        locations, arm = self.locations.copy(), self.arm.copy()
        locations[rows], arm[rows] = other.locations, other.arm
        return WristKeys(locations, arm)


@dataclass(frozen=True, slots=True, eq=False)
class HandKeys:
    """Values of a hand's keyed channels over F frames."""

    rotations: Floats
    """(F, J, 4) of its bones."""
    wrist: WristKeys | None = None
    """Keys of its wrist; None if the wrist is unchanged."""

    def select(self, rows: Bools) -> "HandKeys":
        """Return them in some of the frames."""
        return HandKeys(self.rotations[rows], None if self.wrist is None else self.wrist.select(rows))

    def with_rows(self, rows: Bools, other: "HandKeys") -> "HandKeys":
        """Return them with others in some of the frames."""
        rotations = self.rotations.copy()
        rotations[rows] = other.rotations
        both = None if self.wrist is None or other.wrist is None else self.wrist.with_rows(rows, other.wrist)
        return HandKeys(rotations, both)

    def mixed(self, rows: Bools, other: "HandKeys", joints: Sequence[int], weights: Floats) -> "HandKeys":
        """Return the keys blended to other keys of some joints, and of the wrist if both have its keys.

        rows: (F,) the N frames to blend; others stay unchanged bit by bit. weights: (N,) 0..1, weights of the other
        keys.
        """
        current, rotations, wrist = self.select(rows), self.rotations.copy(), self.wrist
        for joint in joints:
            mixed = rot.slerp(current.rotations[:, joint], other.rotations[:, joint], weights[:, None])
            rotations[rows, joint] = np.where(weights[:, None] > 0, mixed, current.rotations[:, joint])
        if wrist is not None and current.wrist is not None and other.wrist is not None:
            wrist = wrist.with_rows(rows, current.wrist.mixed(other.wrist, weights))
        return HandKeys(rotations, wrist)


@dataclass(frozen=True, slots=True)
class ArmChain:
    """The bones of an arm whose rotation is keyed: upper arm, forearm, and twist bones of the forearm."""

    names: tuple[str, ...] = ()
    parents: tuple[int, ...] = ()
    """Index of each bone's parent in the chain; -1 for none."""
    shares: tuple[float, ...] = ()
    """Fraction of the hand's twist about the forearm that each bone takes, relative to the upper arm."""
    last: int = -1
    """Index of the parent of the wrist's bone; -1 for none."""


NO_ARM = ArmChain()
"""No arm is keyed."""


@dataclass(frozen=True, slots=True)
class KeyedWrist:
    """The keyed channels that move a whole hand; both are empty if there are none."""

    location: KeyedLocation | None = None
    arm: tuple[KeyedBone, ...] = ()
    """The arm's bones."""
    chain: ArmChain = NO_ARM
    """The arm."""

    @property
    def keyed(self) -> tuple[KeyedLocation | KeyedBone, ...]:
        """The keyed channels."""
        return (*((self.location,) if self.location else ()), *self.arm)

    def keys(self, frames: Floats) -> WristKeys | None:
        """Return the keys on scene frames (F,); None if there are none."""
        if not self.keyed:
            return None
        locations = self.location.locations(frames) if self.location else np.empty((len(frames), 0))
        arm = [bone.rotations(frames) for bone in self.arm]
        return WristKeys(locations, np.stack(arm, axis=1) if arm else np.empty((len(frames), 0, 4)))


NO_WRIST_KEYS = KeyedWrist()
"""Nothing is keyed."""


def keyed_wrist(armature: "Object", found: FoundHand, curves: Curves) -> KeyedWrist:
    """Return the curves that move a whole hand. Raises RigError for keys that are not finite."""
    wrist = armature.data.bones[found.bones["wrist"]]
    if not (wrist.use_connect and wrist.parent):
        location = keyed_location(wrist.name, curves)
        if location:
            return KeyedWrist(location)
    above = arm_ending_at(armature, found.bones, wrist)
    arm = {name: keyed_bone(armature, name, curves) for name in (above.upper, above.fore)} if above else {}
    if above is None or not all(arm.values()):
        return NO_WRIST_KEYS
    forearm = find_forearm(armature, found)
    twisting = () if forearm is None else (name for name in forearm.shares if name not in arm)
    for name in twisting:
        others = [constraint for constraint in armature.pose.bones[name].constraints if is_in_use(constraint)]
        arm |= {name: bone} if not others and (bone := keyed_bone(armature, name, curves)) else {}
    chain = _chain(forearm, tuple(arm))
    return KeyedWrist(None, tuple(bone for bone in arm.values() if bone), chain)


def _chain(forearm: ForearmBones | None, names: tuple[str, ...]) -> ArmChain:
    """Return the arm with the keyed bones of these names, upper arm and forearm first."""
    if forearm is None:
        return ArmChain(names, (-1, 0), (0.0, 0.0), 1)
    on_way = [name for name in forearm.chain if name in names]
    parents = [-1, 0]
    for name in names[2:]:
        way = forearm.chain[: forearm.chain.index(forearm.beside.get(name, name)) + (name in forearm.beside)]
        parents.append(names.index([ancestor for ancestor in way if ancestor in names][-1]))
    fractions = [forearm.shares.get(name, 0.0) for name in names]
    return ArmChain(names, tuple(parents), (0.0, *fractions[1:]), names.index(on_way[-1]))
