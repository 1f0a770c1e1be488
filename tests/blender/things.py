"""Things that hands hold, built by code, and how deep a hand is inside them, by another way than it closes by."""

from collections.abc import Sequence
from itertools import pairwise
from math import cos, pi, sin

import bmesh
import bpy
import numpy as np
from mathutils import Vector
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Colour = tuple[float, float, float, float]
Ring = list["bmesh.types.BMVert"]


def mug(radius: float = 0.04, height: float = 0.095, wall: float = 0.0035) -> bpy.types.Object:
    """A mug about Z with a cavity, and a handle towards +X that ends inside its wall."""
    mesh = bmesh.new()
    low, high, inner = -height / 2, height / 2, radius - wall
    profile = [(0.0, low), (radius - 0.004, low), (radius, low + 0.004), (radius, high - 0.001)]
    profile += [(radius - wall / 2, high), (inner, high - 0.001), (inner, low + 0.008), (inner - 0.005, low + 0.005)]
    _turned(mesh, [*profile, (0.0, low + 0.005)])
    _handle(mesh, radius, 0.028)
    return _object(mesh, "Mug", (0.8, 0.8, 0.78, 1.0))


def pen(radius: float = 0.0045, length: float = 0.14) -> bpy.types.Object:
    """A pen about Z, its tip down."""
    mesh = bmesh.new()
    end = length / 2
    _turned(
        mesh,
        [(0.0, -end), (0.0007, -end), (radius, 0.02 - end), (radius, end - 0.001), (radius - 0.001, end), (0.0, end)],
    )
    return _object(mesh, "Pen", (0.15, 0.25, 0.6, 1.0))


def ball(radius: float = 0.033) -> bpy.types.Object:
    """A ball, tennis balls' size."""
    mesh = bmesh.new()
    bmesh.ops.create_uvsphere(mesh, u_segments=48, v_segments=24, radius=radius)
    return _object(mesh, "Ball", (0.75, 0.8, 0.2, 1.0))


def block(size: tuple[float, float, float]) -> bpy.types.Object:
    """A block of a size along X, Y and Z."""
    mesh = bmesh.new()
    bmesh.ops.create_cube(mesh, size=1.0)
    for corner in mesh.verts:
        corner.co = corner.co * Vector(size)
    return _object(mesh, "Block", (0.6, 0.6, 0.65, 1.0))


def plate(radius: float = 0.12) -> bpy.types.Object:
    """A plate about Z."""
    mesh = bmesh.new()
    foot, rim = 0.07, radius + 0.001
    profile = [(0.0, 0.0), (foot, 0.0), (radius, 0.018), (rim, 0.02), (radius - 0.002, 0.021), (foot, 0.004)]
    _turned(mesh, [*profile, (0.0, 0.004)], 64)
    return _object(mesh, "Plate", (0.9, 0.9, 0.88, 1.0))


def depths(points: Floats, obj: bpy.types.Object) -> Floats:
    """(N,) m, how deep points (N, 3) in the world are inside an object's evaluated mesh; 0 outside.

    Inside is where the surface winds around a place (Jacobson 2013), and how deep by every triangle in turn: no tree,
    no normals.
    """
    vertices, triangles = evaluated(obj)
    corners = vertices[triangles]
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    near = np.flatnonzero(np.all((points > low) & (points < high), axis=1))
    inside = near[np.abs(_winding(points[near], corners)) > 0.5]
    result = np.zeros(len(points))
    for row in inside:
        result[row] = _to_triangles(points[row], corners).min()
    return result


def heights(points: Floats, corners: Floats) -> Floats:
    """(N,) m of points (N, 3) above the nearest of triangles (T, 3, 3), below 0 where these wind around a point."""
    distances = np.array([_to_triangles(point, corners).min() for point in points])
    return np.where(np.abs(_winding(points, corners)) > 0.5, -distances, distances)


def evaluated(obj: bpy.types.Object) -> tuple[Floats, Ints]:
    """(V, 3) m in the world and (T, 3): an object's mesh as its modifiers leave it."""
    posed = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = posed.to_mesh()
    mesh.calc_loop_triangles()
    world = np.array(posed.matrix_world)
    vertices = np.array([vertex.co for vertex in mesh.vertices]) @ world[:3, :3].T + world[:3, 3]
    triangles = np.array([triangle.vertices for triangle in mesh.loop_triangles])
    posed.to_mesh_clear()
    return vertices, triangles


def _winding(points: Floats, corners: Floats) -> Floats:
    """(N,) how often the surface winds around points: the solid angles of its triangles (Van Oosterom 1983)."""
    total = np.zeros(len(points))
    for part in np.array_split(np.arange(len(points)), max(1, len(points) // 50)):
        a, b, c = (corners[None, :, k] - points[part, None] for k in range(3))
        la, lb, lc = (np.linalg.norm(side, axis=-1) for side in (a, b, c))
        above = np.einsum("nti,nti->nt", a, np.cross(b, c))
        below = la * lb * lc + (a * b).sum(-1) * lc + (b * c).sum(-1) * la + (c * a).sum(-1) * lb
        total[part] = 2 * np.arctan2(above, below).sum(axis=1) / (4 * pi)
    return total


def _to_triangles(point: Floats, corners: Floats) -> Floats:
    """(T,) m from a point to triangles: to the plane where its foot is inside, else to the nearest edge."""
    a, b, c = np.moveaxis(corners, 1, 0)
    normal = np.cross(b - a, c - a)
    size = np.maximum(np.linalg.norm(normal, axis=1), 1e-300)
    height = np.abs(((point - a) * normal).sum(axis=1)) / size
    sides = [(np.cross(q - p, point - p) * normal).sum(axis=1) for p, q in ((a, b), (b, c), (c, a))]
    over = np.all(np.array(sides) >= 0, axis=0)
    edges = []
    for p, q in ((a, b), (b, c), (c, a)):
        along = q - p
        part = np.clip(((point - p) * along).sum(axis=1) / np.maximum((along**2).sum(axis=1), 1e-300), 0, 1)
        edges.append(np.linalg.norm(point - p - part[:, None] * along, axis=1))
    far: Floats = np.where(over, height, np.min(edges, axis=0))
    return far


def _turned(mesh: "bmesh.types.BMesh", profile: Sequence[tuple[float, float]], around: int = 48) -> None:
    """A surface of revolution about Z of (radius, height)."""
    rings = [
        [
            mesh.verts.new((radius * cos(2 * pi * k / around), radius * sin(2 * pi * k / around), height))
            for k in range(around if radius > 0 else 1)
        ]
        for radius, height in profile
    ]
    for first, second in pairwise(rings):
        for k in range(around):
            corners = [first[k % len(first)], first[(k + 1) % len(first)]]
            corners += [second[(k + 1) % len(second)], second[k % len(second)]]
            mesh.faces.new(list(dict.fromkeys(corners)))


def _handle(mesh: "bmesh.types.BMesh", radius: float, size: float, thick: float = 0.0055) -> None:
    rings: list[Ring] = []
    for step in range(25):
        turn = pi * (1.1 * step / 24 - 0.55)
        middle = np.array([radius + 0.002 + 0.95 * size * cos(turn), 0.0, 1.1 * size * sin(turn)])
        along = np.array([-0.95 * sin(turn), 0.0, 1.1 * cos(turn)])
        out = np.array([along[2], 0.0, -along[0]]) / np.linalg.norm(along)
        angles = 2 * pi * np.arange(12) / 12
        rings.append([mesh.verts.new(middle + thick * (cos(a) * out + [0, 1.2 * sin(a), 0])) for a in angles])
    for first, second in pairwise(rings):
        for k in range(12):
            mesh.faces.new((first[k], second[k], second[(k + 1) % 12], first[(k + 1) % 12]))
    mesh.faces.new(rings[0])
    mesh.faces.new(rings[-1][::-1])


def _object(mesh: "bmesh.types.BMesh", name: str, colour: Colour) -> bpy.types.Object:
    bmesh.ops.recalc_face_normals(mesh, faces=mesh.faces[:])
    data = bpy.data.meshes.new(name)
    mesh.to_mesh(data)
    mesh.free()
    data.shade_smooth()
    material = bpy.data.materials.new(name)
    material.diffuse_color = colour
    data.materials.append(material)
    obj = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(obj)
    return obj
