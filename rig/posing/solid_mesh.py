"""The evaluated mesh of an object as a solid: its triangles in the world, and how far from its surface places are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
import numpy as np
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from ...errors import RigError
from ...hand import rotations as rot

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ON_EDGE = 1e-4
"""A foot whose barycentric coordinate is less is on an edge; with two of them, on a corner. Far above what single
precision leaves, of small triangles too."""


MOST = 8
"""So many pieces of a surface are looked at each for itself; what is left of more counts as one."""


@dataclass(frozen=True, slots=True, eq=False)
class Shell:
    """A piece of a triangulated surface, and the tree of its bounding volumes."""

    vertices: Floats
    """(V, 3) m in the world; none twice in one place."""
    triangles: Ints
    """(T, 3)"""
    closed: bool
    """Whether it has an inside: no edge belongs to one triangle only."""
    middle: Floats
    """(3,) m"""
    tree: BVHTree
    """Of the places beside the middle: it is in single precision, and the world's origin may be far."""
    normals: Floats
    """(7, T, 3) outwards, as the distance's sign needs them: of each triangle, across its edges (opposite the corners
    0, 1, 2), at its corners. Bærentzen & Aanæs 2005."""

    def nearest(self, points: Floats) -> tuple[Floats, Ints, Floats]:
        """(N, 3) m the places that are nearest to points (N, 3), (N,) on which triangles, and (N,) m how far."""
        hits = [self.tree.find_nearest(point) for point in (points - self.middle).tolist()]
        feet = np.array([hit[0] for hit in hits], float).reshape(-1, 3) + self.middle
        return feet, np.array([hit[2] for hit in hits], int), np.array([hit[3] for hit in hits], float)

    def distance(self, points: Floats) -> Floats:
        """(N,) m from the surface at points (N, 3), below 0 inside. Of an open surface nothing is inside."""
        feet, rows, far = self.nearest(points)
        if not self.closed:
            return far
        inside = np.einsum("ni,ni->n", points - feet, self._facing(feet, rows)) < 0
        return np.where(inside, -far, far)

    def _facing(self, feet: Floats, rows: Ints) -> Floats:
        """(N, 3) the normals of the feet (N, 3) of perpendiculars on triangles."""
        a, b, c = np.moveaxis(self.vertices[self.triangles[rows]], 1, 0)
        whole = np.cross(b - a, c - a)
        size = np.maximum((whole * whole).sum(axis=1), 1e-300)
        shares = np.stack(
            [(np.cross(q - p, feet - p) * whole).sum(axis=1) / size for p, q in ((b, c), (c, a), (a, b))], -1
        )
        near = shares < ON_EDGE
        count = near.sum(axis=1)
        which = np.where(count == 0, 0, np.where(count == 1, 1 + near.argmax(axis=1), 4 + shares.argmax(axis=1)))
        return self.normals[which, rows]


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """A triangulated surface of pieces that may go into each other, as a mug's handle ends inside its wall: a place is
    inside where it is inside of one of them."""

    vertices: Floats
    """(V, 3) m in the world; none twice in one place."""
    triangles: Ints
    """(T, 3)"""
    shells: tuple[Shell, ...]

    @property
    def closed(self) -> bool:
        """Whether it has an inside."""
        return all(shell.closed for shell in self.shells)

    def distance(self, points: Floats) -> Floats:
        """(N,) m from the surface at points (N, 3), below 0 inside: there at least as deep as it says."""
        least: Floats = np.min([shell.distance(points) for shell in self.shells], axis=0)
        return least

    def nearest(self, point: Floats) -> Floats:
        """(3,) m, the place of the surface that is nearest to a point (3,)."""
        found = [shell.nearest(point[None]) for shell in self.shells]
        place: Floats = min(found, key=lambda one: float(one[2][0]))[0][0]
        return place

    def outwards(self, point: Floats) -> Floats:
        """(3,) unit, the shortest way out of it from a point (3,) inside."""
        return rot.unit_vector(self.nearest(point) - point)


def solid_of(obj: "Object") -> Solid:
    """The mesh of an object as its modifiers leave it, in the world.

    Raises RigError for an object without a surface.
    """
    vertices, triangles = _evaluated(obj)
    if not len(triangles):
        raise RigError(f"'{obj.name}' has no surface to hold, choose a mesh object with faces")
    if not np.isfinite(vertices).all():
        raise RigError(f"'{obj.name}' has vertices whose places are not finite numbers, nothing can hold it")
    size = float(np.ptp(vertices, axis=0).max())
    if size > 0:
        vertices, triangles = _merged(vertices, triangles, 1e-7 * size)
    if not size or not len(triangles):
        raise RigError(f"'{obj.name}' has no extent, choose a mesh object with a surface")
    return Solid(vertices, triangles, tuple(_shell(vertices, rows) for rows in _shells(vertices, triangles)))


def _shell(vertices: Floats, triangles: Ints) -> Shell:
    closed = _is_closed(triangles)
    if closed and _volume(vertices, triangles) < 0:
        triangles = triangles[:, ::-1]
    used, rows = np.unique(triangles, return_inverse=True)
    places, triangles = vertices[used], rows.reshape(-1, 3)
    middle: Floats = (places.min(axis=0) + places.max(axis=0)) / 2
    tree = BVHTree.FromPolygons((places - middle).tolist(), triangles.tolist(), all_triangles=True)
    return Shell(places, triangles, closed, middle, tree, _normals(places, triangles))


def _shells(vertices: Floats, triangles: Ints) -> list[Ints]:
    """The triangles of each shell: what is connected; with it what is hollow in it, whose normals face the other way.
    What is open is one."""
    piece = _pieces(triangles, len(vertices))
    each = [triangles[piece == one] for one in np.unique(piece)]
    opened = [rows for rows in each if not _is_closed(rows)]
    closed = sorted((rows for rows in each if _is_closed(rows)), key=lambda rows: -abs(_volume(vertices, rows)))
    shells: list[list[Ints]] = []
    for rows in closed:
        around = next((shell for shell in shells if _is_hollow_in(vertices, rows, shell[0])), None)
        if around is None:
            shells.append(around := [])
        around.append(rows)
    apart, rest = shells[: MOST - 1], [rows for shell in shells[MOST - 1 :] for rows in shell]
    return [np.concatenate(rows) for rows in (*apart, rest, opened) if rows]


def _pieces(triangles: Ints, count: int) -> Ints:
    """(T,) alike for triangles that hang together, of so many vertices."""
    label = np.arange(count)
    while True:
        least = label.copy()
        np.minimum.at(least, triangles.reshape(-1), np.repeat(label[triangles].min(axis=1), 3))
        least = least[least]
        if np.array_equal(least, label):
            return label[triangles[:, 0]]
        label = least


def _is_hollow_in(vertices: Floats, inner: Ints, outer: Ints) -> bool:
    """Whether a closed piece, within the box of a larger one, faces the other way."""
    within, around = vertices[np.unique(inner)], vertices[np.unique(outer)]
    boxed = bool(np.all(within.min(axis=0) > around.min(axis=0)) and np.all(within.max(axis=0) < around.max(axis=0)))
    return boxed and _volume(vertices, inner) * _volume(vertices, outer) < 0


def _volume(vertices: Floats, triangles: Ints) -> float:
    """m³, six times; below 0 where the normals face inwards."""
    corners = vertices[triangles]
    corners = corners - corners[0, 0]
    return float(np.einsum("ti,ti->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])))


def _evaluated(obj: "Object") -> tuple[Floats, Ints]:
    graph = bpy.context.evaluated_depsgraph_get()
    evaluated = obj.evaluated_get(graph)
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
    world = np.array(evaluated.matrix_world)
    vertices: Floats = points.reshape(-1, 3).astype(float) @ world[:3, :3].T + world[:3, 3]
    triangles = rows.reshape(-1, 3).astype(np.int64)
    return vertices, triangles[:, ::-1] if np.linalg.det(world[:3, :3]) < 0 else triangles


def _merged(vertices: Floats, triangles: Ints, near: float) -> tuple[Floats, Ints]:
    """Vertices in one place made one, and without the triangles that have no area then."""
    cells = np.round((vertices - vertices.min(axis=0)) / near).astype(np.int64)
    _, first, back = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    rows = back.reshape(-1)[triangles]
    whole = (rows[:, 0] != rows[:, 1]) & (rows[:, 1] != rows[:, 2]) & (rows[:, 2] != rows[:, 0])
    return vertices[first], rows[whole]


def _is_closed(triangles: Ints) -> bool:
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    _, counts = np.unique(edges[:, 0] * (triangles.max() + 1) + edges[:, 1], return_counts=True)
    return bool(np.all(counts > 1))


def _normals(vertices: Floats, triangles: Ints) -> Floats:
    """See Solid.normals. At a corner each triangle counts as its angle there."""
    corners = vertices[triangles]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    face = cross / np.maximum(np.linalg.norm(cross, axis=1, keepdims=True), 1e-300)
    at_vertex = np.zeros_like(vertices)
    for k in range(3):
        one, other = corners[:, (k + 1) % 3] - corners[:, k], corners[:, (k + 2) % 3] - corners[:, k]
        angle = np.arctan2(np.linalg.norm(np.cross(one, other), axis=1), (one * other).sum(axis=1))
        np.add.at(at_vertex, triangles[:, k], angle[:, None] * face)
    edges = np.sort(np.stack([triangles[:, [1, 2]], triangles[:, [2, 0]], triangles[:, [0, 1]]]), axis=-1)
    keys = edges[..., 0] * len(vertices) + edges[..., 1]
    _, row = np.unique(keys, return_inverse=True)
    row = row.reshape(3, -1)
    at_edge = np.zeros((row.max() + 1, 3))
    np.add.at(at_edge, row.reshape(-1), np.tile(face, (3, 1)))
    return np.concatenate([face[None], at_edge[row], np.moveaxis(at_vertex[triangles], 1, 0)])
