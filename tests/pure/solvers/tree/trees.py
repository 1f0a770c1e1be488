"""Skeletons to solve, poses of them inside their limits, and a forward kinematics of another maker."""

import numpy as np
from scipy.spatial.transform import Rotation

from knuckle.solvers.tree import RestBone, ball, chain, cone, fixed, from_bones, hinge

UP = np.stack([np.zeros(7), np.arange(7.0), np.zeros(7)], -1)
ARM_AT = np.array([[0, 0, 0], [0.3, 0, 0], [0.56, 0, 0], [0.65, 0, 0]])

FREE = chain("free", UP[:6])
UNEVEN = chain("uneven", np.cumsum([[0, 0, 0], [0, 1, 0], [0, 0.2, 0.1], [0, 3, 0], [0.2, 0.5, 0]], axis=0))
FINGER = chain("finger", UP[:5] * 0.03, [cone(1.5, 0.5, 0.3, 0.3), hinge(0, 1.7), hinge(0, 1.0), fixed()])
HINGES = chain("hinges", UP[:5], [hinge(-1, 1, (0, 1, 0)), hinge(-0.5, 2), hinge(0, 2), hinge(0, 1.5)])
TAIL = chain("tail", UP, cone(0.6, 0.3, 0.5, 0.4, (-0.3, 0.3)))
ARM = chain(
    "arm", ARM_AT, [cone(2.5, 1.0, 1.5, 0.5, (-1.2, 1.2)), hinge(0, 2.5), cone(0.8, 0.8, 0.4, 0.4, (-1.4, 1.4))]
)
SIDES = {-1: "left", 1: "right"}
LIMBS = [
    [RestBone(f"{name}-0", "s1", (0, 0, 2), (x, 0, 2)), RestBone(f"{name}-1", f"{name}-0", (x, 0, 2), (2 * x, 0, 2))]
    for x, name in SIDES.items()
]
Y = from_bones(
    [RestBone("s0", None, (0, 0, 0), (0, 0, 1)), RestBone("s1", "s0", (0, 0, 1), (0, 0, 2)), *LIMBS[0], *LIMBS[1]]
)
"""Two ends on one sub-base: FABRIK's figure of multiple end effectors."""


def palm(root_free=False):
    """Three fingers on a rigid palm that turns any way."""
    bones = [RestBone("palm", None, (0, 0, 0), (0, 1, 0))]
    for name, x in (("one", -0.4), ("two", 0.0), ("three", 0.4)):
        bones += [
            RestBone(name, "palm", (x, 1, 0), (x, 1.5, 0), cone(1.5, 0.3, 0.3, 0.3)),
            RestBone(f"{name}-end", name, (x, 1.5, 0), (x, 1.9, 0), hinge(0, 1.7)),
        ]
    return from_bones(bones, root_free=root_free)


def loop(limit=None, root_free=False):
    """Two chains of two bones whose ends meet."""
    limit = limit or ball()
    bones = [RestBone("base", None, (0, 0, 0), (0, 0.1, 0), fixed())]
    for name, x in (("left", -1), ("right", 1)):
        bones += [
            RestBone(f"{name}-0", "base", (x, 0, 0), (1.5 * x, 1, 0), limit),
            RestBone(f"{name}-1", f"{name}-0", (1.5 * x, 1, 0), (0, 2, 0), limit),
        ]
    return from_bones(bones, loops=[("left-1-tip", "right-1-tip")], root_free=root_free)


def turns_inside(skeleton, frames, seed, widest=np.pi):
    """(F, J, 3) turns spread over all that the limits allow."""
    unit = np.random.default_rng(seed).uniform(-1, 1, (frames, len(skeleton.joints), 3))
    disc = unit[..., ::2] / np.maximum(np.linalg.norm(unit[..., ::2], axis=-1, keepdims=True), 1)
    semi = np.where(disc >= 0, skeleton.cone[:, :2], skeleton.cone[:, 2:])
    turns = np.zeros_like(unit)
    turns[..., ::2] = disc * np.minimum(semi, widest)
    low, high = np.clip(skeleton.twist.T, -widest, widest)
    turns[..., 1] = (low + high) / 2 + unit[..., 1] * (high - low) / 2
    return turns


def independent(skeleton, root, rotations):
    """Positions (F, J, 3) and world rotations, by scipy, from T_world_base (F, 4, 4) and wxyz (F, J, 4)."""
    turned: list[Rotation] = []
    at: list[np.ndarray] = []
    for j, parent in enumerate(skeleton.parents):
        above = Rotation.from_matrix(root[:, :3, :3]) if parent < 0 else turned[parent]
        start = root[:, :3, 3] if parent < 0 else at[parent]
        at.append(start + above.apply(skeleton.rest[j, :3, 3].copy()))
        own = Rotation.from_quat(rotations[:, j], scalar_first=True)
        turned.append(above * Rotation.from_matrix(skeleton.rest[j, :3, :3].copy()) * own)
    return np.stack(at, 1), turned


def posed(skeleton, turns):
    """Positions (F, J, 3) and world rotations of turns (F, J, 3), by scipy; the base is at the origin."""
    side, twist, third = np.moveaxis(skeleton.axes, -1, 0)
    swing = turns[..., :1] * side + turns[..., 2:] * third
    shape = turns.shape
    both = Rotation.from_rotvec(swing.reshape(-1, 3)) * Rotation.from_rotvec((turns[..., 1:2] * twist).reshape(-1, 3))
    rotations = both.as_quat(scalar_first=True).reshape(*shape[:2], 4)
    return independent(skeleton, np.broadcast_to(np.eye(4), (shape[0], 4, 4)), rotations)


def limit_excess(skeleton, rotations):
    """rad by which quaternions (F, J, 4) leave their limits: the largest of all.

    Not by the package's own split: the twist axis shows the swing, what is left of the turn without it the twist.
    """
    worst = 0.0
    for j in range(len(skeleton.joints)):
        side, axis, third = skeleton.axes[j].T
        turn = Rotation.from_quat(rotations[:, j], scalar_first=True)
        heading = turn.apply(axis.copy())
        across = np.cross(axis, heading)
        length = np.linalg.norm(across, axis=-1)
        angle = np.arctan2(length, heading @ axis)
        vector = across * (angle / np.maximum(length, 1e-300))[:, None]
        twisted = (Rotation.from_rotvec(vector).inv() * turn).as_rotvec() @ axis
        low, high = skeleton.twist[j]
        if (high - low < 2 * np.pi - 1e-9 and length.min() > 1e-9) or not skeleton.cone[j].any():
            middle = (low + high) / 2
            apart = np.abs((twisted - middle + np.pi) % (2 * np.pi) - np.pi)
            worst = max(worst, (apart - (high - low) / 2).max())
        x, z = vector @ side, vector @ third
        a = np.where(x >= 0, skeleton.cone[j, 0], skeleton.cone[j, 2])
        b = np.where(z >= 0, skeleton.cone[j, 1], skeleton.cone[j, 3])
        beyond = np.where(a * b > 0, np.hypot(x / np.maximum(a, 1e-300), z / np.maximum(b, 1e-300)) - 1, 0.0)
        # Part of the cone's width to rad; a closed side lets nothing through.
        worst = max(worst, (beyond * np.maximum(a, b)).max(), np.abs(x[a == 0]).max(initial=0.0))
        worst = max(worst, np.abs(z[b == 0]).max(initial=0.0))
    return worst
