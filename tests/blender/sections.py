"""Cross-sections of a skinned forearm, measured on the skin that Blender evaluates."""

import bpy
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Object = bpy.types.Object

RING, REACH = 0.012, 0.07
"""m, how far apart sections are, and how far from the forearm's line their vertices are at rest."""
MIN_VERTICES = 8


def rest_skin(armature: Object) -> Floats:
    """(V, 3) the skin in armature space as it is at rest."""
    armature.data.pose_position = "REST"
    bpy.context.view_layer.update()
    skin = seen_skin(armature)
    armature.data.pose_position = "POSE"
    bpy.context.view_layer.update()
    return skin


def seen_skin(armature: Object) -> Floats:
    """(V, 3) the skin in armature space as it is posed."""
    mesh = next(obj for obj in bpy.context.scene.objects if obj.find_armature() == armature)
    seen = mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
    points = np.empty(3 * len(seen.data.vertices), np.float32)
    seen.data.vertices.foreach_get("co", points)
    to_armature = np.array(armature.matrix_world.inverted() @ seen.matrix_world)
    moved: Floats = points.reshape(-1, 3) @ to_armature[:3, :3].T + to_armature[:3, 3]
    return moved


def sections(armature: Object, fore: str, wrist: str, posed: Floats, rest: Floats) -> dict[float, float]:
    """m beyond the wrist -> the area of the ring of vertices that is there at rest, as a part of what it is at rest.

    The rings reach from the middle of the upper arm to the knuckles' half; the area is that of the polygon which goes
    around in the order that the vertices have at rest.
    """
    elbow, end = (np.array(armature.data.bones[name].head_local) for name in (fore, wrist))
    length = float(np.linalg.norm(end - elbow))
    axis = (end - elbow) / length
    across = np.linalg.svd(axis[None])[2][1:]
    along, aside = (rest - end) @ axis, (rest - end) @ across.T
    found = {}
    for place in np.arange(-length - 0.06, 0.04, RING):
        ring = np.flatnonzero((np.abs(along - place) < RING / 2) & (np.linalg.norm(aside, axis=1) < REACH))
        if len(ring) >= MIN_VERTICES:
            ring = ring[np.argsort(np.arctan2(aside[ring, 1], aside[ring, 0]))]
            found[round(float(place), 3)] = _area(posed[ring]) / _area(rest[ring])
    return found


def _area(polygon: Floats) -> float:
    """Of a polygon (N, 3) that is almost flat, by its vector area."""
    points = polygon - polygon.mean(axis=0)
    return float(np.linalg.norm(np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)) / 2)
