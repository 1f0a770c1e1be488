"""A deforming surface, tracked near a hand: it must move rigidly there, or the hand cannot stay on it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ....errors import RigError
from ....hand import rotations as rot
from ...closest_points import barycentric, closest_points
from ...solid_mesh import Solid, evaluated_shape

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POSITION_TOLERANCE = 1e-6
"""m, maximum displacement of a vertex that counts as unmoved."""
MAX_BEND = 0.7e-3
"""m by which the surface may bend where a hand stays on it. The documentation promises 1 mm."""
DEFORMING_PARENTS = ("ARMATURE", "LATTICE")
"""Types of parenting that deform children without a modifier."""


@dataclass(frozen=True, slots=True, eq=False)
class Shapes:
    """A mesh that deforms, over F frames."""

    vertices: Floats
    """(F, V, 3) m in the world."""
    triangles: Ints
    """(T, 3)"""

    def followed(self, positions: Floats, middle: int, name: str) -> Floats:
        """Return the motion (F, 4, 4) in the world of the surface around some positions, relative to a middle frame.

        positions: (N, 3) m, on the surface in that frame, not all on a line. Raises RigError if it bends there.
        """
        corners = self.vertices[middle][self.triangles]
        rows = np.array([_triangle_at(corners, position) for position in positions])
        fractions = barycentric(positions, corners[rows])
        points = np.einsum("nk,fnki->fni", fractions, self.vertices[:, self.triangles[rows]])
        start, motions = points[middle], np.tile(np.eye(4), (len(points), 1, 1))
        centred = start - start.mean(axis=0)
        for motion, moved_points in zip(motions, points, strict=True):
            motion[:3, :3] = rot.nearest_rotation((moved_points - moved_points.mean(axis=0)).T @ centred)
            motion[:3, 3] = moved_points.mean(axis=0) - motion[:3, :3] @ start.mean(axis=0)
        moved = start @ motions[:, :3, :3].swapaxes(1, 2) + motions[:, None, :3, 3]
        bend = float(np.linalg.norm(moved - points, axis=-1).max())
        if bend > MAX_BEND:
            raise RigError(
                f"'{name}' bends by {1e3 * bend:.1f} mm where the hand is in these frames, expected at most "
                f"{1e3 * MAX_BEND:.1f} mm: choose fewer digits, or a shorter range"
            )
        return motions


@dataclass(frozen=True, slots=True, eq=False)
class DeformedShape:
    """An object's mesh on one frame."""

    vertices: Floats
    """(V, 3) in the object's coordinates."""
    triangles: Ints
    """(T, 3)"""

    @classmethod
    def of(cls, obj: "Object") -> "DeformedShape | None":
        """Return an object's evaluated mesh if it may differ between frames."""
        return cls(*evaluated_shape(obj)) if may_deform(obj) else None

    def shared(self, other: "DeformedShape | None") -> "DeformedShape":
        """Return `other` if both are equal, so that a large mesh that keeps its shape is stored once for all frames."""
        if other is None or not np.array_equal(self.triangles, other.triangles):
            return self
        return other if np.array_equal(self.vertices, other.vertices) else replace(self, triangles=other.triangles)


def may_deform(obj: "Object") -> bool:
    """Return whether an object's mesh may differ between frames."""
    data = obj.data
    by_parent = obj.parent is not None and obj.parent_type in DEFORMING_PARENTS
    return bool(len(obj.modifiers) or getattr(data, "shape_keys", None) or data.animation_data or by_parent)


def shapes_of(shapes: list[DeformedShape], middle: int, worlds: Floats, name: str) -> Shapes | None:
    """Return the meshes of an object on F frames; None if it keeps its shape.

    worlds: (F, 4, 4) T_world_object. Raises RigError if the number of vertices differs between frames.
    """
    if all(shape is shapes[middle] for shape in shapes):
        return None
    # The triangulation of a face that is not flat may change with its shape.
    triangles, counts = shapes[middle].triangles, [len(shape.vertices) for shape in shapes]
    if min(counts) != max(counts):
        raise RigError(
            f"'{name}' has {min(counts)} to {max(counts)} vertices in these frames, and nothing can stay on it: "
            "expected the same number in all of them"
        )
    own = np.stack([shape.vertices for shape in shapes])
    vertices = own @ worlds[:, :3, :3].swapaxes(1, 2) + worlds[:, None, :3, 3]
    moved = (own - own[middle]) @ worlds[middle, :3, :3].T
    return Shapes(vertices, triangles) if np.abs(moved).max() > POSITION_TOLERANCE else None


def _triangle_at(corners: Floats, position: Floats) -> int:
    """Return the index of the triangle, of (T, 3, 3), nearest to a position (3,)."""
    nearest = closest_points(np.broadcast_to(position, (len(corners), 3)), corners)
    return int(((nearest - position) ** 2).sum(axis=1).argmin())


def positions_about(solid: Solid, points: Floats) -> Floats:
    """Return the points (N, 3) m of a surface nearest to the given points (N, 3)."""
    return np.array([solid.nearest(point) for point in points])
