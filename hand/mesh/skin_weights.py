"""Skin weights: how much each joint moves each vertex."""

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX
from ..smoothstep import smoothstep
from .anatomy import FleshVolume
from .creases import distance_to_polyline
from .topology import COLUMNS, LAYERS, WEB_COLUMNS, Topology, finger_columns, rim_index, topology
from .vertex_placement import SLANTED_RINGS, neighbours

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BEND_LENGTH_MM = 5.5
"""mm before and after an interphalangeal joint over which its bend is distributed."""
WRIST_ONLY = np.eye(6)[5]
"""Shares (6,) of the five digits' chains and of the wrist for a vertex that moves with the wrist alone."""
MAX_JOINTS = 4
"""Maximum number of joints per vertex."""


def skin_weights(flesh: FleshVolume, points: Floats) -> Floats:
    """Return skin weights (V, 25) of vertices (V, 3) m; rows sum to 1, with at most MAX_JOINTS joints each."""
    top = topology()
    weights = np.zeros((top.count, len(JOINT_INDEX)))
    chain_weights = _chain_shares(flesh, points, top)
    for digit in range(5):
        weights += chain_weights[:, digit, None] * _chain_weights(flesh, digit, points)
    weights[:, 0] += chain_weights[:, 5]
    weights = _smooth_palm(weights, top)
    return keep_largest(weights)


def keep_largest(weights: Floats) -> Floats:
    """Keep the MAX_JOINTS largest weights of each row and normalise."""
    smallest_kept = np.sort(weights, axis=1)[:, -MAX_JOINTS, None]
    largest = np.where((weights >= smallest_kept) & (weights > 1e-3), weights, 0.0)
    result: Floats = largest / largest.sum(1, keepdims=True)
    return result


def _chain_shares(flesh: FleshVolume, points: Floats, top: Topology) -> Floats:
    """Return the shares (V, 6) of the digits' chains and of the wrist in each vertex, by the mesh's columns and
    tubes."""
    weights = np.zeros((top.count, 6))
    columns = np.arange(COLUMNS + 1)
    column_fraction = np.zeros((COLUMNS + 1, 6))
    for finger in range(4):
        low, high = finger_columns(finger)
        columns_away = np.maximum(np.maximum(low - columns, columns - high), 0)
        column_fraction[:, finger + 1] = np.maximum(1 - columns_away / WEB_COLUMNS, 0)
    for column in range(COLUMNS + 1):
        for layer in range(LAYERS + 1):
            if column in (0, COLUMNS) or layer in (0, LAYERS):
                ids = top.sleeve[:, rim_index(column, layer)]
                weights[ids[ids >= 0]] = column_fraction[column]
            if top.end[column, layer] >= 0:
                weights[top.end[column, layer]] = column_fraction[column]
    weights[top.wrist[1:-1, 1:-1]] = WRIST_ONLY
    thumb = _thumb_share(flesh, points)[:, None]
    weights += (np.eye(6)[0] - weights) * thumb
    for digit, tube in enumerate(top.tubes):
        rings = tube.rings[0 if digit else SLANTED_RINGS :]
        digit_vertices = np.concatenate([rings.ravel(), tube.cap.ravel(), tube.nail.groove, tube.nail.plate.ravel()])
        weights[digit_vertices] = np.eye(6)[digit]
    return weights


def _thumb_share(flesh: FleshVolume, points: Floats) -> Floats:
    """Return the thumb's share (V,) in the palm's vertices, by their distances to its metacarpal and to the palm."""
    base, knuckle = (flesh.joints[JOINT_INDEX[name]][:3, 3] for name in CHAIN_JOINTS["thumb"][:2])
    to_thumb = distance_to_polyline(points, np.array([base + 0.25 * (knuckle - base), knuckle]))
    palm_bones = [np.array([[0, -0.04, 0], [0, 0.02, 0]]) * flesh.scale]
    for name in DIGITS[1:]:
        a, b = (flesh.joints[JOINT_INDEX[joint]][:3, 3] for joint in DIGIT_JOINTS[name][:2])
        palm_bones.append(np.array([a, b + 0.3 * (b - a)]))
    to_palm = np.min([distance_to_polyline(points, bone) for bone in palm_bones], axis=0)
    return smoothstep((to_palm - to_thumb) / (to_palm + to_thumb), -0.45, 0.55)


def _chain_weights(flesh: FleshVolume, digit: int, points: Floats) -> Floats:
    """Return weights (V, 25) of one digit's chain, by the vertices' positions along it."""
    name, joint_y = DIGITS[digit], flesh.joint_y[digit]
    _, y, z = flesh.digits[digit].to_local(points).T
    mm = flesh.scale / 1000
    weights = np.zeros((len(points), len(JOINT_INDEX)))
    if digit:
        base = JOINT_INDEX[DIGIT_JOINTS[name][0]]
        weights[:, base] = smoothstep(points[:, 1], 5 * mm, 40 * mm)
        weights[:, 0] = 1 - weights[:, base]
        # The palm side folds at the crease, which is more distal than the joint.
        crease_y = 3 * mm - 0.45 * np.minimum(z, 0)
        fractions = [smoothstep(y, crease_y - 10 * mm, crease_y + 10 * mm)]
    else:
        fractions = [np.ones(len(points))]
    fractions += [
        smoothstep(y, position - BEND_LENGTH_MM * mm, position + BEND_LENGTH_MM * mm) for position in joint_y[1:3]
    ]
    for joint, fraction in zip(CHAIN_JOINTS[name], fractions, strict=False):
        weights *= 1 - fraction[:, None]
        weights[:, JOINT_INDEX[joint]] = fraction
    return weights


def _smooth_palm(weights: Floats, top: Topology) -> Floats:
    """Smooth the weights of the palm, but not those of the digits."""
    table, neighbour_weights = neighbours()
    digits = np.concatenate([tube.rings[4 if d else SLANTED_RINGS :].ravel() for d, tube in enumerate(top.tubes)])
    caps = np.concatenate([[*tube.cap.ravel(), *tube.nail.groove, *tube.nail.plate.ravel()] for tube in top.tubes])
    free = np.setdiff1d(np.arange(top.count), np.concatenate([digits, caps]))
    for _ in range(6):
        weights[free] = 0.5 * weights[free] + 0.5 * np.einsum(
            "nk,nkj->nj", neighbour_weights[free], weights[table[free]]
        )
    return weights
