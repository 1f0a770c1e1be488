"""Where fingertips are pinned: in the world, on an object's surface as it is evaluated, or to another digit."""

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
    """A place on an object that goes along with it."""

    home: tuple[float, float, float]
    """In the object's own space, where it was when it was made: what counts where that surface is gone or not seen."""
    corners: tuple[int, int, int] = NOWHERE
    """The vertices of a triangle of the evaluated mesh; NOWHERE for what has no surface."""
    shares: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The weights of the corners."""
    away: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """m from the surface, in the axes of the triangle."""
    vertices: int = 0
    """How many the mesh had: one of another number is another mesh, whose triangles are elsewhere."""


def is_there(obj: "Object | None") -> bool:
    """Whether an object is in the view layer. One that was deleted is kept in the file by whatever points to it."""
    objects = bpy.context.view_layer.objects
    found = None if obj is None else objects.get(obj.name)
    # An object that is linked may have the name of another one.
    return found is not None and (found == obj or any(other == obj for other in objects))


def check_there(*objects: "Object | None") -> None:
    """Raises RigError where a person deleted one of the objects that were chosen."""
    for obj in objects:
        if obj is not None and not is_there(obj):
            raise RigError(f"'{obj.name}' is not in this view layer, choose an object that is")


def spot_on(obj: "Object", place: Floats) -> SurfaceAnchor:
    """The spot of an object that is at a place (3,) m in the world, by the nearest point of its surface."""
    evaluated = _evaluated(obj)
    world = evaluated.matrix_world
    local = world.inverted_safe() @ Vector(place.tolist())
    home = SurfaceAnchor((local.x, local.y, local.z))
    mesh = _surface(evaluated)
    if mesh is None or not len(mesh.polygons):
        return home
    there, at, _, face = evaluated.closest_point_on_mesh(local)
    if not there:
        return home
    first, *ring = mesh.polygons[face].vertices
    fans = [(first, b, c) for b, c in pairwise(ring)]
    shares = [_shares(_corners(evaluated, fan), np.array(world @ at)) for fan in fans]
    # Of the triangles of a polygon it is in the one that it is least outside of.
    best = max(range(len(fans)), key=lambda number: min(shares[number]))
    corners = _corners(evaluated, fans[best])
    away = _axes(corners).T @ (place - np.array(shares[best]) @ corners)
    return replace(
        home, corners=fans[best], shares=_three(shares[best]), away=_three(away), vertices=len(mesh.vertices)
    )


def place_of(obj: "Object", spot: SurfaceAnchor) -> Floats:
    """(3,) m in the world, where a spot of an object is now; where its mesh has lost it, it stays in the object's own
    space where it was."""
    evaluated = _evaluated(obj)
    mesh = _surface(evaluated)
    if spot.corners == NOWHERE or mesh is None or len(mesh.vertices) != spot.vertices:
        return np.array(evaluated.matrix_world @ Vector(spot.home))
    corners = _corners(evaluated, spot.corners)
    place: Floats = np.array(spot.shares) @ corners + _axes(corners) @ np.array(spot.away)
    return place


def nearest_surface(objects: "Iterable[Object]", place: Floats, reach: float) -> "Object | None":
    """The mesh whose surface is nearest to a place (3,) m in the world, and not farther than `reach` m."""
    best, nearest = reach, None
    for obj in objects:
        evaluated = _evaluated(obj)
        mesh = _surface(evaluated)
        if mesh is None or not len(mesh.polygons):
            continue
        local = evaluated.matrix_world.inverted_safe() @ Vector(place.tolist())
        there, at, _, _ = evaluated.closest_point_on_mesh(local)
        far = float(np.linalg.norm(np.array(evaluated.matrix_world @ at) - place)) if there else np.inf
        if far <= best:
            best, nearest = far, obj
    return nearest


def _evaluated(obj: "Object") -> "Object":
    return obj.evaluated_get(bpy.context.evaluated_depsgraph_get())


def _surface(evaluated: "Object") -> "Mesh | None":
    """The mesh of an object with what its modifiers and shape keys make of it; None for one that is disabled in
    viewports, which Blender does not evaluate: its mesh is another one than what was seen."""
    seen: Any = evaluated.data
    if evaluated.type != "MESH" or seen.original == evaluated.original.data:
        return None
    mesh: Mesh = seen
    return mesh


def _corners(evaluated: "Object", corners: Iterable[int]) -> Floats:
    """(3, 3) m in the world."""
    vertices: Any = evaluated.data.vertices
    return np.array([evaluated.matrix_world @ vertices[corner].co for corner in corners])


def _axes(corners: Floats) -> Floats:
    """(3, 3) its columns are a triangle's axes: out of it the last; the identity for one without an area."""
    along, other = corners[1] - corners[0], corners[2] - corners[0]
    out = np.cross(along, other)
    size = float(np.linalg.norm(along))
    if not np.linalg.norm(out) > 1e-9 * size * float(np.linalg.norm(other)):
        return np.eye(3)
    axes: Floats = rot.frame_from_yz(along, out)
    return axes


def _shares(corners: Floats, place: Floats) -> tuple[float, float, float]:
    """The weights of a triangle's corners (3, 3) whose mean is nearest to a place (3,)."""
    edges = (corners[1:] - corners[0]).T
    (b, c), *_ = np.linalg.lstsq(edges, place - corners[0], rcond=None)
    return 1.0 - float(b) - float(c), float(b), float(c)


def _three(values: Iterable[float]) -> tuple[float, float, float]:
    a, b, c = (float(value) for value in values)
    return a, b, c
