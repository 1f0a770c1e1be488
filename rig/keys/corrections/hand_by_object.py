"""A hand of a take together with an object of the scene: its skin and the object's surface."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ....hand import rotations as rot
from ....hand.joints import DIGITS, JOINT_INDEX, KNUCKLES
from ....hand.kinematics import Pose, joint_frames
from ....pipeline.contacts.faced_surface import LIFT_DISTANCES
from ....pipeline.contacts.held_on_surface import SkinBySurface
from ....posing.grasping.skin_samples import SkinPoints
from ...solid_mesh import Solid
from .hand_of_take import HandOfTake
from .keyed_wrist import HandKeys
from .last_used import digest
from .object_motion import ObjectMotion
from .played_wrist import PlayedWrist

Floats = NDArray[np.float64]

BACK_DISTANCE = 0.03
"""m, distance of a point behind the back of a digit."""
FOLLOWED_DISTANCE = 0.01
"""m, distance from joints of the points at which a deforming surface is followed."""


@dataclass(frozen=True, slots=True, eq=False)
class SolidSurface:
    """The surface of a solid, or an open surface of which one side counts as outside."""

    solid: Solid
    outside: Floats
    """(3,) m, a point outside an open surface, on the hand's side."""

    def nearest(self, points: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the surface's points nearest to points (N, 3), outward directions there, and signed distances (N,)."""
        return self.solid.nearest_facing(points, self.outside)


@dataclass(frozen=True, slots=True, eq=False)
class HandByObject:
    """A hand over F frames, with its skin, and an object."""

    pose: Pose
    """The pose with the wrist at the origin."""
    beyond: Floats
    """(J, 4) the remaining rotations of the joints, see HandToCorrect.posed."""
    motion: ObjectMotion
    wrist: PlayedWrist
    """The wrist as it is keyed."""
    outside: Floats
    """(3,) see SolidSurface."""
    beside: SkinBySurface
    locals: Floats
    """(V, 3) m, the points of the skin in the frames of the bones that move them most."""

    @property
    def digest(self) -> bytes:
        """Return a digest of the surface and of the skin near it."""
        return digest(self.motion.solid.vertices, self.motion.solid.triangles, self.outside, self.beside.skin.points)


def hand_by_object(
    take_hand: HandOfTake, motion: ObjectMotion, keyed: HandKeys, digits: tuple[str, ...], *, palm: bool = False
) -> HandByObject:
    """Return a hand as it is keyed beside an object, over F frames, and the skin of some digits.

    palm: whether the back of the palm, rather than the backs of the digits, decides which side of an open surface is
    outside.
    """
    pose, beyond = take_hand.hand.posed(keyed.rotations)
    motion = motion.followed_about(_about(motion, pose, digits, palm=palm))
    wrist = motion.wrist(keyed.rotations[:, 0] if 0 in take_hand.bones else None, keyed.wrist)
    to_surface = motion.to_surface(wrist.wrist)
    rows = np.flatnonzero(np.isin(take_hand.hand.skin.digit, [DIGITS.index(digit) for digit in digits]))
    own = take_hand.hand.skin.subset(rows)
    # Palm and pads face the surface, so the backs of the hand and of the digits are outside.
    posed = joint_frames(pose.hand, pose)[motion.middle]
    tips = posed[[JOINT_INDEX[f"{digit}-tip"] for digit in digits]]
    knuckles = posed[[JOINT_INDEX[joint] for joint in KNUCKLES], :3, 3].mean(axis=0)
    backs = (
        (posed[0, :3, 3] + knuckles) / 2 + LIFT_DISTANCES[-1] * posed[0, :3, 2]
        if palm
        else (tips[:, :3, 3] + BACK_DISTANCE * tips[:, :3, 2]).mean(axis=0)
    )
    outside = to_surface[motion.middle, :3, :3] @ backs + to_surface[motion.middle, :3, 3]
    surface = SolidSurface(motion.solid, outside)
    beside = SkinBySurface(pose.hand, rotated_beyond(own, beyond), surface, to_surface)
    return HandByObject(pose, beyond, motion, wrist, outside, beside, own.local())


def _about(motion: ObjectMotion, pose: Pose, digits: tuple[str, ...], *, palm: bool) -> Floats:
    """Return points (N, 3), m in the world on the middle frame, about the tips of digits, and about the palm if
    requested."""
    posed = joint_frames(pose.hand, pose)[motion.middle]
    at = [f"{digit}-tip" for digit in digits] + (["wrist", *KNUCKLES] if palm else [])
    offsets = FOLLOWED_DISTANCE * np.array([[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])
    points = (posed[[JOINT_INDEX[joint] for joint in at], None, :3, 3] + offsets).reshape(-1, 3)
    world = motion.played.wrist[motion.middle]
    moved: Floats = points @ world[:3, :3].T + world[:3, 3]
    return moved


def rotated_beyond(skin: SkinPoints, beyond: Floats) -> SkinPoints:
    """Return the skin for joints of the model, moved by the remaining rotations (J, 4) of their bones."""
    bound = skin.bind_frames.copy()
    bound[:, :3, :3] = bound[:, :3, :3] @ rot.to_matrix(rot.conjugate(beyond))
    return replace(skin, bind_frames=bound)
