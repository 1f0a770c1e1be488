"""A hand of capsules, for pictures of rigs that have no skin."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..hand import rotations as rot
from ..hand.flesh import ENDS, PALM_FLESH_RATIO, STARTS, usual_radii
from ..hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, PARENTS

if TYPE_CHECKING:
    from bpy.types import Object, Scene

Floats = NDArray[np.float64]
Faces = list[tuple[int, ...]]

AROUND = 16
"""Number of vertices in each ring of a capsule."""
LATITUDES = np.radians([-80.0, -50.0, -20.0])
"""Latitudes of the rings at a capsule's start; those at its end are mirrored."""


@contextmanager
def drawn_flesh(scene: "Scene", armature: "Object", joints: Floats) -> Iterator[None]:
    """Show a hand of capsules in a scene during the body, unless the armature has meshes that are rendered.

    joints: (J, 3) m in the world, NaN for those that the armature lacks.
    """
    if has_body(scene, armature):
        yield
        return
    vertices, faces = hand_of_capsules(joints)
    mesh: Any = bpy.data.meshes.new("Hand")
    mesh.from_pydata(vertices.tolist(), [], faces)
    mesh.shade_smooth()
    hand = bpy.data.objects.new("Hand", mesh)
    scene.collection.objects.link(hand)
    try:
        yield
    finally:
        bpy.data.objects.remove(hand)
        bpy.data.meshes.remove(mesh)


def has_body(scene: "Scene", armature: "Object") -> bool:
    """Return whether a mesh that an armature deforms or carries is rendered in a scene."""
    return any(
        obj.type == "MESH" and not obj.hide_render and armature in (obj.parent, obj.find_armature())
        for obj in scene.objects
    )


def hand_of_capsules(joints: Floats) -> tuple[Floats, Faces]:
    """Return the vertices (V, 3) m and the faces of a hand's flesh. joints: (J, 3) m, NaN for missing ones."""
    radii, vertices, faces = _radii(joints), list[Floats](), Faces()
    for capsule, (start, end) in enumerate(zip(STARTS.tolist(), ENDS.tolist(), strict=True)):
        first, last = joints[_existing_ancestor(joints, start)], joints[end]
        if np.isfinite(first).all() and np.linalg.norm(last - first) > 0.0:
            at = sum(map(len, vertices))
            vertices.append(_rings(first, last, radii[capsule]))
            faces += [tuple(at + corner for corner in face) for face in _faces(2 * len(LATITUDES))]
    return np.concatenate(vertices) if vertices else np.zeros((0, 3)), faces


def _existing_ancestor(joints: Floats, joint: int) -> int:
    """Return a joint, or its nearest ancestor that exists: rigs may lack metacarpals."""
    while joint > 0 and not np.isfinite(joints[joint]).all():
        joint = PARENTS[joint]
    return joint


def _radii(joints: Floats) -> Floats:
    """Return the usual radii (19, 2) m of the capsules of a hand of this size, at their starts and ends."""
    chains = (joints[[0, *(JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit])]] for digit in DIGITS)
    seen = (chain[np.isfinite(chain).all(axis=1)] for chain in chains)
    along = usual_radii(max(float(np.linalg.norm(np.diff(chain, axis=0), axis=1).sum()) for chain in seen))
    digits = np.stack([along[:, :-1], along[:, 1:]], axis=2).reshape(3 * len(DIGITS), 2)
    return np.concatenate([digits, PALM_FLESH_RATIO * np.repeat(along[1:, :1], 2, axis=1)])


def _rings(first: Floats, last: Floats, radii: Floats) -> Floats:
    """Return the vertices (V, 3) m of a capsule, ring by ring from its start to its end."""
    axis = rot.unit_vector(last - first)
    across = rot.unit_vector(np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))]))
    angles = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)[:, None]
    circle = np.cos(angles) * across + np.sin(angles) * np.cross(axis, across)
    caps = ((first, radii[0], LATITUDES), (last, radii[1], -LATITUDES[::-1]))
    rings = [
        centre + radius * (np.sin(latitude) * axis + np.cos(latitude) * circle)
        for centre, radius, latitudes in caps
        for latitude in latitudes
    ]
    return np.concatenate(rings)


def _faces(rings: int) -> Faces:
    """Return the quads between rings and the polygons that close both ends, all facing outwards."""
    corners, ahead = range(AROUND), [*range(1, AROUND), 0]
    quads = [
        (AROUND * ring + a, AROUND * ring + b, AROUND * (ring + 1) + b, AROUND * (ring + 1) + a)
        for ring in range(rings - 1)
        for a, b in zip(corners, ahead, strict=True)
    ]
    return [*quads, tuple(reversed(corners)), tuple(AROUND * (rings - 1) + corner for corner in corners)]
