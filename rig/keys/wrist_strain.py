"""Bending of the wrist and stretching of the arm by a take, which are too large if the capture is not aligned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.wrist_range import wrist_bend
from ..armature_hands import FoundHand
from ..binding import RigBinding
from .arm_keys import ArmBones, arm_ending_at, arm_following

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

MIN_SHORTFALL = 0.005
"""m, minimum distance by which an arm misses the wrist that causes a warning."""
ELBOWS = 36
"""Directions in which the elbow of a rig with its own IK is tried."""
NOT_ALIGNED = "align the capture to the character, or drive the fingers only"
"""Advice if the capture was not aligned."""
MOVED_AWAY = "align the capture in another way, or drive the fingers only"
"""Advice if the capture was aligned: performer and character move or stand differently."""


@dataclass(frozen=True, slots=True, eq=False)
class ArmAbove:
    """The arm above a hand, in armature space at rest."""

    bones: ArmBones
    wrist: str
    """The bone at the end of the forearm: the wrist's own, or the one that its control moves."""
    follows: bool
    """Whether the arm follows the wrist's control, as one in IK does."""
    joints: Floats
    """(3, 3) shoulder, elbow and wrist."""
    axis: Floats
    """(3,) the unit vector from elbow to wrist in the frame of the bone `wrist`."""

    @property
    def evaluated_bones(self) -> tuple[str, ...]:
        """The bones whose rest transforms are needed as their parents move them."""
        return (self.wrist, self.bones.upper) if self.follows else ()


@dataclass(frozen=True, slots=True, eq=False)
class WristStrain:
    """Poses of a wrist and its arm on F frames."""

    bend: Floats
    """(F,) rad between hand and forearm."""
    excess_bend: Floats
    """(F,) rad by which `bend` exceeds a person's range."""
    excess_twist: Floats
    """(F,) rad by which the hand's rotation about the forearm exceeds what the forearm can follow."""
    shortfall: Floats
    """(F,) m by which the arm misses the captured wrist, or by which a rig stretches it."""


@dataclass(frozen=True, slots=True, eq=False)
class CarriedWrist:
    """The parents of a wrist's bone on F frames, and its keys."""

    world: Floats
    """T_world_armature (4, 4) or (F, 4, 4)."""
    rests: Mapping[str, Floats]
    """Bone -> its rest transform as its parent moves it, (4, 4) or (F, 4, 4) in armature space."""
    carried: Floats
    """Rest transform of the wrist's bone as moved by its parent, with arm and forearm posed by keys."""
    rotations: Floats
    """(F, 4) unit quaternions wxyz, the keys of the wrist's bone."""
    goals: Floats
    """(F, 3) m, captured positions of the wrist in the world."""
    excess_twist: Floats
    """(F,) rad, see WristStrain."""
    placed: bool
    """Whether keys bring the wrist to its goal: by the arm, or by its control's location."""


def arm_above_hand(armature: "Object", found: FoundHand) -> ArmAbove | None:
    """Return the arm above a hand, whether keys move it or it follows the wrist's control; None if there is none."""
    bones, wrist = armature.data.bones, found.bones["wrist"]
    arm = arm_ending_at(armature, found.bones, bones[wrist])
    follows = arm is None
    if arm is None:
        arm, wrist = arm_following(armature, found), found.carrier or wrist
    if arm is None:
        return None
    joints = np.array([bones[name].head_local for name in (arm.upper, arm.fore, wrist)])
    axis = np.array(bones[wrist].matrix_local)[:3, :3].T @ (joints[2] - joints[1])
    return ArmAbove(arm, wrist, follows, joints, rot.unit_vector(axis))


def wrist_strain(above: ArmAbove, binding: RigBinding, keyed: CarriedWrist) -> WristStrain:
    """Return the strain of a wrist and its arm. Angles and lengths are those of the world."""
    carried, linear = np.broadcast_to(keyed.carried, (len(keyed.goals), 4, 4)), keyed.world[..., :3, :3]
    holds = carried[:, :3, :3] if binding.inherits_rotation[0] else binding.bone_rest()[0, :3, :3]
    hands = holds @ rot.to_matrix(keyed.rotations) @ binding.rest_to_bone[0, :3, :3].T
    wrists = rot.transform_frames(linear, hands)
    if above.follows and keyed.placed:
        return _follows(above, binding, keyed, wrists)
    held = keyed.rests[above.wrist] if above.follows else carried
    along = rot.unit_vectors((linear @ (held[..., :3, :3] @ above.axis)[..., None])[..., 0])
    forearms = np.broadcast_to(along, (len(wrists), 3))
    bend, beyond = wrist_bend(np.einsum("fji,fj->fi", wrists, forearms), binding.side)
    reached = (keyed.world @ carried)[:, :3, 3]
    short = np.linalg.norm(keyed.goals - reached, axis=-1) if keyed.placed else np.zeros(len(wrists))
    return WristStrain(bend, beyond, keyed.excess_twist, short)


def _follows(above: ArmAbove, binding: RigBinding, keyed: CarriedWrist, wrists: Floats) -> WristStrain:
    """Return the strain of an arm that a rig's IK brings to the wrist, with the elbow where the wrist bends least."""
    scale = np.cbrt(np.abs(np.linalg.det(keyed.world[..., :3, :3])))
    upper, fore = (scale * np.linalg.norm(bone) for bone in np.diff(above.joints, axis=0))
    shoulder = keyed.rests.get(above.bones.upper)
    position = np.append(above.joints[0], 1.0) if shoulder is None else shoulder[..., :, 3]
    way = keyed.goals - (keyed.world @ position[..., None])[..., :3, 0]
    length = np.linalg.norm(way, axis=-1)
    reach = np.clip(length, np.abs(upper - fore) + 1e-9, upper + fore)
    cosine = np.clip((reach**2 + fore**2 - upper**2) / (2 * reach * fore), -1.0, 1.0)
    along = way / np.maximum(length, 1e-9)[:, None]
    around = np.cross(along[:, None], np.eye(3))
    across = rot.unit_vectors(around[np.arange(len(way)), np.linalg.norm(around, axis=-1).argmax(axis=1)])
    angles = np.linspace(0.0, 2 * np.pi, ELBOWS, endpoint=False)[:, None, None]
    circle = np.cos(angles) * across + np.sin(angles) * np.cross(along, across)
    forearms = cosine[:, None] * along + np.sqrt(1 - cosine**2)[:, None] * circle
    bend, beyond = wrist_bend(np.einsum("fji,efj->efi", wrists, forearms), binding.side)
    best, frames = (beyond + 1e-3 * bend).argmin(axis=0), np.arange(len(way))
    return WristStrain(bend[best, frames], beyond[best, frames], keyed.excess_twist, np.abs(length - reach))


def strain_notes(side: str, pieces: Sequence[WristStrain], remedy: str) -> tuple[str, ...]:
    """Return sentences about frames in which a wrist bends, or an arm would have to reach, farther than a person's."""
    if not pieces:
        return ()
    names = ("bend", "excess_bend", "excess_twist", "shortfall")
    bend, beyond, turned, short = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in names)
    notes = []
    wrong = (beyond > 0) | (turned > 0)
    if wrong.any():
        bends = f"bends up to {np.rad2deg(bend[beyond > 0].max()):.0f}° at the wrist" if beyond.any() else ""
        turns = "rotates farther about the forearm than" if turned.any() else ""
        how = f"{bends} and {turns}" if bends and turns else bends or turns
        more = " a person's does" if turns else ", more than a person's does"
        notes.append(f"the {side} hand {how}{more}{_frames(wrong)}: {remedy}")
    if (short > MIN_SHORTFALL).any():
        gap = f"{100 * short.max():.0f} cm" if short.max() > 0.01 else f"{1000 * short.max():.0f} mm"
        notes.append(
            f"the {side} arm is up to {gap} too short for the captured wrist{_frames(short > MIN_SHORTFALL)}: {remedy}"
        )
    return tuple(notes)


def _frames(which: NDArray[np.bool_]) -> str:
    return f", in {which.sum()} of {len(which)} frames" if len(which) > 1 else ""
