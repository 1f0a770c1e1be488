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
from ..chunks import in_chunks
from ..solver import hold_last

Floats = NDArray[np.float64]
Rows = tuple[Point[N], Point[N], Point[N]]
"""A 3x3 matrix."""


@dataclass(frozen=True, slots=True, eq=False)
class PalmMarkers:
    """The targets that are fixed to the palm."""

    columns: list[int]
    """(P,) indices of the targets."""
    at_rest: Floats
    """(P, 3) m in the wrist's frame."""
    places: list[Point[float]]
    """The same as floats."""
    wide: bool
    """Whether all of them together determine the palm's rotation."""

    def roots(self, targets: Targets, last: Floats) -> Floats:
        """See PalmStep and palm_roots."""
        return palm_roots(self, targets, last)


def palm_markers(hand: HandModel, sites: list[int]) -> PalmMarkers:
    """Find the sites that are fixed to the palm."""
    spots = [Spot(hand.joints[hand.sites[site].joint], hand.sites[site].offset) for site in sites]
    columns = [column for column, spot in enumerate(spots) if on_palm(spot)]
    still = kinematics.Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs)))
    places = kinematics.site_positions(hand, kinematics.joint_frames(hand, still))[0]
    at_rest = places[[sites[column] for column in columns]]
    wide = bool(spans_a_plane(at_rest, np.ones((1, len(columns))))[0])
    return PalmMarkers(columns, at_rest, [tuple(place) for place in at_rest.tolist()], wide)


def palm_roots(palm: PalmMarkers, targets: Targets, last: Floats) -> Floats:
    """Fit the palm to its markers.

    Three or more markers that are not in a line determine the palm's pose by least squares; for three this is the plane
    of FABRIK-CGA (3.2). With fewer the palm keeps its last rotation and follows them; with none it stays.

    Args:
        palm: the markers on the palm.
        targets: F frames.
        last: (4, 4) T_world_wrist of the frame before the first.

    Returns:
        (F, 4, 4) T_world_wrist; (1, 4, 4), `last`, if no target is on the palm.
    """
    if not palm.columns:
        return last[None]
    weights = targets.weights[:, palm.columns]
    if palm.wide and len(targets) == 1 and weights.min() > 0:
        return _fit_root(palm, targets.positions[0, palm.columns].tolist(), weights[0].tolist())
    if palm.wide and weights.all():
        roots = np.empty((len(targets), 4, 4))

        def lay(chunk: slice) -> None:
            roots[chunk] = fit_roots(palm, targets.positions[chunk, palm.columns], weights[chunk])

        in_chunks(len(targets), lay)
        return roots
    positions = np.where(weights[..., None] > 0, targets.positions[:, palm.columns], 0.0)
    known = spans_a_plane(palm.at_rest, weights)
    roots = np.broadcast_to(last, (len(targets), 4, 4)).copy()
    if known.any():
        roots[known] = fit_roots(palm, positions[known], weights[known])
    roots = hold_last(roots, known, last)
    return follow_markers(roots, known, palm.at_rest, positions, weights)


def _fit_root(palm: PalmMarkers, positions: list[list[float]], weights: list[float]) -> Floats:
    """Fit the root (1, 4, 4) of one frame to positions (P, 3) m with weights (P,)."""
    (a, b, c), (x, y, z) = fit_points(SCALAR, palm.places, [(p[0], p[1], p[2]) for p in positions], weights)
    return np.array([[[*a, x], [*b, y], [*c, z], [0.0, 0.0, 0.0, 1.0]]])


def fit_roots(palm: PalmMarkers, positions: Floats, weights: Floats) -> Floats:
    """Fit the roots (F, 4, 4) to positions (F, P, 3) m with weights (F, P) by least squares."""
    turn, move = fit_points(ARRAY, palm.places, [tuple(p.T) for p in np.swapaxes(positions, 0, 1)], list(weights.T))
    roots = np.zeros((len(positions), 4, 4))
    for i in range(3):
        for j in range(3):
            roots[:, i, j] = turn[i][j]
        roots[:, i, 3] = move[i]
    roots[:, 3, 3] = 1.0
    return roots


def fit_points(
    m: NumberFunctions[N], places: list[Point[float]], positions: list[Point[N]], weights: list[N]
) -> tuple[Rows[N], Point[N]]:
    """Return the rotation and translation that map points of the palm onto their observed positions by least squares.

    The rotation is arbitrary about the line of positions that are in a line.
    """
    zero = 0.0 * weights[0]
    total, here, there = zero, [zero] * 3, [zero] * 3
    products = [[zero] * 3, [zero] * 3, [zero] * 3]
    for place, position, weight in zip(places, positions, weights, strict=True):
        total = total + weight
        for i in range(3):
            weighted = weight * position[i]
            there[i] = there[i] + weighted
            here[i] = here[i] + weight * place[i]
            row = products[i]
            for j in range(3):
                row[j] = row[j] + weighted * place[j]
    here, there = [each / total for each in here], [each / total for each in there]
    spread = [[products[i][j] - total * there[i] * here[j] for j in range(3)] for i in range(3)]
    turn, _ = attitude(m, spread)
    moved = [there[i] - turn[i][0] * here[0] - turn[i][1] * here[1] - turn[i][2] * here[2] for i in range(3)]
    return turn, (moved[0], moved[1], moved[2])


NEWTON_STEPS = 6
ROTATION_TOLERANCE = 1e-10
"""Tolerance on the rotation's relative error after the last Newton step."""
RANK_TOLERANCE = 1e-6
"""Least divisor, relative to |B|³, at which B determines a rotation."""


def attitude(m: NumberFunctions[N], b: list[list[N]]) -> tuple[Rows[N], Any]:
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
    least = RANK_TOLERANCE * square * m.sqrt(square)
    step = square
    for _ in range(NEWTON_STEPS):
        over = root * root - square
        slope = 4 * root * over - 8 * det
        steep = slope > least
        step = m.where(steep, (over * over - 8 * root * det - 4 * squares) / m.where(steep, slope, 1.0), 0.0)
        root = root - step
    over = (root * root - square) / 2
    scale = root * over - det
    unsure = (scale <= least) | (abs(step) * square > ROTATION_TOLERANCE * scale)
    scale = 1.0 / m.where(unsure, 1.0, scale)
    gram = [[b[i][0] * b[j][0] + b[i][1] * b[j][1] + b[i][2] * b[j][2] for j in range(3)] for i in range(3)]
    turn: list[Any] = []
    for i in range(3):
        p, q, r = gram[i]
        row = [(over + square) * b[i][j] + root * cof[i][j] - p * b[0][j] - q * b[1][j] - r * b[2][j] for j in range(3)]
        turn.extend((row[0] * scale, row[1] * scale, row[2] * scale))
    *turn, told = m.recompute_where(
        unsure, (*turn, unsure ^ True), lambda pick: _attitude_by_svd([[pick(x) for x in row] for row in b])
    )
    return ((turn[0], turn[1], turn[2]), (turn[3], turn[4], turn[5]), (turn[6], turn[7], turn[8])), told


def _attitude_by_svd(b: list[list[Any]]) -> tuple[Any, ...]:
    """Compute the nine elements of the rotation, and whether B determines it, by singular values; see attitude."""
    products = np.moveaxis(np.array(b), (0, 1), (-2, -1))
    turns = nearest_rotation(products)
    stretch = np.swapaxes(turns, -1, -2) @ products
    size = np.linalg.norm(products, axis=(-2, -1))
    # Its eigenvalues are s₁, s₂ and s₃, so this is the divisor of `attitude`.
    scale = np.linalg.det(np.trace(stretch, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - stretch)
    return *(turns[..., i, j] for i in range(3) for j in range(3)), scale > RANK_TOLERANCE * size**3


def _cofactor(b: list[list[N]], i: int, j: int) -> N:
    p, q, r, s = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
    return b[p][r] * b[q][s] - b[p][s] * b[q][r]


def spans_a_plane(points: Floats, weights: Floats) -> NDArray[np.bool_]:
    """(F,) whether at least three markers are seen, and they are at least 5 mm out of a line."""
    seen = (weights > 0).astype(float)
    if not seen.shape[1]:
        return np.zeros(len(weights), bool)
    # Few patterns of visible markers occur, and each is computed once.
    _, first, which = np.unique(seen @ 2.0 ** np.arange(seen.shape[1]), return_index=True, return_inverse=True)
    patterns = seen[first]
    count = np.maximum(patterns.sum(-1), 1.0)[:, None]
    mid = patterns @ points / count
    centred = (points[None] - mid[:, None]) * patterns[..., None]
    spread = np.linalg.eigvalsh(np.swapaxes(centred, -1, -2) @ centred)
    wide: NDArray[np.bool_] = (patterns.sum(-1) >= 3) & (spread[:, 1] > 0.005**2)
    return wide[which.reshape(-1)]


def follow_markers(
    roots: Floats, known: NDArray[np.bool_], at_rest: Floats, positions: Floats, weights: Floats
) -> Floats:
    """Move the last rotation to the markers in frames with one or two palm markers, or with markers in a line."""
    total = weights.sum(-1)
    partly = ~known & (total > 0)
    if not partly.any():
        return roots
    share = weights[partly] / total[partly, None]
    turned = np.einsum("fij,nj->fni", roots[partly, :3, :3], at_rest)
    moved = roots.copy()
    moved[partly, :3, 3] = (share[..., None] * (positions[partly] - turned)).sum(1)
    # Frames without palm markers keep the root of the frame before, including these.
    return hold_last(moved, known | partly, roots[0])
