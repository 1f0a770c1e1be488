"""Deform the skin as Blender's armature modifier does, without Blender."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..kinematics import Pose, joint_frames
from ..model import HandModel
from .surface import Surface

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def deform_skin(
    surface: Surface, hand: HandModel, angles: Floats, method: Literal["linear", "dual quaternion"] = "dual quaternion"
) -> Floats:
    """Deform the skin: vertices (V, 3) m in the wrist's frame at angles (D,) rad.

    'dual quaternion' is the modifier's Preserve Volume: dual quaternion linear blending (Kavan et al. 2007).

    Args:
        surface: the skin at zero angles.
        hand: the hand model of the same proportions.
        angles: (D,) rad.
        method: the kind of blending.
    """
    poses = np.stack([np.zeros_like(angles), angles])
    frames = joint_frames(hand, Pose(hand, np.tile(np.eye(4), (2, 1, 1)), poses))
    transforms = frames[1] @ np.linalg.inv(frames[0])
    if method == "linear":
        blended = np.einsum("vj,jab->vab", surface.weights, transforms[:, :3])
        return np.asarray(np.einsum("vab,vb->va", blended[..., :3], surface.vertices) + blended[..., 3])
    real = rot.from_matrix(transforms[:, :3, :3])
    translation = np.concatenate([np.zeros((len(transforms), 1)), transforms[:, :3, 3]], axis=1)
    dual = 0.5 * rot.multiply(translation, real)
    # q and −q are the same rotation: choose the sign nearer to that of the joint with the largest weight.
    reference = real[np.argmax(surface.weights, axis=1)]
    signed = surface.weights * np.where(reference @ real.T < 0, -1.0, 1.0)
    real_v, dual_v = signed @ real, signed @ dual
    length = np.linalg.norm(real_v, axis=-1, keepdims=True)
    real_v, dual_v = real_v / length, dual_v / length
    deformed: Floats = rot.rotate(real_v, surface.vertices) + 2 * rot.multiply(dual_v, rot.conjugate(real_v))[..., 1:]
    return deformed


def mesh_volume(vertices: Floats, quads: Ints) -> float:
    """Return the volume in m³ of a closed mesh, negative if it is inside out."""
    first = vertices[quads[:, 0]]
    total = 0.0
    for i, j in ((1, 2), (2, 3)):
        total += float((first * np.cross(vertices[quads[:, i]], vertices[quads[:, j]])).sum())
    return total / 6
