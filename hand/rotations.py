"""Rotations as unit quaternions (wxyz) and matrices, for any number of leading dimensions.

The formulas are those of Diebel, Representing Attitude (2006): (109) product, (125) matrix of a quaternion.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

IDENTITY: Floats = np.array([1.0, 0.0, 0.0, 0.0])


def about(axis: ArrayLike, angle: ArrayLike) -> Floats:
    """Quaternions (..., 4) that turn by angle (...) rad about the unit axes (..., 3)."""
    half = np.asarray(angle, float)[..., None] / 2
    axis = np.asarray(axis, float)
    sine = np.sin(half) * axis
    return np.concatenate([np.broadcast_to(np.cos(half), (*sine.shape[:-1], 1)), sine], axis=-1)


def multiply(a: Floats, b: Floats) -> Floats:
    """The rotation b followed by a, both (..., 4)."""
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def conjugate(q: Floats) -> Floats:
    """The inverse rotations of unit quaternions (..., 4)."""
    inverse: Floats = q * np.array([1.0, -1.0, -1.0, -1.0])
    return inverse


def rotate(q: Floats, vectors: Floats) -> Floats:
    """Vectors (..., 3) turned by q (..., 4)."""
    w, u = q[..., :1], q[..., 1:]
    twice = 2 * np.cross(u, vectors)
    turned: Floats = vectors + w * twice + np.cross(u, twice)
    return turned


def to_matrix(q: Floats) -> Floats:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
        np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1),
        np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1),
    ]
    return np.stack(rows, -2)


_I: Floats = np.eye(4)
_OF_PRODUCTS: Floats = np.concatenate(
    [
        multiply(multiply(_I[:, None, None], _I[1:]), conjugate(_I)[:, None])[..., 1:].reshape(16, 9),
        _I.reshape(16, 1),
    ],
    axis=1,
)
"""(16, 10) from the products of a quaternion's numbers to q v q* of each axis v, and to the square of its length."""


def columns(q: Floats) -> Floats:
    """(N, 3, 3) the axes x, y, z as turned by quaternions (N, 4) of any length: to_matrix in less steps, transposed."""
    squares = (q[:, :, None] * q[:, None, :]).reshape(-1, 16) @ _OF_PRODUCTS
    turned: Floats = (squares[:, :9] / squares[:, 9:]).reshape(-1, 3, 3)
    return turned


def from_matrix(matrices: Floats) -> Floats:
    """Unit quaternions (..., 4), w >= 0, of rotation matrices (..., 3, 3).

    Of the four ways to begin (w, x, y or z first) the one with the largest square root is taken, so that
    nothing small is divided by (Shepperd 1978).
    """
    m = matrices
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    yz, zx, xy = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    syz, szx, sxy = m[..., 2, 1] + m[..., 1, 2], m[..., 0, 2] + m[..., 2, 0], m[..., 1, 0] + m[..., 0, 1]
    candidates = np.stack(
        [
            np.stack([1 + xx + yy + zz, yz, zx, xy], -1),
            np.stack([yz, 1 + xx - yy - zz, sxy, szx], -1),
            np.stack([zx, sxy, 1 - xx + yy - zz, syz], -1),
            np.stack([xy, szx, syz, 1 - xx - yy + zz], -1),
        ],
        -2,
    )
    diagonal = np.diagonal(candidates, axis1=-2, axis2=-1)
    best = np.argmax(diagonal, axis=-1)[..., None, None]
    q = np.take_along_axis(candidates, best, axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    signed: Floats = np.where(q[..., :1] < 0, -q, q)
    return signed


def continuous(q: Floats) -> Floats:
    """The same rotations (F, ..., 4), each with the sign that is nearer to the frame before it.

    Keyed quaternions are interpolated component by component: a change of sign would spin the bone.
    """
    if len(q) < 2:
        return q.copy()
    flips = np.where((q[1:] * q[:-1]).sum(-1, keepdims=True) < 0, -1.0, 1.0)
    signs = np.concatenate([np.ones_like(flips[:1]), np.cumprod(flips, axis=0)])
    signed: Floats = q * signs
    return signed


def slerp(a: Floats, b: Floats, part: Floats) -> Floats:
    """Unit quaternions (..., 4) at a part 0..1 of the shorter arc from a to b; part broadcasts over their numbers."""
    cosine = np.einsum("...k,...k->...", a, b)[..., None]
    b, angle = np.where(cosine < 0, -b, b), np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
    # Where the arc is too short for sines the chord is as good.
    sine, short = np.sin(angle), angle < 1e-6
    ways = [np.where(short, p, np.sin(p * angle) / np.where(short, 1.0, sine)) for p in (1 - part, part)]
    mixed = ways[0] * a + ways[1] * b
    unit: Floats = mixed / np.linalg.norm(mixed, axis=-1, keepdims=True)
    return unit


def basis(y: Floats, z: Floats) -> Floats:
    """Matrices (..., 3, 3) whose columns are x, y, z: y along `y`, z as near to `z` as a right angle allows."""
    y = y / np.linalg.norm(y, axis=-1, keepdims=True)
    x = np.cross(y, z)
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return np.stack([x, y, np.cross(x, y)], -1)


def nearest_to(products: Floats) -> Floats:
    """Rotations R (..., 3, 3) of the greatest trace of R · Bᵀ, which come nearest to matrices B (..., 3, 3).

    For the sum B of products there · hereᵀ they turn here to there by least squares (Kabsch 1976). A turn that B leaves
    open is arbitrary; never a reflection.
    """
    u, _, vt = np.linalg.svd(products)
    sign = np.where(np.linalg.det(u @ vt) < 0, -1.0, 1.0)
    u = np.concatenate([u[..., :2], u[..., 2:] * sign[..., None, None]], -1)
    rotations: Floats = u @ vt
    return rotations


def unit_vector(vector: Floats) -> Floats:
    """A vector (N,) at length 1, zeros where it has none."""
    length = float(np.linalg.norm(vector))
    unit: Floats = vector / length if length > 0 else np.zeros_like(vector)
    return unit


def fit_rigid(source: Floats, target: Floats, weights: Floats) -> Floats:
    """Rigid moves (..., 4, 4) that bring points source (..., N, 3) nearest to target (..., N, 3).

    Weighted least squares, weights (..., N) >= 0. With fewer than three points that are not in
    a line the turn about what is left open is arbitrary but finite; never a reflection.
    """
    total = np.maximum(weights.sum(-1), 1e-12)[..., None]
    source_mid = (weights[..., None] * source).sum(-2) / total
    target_mid = (weights[..., None] * target).sum(-2) / total
    a = (source - source_mid[..., None, :]) * weights[..., None]
    b = target - target_mid[..., None, :]
    moves = np.zeros((*source_mid.shape[:-1], 4, 4))
    moves[..., :3, :3] = nearest_to(np.swapaxes(b, -1, -2) @ a)
    moves[..., :3, 3] = target_mid - np.einsum("...ij,...j->...i", moves[..., :3, :3], source_mid)
    moves[..., 3, 3] = 1.0
    return moves


def fit_seen(places: Floats, seen: Floats) -> Floats:
    """Rigid moves (F, 4, 4) that lay places (N, 3) on the points seen (F, N, 3), NaN where one was not seen."""
    known = np.all(np.isfinite(seen), axis=-1)
    target = np.where(known[..., None], seen, 0.0)
    return fit_rigid(np.broadcast_to(places, seen.shape), target, known.astype(float))
