"""The targets of each limb in the wrist's frame, for one frame or many."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.scalar_math import ARRAY, SCALAR, N, NumberFunctions, Point
from ...hand.targets import Targets
from .limb_kinematics import SiteTarget
from .limbs import LimbModel, through

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TargetColumns:
    """The targets of one frame as floats, or of many frames with an array (F,) for each coordinate."""

    root: Any
    """The columns x, y, z and the position of T_world_wrist, each three numbers."""
    places: Any
    """[column][i]"""
    weights: Any
    """[column]"""
    turns: Any
    """[column], in the wrist's frame, by matrix columns; None without rotation targets."""
    turn_weights: Any


def one_frame(targets: Targets, root: Floats, frame: int = 0) -> TargetColumns:
    """The targets of one frame, with its root (4, 4)."""
    turns, weights = None, targets.rotation_weights
    if targets.rotations is not None and weights is not None:
        turns = _turns_from_wrist(root, targets.rotations[frame], weights[frame])
    return TargetColumns(
        tuple(map(tuple, root[:3].T.tolist())),
        targets.positions[frame].tolist(),
        targets.weights[frame].tolist(),
        turns,
        None if weights is None else weights[frame].tolist(),
    )


def many_frames(targets: Targets, roots: Floats) -> TargetColumns:
    """The targets of all frames, with their roots (F, 4, 4), or one root for all (1, 4, 4)."""
    columns = np.ascontiguousarray(np.transpose(roots[:, :3], (2, 1, 0)))
    root = tuple(tuple(column) for column in columns)
    weights, turns = targets.rotation_weights, None
    if targets.rotations is not None and weights is not None:
        quaternions = np.ascontiguousarray(np.transpose(targets.rotations, (1, 2, 0)))
        turns = [
            _turn_from_wrist(root, q, w) if np.any(w > 0) else None for q, w in zip(quaternions, weights.T, strict=True)
        ]
    return TargetColumns(
        root,
        np.ascontiguousarray(np.transpose(targets.positions, (1, 2, 0))),
        np.ascontiguousarray(targets.weights.T),
        turns,
        None if weights is None else np.ascontiguousarray(weights.T),
    )


def look(m: NumberFunctions[N], limb: LimbModel, frames: TargetColumns) -> list[SiteTarget[N]]:
    """The targets of a limb's sites; sites without a weight are left out."""
    seen = []
    for number, mark in enumerate(limb.marks):
        weight: Any = frames.weights[mark.column] if mark.moves else 0.0
        turn_weight: Any = 0.0 if frames.turns is None else frames.turn_weights[mark.column]
        placed, turned = m.any(weight > 0), m.any(turn_weight > 0)
        if not (placed or turned):
            continue
        place = _from_wrist(m, frames.root, frames.places[mark.column], weight) if placed else None
        turn = frames.turns[mark.column] if turned else None
        seen.append(SiteTarget(number, place, weight, turn, turn_weight))
    return _led_by_the_end(m, seen, limb.worth.end) if len(seen) > 1 else seen


def _led_by_the_end(m: NumberFunctions[N], seen: list[SiteTarget[N]], end: float) -> list[SiteTarget[N]]:
    """Multiply the weight of the outermost position target by `end` where there are others; sites are outermost first.

    Model bones and marker offsets never match the performer's exactly. Plain least squares spread the residual along
    the finger and straighten it; if the fingertip is met closely, the other joints bend as the performer's do.
    """
    left: Any = sum(each.weight for each in seen)
    led, beyond = [], cast(Any, 0.0)
    for each in seen:
        left = left - each.weight
        leads: Any = (beyond <= 0) & (left > 0)
        led.append(each._replace(weight=each.weight * m.where(leads, end, 1.0)))
        beyond = beyond + each.weight
    return led


def _from_wrist(m: NumberFunctions[N], root: Any, place: Any, weight: Any) -> Point[N]:
    (ax, ay, az), (bx, by, bz), (cx, cy, cz), (tx, ty, tz) = root
    x, y, z = place
    if m is ARRAY:
        known = weight > 0
        x, y, z = np.where(known, x, tx), np.where(known, y, ty), np.where(known, z, tz)
    x, y, z = x - tx, y - ty, z - tz
    return ax * x + ay * y + az * z, bx * x + by * y + bz * z, cx * x + cy * y + cz * z


def _turn_from_wrist(root: Any, turn: Any, weight: Any) -> Any:
    """The columns of Rᵀ Q, from a quaternion of any length above 0; the identity where the weight is 0."""
    w, x, y, z = turn
    known = weight > 0
    w, x, y, z = (np.where(known, part, float(i == 0)) for i, part in enumerate((w, x, y, z)))
    scale = 2.0 / (w * w + x * x + y * y + z * z)
    xx, yy, zz, xy, yz, zx = scale * x * x, scale * y * y, scale * z * z, scale * x * y, scale * y * z, scale * z * x
    wx, wy, wz = scale * w * x, scale * w * y, scale * w * z
    columns = (1 - yy - zz, xy + wz, zx - wy), (xy - wz, 1 - xx - zz, yz + wx), (zx + wy, yz - wx, 1 - xx - yy)
    (ax, ay, az), (bx, by, bz), (cx, cy, cz), _ = root
    return tuple((ax * p + ay * q + az * r, bx * p + by * q + bz * r, cx * p + cy * q + cz * r) for p, q, r in columns)


def _turns_from_wrist(root: Floats, quaternions: Floats, weights: Floats) -> list[list[list[float]]]:
    """The same for all targets (T, 4) of one frame; there are enough of them for arrays to pay off."""
    known = np.where(weights[:, None] > 0, quaternions, rot.IDENTITY)
    turns: list[list[list[float]]] = (rot.to_matrix_transposed(known) @ root[:3, :3]).tolist()
    return turns


def told(m: NumberFunctions[N], limb: LimbModel, seen: list[SiteTarget[N]]) -> list[Any]:
    """(n,) whether the targets determine each degree of freedom, directly or through a coupling."""
    if m is SCALAR and len(seen) == len(limb.marks):
        return list(limb.told)
    known: list[Any] = [False] * len(limb.turns)
    for each in seen:
        counts: Any = True if m is SCALAR else (each.weight > 0) | (each.turn_weight > 0)
        for turn in limb.marks[each.mark].moved_by:
            known[turn] = known[turn] | counts
    return through(limb.rows, known)
