"""Skin weights: how much each joint moves each vertex."""

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX
from .anatomy import FleshVolume
from .implicit_surface import ramp
from .topology import COLUMNS, LAYERS, WEB_COLUMNS, Topology, finger_columns, rim, topology
from .vertex_placement import FADE, neighbours

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BEND = 5.5
"""mm before and after an interphalangeal joint over which its bend is distributed."""
WRIST = np.eye(6)[5]
MOST = 4
"""Largest number of joints per vertex."""


def weigh(anatomy: FleshVolume, points: Floats) -> Floats:
    """Skin weights (V, 25) of vertices (V, 3) m; rows sum to 1, with at most MOST joints each."""
    top = topology()
    weights = np.zeros((top.count, len(JOINT_INDEX)))
    share = _shares(anatomy, points, top)
    for digit in range(5):
        weights += share[:, digit, None] * _along(anatomy, digit, points)
    weights[:, 0] += share[:, 5]
    weights = _smooth(weights, top)
    return sparse(weights)


def sparse(weights: Floats) -> Floats:
    """Keep the MOST largest weights of each row and normalise."""
    least = np.sort(weights, axis=1)[:, -MOST, None]
    kept = np.where((weights >= least) & (weights > 1e-3), weights, 0.0)
    result: Floats = kept / kept.sum(1, keepdims=True)
    return result


def _shares(anatomy: FleshVolume, points: Floats, top: Topology) -> Floats:
    """Share (V, 6) of each digit's chain, and of the wrist, in each vertex: by the mesh's columns and tubes."""
    share = np.zeros((top.count, 6))
    columns = np.arange(COLUMNS + 1)
    column_share = np.zeros((COLUMNS + 1, 6))
    for finger in range(4):
        low, high = finger_columns(finger)
        outside = np.maximum(np.maximum(low - columns, columns - high), 0)
        column_share[:, finger + 1] = np.maximum(1 - outside / WEB_COLUMNS, 0)
    for column in range(COLUMNS + 1):
        for layer in range(LAYERS + 1):
            if column in (0, COLUMNS) or layer in (0, LAYERS):
                ids = top.sleeve[:, rim(column, layer)]
                share[ids[ids >= 0]] = column_share[column]
            if top.end[column, layer] >= 0:
                share[top.end[column, layer]] = column_share[column]
    share[top.wrist[1:-1, 1:-1]] = WRIST
    thumb = _thumb_share(anatomy, points)[:, None]
    share += (np.eye(6)[0] - share) * thumb
    for digit, tube in enumerate(top.tubes):
        rings = tube.rings[0 if digit else FADE :]
        whole = np.concatenate([rings.ravel(), tube.cap.ravel(), tube.nail.groove, tube.nail.plate.ravel()])
        share[whole] = np.eye(6)[digit]
    return share


def _thumb_share(anatomy: FleshVolume, points: Floats) -> Floats:
    """Share (V,) of the thumb's metacarpal in the palm, by the distances to it and to the rest of the palm."""
    base, knuckle = (anatomy.joints[JOINT_INDEX[name]][:3, 3] for name in CHAIN_JOINTS["thumb"][:2])
    to_thumb = segment_distance(points, base + 0.25 * (knuckle - base), knuckle)
    others = []
    for name in DIGITS[1:]:
        a, b = (anatomy.joints[JOINT_INDEX[joint]][:3, 3] for joint in DIGIT_JOINTS[name][:2])
        others.append(segment_distance(points, a, b + 0.3 * (b - a)))
    others.append(
        segment_distance(points, np.array([0, -0.04, 0]) * anatomy.scale, np.array([0, 0.02, 0]) * anatomy.scale)
    )
    to_palm = np.min(np.array(others), axis=0)
    return ramp((to_palm - to_thumb) / (to_palm + to_thumb), -0.45, 0.55)


def segment_distance(points: Floats, a: Floats, b: Floats) -> Floats:
    """Distance (N,) m from points (N, 3) to the segment from a to b."""
    along = np.clip((points - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
    return np.asarray(np.linalg.norm(points - a - along[:, None] * (b - a), axis=-1))


def _along(anatomy: FleshVolume, digit: int, points: Floats) -> Floats:
    """Weights (V, 25) of one digit's chain, by the vertices' positions along it."""
    name, reach = DIGITS[digit], anatomy.reach[digit]
    _, y, z = anatomy.digits[digit].local(points).T
    mm = anatomy.scale / 1000
    weights = np.zeros((len(points), len(JOINT_INDEX)))
    if digit:
        base = JOINT_INDEX[DIGIT_JOINTS[name][0]]
        weights[:, base] = ramp(points[:, 1], 5 * mm, 40 * mm)
        weights[:, 0] = 1 - weights[:, base]
        # The palm side folds at the crease, which is more distal than the joint.
        fold = 3 * mm - 0.45 * np.minimum(z, 0)
        passed = [ramp(y, fold - 10 * mm, fold + 10 * mm)]
    else:
        passed = [np.ones(len(points))]
    passed += [ramp(y, at - BEND * mm, at + BEND * mm) for at in reach[1:3]]
    for joint, share in zip(CHAIN_JOINTS[name], passed, strict=False):
        weights *= 1 - share[:, None]
        weights[:, JOINT_INDEX[joint]] = share
    return weights


def _smooth(weights: Floats, top: Topology) -> Floats:
    """Smooth the palm's weights; those of the digits stay."""
    table, share = neighbours()
    digits = np.concatenate([tube.rings[4 if d else FADE :].ravel() for d, tube in enumerate(top.tubes)])
    caps = np.concatenate([[*tube.cap.ravel(), *tube.nail.groove, *tube.nail.plate.ravel()] for tube in top.tubes])
    free = np.setdiff1d(np.arange(top.count), np.concatenate([digits, caps]))
    for _ in range(6):
        weights[free] = 0.5 * weights[free] + 0.5 * np.einsum("nk,nkj->nj", share[free], weights[table[free]])
    return weights
