"""The palm's pose in each frame from the markers on it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand import kinematics
from ...hand.marker_sets import Spot, on_palm
from ...hand.model import HandModel
from ...hand.rotations import nearest_rotation
from ...hand.scalar_math import ARRAY, SCALAR, N, NumberFunctions, Point
from ...hand.targets import Targets
from ..chunks import for_each_chunk
from ..solver import hold_last

Floats = NDArray[np.float64]
Matrix = tuple[Point[N], Point[N], Point[N]]
"""A 3x3 matrix."""


@dataclass(frozen=True, slots=True, eq=False)
class PalmMarkers:
    """The targets that are fixed to the palm."""

    columns: list[int]
    """(P,) indices of the targets."""
    rest_positions: Floats
    """(P, 3) m in the wrist's frame."""
    rest_points: list[Point[float]]
    """The rest positions as floats."""
    determines_rotation: bool
    """Whether all targets together determine the palm's rotation."""

    def roots(self, targets: Targets, last: Floats) -> Floats:
        """Fit the palm to its markers.

        Three or more markers that are not in a line determine the palm's pose by least squares; for three this is the
        plane of FABRIK-CGA (3.2). With fewer the palm keeps its last rotation and follows them; with none it stays.

        Args:
            targets: F frames.
            last: (4, 4) T_world_wrist of the frame before the first.

        Returns:
            (F, 4, 4) T_world_wrist; (1, 4, 4), `last`, if no target is on the palm.
        """
        if not self.columns:
            return last[None]
        weights = targets.weights[:, self.columns]
        if self.determines_rotation and len(targets) == 1 and weights.min() > 0:
            return _fit_root(self, targets.positions[0, self.columns].tolist(), weights[0].tolist())
        if self.determines_rotation and weights.all():
            roots = np.empty((len(targets), 4, 4))

            def fit(chunk: slice) -> None:
                roots[chunk] = fit_roots(self, targets.positions[chunk, self.columns], weights[chunk])

            for_each_chunk(len(targets), fit)
            return roots
        positions = np.where(weights[..., None] > 0, targets.positions[:, self.columns], 0.0)
        is_determined = spans_a_plane(self.rest_positions, weights)
        roots = np.broadcast_to(last, (len(targets), 4, 4)).copy()
        if is_determined.any():
            roots[is_determined] = fit_roots(self, positions[is_determined], weights[is_determined])
        roots = hold_last(roots, is_determined, last)
        return follow_markers(roots, is_determined, self.rest_positions, positions, weights)


def palm_markers(hand: HandModel, sites: list[int]) -> PalmMarkers:
    """Find the sites that are fixed to the palm."""
    spots = [Spot(hand.joints[hand.sites[site].joint], hand.sites[site].offset) for site in sites]
    columns = [column for column, spot in enumerate(spots) if on_palm(spot)]
    rest_pose = kinematics.Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs)))
    positions = kinematics.site_positions(hand, kinematics.joint_frames(hand, rest_pose))[0]
    rest_positions = positions[[sites[column] for column in columns]]
    determines_rotation = bool(spans_a_plane(rest_positions, np.ones((1, len(columns))))[0])
    return PalmMarkers(
        columns, rest_positions, [tuple(point) for point in rest_positions.tolist()], determines_rotation
    )


def _fit_root(palm: PalmMarkers, positions: list[list[float]], weights: list[float]) -> Floats:
    """Fit the root (1, 4, 4) of one frame to positions (P, 3) m with weights (P,)."""
    (a, b, c), (x, y, z) = fit_points(SCALAR, palm.rest_points, [(p[0], p[1], p[2]) for p in positions], weights)
    return np.array([[[*a, x], [*b, y], [*c, z], [0.0, 0.0, 0.0, 1.0]]])


def fit_roots(palm: PalmMarkers, positions: Floats, weights: Floats) -> Floats:
    """Fit the roots (F, 4, 4) to positions (F, P, 3) m with weights (F, P) by least squares."""
    points = [tuple(p.T) for p in np.swapaxes(positions, 0, 1)]
    return roots_from_elements(*fit_points(ARRAY, palm.rest_points, points, list(weights.T)))


def roots_from_elements(rotation: Matrix[Floats], translation: Point[Floats]) -> Floats:
    """Return T_world_wrist (F, 4, 4) from the elements (F,) of its rotation and translation."""
    roots = np.zeros((len(translation[0]), 4, 4))
    for i in range(3):
        for j in range(3):
            roots[:, i, j] = rotation[i][j]
        roots[:, i, 3] = translation[i]
    roots[:, 3, 3] = 1.0
    return roots


def fit_points(
    m: NumberFunctions[N], rest_points: list[Point[float]], positions: list[Point[N]], weights: list[N]
) -> tuple[Matrix[N], Point[N]]:
    """Return the rotation and translation that map points of the palm onto their observed positions by least squares.

    The rotation is arbitrary about the line of positions that are in a line.
    """
    zero = 0.0 * weights[0]
    total, rest_centroid, centroid = zero, [zero] * 3, [zero] * 3
    products = [[zero] * 3, [zero] * 3, [zero] * 3]
    for point, position, weight in zip(rest_points, positions, weights, strict=True):
        total = total + weight
        for i in range(3):
            weighted = weight * position[i]
            centroid[i] = centroid[i] + weighted
            rest_centroid[i] = rest_centroid[i] + weight * point[i]
            row = products[i]
            for j in range(3):
                row[j] = row[j] + weighted * point[j]
    rest_centroid, centroid = [x / total for x in rest_centroid], [x / total for x in centroid]
    spread = [[products[i][j] - total * centroid[i] * rest_centroid[j] for j in range(3)] for i in range(3)]
    rotation, _ = attitude(m, spread)
    translation = [
        centroid[i]
        - rotation[i][0] * rest_centroid[0]
        - rotation[i][1] * rest_centroid[1]
        - rotation[i][2] * rest_centroid[2]
        for i in range(3)
    ]
    return rotation, (translation[0], translation[1], translation[2])


NEWTON_STEPS = 6
ROTATION_TOLERANCE = 1e-10
"""Tolerance on the rotation's relative error after the last Newton step."""
RANK_TOLERANCE = 1e-6
"""Minimum divisor, relative to |B|³, at which B determines a rotation."""


def attitude(m: NumberFunctions[N], b: list[list[N]]) -> tuple[Matrix[N], Any]:
    """Return the rotation R that maximises tr(R Bᵀ), the least-squares rotation, and whether B determines it.

    B (3, 3) is the sum of weighted products of observed and reference vectors; if its rank is one or less, R is
    arbitrary. Markley, Attitude Determination Using Vector Observations: A Fast Optimal Matrix Algorithm (1993): with λ
    the greatest root of (λ² − |B|²)² − 8 λ det B − 4 |cof B|² = 0, found by Newton's method,
    R = ((λ² + |B|²) / 2 · B + λ cof B − B Bᵀ B) / (λ (λ² − |B|²) / 2 − det B).

    The divisor is (s₁ + s₂) (s₂ + s₃) (s₃ + s₁) for B's singular values, with s₃ < 0 if det B < 0. If s₂ + s₃ is near
    zero, two roots nearly coincide, Newton's method is slow, and R is computed from the singular values instead.
    """
    cof = [[_cofactor(b, i, j) for j in range(3)] for i in range(3)]
    square = sum((x * x for row in b for x in row), start=0.0 * b[0][0])
    squares = sum((x * x for row in cof for x in row), start=0.0 * b[0][0])
    det = b[0][0] * cof[0][0] + b[0][1] * cof[0][1] + b[0][2] * cof[0][2]
    # Exact for coplanar markers: then det B = 0.
    root = m.sqrt(square + 2 * m.sqrt(squares))
    minimum = RANK_TOLERANCE * square * m.sqrt(square)
    step = square
    for _ in range(NEWTON_STEPS):
        over = root * root - square
        slope = 4 * root * over - 8 * det
        steep = slope > minimum
        step = m.where(steep, (over * over - 8 * root * det - 4 * squares) / m.where(steep, slope, 1.0), 0.0)
        root = root - step
    over = (root * root - square) / 2
    scale = root * over - det
    degenerate = (scale <= minimum) | (abs(step) * square > ROTATION_TOLERANCE * scale)
    scale = 1.0 / m.where(degenerate, 1.0, scale)
    gram = [[b[i][0] * b[j][0] + b[i][1] * b[j][1] + b[i][2] * b[j][2] for j in range(3)] for i in range(3)]
    rotation: list[Any] = []
    for i in range(3):
        p, q, r = gram[i]
        row = [(over + square) * b[i][j] + root * cof[i][j] - p * b[0][j] - q * b[1][j] - r * b[2][j] for j in range(3)]
        rotation.extend((row[0] * scale, row[1] * scale, row[2] * scale))
    *rotation, determined = m.recompute_where(
        degenerate, (*rotation, degenerate ^ True), lambda pick: _attitude_by_svd([[pick(x) for x in row] for row in b])
    )
    return (
        (rotation[0], rotation[1], rotation[2]),
        (rotation[3], rotation[4], rotation[5]),
        (rotation[6], rotation[7], rotation[8]),
    ), determined


def _attitude_by_svd(b: list[list[Any]]) -> tuple[Any, ...]:
    """Compute the nine elements of the rotation, and whether B determines it, by singular values; see attitude."""
    products = np.moveaxis(np.array(b), (0, 1), (-2, -1))
    rotations = nearest_rotation(products)
    stretch = np.swapaxes(rotations, -1, -2) @ products
    size = np.linalg.norm(products, axis=(-2, -1))
    # Its eigenvalues are s₁, s₂ and s₃, so this is the divisor of `attitude`.
    scale = np.linalg.det(np.trace(stretch, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - stretch)
    return *(rotations[..., i, j] for i in range(3) for j in range(3)), scale > RANK_TOLERANCE * size**3


def _cofactor(b: list[list[N]], i: int, j: int) -> N:
    p, q, r, s = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
    return b[p][r] * b[q][s] - b[p][s] * b[q][r]


def spans_a_plane(points: Floats, weights: Floats) -> NDArray[np.bool_]:
    """Return (F,) whether at least three markers are seen, and they are at least 5 mm out of a line."""
    seen = (weights > 0).astype(float)
    if not seen.shape[1]:
        return np.zeros(len(weights), bool)
    # Compute each pattern of visible markers once, since few occur.
    _, first, which = np.unique(seen @ 2.0 ** np.arange(seen.shape[1]), return_index=True, return_inverse=True)
    patterns = seen[first]
    count = np.maximum(patterns.sum(-1), 1.0)[:, None]
    mid = patterns @ points / count
    centred = (points[None] - mid[:, None]) * patterns[..., None]
    spread = np.linalg.eigvalsh(np.swapaxes(centred, -1, -2) @ centred)
    is_wide: NDArray[np.bool_] = (patterns.sum(-1) >= 3) & (spread[:, 1] > 0.005**2)
    return is_wide[which.reshape(-1)]


def follow_markers(
    roots: Floats, is_determined: NDArray[np.bool_], rest_positions: Floats, positions: Floats, weights: Floats
) -> Floats:
    """Translate the last root to the markers in frames whose markers do not determine the rotation."""
    total = weights.sum(-1)
    partial = ~is_determined & (total > 0)
    if not partial.any():
        return roots
    normalised = weights[partial] / total[partial, None]
    offsets = np.einsum("fij,nj->fni", roots[partial, :3, :3], rest_positions)
    followed = roots.copy()
    followed[partial, :3, 3] = (normalised[..., None] * (positions[partial] - offsets)).sum(1)
    # Frames without palm markers keep the root of the frame before, including these.
    return hold_last(followed, is_determined | partial, roots[0])
