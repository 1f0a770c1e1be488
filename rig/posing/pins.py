"""Anchors of pins on the evaluated surfaces of objects."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from mathutils import Vector
from numpy.typing import NDArray

from ...errors import RigError
from ...hand import rotations as rot

if TYPE_CHECKING:
    from bpy.types import Mesh, Object

Floats = NDArray[np.float64]

NOWHERE = (-1, -1, -1)


@dataclass(frozen=True, slots=True)
class SurfaceAnchor:
    """A point of an object that moves with its surface."""

    home: tuple[float, float, float]
    """Its first position in the object's local space, used if the surface is missing or not evaluated."""
    corners: tuple[int, int, int] = NOWHERE
    """Vertex indices of a triangle of the evaluated mesh; NOWHERE without a surface."""
    barycentric: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Barycentric coordinates in the triangle."""
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """m, offset from the surface in the triangle's axes."""
    vertices: int = 0
    """Number of vertices of the mesh. If it changes, the indices refer to another triangle."""


def is_in_view_layer(obj: "Object | None") -> bool:
    """Return whether an object is in the view layer. A deleted object stays in the file while in use."""
    objects = bpy.context.view_layer.objects
    found = None if obj is None else objects.get(obj.name)
    # A linked object may have the same name.
    return found is not None and (found == obj or any(other == obj for other in objects))


def check_in_view_layer(*objects: "Object | None") -> None:
    """Raise RigError if one of the chosen objects was deleted."""
    for obj in objects:
        if obj is not None and not is_in_view_layer(obj):
            raise RigError(f"'{obj.name}' is not in this view layer, choose an object that is")


def anchor_on(obj: "Object", position: Floats) -> SurfaceAnchor:
    """Return the anchor of an object at a position (3,) m in the world, by the nearest point of its surface."""
    evaluated = _evaluated(obj)
    world = evaluated.matrix_world
    local = world.inverted_safe() @ Vector(position.tolist())
    home = SurfaceAnchor((local.x, local.y, local.z))
    mesh = _surface(evaluated)
    if mesh is None or not len(mesh.polygons):
        return home
    is_found, at, _, face = evaluated.closest_point_on_mesh(local)
    if not is_found:
        return home
    first, *ring = mesh.polygons[face].vertices
    fans = [(first, b, c) for b, c in pairwise(ring)]
    coordinates = [_barycentric(_corners(evaluated, fan), np.array(world @ at)) for fan in fans]
    # The triangle of the polygon's fan that contains the point, or is nearest to it.
    best = max(range(len(fans)), key=lambda number: min(coordinates[number]))
    corners = _corners(evaluated, fans[best])
    offset = _axes(corners).T @ (position - np.array(coordinates[best]) @ corners)
    return replace(
        home,
        corners=fans[best],
        barycentric=coordinates[best],
        offset=(float(offset[0]), float(offset[1]), float(offset[2])),
        vertices=len(mesh.vertices),
    )


def anchor_position(obj: "Object", anchor: SurfaceAnchor) -> Floats:
    """Return the current position (3,) m of an anchor in the world.

    If the mesh has changed, it stays at its first position in the object's own space.
    """
    evaluated = _evaluated(obj)
    mesh = _surface(evaluated)
    if anchor.corners == NOWHERE or mesh is None or len(mesh.vertices) != anchor.vertices:
        return np.array(evaluated.matrix_world @ Vector(anchor.home))
    corners = _corners(evaluated, anchor.corners)
    position: Floats = np.array(anchor.barycentric) @ corners + _axes(corners) @ np.array(anchor.offset)
    return position


def nearest_surface(objects: "Iterable[Object]", position: Floats, reach: float) -> "Object | None":
    """Return the mesh whose surface is nearest to a point (3,) m in the world, within `reach` m."""
    best, nearest = reach, None
    for obj in objects:
        evaluated = _evaluated(obj)
        mesh = _surface(evaluated)
        if mesh is None or not len(mesh.polygons):
            continue
        local = evaluated.matrix_world.inverted_safe() @ Vector(position.tolist())
        is_found, at, _, _ = evaluated.closest_point_on_mesh(local)
        distance = float(np.linalg.norm(np.array(evaluated.matrix_world @ at) - position)) if is_found else np.inf
        if distance <= best:
            best, nearest = distance, obj
    return nearest


def _evaluated(obj: "Object") -> "Object":
    return obj.evaluated_get(bpy.context.evaluated_depsgraph_get())


def _surface(evaluated: "Object") -> "Mesh | None":
    """Return the evaluated mesh of an object; None if it is disabled in viewports and therefore not evaluated."""
    data: Any = evaluated.data
    if evaluated.type != "MESH" or data.original == evaluated.original.data:
        return None
    mesh: Mesh = data
    return mesh


def _corners(evaluated: "Object", corners: Iterable[int]) -> Floats:
    """Return the corners (3, 3) m of a triangle in the world."""
    vertices: Any = evaluated.data.vertices
    return np.array([evaluated.matrix_world @ vertices[corner].co for corner in corners])


def _axes(corners: Floats) -> Floats:
    """Return the axes (3, 3) of a triangle in columns, the normal last; the identity for one without area."""
    along, second_edge = corners[1] - corners[0], corners[2] - corners[0]
    normal = np.cross(along, second_edge)
    size = float(np.linalg.norm(along))
    if not np.linalg.norm(normal) > 1e-9 * size * float(np.linalg.norm(second_edge)):
        return np.eye(3)
    axes: Floats = rot.frame_from_yz(along, normal)
    return axes


def _barycentric(corners: Floats, position: Floats) -> tuple[float, float, float]:
    """Return the barycentric coordinates of the point of a triangle (3, 3) nearest to a point (3,)."""
    edges = (corners[1:] - corners[0]).T
    (b, c), *_ = np.linalg.lstsq(edges, position - corners[0], rcond=None)
    return 1.0 - float(b) - float(c), float(b), float(c)
