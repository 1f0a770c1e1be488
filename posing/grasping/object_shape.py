"""Classification of an object for grasping: ball, bar or block, from its triangulated surface."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ...hand import rotations as rot

Floats = NDArray[np.float64]
Kind = Literal["ball", "bar", "block"]

MAX_AXIS_MISFIT = 0.3
"""Maximum misfit of the normals of a surface of revolution, see _axis_misfit; a hexagonal pencil has 0.22."""
MIN_SIDE_FRACTION = 0.2
"""Minimum fraction of a surface of revolution that faces away from its axis; otherwise a plate would fit any axis along
its normal."""
MIN_FACING_SINE = 0.3
"""Minimum sine of the angle between normal and axis of a surface that faces away from the axis."""
BALL_TOLERANCE = 0.08
"""Greatest rms deviation of a ball's radius, as a fraction of the radius."""
PIECES = 1500
"""Approximate number of pieces into which a surface is cut, so that large faces are sampled all over."""
MAX_PIECES = 4 * PIECES
"""Maximum number of pieces; if there are more, a selection is used."""
MAX_CUTS = 16
"""Maximum number of pieces along a triangle's side."""
OUTLIER_FRACTION = 0.25
"""Fraction of the surface that may not fit the shape, such as a mug's handle."""
REWEIGHTINGS = 12
"""Number of reweighted fits of an axis."""
SLAB_HALF_HEIGHT = 0.15
"""Half the height of a slab in which a thickness is measured, as a fraction of the length."""


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """A surface in N small pieces."""

    points: Floats
    """(N, 3) m"""
    normals: Floats
    """(N, 3) unit vectors, outwards."""
    areas: Floats
    """(N,) m²"""
    corners: Floats
    """(V, 3) m, the corners of its triangles."""


@dataclass(frozen=True, slots=True, eq=False)
class GraspShape:
    """The shape of an object as a hand grasps it."""

    kind: Kind
    centre: Floats
    """(3,) m, the middle of the axis."""
    axes: Floats
    """(3, 3) unit rows, right-handed: the axis (a block's longest side), then the wider of two perpendicular to it."""
    extents: Floats
    """(3,) m, extents along the axes."""
    surface: Surface

    @property
    def length(self) -> float:
        """m, along its axis."""
        return float(self.extents[0])

    def thickness(self, along: float = 0.0, direction: Floats | None = None) -> float:
        """Return the thickness (m) at `along` m from the centre on the axis: along `across` (3,), or the diameter."""
        offsets = self.surface.points - self.centre
        positions = offsets @ self.axes[0]
        in_slab = np.abs(positions - along) <= max(
            SLAB_HALF_HEIGHT * self.length, np.abs(positions - along).min() * (1 + 1e-9)
        )
        if direction is not None:
            side = offsets[in_slab] @ direction
            return float(np.ptp(side))
        if self.kind == "block":
            return float(self.extents[2])
        radial = offsets[in_slab] - positions[in_slab, None] * self.axes[0]
        radii = np.linalg.norm(radial, axis=1)
        facing_out = np.einsum("ni,ni->n", radial, self.surface.normals[in_slab]) > 0.5 * radii
        used = radii[facing_out] if facing_out.any() else radii
        return 2.0 * _weighted_median(
            used, self.surface.areas[in_slab][facing_out] if facing_out.any() else self.surface.areas[in_slab]
        )

    def thickness_about(self, axis: int, along: float = 0.0) -> float:
        """Return the least thickness (m) across one of the axes, at `along` m from the centre on it."""
        return float(np.delete(self.extents, axis).min()) if self.kind == "block" else self.thickness(along)

    def extents_along(self, directions: Floats) -> Floats:
        """Return the extents (N,) m of a block along directions (N, 3); of other shapes, the thickness."""
        if self.kind == "block":
            extents: Floats = np.abs(directions @ self.axes.T) @ self.extents
            return extents
        return np.full(len(directions), self.thickness())


def surface_of(vertices: Floats, triangles: NDArray[np.int64]) -> Surface:
    """Return the surface of triangles (T, 3) over vertices (V, 3) m, without those of no area.

    Raises HandError if none has an area.
    """
    corners = vertices[triangles]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    doubled_areas = np.linalg.norm(cross, axis=1)
    nonzero = doubled_areas > 0
    if not nonzero.any():
        raise HandError("the object has no surface to hold, expected a mesh with faces")
    corners, doubled_areas = corners[nonzero], doubled_areas[nonzero]
    normals = cross[nonzero] / doubled_areas[:, None]
    cuts = np.clip(np.ceil(np.sqrt(doubled_areas / doubled_areas.sum() * PIECES)), 1, MAX_CUTS).astype(int)
    points, rows = [], []
    for cut in np.unique(cuts):
        rows_of_cut = np.flatnonzero(cuts == cut)
        middles = _middles(int(cut))
        points.append(np.einsum("mk,tkx->tmx", middles, corners[rows_of_cut]).reshape(-1, 3))
        rows.append(np.repeat(rows_of_cut, len(middles)))
    all_points, row = np.concatenate(points), np.concatenate(rows)
    # Very many triangles are subsampled.
    sampled = slice(None, None, max(1, len(row) // MAX_PIECES))
    row, positions = row[sampled], all_points[sampled]
    whole = vertices[np.unique(triangles[nonzero])]
    return Surface(positions, normals[row], 0.5 * doubled_areas[row] / cuts[row] ** 2, whole)


def _middles(cut: int) -> Floats:
    """Return barycentric centres (cut², 3) of the equal pieces of a triangle whose sides are cut into `cut` parts."""
    rows = []
    for i in range(cut):
        for j in range(cut - i):
            rows.append((i + 1 / 3, j + 1 / 3))
            if i + j < cut - 1:
                rows.append((i + 2 / 3, j + 2 / 3))
    uv = np.array(rows) / cut
    return np.column_stack([1 - uv.sum(axis=1), uv])


def shape_of(surface: Surface) -> GraspShape:
    """Classify a surface.

    The normals of a surface of revolution all meet its axis: they belong to the linear complex of the rotations about
    it (Pottmann & Randrup 1998). Parts that do not fit, such as a handle or a spout, are weighted down.
    """
    centre = np.average(surface.points, axis=0, weights=surface.areas)
    size = float(np.sqrt(np.average(((surface.points - centre) ** 2).sum(axis=1), weights=surface.areas)))
    if ball := _ball(surface, centre, size):
        return ball
    axis, point, miss = _revolution(surface, centre, size)
    if miss <= MAX_AXIS_MISFIT:
        return _about("bar", surface, axis, point)
    return _block(surface, centre)


def _ball(surface: Surface, centre: Floats, size: float) -> GraspShape | None:
    """Return a ball by least squares, |x|² = 2 c·x + (r² - |c|²); None if it does not fit."""
    centred = (surface.points - centre) / size
    weights = np.sqrt(surface.areas)
    rows = np.concatenate([2 * centred, np.ones((len(centred), 1))], axis=1) * weights[:, None]
    solved, *_ = np.linalg.lstsq(rows, (centred**2).sum(axis=1) * weights, rcond=None)
    distances = np.linalg.norm(centred - solved[:3], axis=1)
    radius = float(np.average(distances, weights=surface.areas))
    miss = float(np.sqrt(np.average((distances - radius) ** 2, weights=surface.areas)))
    # A ball needs a surface all around; a cap is a bowl.
    if miss > BALL_TOLERANCE * radius or np.linalg.norm(solved[:3]) > 0.5 * radius:
        return None
    middle = centre + size * solved[:3]
    extent = 2.0 * float(np.linalg.norm(surface.corners - middle, axis=1).max())
    return GraspShape("ball", middle, np.eye(3), np.full(3, extent), surface)


def _revolution(surface: Surface, centre: Floats, size: float) -> tuple[Floats, Floats, float]:
    """Return the best axis of revolution (3,), a point (3,) m on it, and the misfit of the normals, see _axis_misfit.

    An infinitesimal rotation (a, c̄) moves a point p by c̄ + a × p. On a surface that it maps onto itself this is
    perpendicular to the normal n: n·c̄ + a·(p × n) = 0. Least squares for |a| = 1, with c̄ eliminated.
    """
    centred = (surface.points - centre) / size
    lines = np.concatenate([np.cross(centred, surface.normals), surface.normals], axis=1)
    weights = surface.areas / surface.areas.sum()
    reweighted = weights
    axis, moment = np.array([0.0, 0.0, 1.0]), np.zeros(3)
    for _ in range(REWEIGHTINGS):
        moments = np.einsum("n,ni,nj->ij", reweighted, lines, lines)
        eliminated = moments[:3, 3:] @ np.linalg.pinv(moments[3:, 3:], rcond=1e-6)
        axis = np.linalg.eigh(moments[:3, :3] - eliminated @ moments[3:, :3])[1][:, 0]
        moment = -eliminated.T @ axis
        miss = np.abs(lines @ np.concatenate([axis, moment]))
        median_miss = max(_weighted_median(miss, weights), 0.01)
        reweighted = weights / (1.0 + (miss / (2.0 * median_miss)) ** 2) ** 2
    return (
        axis,
        centre + size * np.cross(axis, moment),
        _axis_misfit(surface, weights, axis, centre + size * np.cross(axis, moment)),
    )


def _axis_misfit(surface: Surface, weights: Floats, axis: Floats, point: Floats) -> float:
    """Return the rms sine of the angle, seen along the axis, by which normals miss the axis.

    It is taken over the part of the surface that faces away from the axis, without outliers; infinite if that part is
    too small.
    """
    radial = surface.points - point
    radial = radial - (radial @ axis)[:, None] * axis
    across = surface.normals - (surface.normals @ axis)[:, None] * axis
    facing, radii = np.linalg.norm(across, axis=1), np.linalg.norm(radial, axis=1)
    facing_away = (facing > MIN_FACING_SINE) & (radii > 0)
    if weights[facing_away].sum() < MIN_SIDE_FRACTION:
        return np.inf
    miss = np.abs(np.cross(across[facing_away], radial[facing_away]) @ axis) / (
        facing[facing_away] * radii[facing_away]
    )
    order = np.argsort(miss)
    total = np.cumsum(weights[facing_away][order])
    inliers = order[total <= (1.0 - OUTLIER_FRACTION) * total[-1]]
    return (
        float(np.sqrt(np.average(miss[inliers] ** 2, weights=weights[facing_away][inliers])))
        if len(inliers)
        else np.inf
    )


def _about(kind: Kind, surface: Surface, axis: Floats, point: Floats) -> GraspShape:
    """Return the shape of a bar about an axis."""
    offsets = surface.points - point
    across = offsets - (offsets @ axis)[:, None] * axis
    spread = across[np.linalg.norm(across, axis=1).argmax()]
    wide = rot.unit_vector(spread - (spread @ axis) * axis)
    axes = np.stack([axis, wide, np.cross(axis, wide)])
    corners = (surface.corners - point) @ axes.T
    low, high = corners.min(axis=0), corners.max(axis=0)
    return GraspShape(kind, point + 0.5 * (low + high)[0] * axis, axes, high - low, surface)


def _block(surface: Surface, centre: Floats) -> GraspShape:
    """Return the block whose sides are normal to the two commonest normals of the surface; the longest axis first."""
    first = _commonest_normal(surface.normals, surface.areas)
    across = surface.normals - (surface.normals @ first)[:, None] * first
    sine = np.linalg.norm(across, axis=1)
    seen = sine > MIN_FACING_SINE
    second = (
        _commonest_normal(across[seen] / sine[seen, None], surface.areas[seen])
        if seen.any()
        else rot.perpendicular(first)
    )
    second = rot.unit_vector(second - (second @ first) * first)
    axes = np.stack([first, second, np.cross(first, second)])
    corners = (surface.corners - centre) @ axes.T
    low, high = corners.min(axis=0), corners.max(axis=0)
    order = np.argsort(-(high - low), kind="stable")
    sorted_axes = axes[order]
    sorted_axes[2] = np.cross(sorted_axes[0], sorted_axes[1])
    return GraspShape("block", centre + 0.5 * (low + high) @ axes, sorted_axes, (high - low)[order], surface)


def _commonest_normal(normals: Floats, areas: Floats) -> Floats:
    """Return the commonest normal (3,) of a surface, up to sign."""
    step = max(1, len(normals) // 400)
    alike = ((normals[::step] @ normals.T) ** 16) @ areas
    normal: Floats = normals[::step][alike.argmax()]
    return normal


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, 0.5 * total[-1])])
