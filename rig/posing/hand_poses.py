"""Apply named poses to the hands of a rig, or key them as actions of one frame."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...hand import poses
from ...hand import rotations as rot
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX
from ...hand.kinematics import Pose
from .. import rotation_channels
from ..keys.bone_paths import bone_path
from ..keys.keyframes import BoneCurves
from ..pose_transfer import transfer
from .rig_hand import RigHand

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

FRAME = np.ones(1)
"""(1,) scene frame on which a pose is keyed."""


def posed_joints(rig_hand: RigHand) -> list[int]:
    """Return the joints that a named pose moves: those that bend, and tips whose bones have no parent.

    The wrist and the palm stay.
    """
    binding = rig_hand.binding
    joints = [JOINT_INDEX[joint] for chain in CHAIN_JOINTS.values() for joint in chain]
    bending = set(rig_hand.hand.axis_joint.tolist())
    return [joint for joint in joints if binding.bones[joint] and (joint in bending or binding.location_keyed[joint])]


def apply_pose(rig_hand: RigHand, name: str | poses.NamedPose, factor: float = 1.0) -> None:
    """Pose the bones, without keys, between their current pose at a factor of 0 and the named pose at 1.

    Rotations on top of the hand's angles vanish towards 1. Raises HandError for an unknown name, RigError if the
    hand no longer exists.
    """
    angles, joints = poses.angles(rig_hand.hand, name), posed_joints(rig_hand)
    if factor > 0:
        rig_hand.only(joints).write(rig_hand.read().toward(angles, factor, joints))


def pose_curves(armature: "Object", rig_hand: RigHand, name: str | poses.NamedPose) -> list[BoneCurves]:
    """Return the keys of a named pose in the bones' current rotation modes, independent of the armature's pose.

    The wrist and the palm are assumed to be at rest, which does not matter for fingers that are their children. Bones
    without a parent are keyed at their positions in that state.
    """
    binding = rig_hand.binding
    world = np.array(armature.matrix_world)
    rotation = world[:3, :3] @ binding.rest[0, :3, :3]
    root = np.eye(4)
    root[:3, :3] = rot.orthonormal(rotation)
    root[:3, 3] = world[:3, :3] @ binding.rest[0, :3, 3] + world[:3, 3]
    pose = Pose(rig_hand.hand, root[None], poses.angles(rig_hand.hand, name)[None])
    motion = transfer(binding, rig_hand.hand, pose, world, {}, hierarchy=rig_hand.hierarchy)
    curves = []
    for joint in posed_joints(rig_hand):
        bone = armature.pose.bones[str(binding.bones[joint])]
        if binding.location_keyed[joint]:
            curves.append(BoneCurves(bone.name, bone_path(bone.name, "location"), FRAME, motion.locations[:, joint]))
        values = rotation_channels.channel_values(motion.rotations[:, joint], bone.rotation_mode)
        path = bone_path(bone.name, rotation_channels.channel(bone.rotation_mode))
        curves.append(BoneCurves(bone.name, path, FRAME, values))
    return curves
