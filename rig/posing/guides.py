"""Read paths for a hand from Blender's objects: origins, curves, edges, spheres, intersections of planes."""

from contextlib import contextmanager
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...posing.following import (
    GuideSphere,
    line_direction,
    nearest_on_line,
    plane_intersection,
    plane_of,
    sphere_through,
)
from ..keys.parent_motion import current_frame_restored
from ..keys.unkeyed_changes import unkeyed_changes_restored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bpy.types import Object

Floats = NDArray[np.float64]

MAX_SCALE_DIFFERENCE = 0.01
"""Relative difference of an empty's axis scales above which it is not a sphere."""


def origins(obj: "Object", frames: Floats) -> Floats:
    """Return the positions (N, 3) m of an object at scene frames (N,). The scene's frame is restored."""
    with unkeyed_changes_restored(), current_frame_restored():
        positions = []
        for frame in frames:
            whole = int(np.floor(frame))
            bpy.context.scene.frame_set(whole, subframe=float(frame) - whole)
            positions.append(_world(obj)[:3, 3])
    return np.stack(positions)


def origin(obj: "Object") -> Floats:
    """Return the current position (3,) m of an object."""
    position: Floats = _world(obj)[:3, 3]
    return position


def path_along(obj: "Object") -> Floats:
    """Return points (P, 3) m of a curve's first spline, or the ends (2, 3) m of a mesh's selected or only edge.

    Raises RigError for any other object, and for one without a path.
    """
    if obj.type not in {"CURVE", "MESH"}:
        raise RigError(f"'{obj.name}' is neither a curve nor a mesh, choose one of these, or two planes")
    if obj.type == "MESH":
        local = _edge(obj)
    else:
        with _evaluated_mesh(obj) as mesh:
            # A curve without splines, or of single points, has no mesh.
            local = np.empty((0, 3)) if mesh is None else _spline(obj) if len(mesh.polygons) else _chain(mesh)
    if len(local) < 2:
        raise RigError(f"'{obj.name}' has no path to follow, expected at least two points")
    return _in_world(_world(obj), local)


def segment_between(first_obj: "Object", second_obj: "Object", near: Floats) -> tuple[Floats, Floats]:
    """Return the start (3,) m and the vector (3,) m of the segment in which the planes of two objects intersect.

    The segment is the part of the line that both objects cover. It starts at the end nearer to the point `near` (3,) m.
    Raises RigError if the objects cover different parts of the line, SolverError for parallel planes.
    """
    line = plane_intersection(plane_of(_three_points(first_obj)), plane_of(_three_points(second_obj)))
    direction, foot = line_direction(line), nearest_on_line(line, near)
    distances = [(_corners(obj) - foot) @ direction for obj in (first_obj, second_obj)]
    low, high = max(float(along.min()) for along in distances), min(float(along.max()) for along in distances)
    if not high > low:
        raise RigError(
            f"'{first_obj.name}' and '{second_obj.name}' cover different parts of the line in which their planes meet, "
            "move them closer together"
        )
    first, last = (low, high) if abs(low) <= abs(high) else (high, low)
    return foot + first * direction, (last - first) * direction


def sphere_of_object(obj: "Object") -> GuideSphere:
    """Return the sphere that an empty displays, or one around a mesh.

    Raises RigError for other types, SolverError for zero size.
    """
    world = _world(obj)
    scale = np.linalg.norm(world[:3, :3], axis=0)
    if obj.type == "EMPTY":
        if np.ptp(scale) > MAX_SCALE_DIFFERENCE * scale.max():
            raise RigError(f"'{obj.name}' is not a sphere: its scale differs between axes, make it uniform")
        return _sphere(world[:3, 3], float(obj.empty_display_size * scale.mean()))
    if obj.type != "MESH":
        raise RigError(f"'{obj.name}' is neither an empty nor a mesh, choose one of these as the sphere")
    with _evaluated_mesh(obj) as mesh:
        points = _in_world(world, _points(mesh.vertices))
    if not len(points):
        raise RigError(f"'{obj.name}' has no vertices, choose another object as the sphere")
    centre = (points.min(axis=0) + points.max(axis=0)) / 2
    return _sphere(centre, float(np.linalg.norm(points - centre, axis=1).max()))


def sphere_through_selected(obj: "Object") -> GuideSphere:
    """Return the sphere through a mesh's four selected vertices (CGA-arm: S* = x_1 ∧ x_2 ∧ x_3 ∧ x_4).

    Raises RigError if it is not a mesh, has another number of selected vertices, or modifiers that add or remove
    vertices; SolverError for coplanar vertices.
    """
    if obj.type != "MESH":
        raise RigError(f"'{obj.name}' is not a mesh, choose one with vertices on the sphere")
    if obj.data.is_editmode:
        obj.update_from_editmode()
    chosen = [vertex.index for vertex in obj.data.vertices if vertex.select]
    if len(chosen) != 4:
        raise RigError(f"'{obj.name}' has {len(chosen)} selected vertices, select four of the sphere in its Edit Mode")
    return sphere_through(_in_world(_world(obj), _own_vertices(obj, chosen)))


def axis_of(obj: "Object", number: int) -> Floats:
    """Return the unit vector (3,) in the world of an object's axis 0, 1 or 2."""
    column: Floats = _world(obj)[:3, number]
    length = float(np.linalg.norm(column))
    return column / length if length > 0 else np.eye(3)[number]


def _sphere(centre: Floats, radius: float) -> GuideSphere:
    x, y, z = (float(number) for number in centre)
    return GuideSphere((x, y, z), radius)


def _world(obj: "Object") -> Floats:
    return np.array(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world)


def _in_world(world: Floats, points: Floats) -> Floats:
    transformed: Floats = points @ world[:3, :3].T + world[:3, 3]
    return transformed


@contextmanager
def _evaluated_mesh(obj: "Object") -> "Iterator[bpy.types.Mesh]":
    """Yield the evaluated mesh of a mesh or curve, in any mode; None for an empty curve."""
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    try:
        yield evaluated.to_mesh()
    finally:
        evaluated.to_mesh_clear()


def _own_vertices(obj: "Object", indices: "Iterable[int]") -> Floats:
    """Return the evaluated positions (N, 3) of vertices of a mesh, in its local space.

    indices: of the mesh without modifiers. Raises RigError if modifiers add or remove vertices.
    """
    with _evaluated_mesh(obj) as mesh:
        points = _points(mesh.vertices)
    own = len(obj.data.vertices)
    if len(points) != own:
        raise RigError(
            f"'{obj.name}' has {len(points)} vertices with its modifiers and {own} without, apply or disable the "
            "modifiers that add or remove vertices"
        )
    return points[list(indices)]


def _points(vertices: "bpy.types.MeshVertices") -> Floats:
    points = np.empty(3 * len(vertices), np.float32)
    vertices.foreach_get("co", points)
    return points.reshape(-1, 3).astype(float)


def _chain(mesh: "bpy.types.Mesh") -> Floats:
    """Return the vertices (P, 3) of the first chain of edges in a curve's mesh; a closed one repeats its first."""
    points = _points(mesh.vertices)
    joined = {tuple(sorted(edge.vertices)) for edge in mesh.edges}
    count = next((k + 1 for k in range(len(points)) if (k, k + 1) not in joined), 0)
    chain = points[:count]
    return np.concatenate([chain, chain[:1]]) if count > 2 and (0, count - 1) in joined else chain


def _edge(obj: "Object") -> Floats:
    """Return the evaluated end points (2, 3) of a mesh's selected or only edge."""
    if obj.data.is_editmode:
        obj.update_from_editmode()
    edges = obj.data.edges
    chosen = [edge for edge in edges if edge.select] if len(edges) > 1 else list(edges)
    if len(chosen) != 1:
        raise RigError(f"'{obj.name}' has {len(chosen)} selected edges, select the one to follow in its Edit Mode")
    return _own_vertices(obj, chosen[0].vertices)


def _spline(obj: "Object") -> Floats:
    """Return the points (P, 3) of the first spline of a curve that has a bevel or extrusion."""
    spline = obj.data.splines[0]
    if spline.type == "BEZIER":
        from mathutils.geometry import interpolate_bezier

        knots = list(spline.bezier_points)
        pairs = zip(knots, knots[1:] + knots[:1] * spline.use_cyclic_u, strict=False)
        steps = max(spline.resolution_u, 1) + 1
        parts = [interpolate_bezier(a.co, a.handle_right, b.handle_left, b.co, steps) for a, b in pairs]
        return np.array([point for part in parts for point in part])
    if spline.type == "NURBS":
        raise RigError(f"'{obj.name}' is a NURBS curve with a bevel or extrusion, remove these to follow it")
    return np.array([point.co[:3] for point in spline.points])


def _three_points(obj: "Object") -> Floats:
    """Return three points (3, 3) m of an object's plane: a mesh's largest evaluated face, or else its X and Y axes."""
    world = _world(obj)
    if obj.type == "MESH":
        with _evaluated_mesh(obj) as mesh:
            if len(mesh.polygons):
                face = max(mesh.polygons, key=lambda polygon: polygon.area)
                corners, normal = _points(mesh.vertices)[list(face.vertices)], np.array(face.normal)
                centre = corners.mean(axis=0)
                across = corners[0] - centre
                return _in_world(world, np.stack([centre, centre + across, centre + np.cross(normal, across)]))
    return _in_world(world, np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))


def _corners(obj: "Object") -> Floats:
    """Return the corners (N, 3) m of an object's bounding box, or of a square of an empty's display size."""
    size = obj.empty_display_size
    square = size * np.array([[-1.0, -1, 0], [-1, 1, 0], [1, -1, 0], [1, 1, 0]])
    return _in_world(_world(obj), square if obj.type == "EMPTY" else np.array(obj.bound_box))
