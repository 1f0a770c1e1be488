"""Named poses on the hands of a rig: shown now, or keyed as actions of one frame."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ..errors import RigError
from ..hand import poses
from ..hand import rotations as rot
from ..hand.joints import SIDES, Side
from ..hand.kinematics import Pose
from . import channels
from .detect import FoundHand, find_hands
from .held import HeldHand, Standing, show, standing
from .keyframes import Curves, check_keyable
from .transfer import transfer

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

FRAME = np.ones(1)
"""(1,) the scene frame on which a pose is keyed."""


def hands_of(armature: "Object", sides: Sequence[Side] = SIDES) -> list[FoundHand]:
    """Those hands of an armature, left before right. Raises RigError where it has none of them, and as find_hands."""
    check_keyable(armature)
    found = find_hands(armature)
    wanted = [hand for hand in found if hand.side in sides]
    if not wanted:
        has = " and a ".join(hand.side for hand in found)
        raise RigError(f"armature '{armature.name}' has no {sides[0]} hand, only a {has} one")
    return wanted


def posed_joints(held: HeldHand) -> list[int]:
    """The joints of which a named pose says how they stand: those that bend and have a bone."""
    moving = sorted(set(held.hand.axis_joint.tolist()))
    return [joint for joint in moving if held.posed.binding.bones[joint]]


def apply_pose(held: HeldHand, name: str, factor: float = 1.0) -> None:
    """Poses the bones without keys, from how they stand at a factor of 0 to the named pose at 1.

    The wrist and the palm stay. What a person posed beyond the movements of a hand goes as the pose comes. Raises
    HandError for a name that is not known, RigError where the hand is gone.
    """
    poses.named(name)
    if factor <= 0.0:
        return
    stands = standing(held)
    angles = poses.blended(held.hand, stands.pose.angles[0], name, factor)
    left = {
        joint: ((1 - factor) * way, rot.slerp(turn, rot.IDENTITY, np.array(factor)))
        for joint, (way, turn) in stands.beyond.items()
    }
    show(held, Standing(replace(stands.pose, angles=angles[None]), left), posed_joints(held))


def pose_curves(armature: "Object", held: HeldHand, name: str) -> list[Curves]:
    """The keys of a named pose in the terms in which each bone is turned now, whatever the armature does.

    Its bones stand on a hand whose wrist and palm are at rest: on what they hang does not matter then.
    """
    binding = held.posed.binding
    world = np.array(armature.matrix_world)
    seen = world[:3, :3] @ binding.rest[0, :3, :3]
    root = np.eye(4)
    root[:3, :3] = rot.basis(seen[:, 1], seen[:, 2])
    root[:3, 3] = world[:3, :3] @ binding.rest[0, :3, 3] + world[:3, 3]
    pose = Pose(held.hand, root[None], poses.angles(held.hand, name)[None])
    motion = transfer(binding, held.hand, pose, world, {}, wiring=held.posed.wiring)
    curves = []
    for joint in posed_joints(held):
        bone = armature.pose.bones[str(binding.bones[joint])]
        path = f'pose.bones["{bpy.utils.escape_identifier(bone.name)}"].'
        if binding.placed[joint]:
            curves.append(Curves(bone.name, f"{path}location", FRAME, motion.locations[:, joint]))
        values = channels.in_mode(motion.rotations[:, joint], bone.rotation_mode)
        curves.append(Curves(bone.name, path + channels.channel(bone.rotation_mode), FRAME, values))
    return curves
