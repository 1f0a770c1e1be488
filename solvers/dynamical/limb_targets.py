"""The targets of each limb in the wrist's frame, for one frame or many."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.scalar_math import ARRAY, SCALAR, N, NumberFunctions, Point
from ...hand.targets import Targets
from .limb_kinematics import SiteTarget
from .limbs import LimbModel, known_through_couplings

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TargetColumns:
    """The targets of one frame as floats, or of many frames with an array (F,) for each coordinate."""

    root: Any
    """The columns x, y, z and the position of T_world_wrist, each three numbers."""
    positions: Any
    """[target][i]"""
    weights: Any
    """[target]"""
    rotations: Any
    """[target], in the wrist's frame, by matrix columns; None without rotation targets."""
    rotation_weights: Any


def one_frame(targets: Targets, root: Floats, frame: int = 0) -> TargetColumns:
    """Return the targets of one frame, with its root (4, 4)."""
    rotations, weights = None, targets.rotation_weights
    if targets.rotations is not None and weights is not None:
        rotations = _rotations_in_wrist(root, targets.rotations[frame], weights[frame])
    return TargetColumns(
        tuple(map(tuple, root[:3].T.tolist())),
        targets.positions[frame].tolist(),
        targets.weights[frame].tolist(),
        rotations,
        None if weights is None else weights[frame].tolist(),
    )


def many_frames(targets: Targets, roots: Floats) -> TargetColumns:
    """Return the targets of all frames, with their roots (F, 4, 4), or one root for all (1, 4, 4)."""
    columns = np.ascontiguousarray(np.transpose(roots[:, :3], (2, 1, 0)))
    root = tuple(tuple(column) for column in columns)
    weights, rotations = targets.rotation_weights, None
    if targets.rotations is not None and weights is not None:
        quaternions = np.ascontiguousarray(np.transpose(targets.rotations, (1, 2, 0)))
        rotations = [
            _rotation_in_wrist(root, quaternion, weight) if np.any(weight > 0) else None
            for quaternion, weight in zip(quaternions, weights.T, strict=True)
        ]
    return TargetColumns(
        root,
        np.ascontiguousarray(np.transpose(targets.positions, (1, 2, 0))),
        np.ascontiguousarray(targets.weights.T),
        rotations,
        None if weights is None else np.ascontiguousarray(weights.T),
    )


def site_targets(m: NumberFunctions[N], limb: LimbModel, frames: TargetColumns) -> list[SiteTarget[N]]:
    """Return the targets of a limb's sites; sites without a weight are left out."""
    targets = []
    for number, site in enumerate(limb.sites):
        weight: Any = frames.weights[site.target] if site.translates else 0.0
        rotation_weight: Any = 0.0 if frames.rotations is None else frames.rotation_weights[site.target]
        has_position, has_rotation = m.any(weight > 0), m.any(rotation_weight > 0)
        if not (has_position or has_rotation):
            continue
        position = _position_in_wrist(m, frames.root, frames.positions[site.target], weight) if has_position else None
        rotation = frames.rotations[site.target] if has_rotation else None
        targets.append(SiteTarget(number, position, weight, rotation, rotation_weight))
    return _with_end_weight(m, targets, limb.weights.end) if len(targets) > 1 else targets


def _with_end_weight(m: NumberFunctions[N], targets: list[SiteTarget[N]], end: float) -> list[SiteTarget[N]]:
    """Multiply the weight of the outermost position target by `end` where there are others; sites are outermost first.

    Model bones and marker offsets never match the performer's exactly. Plain least squares distribute the residual
    over the finger and straighten it. If the fingertip is met closely, the other joints bend as the performer's do.
    """
    inner: Any = sum(target.weight for target in targets)
    weighted, outer = [], cast(Any, 0.0)
    for target in targets:
        inner = inner - target.weight
        outermost: Any = (outer <= 0) & (inner > 0)
        weighted.append(target._replace(weight=target.weight * m.where(outermost, end, 1.0)))
        outer = outer + target.weight
    return weighted


def _position_in_wrist(m: NumberFunctions[N], root: Any, position: Any, weight: Any) -> Point[N]:
    (ax, ay, az), (bx, by, bz), (cx, cy, cz), (tx, ty, tz) = root
    x, y, z = position
    if m is ARRAY:
        seen = weight > 0
        x, y, z = np.where(seen, x, tx), np.where(seen, y, ty), np.where(seen, z, tz)
    x, y, z = x - tx, y - ty, z - tz
    return ax * x + ay * y + az * z, bx * x + by * y + bz * z, cx * x + cy * y + cz * z


def _rotation_in_wrist(root: Any, quaternion: Any, weight: Any) -> Any:
    """Return the columns of Rᵀ Q, from a quaternion of any length above 0; the identity where the weight is 0."""
    seen = weight > 0
    w, x, y, z = (np.where(seen, part, float(i == 0)) for i, part in enumerate(quaternion))
    scale = 2.0 / (w * w + x * x + y * y + z * z)
    xx, yy, zz, xy, yz, zx = scale * x * x, scale * y * y, scale * z * z, scale * x * y, scale * y * z, scale * z * x
    wx, wy, wz = scale * w * x, scale * w * y, scale * w * z
    columns = (1 - yy - zz, xy + wz, zx - wy), (xy - wz, 1 - xx - zz, yz + wx), (zx + wy, yz - wx, 1 - xx - yy)
    (ax, ay, az), (bx, by, bz), (cx, cy, cz), _ = root
    return tuple((ax * p + ay * q + az * r, bx * p + by * q + bz * r, cx * p + cy * q + cz * r) for p, q, r in columns)


def _rotations_in_wrist(root: Floats, quaternions: Floats, weights: Floats) -> list[list[list[float]]]:
    """Return `_rotation_in_wrist` of all targets (T, 4) of one frame, which are enough for arrays to pay off."""
    seen = np.where(weights[:, None] > 0, quaternions, rot.IDENTITY)
    rotations: list[list[list[float]]] = (rot.to_matrix_transposed(seen) @ root[:3, :3]).tolist()
    return rotations


def observed_dofs(m: NumberFunctions[N], limb: LimbModel, targets: list[SiteTarget[N]]) -> list[Any]:
    """Return (n,) whether the targets determine each degree of freedom, directly or through a coupling."""
    if m is SCALAR and len(targets) == len(limb.sites):
        return list(limb.observable)
    observed: list[Any] = [False] * len(limb.dofs)
    for target in targets:
        has_weight: Any = True if m is SCALAR else (target.weight > 0) | (target.rotation_weight > 0)
        for dof in limb.sites[target.site].moved_by:
            observed[dof] = observed[dof] | has_weight
    return known_through_couplings(limb.couplings, observed)
