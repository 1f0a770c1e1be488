"""The evaluated skin of a rig's hand with its weights."""

from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import joint_frames
from ...posing.grasping.skin_samples import SkinPoints, fitted_skin, skin_points, weights_of_moving_joints
from ..armature_hands import FoundHand
from ..modelled_skin import MIN_POINTS, rest_in_world
from ..skin_bones import joints_of_bones, preserves_volume, skins, weights_in_hand
from .rig_hand import RigHand

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def flesh_of(armature: "Object", found: FoundHand, rig_hand: RigHand) -> SkinPoints:
    """Return the evaluated skin of a hand from all meshes that the armature deforms.

    Without such meshes it is Knuckle's own skin, fitted to the bones. Raises RigError if the hand no longer exists.
    """
    frames = joint_frames(rig_hand.hand, rig_hand.read_pose())[0]
    bones = joints_of_bones(armature, found)
    points, weights, dual = [], [], False
    for mesh in skins(armature):
        vertices, own_weights = _evaluated_vertices(mesh, bones)
        points.append(vertices)
        weights.append(own_weights)
        dual = dual or preserves_volume(mesh, armature)
    if sum(map(len, points)) < MIN_POINTS:
        return fitted_skin(rig_hand.hand)
    rest, mapped = frames.copy(), list(rig_hand.binding.mapped)
    rest[mapped] = rest_in_world(rig_hand.binding, np.array(armature.matrix_world))[mapped]
    all_points = np.concatenate(points)
    flesh = skin_points(
        all_points, weights_of_moving_joints(np.concatenate(weights), rig_hand.hand), rest, dual_quaternions=dual
    )
    return flesh.rebound(all_points, frames)


def _evaluated_vertices(obj: "Object", bones: dict[str, int]) -> tuple[Floats, Floats]:
    """Return the vertices (V, 3) m of a hand in the world, and their weights (V, J)."""
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh: Any = evaluated.data
    rows, own = weights_in_hand(obj, mesh, bones)
    coordinates = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", coordinates)
    world = np.array(evaluated.matrix_world)
    vertices: Floats = coordinates.reshape(-1, 3)[rows].astype(float) @ world[:3, :3].T + world[:3, 3]
    return vertices, own
