"""Hands whose bones have no hierarchy, such as headset joints in glTF, where only bone heads are meaningful.

A mean hand in a few poses is fitted to the points by soft assignment: each point belongs to every joint with a weight
that falls with distance; the width of the weights shrinks while the hand is fitted again, in the last steps with
shear, as hands differ (after Gold et al., New algorithms for 2D and 3D point matching, 1998). The bones are then given
the hierarchy of the joints.
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
"""Poses tried, as shares of the flexion limit of all joints."""
REACHES = np.geomspace(0.35, 0.03, 16)
"""Decreasing standard deviations of the assignment weights, in hand sizes."""
SHEARED = 8
"""The step from which the fit may shear."""
MOST_LEFT = 0.2
"""Greatest rms distance of a hand's points from their joints, in hand sizes."""
FEWEST = 16
"""Number of joints of a flat hand without metacarpals and tips."""
APART = 0.5
"""Two groups of points are two hands if the gap between them is wider than this share of a group's extent."""


def hung(bones: Sequence[Bone], by_name: bool) -> list[Bone]:
    """Return all bones, those of flat hands with the hierarchy of a hand's joints.

    By shape, names do not matter, but the hand must not be bent far. By name, a family of rigs must know the names.
    """
    loose = _loose(bones)
    found: dict[str, Bone] = {}
    for group in _groups(loose):
        joints = _joints_by_name(group) if by_name else _joints_by_shape(group)
        found |= {bone.name: bone for bone in _hang(joints)}
    return [found.get(bone.name, bone) for bone in bones]


def _loose(bones: Sequence[Bone]) -> list[Bone]:
    """Return the bones without parents, and without children other than one end bone added by an importer."""
    hung: dict[str | None, list[str]] = {}
    for bone in bones:
        hung.setdefault(bone.parent, []).append(bone.name)
    ends = {name for name, children in hung.items() if len(children) == 1 and children[0] not in hung}
    return [bone for bone in bones if bone.parent is None and (bone.name not in hung or bone.name in ends)]


def gathered(bones: Sequence[Bone]) -> list[Bone]:
    """Return the bones with parentless chains parented to the only bone without parent and child: a loose wrist."""
    has_child = {bone.parent for bone in bones}
    roots = [bone for bone in bones if bone.parent is None]
    loose = [bone for bone in roots if bone.name not in has_child]
    if len(loose) != 1:
        return list(bones)
    wrist = loose[0]
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
    if min(map(len, parts)) < 7 or gaps.max() < APART * max(np.ptp(along[part]) for part in parts):
        return [bones]
    return [[bones[number] for number in part] for part in parts]


def _joints_by_name(bones: list[Bone]) -> dict[str, Bone]:
    said = hints(bone.name for bone in bones)
    by_name = {bone.name: bone for bone in bones}
    return {joint: by_name[name] for name, joint in said.joints.items()}


def _joints_by_shape(bones: list[Bone]) -> dict[str, Bone]:
    """Return joint -> bone, without bones that lie apart; empty if the bones do not lie like a hand's joints."""
    bones = _together(bones)
    for joints in _joint_sets():
        if len(joints) == len(bones):
            matched = _match(np.array([bone.head for bone in bones]), joints)
            return {JOINTS[joint]: bones[row] for joint, row in zip(joints, matched, strict=True)} if matched else {}
    return {}


def _together(bones: list[Bone]) -> list[Bone]:
    """Return the bones without outliers: those further from every other bone than the others' rms size."""
    while len(bones) > FEWEST:
        points = np.array([bone.head for bone in bones])
        far = int(np.linalg.norm(points - np.median(points, axis=0), axis=-1).argmax())
        rest = np.delete(points, far, axis=0)
        alone = float(np.linalg.norm(rest - points[far], axis=-1).min())
        if alone**2 <= ((rest - rest.mean(axis=0)) ** 2).sum(axis=-1).mean():
            return bones
        bones = [*bones[:far], *bones[far + 1 :]]
    return bones


@cache
def _joint_sets() -> tuple[tuple[int, ...], ...]:
    """Return the sets of joints that flat rigs have: with or without metacarpals and tips."""
    sets = []
    for metacarpals, tips in product((True, False), repeat=2):
        kept = [
            number
            for number, joint in enumerate(JOINTS)
            if (metacarpals or "finger-metacarpal" not in joint) and (tips or not joint.endswith("-tip"))
        ]
        sets.append(tuple(kept))
    return tuple(sets)


@cache
def _models() -> Floats:
    """Return joint positions (P, J, 3) of a mean hand in the poses of CURLS, in hand sizes."""
    hand = proportions.build(proportions.adult("right"))
    bends = np.array([movement == "flexion" for movement in hand.movements])
    angles = np.array([np.where(bends, curl * hand.limits[:, 1], 0.0) for curl in CURLS])
    pose = kinematics.Pose(hand, np.tile(np.eye(4), (len(CURLS), 1, 1)), angles)
    places: Floats = kinematics.joint_frames(hand, pose)[..., :3, 3]
    return places


def _match(points: Floats, joints: tuple[int, ...]) -> list[int] | None:
    """Return the row of each joint's point among points (N, 3), None if they do not lie like a hand's joints."""
    seen = points - points.mean(axis=0)
    size = float(np.sqrt((seen**2).sum(axis=-1).mean()))
    if not size > 1e-12:
        return None
    model = _models()[:, joints]
    model = model - model.mean(axis=1, keepdims=True)
    model /= np.sqrt((model**2).sum(axis=-1).mean(axis=-1))[:, None, None]
    starts = _starts(seen / size, model)
    fitted = _laid(seen / size, np.repeat(model, len(starts) // len(model), axis=0), starts)
    best: tuple[float, list[int]] = (np.inf, [])
    for places in fitted:
        rows, left = _paired(seen / size, places)
        best = min(best, (left, rows))
    return best[1] if best[0] < MOST_LEFT else None


def _starts(seen: Floats, model: Floats) -> Floats:
    """Return all (48 P, 3, 3) rotations and reflections that align the principal axes of poses (P, N, 3) and points."""
    axes = np.linalg.svd(seen, full_matrices=False)[2]
    own = np.linalg.svd(model, full_matrices=False)[2]
    signed = [
        np.diag(signs) @ np.eye(3)[list(order)]
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
    turns = np.einsum("ji,skj,pkl->psil", axes, np.array(signed), own)
    result: Floats = turns.reshape(-1, 3, 3)
    return result


def _laid(seen: Floats, model: Floats, turns: Floats) -> Floats:
    """Return positions (S, N, 3) of the model's joints (S, N, 3) fitted to points (N, 3), from starts (S, 3, 3)."""
    places: Floats = np.einsum("sij,snj->sni", turns, model)
    for step, reach in enumerate(REACHES):
        away = ((places[:, :, None] - seen) ** 2).sum(axis=-1)
        shares = np.exp(-(away - away.min(axis=-1, keepdims=True)) / (2 * reach**2))
        for _ in range(8):
            shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
            shares /= np.maximum(shares.sum(axis=2, keepdims=True), 1e-12)
        wanted = shares @ seen
        places = _sheared(model, wanted) if step >= SHEARED else _turned(model, wanted)
    return places


def _turned(model: Floats, wanted: Floats) -> Floats:
    """Return the model fitted to the wanted positions (S, N, 3) by a similarity transform, mirrored or not."""
    centre = wanted.mean(axis=1, keepdims=True)
    u, stretch, vt = np.linalg.svd(np.swapaxes(wanted - centre, 1, 2) @ model)
    scale = stretch.sum(axis=-1) / (model**2).sum(axis=(1, 2))
    turned: Floats = scale[:, None, None] * np.swapaxes(u @ vt @ np.swapaxes(model, 1, 2), 1, 2) + centre
    return turned


def _sheared(model: Floats, wanted: Floats) -> Floats:
    """Return the model fitted to the wanted positions (S, N, 3) by a regularised affine transform."""
    centre = wanted.mean(axis=1, keepdims=True)
    spread = np.swapaxes(model, 1, 2) @ model + 0.05 * model.shape[1] / 3 * np.eye(3)
    turned = _turned(model, wanted) - centre
    left = np.linalg.solve(spread, np.swapaxes(model, 1, 2) @ (wanted - centre - turned))
    sheared: Floats = turned + model @ left + centre
    return sheared


def _paired(seen: Floats, places: Floats) -> tuple[list[int], float]:
    """Return a one-to-one assignment of points to joints, greedy and then improved by swaps, and its rms distance."""
    away = ((places[:, None] - seen) ** 2).sum(axis=-1)
    rows = np.full(len(places), -1)
    free = away.copy()
    for _ in places:
        joint, point = np.unravel_index(int(np.argmin(free)), free.shape)
        rows[joint] = point
        free[joint], free[:, point] = np.inf, np.inf
    while True:
        now = away[np.arange(len(rows)), rows]
        gain = now[:, None] + now - away[:, rows] - away[:, rows].T
        one, other = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if gain[one, other] <= 1e-12:
            return rows.tolist(), float(np.sqrt(now.mean()))
        rows[[one, other]] = rows[[other, one]]


def _hang(joints: dict[str, Bone]) -> list[Bone]:
    """Return the bones, each parented to the bone of the joint before it and ending at the next; a last one goes on."""
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
        before: Floats = np.array(joints[parent].head)
        tails[parent] = joints[joint].head
        x, y, z = head + 0.7 * (head - before)
        tails[joint] = (float(x), float(y), float(z))
    return [
        replace(bone, parent=joints[parents[joint]].name, tail=tails[joint]) if joint in parents else bone
        for joint, bone in joints.items()
    ]
