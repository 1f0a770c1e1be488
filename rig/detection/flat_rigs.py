"""Hands whose bones have no hierarchy, such as headset joints in glTF, in which only bone heads are meaningful.

A mean hand in a few poses is fitted to the points by soft assignment: each point belongs to every joint with a weight
that decreases with distance. The hand is fitted repeatedly with narrower weights, in the last steps with shear, as
hands differ (after Gold et al., New algorithms for 2D and 3D point matching, 1998). The bones then get the hierarchy
of the joints.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from ...hand import kinematics, proportions
from ...hand.joints import JOINTS, PARENTS
from .name_hints import hints
from .skeleton import Bone, Point

Floats = NDArray[np.float64]

CURLS = (0.0, 0.25, 0.6)
"""Poses that are tried, as fractions of the flexion limit of all joints."""
ASSIGNMENT_WIDTHS = np.geomspace(0.35, 0.03, 16)
"""Decreasing standard deviations of the assignment weights, in hand sizes."""
FIRST_SHEAR_STEP = 8
"""The first step in which the fit may shear."""
MAX_DISTANCE = 0.2
"""Maximum rms distance of a hand's points from their joints, in hand sizes."""
MIN_JOINTS = 16
"""Number of joints of a flat hand without metacarpals and tips."""
HAND_GAP = 0.5
"""Two groups of points are two hands if the gap between them is wider than this fraction of a group's extent."""


def with_hand_hierarchy(bones: Sequence[Bone], by_name: bool) -> list[Bone]:
    """Return all bones. Those of flat hands have the hierarchy of a hand's joints.

    by_name: whether joints are recognised by names that a family of rigs uses. Otherwise names do not matter, but the
    hand must not be bent far.
    """
    unparented = _unparented(bones)
    rebuilt: dict[str, Bone] = {}
    for group in _groups(unparented):
        joints = _joints_by_name(group) if by_name else _joints_by_shape(group)
        rebuilt |= {bone.name: bone for bone in _with_parents(joints)}
    return [rebuilt.get(bone.name, bone) for bone in bones]


def _unparented(bones: Sequence[Bone]) -> list[Bone]:
    """Return the bones without parents, and without children other than one end bone added by an importer."""
    child_names: dict[str | None, list[str]] = {}
    for bone in bones:
        child_names.setdefault(bone.parent, []).append(bone.name)
    single_children = {name: names[0] for name, names in child_names.items() if len(names) == 1}
    with_end_bone = {name for name, child in single_children.items() if child not in child_names}
    roots = [bone for bone in bones if bone.parent is None]
    return [bone for bone in roots if bone.name not in child_names or bone.name in with_end_bone]


def with_loose_wrist(bones: Sequence[Bone]) -> list[Bone]:
    """Return the bones with parentless chains parented to a loose wrist, the only bone without parent and children."""
    has_child = {bone.parent for bone in bones}
    roots = [bone for bone in bones if bone.parent is None]
    candidates = [bone for bone in roots if bone.name not in has_child]
    if len(candidates) != 1:
        return list(bones)
    wrist = candidates[0]
    return [replace(bone, parent=wrist.name) if bone.parent is None and bone != wrist else bone for bone in bones]


def _groups(bones: list[Bone]) -> list[list[Bone]]:
    """Return the bones as one group, or as two hands, split at the widest gap if it is wide enough."""
    if len(bones) < 2 * 7:
        return [bones] if bones else []
    points = np.array([bone.head for bone in bones])
    centred = points - points.mean(axis=0)
    along = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
    order = np.argsort(along)
    gaps = np.diff(along[order])
    cut = int(np.argmax(gaps)) + 1
    parts = [order[:cut], order[cut:]]
    if min(map(len, parts)) < 7 or gaps.max() < HAND_GAP * max(np.ptp(along[part]) for part in parts):
        return [bones]
    return [[bones[number] for number in part] for part in parts]


def _joints_by_name(bones: list[Bone]) -> dict[str, Bone]:
    named = hints(bone.name for bone in bones)
    by_name = {bone.name: bone for bone in bones}
    return {joint: by_name[name] for name, joint in named.joints.items()}


def _joints_by_shape(bones: list[Bone]) -> dict[str, Bone]:
    """Return joint -> bone, without outliers; empty if the bones are not arranged like a hand's joints."""
    bones = _without_outliers(bones)
    for joints in _joint_sets():
        if len(joints) == len(bones):
            matched = _match(np.array([bone.head for bone in bones]), joints)
            return {JOINTS[joint]: bones[row] for joint, row in zip(joints, matched, strict=True)} if matched else {}
    return {}


def _without_outliers(bones: list[Bone]) -> list[Bone]:
    """Return the bones without outliers, whose distance from every other bone exceeds the rms size of the others."""
    while len(bones) > MIN_JOINTS:
        points = np.array([bone.head for bone in bones])
        outlier = int(np.linalg.norm(points - np.median(points, axis=0), axis=-1).argmax())
        rest = np.delete(points, outlier, axis=0)
        distance = float(np.linalg.norm(rest - points[outlier], axis=-1).min())
        if distance**2 <= ((rest - rest.mean(axis=0)) ** 2).sum(axis=-1).mean():
            return bones
        bones = [*bones[:outlier], *bones[outlier + 1 :]]
    return bones


@cache
def _joint_sets() -> tuple[tuple[int, ...], ...]:
    """Return the sets of joints that flat rigs have, with or without metacarpals and tips."""
    sets = []
    for metacarpals, tips in product((True, False), repeat=2):
        joints = [
            number
            for number, joint in enumerate(JOINTS)
            if (metacarpals or "finger-metacarpal" not in joint) and (tips or not joint.endswith("-tip"))
        ]
        sets.append(tuple(joints))
    return tuple(sets)


@cache
def _models() -> Floats:
    """Return joint positions (P, J, 3) of a mean hand in the poses of CURLS, in hand sizes."""
    hand = proportions.build(proportions.adult("right"))
    is_flexion = np.array([movement == "flexion" for movement in hand.movements])
    angles = np.array([np.where(is_flexion, curl * hand.limits[:, 1], 0.0) for curl in CURLS])
    pose = kinematics.Pose(hand, np.tile(np.eye(4), (len(CURLS), 1, 1)), angles)
    positions: Floats = kinematics.joint_frames(hand, pose)[..., :3, 3]
    return positions


def _match(points: Floats, joints: tuple[int, ...]) -> list[int] | None:
    """Return the row of each joint's point among points (N, 3), None if they are not arranged like a hand's."""
    centred = points - points.mean(axis=0)
    size = float(np.sqrt((centred**2).sum(axis=-1).mean()))
    if not size > 1e-12:
        return None
    model = _models()[:, joints]
    model = model - model.mean(axis=1, keepdims=True)
    model /= np.sqrt((model**2).sum(axis=-1).mean(axis=-1))[:, None, None]
    starts = _starts(centred / size, model)
    fitted = _fitted(centred / size, np.repeat(model, len(starts) // len(model), axis=0), starts)
    best: tuple[float, list[int]] = (np.inf, [])
    for positions in fitted:
        rows, distance = _assigned(centred / size, positions)
        best = min(best, (distance, rows))
    return best[1] if best[0] < MAX_DISTANCE else None


def _starts(points: Floats, model: Floats) -> Floats:
    """Return all (48 P, 3, 3) rotations and reflections that align the principal axes of poses (P, N, 3) and points."""
    axes = np.linalg.svd(points, full_matrices=False)[2]
    own = np.linalg.svd(model, full_matrices=False)[2]
    signed = [
        np.diag(signs) @ np.eye(3)[list(order)]
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
    rotations = np.einsum("ji,skj,pkl->psil", axes, np.array(signed), own)
    result: Floats = rotations.reshape(-1, 3, 3)
    return result


def _fitted(points: Floats, model: Floats, starts: Floats) -> Floats:
    """Return positions (S, N, 3) of the model's joints (S, N, 3) fitted to points (N, 3), from starts (S, 3, 3)."""
    positions: Floats = np.einsum("sij,snj->sni", starts, model)
    for step, width in enumerate(ASSIGNMENT_WIDTHS):
        squared_distances = ((positions[:, :, None] - points) ** 2).sum(axis=-1)
        weights = np.exp(-(squared_distances - squared_distances.min(axis=-1, keepdims=True)) / (2 * width**2))
        for _ in range(8):
            weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
            weights /= np.maximum(weights.sum(axis=2, keepdims=True), 1e-12)
        targets = weights @ points
        positions = _fit_affine(model, targets) if step >= FIRST_SHEAR_STEP else _fit_similarity(model, targets)
    return positions


def _fit_similarity(model: Floats, targets: Floats) -> Floats:
    """Return the model fitted to target positions (S, N, 3) by a similarity transform, mirrored or not."""
    centre = targets.mean(axis=1, keepdims=True)
    u, stretch, vt = np.linalg.svd(np.swapaxes(targets - centre, 1, 2) @ model)
    scale = stretch.sum(axis=-1) / (model**2).sum(axis=(1, 2))
    fitted: Floats = scale[:, None, None] * np.swapaxes(u @ vt @ np.swapaxes(model, 1, 2), 1, 2) + centre
    return fitted


def _fit_affine(model: Floats, targets: Floats) -> Floats:
    """Return the model fitted to target positions (S, N, 3) by a regularised affine transform."""
    centre = targets.mean(axis=1, keepdims=True)
    spread = np.swapaxes(model, 1, 2) @ model + 0.05 * model.shape[1] / 3 * np.eye(3)
    fitted = _fit_similarity(model, targets) - centre
    shear = np.linalg.solve(spread, np.swapaxes(model, 1, 2) @ (targets - centre - fitted))
    result: Floats = fitted + model @ shear + centre
    return result


def _assigned(points: Floats, positions: Floats) -> tuple[list[int], float]:
    """Return a one-to-one assignment of points to joints, greedy and then improved by swaps, and its rms distance."""
    squared_distances = ((positions[:, None] - points) ** 2).sum(axis=-1)
    rows = np.full(len(positions), -1)
    remaining = squared_distances.copy()
    for _ in positions:
        joint, point = np.unravel_index(int(np.argmin(remaining)), remaining.shape)
        rows[joint] = point
        remaining[joint], remaining[:, point] = np.inf, np.inf
    while True:
        present = squared_distances[np.arange(len(rows)), rows]
        gain = present[:, None] + present - squared_distances[:, rows] - squared_distances[:, rows].T
        first, second = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if gain[first, second] <= 1e-12:
            return rows.tolist(), float(np.sqrt(present.mean()))
        rows[[first, second]] = rows[[second, first]]


def _with_parents(joints: dict[str, Bone]) -> list[Bone]:
    """Return the bones, each parented to the bone of the previous joint and ending at the next, if any."""
    parents: dict[str, str] = {}
    for number, joint in enumerate(JOINTS):
        above = PARENTS[number]
        while above >= 0 and JOINTS[above] not in joints:
            above = PARENTS[above]
        if joint in joints and above >= 0:
            parents[joint] = JOINTS[above]
    tails: dict[str, Point] = {}
    for joint, parent in parents.items():
        head: Floats = np.array(joints[joint].head)
        parent_head: Floats = np.array(joints[parent].head)
        tails[parent] = joints[joint].head
        x, y, z = head + 0.7 * (head - parent_head)
        tails[joint] = (float(x), float(y), float(z))
    return [
        replace(bone, parent=joints[parents[joint]].name, tail=tails[joint]) if joint in parents else bone
        for joint, bone in joints.items()
    ]
