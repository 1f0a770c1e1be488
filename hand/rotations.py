"""Rotations as unit quaternions (wxyz) and matrices, with any number of leading dimensions.

Diebel, Representing Attitude (2006): (109) product of quaternions, (125) matrix of a quaternion.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .finite_points import finite_points

Floats = NDArray[np.float64]
Components = Floats | Sequence[Floats]
"""w, x, y, z of quaternions, each as a separate array (...)."""

IDENTITY: Floats = np.array([1.0, 0.0, 0.0, 0.0])
OPPOSITE = 1e-6
"""Length of the sum of two unit vectors below which they are opposite."""


def from_axis_angle(axis: ArrayLike, angle: ArrayLike) -> Floats:
    """Return quaternions (..., 4) of rotations by angles (...) rad about unit axes (..., 3)."""
    half_angle = np.asarray(angle, float)[..., None] / 2
    axis = np.asarray(axis, float)
    sine = np.sin(half_angle) * axis
    return np.concatenate([np.broadcast_to(np.cos(half_angle), (*sine.shape[:-1], 1)), sine], axis=-1)


def multiply(a: Floats, b: Floats) -> Floats:
    """Return the quaternion product (..., 4): the rotation b followed by a."""
    product = np.empty(np.broadcast_shapes(a.shape, b.shape))
    product[..., 0], product[..., 1], product[..., 2], product[..., 3] = multiply_components(
        components(a), components(b)
    )
    return product


def components(q: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return components w, x, y, z (...) of quaternions (..., 4)."""
    return q[..., 0], q[..., 1], q[..., 2], q[..., 3]


def multiply_components(a: Components, b: Components) -> tuple[Floats, Floats, Floats, Floats]:
    """Multiply as `multiply`, with quaternions given and returned as four components (...)."""
    (aw, ax, ay, az), (bw, bx, by, bz) = a, b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def conjugate(q: Floats) -> Floats:
    """Return inverse rotations of unit quaternions (..., 4)."""
    inverse: Floats = q * np.array([1.0, -1.0, -1.0, -1.0])
    return inverse


def rotate(q: Floats, vectors: Floats) -> Floats:
    """Rotate vectors (..., 3) by unit quaternions (..., 4)."""
    w, u = q[..., :1], q[..., 1:]
    twice = 2 * cross(u, vectors)
    rotated: Floats = vectors + w * twice + cross(u, twice)
    return rotated


def to_matrix(q: Floats) -> Floats:
    """Return the rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    return np.stack(matrix_elements(components(q)), -1).reshape(*q.shape[:-1], 3, 3)


def matrix_elements(q: Components) -> tuple[Floats, ...]:
    """Return the nine elements (...) of `to_matrix`, row by row, for unit quaternions given as four components
    (...)."""
    w, x, y, z = q
    return (
        *(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        *(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        *(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


_I: Floats = np.eye(4)
_PRODUCTS_TO_AXES: Floats = np.concatenate(
    [
        multiply(multiply(_I[:, None, None], _I[1:]), conjugate(_I)[:, None])[..., 1:].reshape(16, 9),
        _I.reshape(16, 1),
    ],
    axis=1,
)
"""(16, 10) maps the products of a quaternion's components to q v q* for each axis v, and to its squared norm."""


def to_matrix_transposed(q: Floats) -> Floats:
    """Return transposed rotation matrices (N, 3, 3) of quaternions (N, 4) of any norm, in fewer operations than
    to_matrix."""
    squares = (q[:, :, None] * q[:, None, :]).reshape(-1, 16) @ _PRODUCTS_TO_AXES
    matrices: Floats = (squares[:, :9] / squares[:, 9:]).reshape(-1, 3, 3)
    return matrices


def from_matrix(matrices: Floats) -> Floats:
    """Return unit quaternions (..., 4), w >= 0, of rotation matrices (..., 3, 3).

    Of the four formulas, starting from w, x, y or z, the one with the largest square root is used to avoid dividing by
    small numbers (Shepperd 1978).
    """
    m = matrices
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    yz, zx, xy = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    syz, szx, sxy = m[..., 2, 1] + m[..., 1, 2], m[..., 0, 2] + m[..., 2, 0], m[..., 1, 0] + m[..., 0, 1]
    squares = 1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz
    best = np.argmax(squares, axis=0)
    # Component by component, each over all rotations at once.
    w, x, y, z = (
        np.choose(best, row)
        for row in (
            (squares[0], yz, zx, xy),
            (yz, squares[1], sxy, szx),
            (zx, sxy, squares[2], syz),
            (xy, szx, syz, squares[3]),
        )
    )
    signed_norm = np.where(w < 0, -1.0, 1.0) * np.sqrt(w * w + x * x + y * y + z * z)
    return np.stack([w / signed_norm, x / signed_norm, y / signed_norm, z / signed_norm], -1)


def make_continuous(q: Floats) -> Floats:
    """Choose the signs of quaternions (F, ..., 4) so that each is nearest to the previous frame's.

    Blender interpolates keyed quaternions by component, so a change of sign would spin the bone.
    """
    if len(q) < 2:
        return q.copy()
    cosines = np.einsum("...i,...i->...", q[1:], q[:-1])[..., None]
    flips = np.where(cosines < 0, -1.0, 1.0)
    signs = np.concatenate([np.ones_like(flips[:1]), np.cumprod(flips, axis=0)])
    signed: Floats = q * signs
    return signed


def slerp(a: Floats, b: Floats, fraction: Floats) -> Floats:
    """Interpolate unit quaternions (..., 4) along the shorter arc, from a at fraction 0 to b at fraction 1."""
    cosine = np.einsum("...k,...k->...", a, b)[..., None]
    b, angle = np.where(cosine < 0, -b, b), np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
    # For very short arcs, linear interpolation avoids dividing by sin(0).
    sine, short = np.sin(angle), angle < 1e-6
    weights = [np.where(short, p, np.sin(p * angle) / np.where(short, 1.0, sine)) for p in (1 - fraction, fraction)]
    mixed = weights[0] * a + weights[1] * b
    unit: Floats = mixed / np.linalg.norm(mixed, axis=-1, keepdims=True)
    return unit


def frame_from_yz(y: Floats, z: Floats) -> Floats:
    """Return the rotation matrices (..., 3, 3) with the y axis along `y` and the z axis as near to `z` as orthogonality
    allows."""
    y = y / np.linalg.norm(y, axis=-1, keepdims=True)
    x = cross(y, z)
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return np.stack([x, y, cross(x, y)], -1)


def orthonormal(axes: Floats) -> Floats:
    """Return rotation matrices (..., 3, 3) from matrices (..., 3, 3) that may scale, shear or mirror: y keeps its
    direction, as in frame_from_yz."""
    return frame_from_yz(axes[..., :, 1], axes[..., :, 2])


def cross(a: Floats, b: Floats) -> Floats:
    """Return the cross product (..., 3); for small arrays faster than NumPy's."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    result = np.empty(np.broadcast_shapes(a.shape, b.shape))
    result[..., 0] = y * w - z * v
    result[..., 1] = z * u - x * w
    result[..., 2] = x * v - y * u
    return result


def perpendicular(directions: Floats) -> Floats:
    """Return unit vectors (..., 3) that are perpendicular to directions (..., 3), none of them zero."""
    return unit_vectors(cross(directions, np.eye(3)[np.abs(directions).argmin(axis=-1)]))


def shortest_rotation(source: Floats, target: Floats) -> Floats:
    """Return unit quaternions (..., 4) of the shortest rotations from directions `source` (..., 3) to `target`.

    Between opposite directions the axis is arbitrary. If either direction is zero, the rotation is the identity.
    """
    source_length, target_length = (np.linalg.norm(direction, axis=-1, keepdims=True) for direction in (source, target))
    valid = (source_length > 0) & (target_length > 0)
    source, target = (
        np.where(valid, direction, (0.0, 0.0, 1.0)) / np.where(valid, length, 1.0)
        for direction, length in ((source, source_length), (target, target_length))
    )
    bisector = source + target
    opposite = np.linalg.norm(bisector, axis=-1, keepdims=True) < OPPOSITE
    bisector = unit_vectors(np.where(opposite, perpendicular(source), bisector))
    return np.concatenate([(source * bisector).sum(-1, keepdims=True), cross(source, bisector)], axis=-1)


def transform_frames(linear: Floats, rotations: Floats) -> Floats:
    """Return rotations (..., 3, 3) after linear maps (..., 3, 3), which may scale and mirror, made orthonormal."""
    return orthonormal(linear @ rotations)


def nearest_rotation(products: Floats) -> Floats:
    """Return the rotation matrices R (..., 3, 3) nearest to matrices B (..., 3, 3): those that maximise the trace of R
    · Bᵀ.

    For B = Σ target · sourceᵀ they rotate source to target by least squares (Kabsch 1976). Where B leaves a rotation
    undetermined, the result is arbitrary, but never a reflection.
    """
    u, _, vt = np.linalg.svd(products)
    sign = np.where(np.linalg.det(u @ vt) < 0, -1.0, 1.0)
    u = np.concatenate([u[..., :2], u[..., 2:] * sign[..., None, None]], -1)
    rotations: Floats = u @ vt
    return rotations


def angles_between(a: Floats, b: Floats) -> Floats:
    """Return angles (...) rad between the rotations of unit quaternions (..., 4)."""
    cosine = np.abs(np.einsum("...k,...k->...", a, b))
    angles: Floats = 2 * np.arccos(np.minimum(cosine, 1.0))
    return angles


def unit_vectors(vectors: Floats) -> Floats:
    """Return vectors (..., N) with length 1; none of them may be zero."""
    units: Floats = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return units


def unit_or_zero(vectors: Floats) -> Floats:
    """Return vectors (..., N) with length 1; those shorter than 1e-12 stay nearly zero."""
    units: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    return units


def unit_vector(vector: Floats) -> Floats:
    """Normalise a vector (N,); a zero vector stays zero."""
    length = math.hypot(*vector.tolist())  # does not underflow for tiny vectors, as their squares would
    unit: Floats = vector / length if length > 0 else np.zeros_like(vector)
    return unit


def fit_rigid(source: Floats, target: Floats, weights: Floats) -> Floats:
    """Return rigid transforms (..., 4, 4) that take points `source` nearest to `target` by weighted least squares.

    Where the points do not determine a rotation, since fewer than three have a weight or all are collinear, it is
    arbitrary but finite, and never a reflection.

    Args:
        source: (..., N, 3).
        target: (..., N, 3).
        weights: (..., N) >= 0.
    """
    total = np.maximum(weights.sum(-1), 1e-12)[..., None]
    source_mid = (weights[..., None] * source).sum(-2) / total
    target_mid = (weights[..., None] * target).sum(-2) / total
    a = (source - source_mid[..., None, :]) * weights[..., None]
    b = target - target_mid[..., None, :]
    transforms = np.zeros((*source_mid.shape[:-1], 4, 4))
    transforms[..., :3, :3] = nearest_rotation(np.swapaxes(b, -1, -2) @ a)
    transforms[..., :3, 3] = target_mid - np.einsum("...ij,...j->...i", transforms[..., :3, :3], source_mid)
    transforms[..., 3, 3] = 1.0
    return transforms


def fit_rigid_to_visible(points: Floats, markers: Floats) -> Floats:
    """Return rigid transforms (F, 4, 4) that take points (N, 3) nearest to markers (F, N, 3), NaN where not seen."""
    is_visible = finite_points(markers)
    target = np.where(is_visible[..., None], markers, 0.0)
    return fit_rigid(np.broadcast_to(points, markers.shape), target, is_visible.astype(float))
