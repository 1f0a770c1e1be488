"""The skin of a rig's hand as modelled, at rest, with its weights for the hand's joints."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..hand import rotations as rot
from ..hand.kinematics import Pose, joint_frames
from ..hand.model import HandModel
from ..posing.grasping.skin_samples import SkinPoints, fitted_skin, skin_points, weights_of_moving_joints
from .armature_hands import FoundHand
from .binding import RigBinding
from .skin_bones import joints_of_bones, modelled_points, preserves_volume, skins, weights_in_hand

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

MIN_POINTS = 100
"""Minimum number of vertices of a skin that can be used."""


def modelled_skin(armature: "Object", found: FoundHand, binding: RigBinding, hand: HandModel) -> SkinPoints:
    """Return the skin of a hand in all meshes that the armature deforms, relative to the wrist and in its size.

    Without one it is Knuckle's own skin, fitted to the bones.
    """
    bones, points, weights, dual = joints_of_bones(armature, found), [], [], False
    world = np.array(armature.matrix_world, float)
    rest = rest_in_world(binding, world)
    from_wrist = np.linalg.inv(rest[0])
    to_wrist = from_wrist @ world
    for mesh in skins(armature):
        vertices, own = weights_in_hand(mesh, mesh.data, bones)
        positions = modelled_points(mesh, np.array(armature.matrix_world.inverted_safe() @ mesh.matrix_world))[vertices]
        points.append(positions @ to_wrist[:3, :3].T + to_wrist[:3, 3])
        weights.append(own)
        dual = dual or preserves_volume(mesh, armature)
    if sum(map(len, points)) < MIN_POINTS:
        return fitted_skin(hand)
    frames = joint_frames(hand, Pose.at_origin(hand, np.zeros((1, hand.dofs))))[0]
    mapped = list(binding.mapped)
    frames[mapped] = from_wrist @ rest[mapped]
    moved = weights_of_moving_joints(np.concatenate(weights), hand)
    return skin_points(np.concatenate(points), moved, frames, dual_quaternions=dual)


def rest_in_world(binding: RigBinding, world: Floats) -> Floats:
    """Return the rest frames (J, 4, 4) in the world of joints that have bones, orthonormal on a stretched armature.

    world: (4, 4) T_world_armature.
    """
    rest = world @ binding.rest
    rest[:, :3, :3] = rot.orthonormal(rest[:, :3, :3])
    return rest
