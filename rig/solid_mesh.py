"""The evaluated mesh of an object as a solid: triangles in the world with a signed distance."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
import numpy as np
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from ..errors import RigError
from ..hand import rotations as rot
from .closest_points import closest_points

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ON_EDGE = 1e-4
"""Barycentric coordinate below which a point is on an edge; with two of them, on a corner. Far above the rounding of
single precision, for small triangles too."""


TOUCHING = 1e-6
"""m from a surface, below which the direction out of it is that of its faces."""
MIN_FACING_COSINE = 0.9
"""Minimum cosine between the direction to an open surface and its normal: beside its edge nothing is inside it."""
MAX_SHELLS = 8
"""Maximum number of separate shells; further pieces of a surface count as one."""


@dataclass(frozen=True, slots=True, eq=False)
class MeshShell:
    """A connected piece of a triangulated surface with its bounding volume hierarchy."""

    vertices: Floats
    """(V, 3) m in the world, without duplicates."""
    triangles: Ints
    """(T, 3)"""
    closed: bool
    """Whether it has an inside: every edge belongs to two triangles at least."""
    middle: Floats
    """(3,) m"""
    tree: BVHTree
    """Relative to the middle: it has single precision, and the world's origin may be far away."""
    normals: Floats
    """(7, T, 3) outward angle-weighted pseudonormals of each triangle, its edges (opposite the corners 0, 1, 2) and its
    corners, for the distance's sign (Bærentzen & Aanæs 2005)."""

    def nearest(self, points: Floats) -> tuple[Floats, Ints, Floats]:
        """Return the surface points (N, 3) m nearest to points (N, 3), their triangles (N,) and distances (N,) m."""
        find, offsets = self.tree.find_nearest, points - self.middle
        rows = np.array([find(point)[2] for point in offsets.tolist()], int)
        # Only which triangle is taken from it: numbers of single precision one by one would take most of the time.
        nearest_points = closest_points(offsets, self.vertices[self.triangles[rows]] - self.middle)
        return nearest_points + self.middle, rows, np.linalg.norm(offsets - nearest_points, axis=1)

    def distance(self, points: Floats) -> Floats:
        """Return signed distances (N,) m of points (N, 3), negative inside. An open surface has no inside."""
        nearest_points, rows, distances = self.nearest(points)
        if not self.closed:
            return distances
        inside = np.einsum("ni,ni->n", points - nearest_points, self._facing(nearest_points, rows)) < 0
        return np.where(inside, -distances, distances)

    def nearest_facing(self, points: Floats, outside: Floats) -> tuple[Floats, Floats, Floats]:
        """Return surface points (N, 3) m nearest to points (N, 3), directions out of the surface there (N, 3), and
        signed distances (N,) m.

        outside: (3,) a point beside an open surface, on the side that is out of it. Beside its edge is out of it, too.
        """
        nearest_points, rows, distances = self.nearest(points)
        normals, offsets = self._facing(nearest_points, rows), points - nearest_points
        if not self.closed:
            point, row, _ = self.nearest(outside[None])
            normals = normals * (1.0 if (outside - point[0]) @ self._facing(point, row)[0] >= 0 else -1.0)
        along = np.einsum("ni,ni->n", offsets, normals)
        inside = along < 0 if self.closed else along < -MIN_FACING_COSINE * distances
        signed = np.where(inside, -distances, distances)
        outwards = np.where(
            distances[:, None] > TOUCHING, offsets / np.where(signed == 0.0, 1.0, signed)[:, None], normals
        )
        return nearest_points, outwards / np.maximum(np.linalg.norm(outwards, axis=1, keepdims=True), 1e-12), signed

    def _facing(self, nearest_points: Floats, rows: Ints) -> Floats:
        """Return the pseudonormals (N, 3) at surface points (N, 3) on triangles (N,)."""
        a, b, c = np.moveaxis(self.vertices[self.triangles[rows]], 1, 0)
        whole = np.cross(b - a, c - a)
        size = np.maximum((whole * whole).sum(axis=1), 1e-300)
        fractions = np.stack(
            [(np.cross(q - p, nearest_points - p) * whole).sum(axis=1) / size for p, q in ((b, c), (c, a), (a, b))], -1
        )
        near = fractions < ON_EDGE
        count = near.sum(axis=1)
        which = np.where(count == 0, 0, np.where(count == 1, 1 + near.argmax(axis=1), 4 + fractions.argmax(axis=1)))
        return self.normals[which, rows]


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """A triangulated surface of shells that may intersect, as a mug's handle ends inside its wall.

    A point is inside if it is inside one of them.
    """

    vertices: Floats
    """(V, 3) m in the world, without duplicates."""
    triangles: Ints
    """(T, 3)"""
    shells: tuple[MeshShell, ...]

    @property
    def closed(self) -> bool:
        """Whether it has an inside."""
        return all(shell.closed for shell in self.shells)

    def distance(self, points: Floats) -> Floats:
        """Return signed distances (N,) m of points (N, 3), negative inside, where the true depth may be larger."""
        min_distances: Floats = np.min([shell.distance(points) for shell in self.shells], axis=0)
        return min_distances

    def nearest_facing(self, points: Floats, outside: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the same of the shell that each point is deepest in, or nearest to; see MeshShell."""
        found = [shell.nearest_facing(points, outside) for shell in self.shells]
        deepest = np.argmin([signed for _, _, signed in found], axis=0)
        rows = np.arange(len(points))
        nearest_points, outwards, signed = (np.stack(rows_of)[deepest, rows] for rows_of in zip(*found, strict=True))
        return nearest_points, outwards, signed

    def nearest(self, point: Floats) -> Floats:
        """Return the surface point (3,) m nearest to a point (3,)."""
        found = [shell.nearest(point[None]) for shell in self.shells]
        nearest: Floats = min(found, key=lambda answer: float(answer[2][0]))[0][0]
        return nearest

    def outwards(self, point: Floats) -> Floats:
        """Return the unit vector (3,) from a point (3,) inside towards the nearest surface."""
        return rot.unit_vector(self.nearest(point) - point)


def solid_of(obj: "Object") -> Solid:
    """Return the evaluated mesh of an object in the world. Raises RigError for an object without a surface."""
    vertices, triangles = evaluated_mesh(obj)
    if not len(triangles):
        raise RigError(f"'{obj.name}' has no surface to hold, choose a mesh object with faces")
    if not np.isfinite(vertices).all():
        raise RigError(f"'{obj.name}' has vertices whose positions are not finite, so that it cannot be held")
    size = float(np.ptp(vertices, axis=0).max())
    if size > 0:
        vertices, triangles = _merged(vertices, triangles, 1e-7 * size)
    if not size or not len(triangles):
        raise RigError(f"'{obj.name}' has no extent, choose a mesh object with a surface")
    return Solid(vertices, triangles, tuple(_shell(vertices, rows) for rows in _shells(vertices, triangles)))


def _shell(vertices: Floats, triangles: Ints) -> MeshShell:
    closed = _is_closed(triangles)
    if closed and _volume(vertices, triangles) < 0:
        triangles = triangles[:, ::-1]
    used, rows = np.unique(triangles, return_inverse=True)
    points, triangles = vertices[used], rows.reshape(-1, 3)
    middle: Floats = (points.min(axis=0) + points.max(axis=0)) / 2
    tree = BVHTree.FromPolygons((points - middle).tolist(), triangles.tolist(), all_triangles=True)
    return MeshShell(points, triangles, closed, middle, tree, _normals(points, triangles))


def _shells(vertices: Floats, triangles: Ints) -> list[Ints]:
    """Return the triangles of each shell: a connected piece with the hollows in it, whose normals are reversed.

    All open pieces are one shell.
    """
    piece = _pieces(triangles, len(vertices))
    parts = [triangles[piece == label] for label in np.unique(piece)]
    opened = [rows for rows in parts if not _is_closed(rows)]
    closed = sorted((rows for rows in parts if _is_closed(rows)), key=lambda rows: -abs(_volume(vertices, rows)))
    shells: list[list[Ints]] = []
    for rows in closed:
        around = next((shell for shell in shells if _is_hollow_in(vertices, rows, shell[0])), None)
        if around is None:
            shells.append(around := [])
        around.append(rows)
    apart, rest = shells[: MAX_SHELLS - 1], [rows for shell in shells[MAX_SHELLS - 1 :] for rows in shell]
    return [np.concatenate(rows) for rows in (*apart, rest, opened) if rows]


def _pieces(triangles: Ints, count: int) -> Ints:
    """Return labels (T,) of connected triangles; count: number of vertices."""
    label = np.arange(count)
    while True:
        min_label = label.copy()
        np.minimum.at(min_label, triangles.reshape(-1), np.repeat(label[triangles].min(axis=1), 3))
        min_label = min_label[min_label]
        if np.array_equal(min_label, label):
            return label[triangles[:, 0]]
        label = min_label


def _is_hollow_in(vertices: Floats, inner: Ints, outer: Ints) -> bool:
    """Return whether a closed piece is inside the bounding box of a larger one and has reversed normals."""
    within, around = vertices[np.unique(inner)], vertices[np.unique(outer)]
    boxed = bool(np.all(within.min(axis=0) > around.min(axis=0)) and np.all(within.max(axis=0) < around.max(axis=0)))
    return boxed and _volume(vertices, inner) * _volume(vertices, outer) < 0


def _volume(vertices: Floats, triangles: Ints) -> float:
    """Return six times the volume in m³; negative for inward normals."""
    corners = vertices[triangles]
    corners = corners - corners[0, 0]
    return float(np.einsum("ti,ti->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])))


def evaluated_mesh(obj: "Object") -> tuple[Floats, Ints]:
    """Return the vertices (V, 3) m in the world of an object's evaluated mesh, and its triangles (T, 3)."""
    vertices, triangles = evaluated_shape(obj)
    world = np.array(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world)
    flipped = np.linalg.det(world[:3, :3]) < 0
    return vertices @ world[:3, :3].T + world[:3, 3], triangles[:, ::-1] if flipped else triangles


def evaluated_shape(obj: "Object") -> tuple[Floats, Ints]:
    """Return the vertices (V, 3) of an object's evaluated mesh in its own coordinates, and its triangles (T, 3)."""
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    try:
        mesh = evaluated.to_mesh()
    except RuntimeError:
        mesh = None
    if mesh is None:
        return np.zeros((0, 3)), np.zeros((0, 3), int)
    try:
        mesh.calc_loop_triangles()
        points = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.vertices.foreach_get("co", points)
        rows = np.empty(3 * len(mesh.loop_triangles), np.int32)
        mesh.loop_triangles.foreach_get("vertices", rows)
    finally:
        evaluated.to_mesh_clear()
    return points.reshape(-1, 3).astype(float), rows.reshape(-1, 3).astype(np.int64)


def _merged(vertices: Floats, triangles: Ints, near: float) -> tuple[Floats, Ints]:
    """Merge vertices by distance and remove the triangles that have no area then."""
    cells = np.round((vertices - vertices.min(axis=0)) / near).astype(np.int64)
    _, first, inverse = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    rows = inverse.reshape(-1)[triangles]
    whole = (rows[:, 0] != rows[:, 1]) & (rows[:, 1] != rows[:, 2]) & (rows[:, 2] != rows[:, 0])
    return vertices[first], rows[whole]


def _is_closed(triangles: Ints) -> bool:
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    _, counts = np.unique(edges[:, 0] * (triangles.max() + 1) + edges[:, 1], return_counts=True)
    return bool(np.all(counts > 1))


def _normals(vertices: Floats, triangles: Ints) -> Floats:
    """Return MeshShell.normals. At a corner, each triangle is weighted by its angle there."""
    corners = vertices[triangles]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    face = cross / np.maximum(np.linalg.norm(cross, axis=1, keepdims=True), 1e-300)
    at_vertex = np.zeros_like(vertices)
    for k in range(3):
        a, b = corners[:, (k + 1) % 3] - corners[:, k], corners[:, (k + 2) % 3] - corners[:, k]
        angle = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), (a * b).sum(axis=1))
        np.add.at(at_vertex, triangles[:, k], angle[:, None] * face)
    edges = np.sort(np.stack([triangles[:, [1, 2]], triangles[:, [2, 0]], triangles[:, [0, 1]]]), axis=-1)
    keys = edges[..., 0] * len(vertices) + edges[..., 1]
    _, row = np.unique(keys, return_inverse=True)
    row = row.reshape(3, -1)
    at_edge = np.zeros((row.max() + 1, 3))
    np.add.at(at_edge, row.reshape(-1), np.tile(face, (3, 1)))
    return np.concatenate([face[None], at_edge[row], np.moveaxis(at_vertex[triangles], 1, 0)])
