"""Conversion of limits on a rig's bones to angle ranges of a hand's joints.

A bone's axes need not be those of its joint, so the names of axes mean nothing here: for sample angles of a joint, the
resulting rotation of the bone is computed and checked against the bone's limits.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.kinematics import Pose
from ...hand.model import HandModel, Movement
from ...hand.value_equality import ValueEquality
from ..binding import RigBinding
from ..pose_transfer import transfer
from ..rotation_channels import least_eulers
from .bone_limits import NARROW, BoneLimits, apart

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAN = np.sin(np.deg2rad(40.0))
"""Sine of the greatest angle between a bone's hinge and its joint's axis, as for rest_frames.HINGE_TRUSTED."""
PRECISE = np.deg2rad(0.02)
ROUNDS = 3
PARTS = 16
"""The ends of a range are searched in ROUNDS refinements by PARTS steps each: to a fortieth of a degree."""
NEARER = 7
"""How often the pattern search for the nearest angles divides its step by three: to a hundredth of a degree."""
TRIED: dict[Movement, int] = {"flexion": 13, "abduction": 5, "twist": 5}
"""How many angles of a range are tried. Ranges are extended in this order: flexion matters most."""


@dataclass(frozen=True, slots=True, eq=False)
class JointRange:
    """The angles of a joint within its bone's limits."""

    ranges: Mapping[Movement, tuple[float, float]]
    """rad, a box that is allowed as a whole."""
    outside: float
    """rad, least distance of the bone's rotations from its limits; 0 if it gets inside."""


def joint_ranges(binding: RigBinding, hand: HandModel, world: Floats) -> dict[int, JointRange]:
    """Return joint -> range for joints whose bones are limited; within the hand's own limits where possible.

    world: T_world_armature (4, 4). Joints are left out whose bone's rotation depends on more than the joint's own
    angles: in hands whose bones have no parents, or other parents than the hand's joints.
    """
    joints = keyed_joints(binding, hand, world)
    return {index: _range(joint) for index, joint in joints.items() if joint.limits.parts}


@dataclass(frozen=True, slots=True, eq=False)
class KeyedJoint(ValueEquality):
    """A joint with K angles and the bone that it keys: the bone's basis = before · R(angles) · after."""

    movements: tuple[Movement, ...]
    axes: Floats
    """(K, 3) signed axes of the joint's frame."""
    own: Floats
    """(K, 2) rad, the hand's own limits."""
    neutral: Floats
    """(K,) rad"""
    before: Floats
    after: Floats
    """(3, 3)"""
    limits: BoneLimits

    def bases(self, angles: Floats) -> Floats:
        """Return the bone's basis rotations (N, 3, 3) at angles (N, K) rad."""
        turn = np.broadcast_to(rot.IDENTITY, (len(angles), 4))
        for axis, column in zip(self.axes, angles.T, strict=True):
            turn = rot.multiply(turn, rot.from_axis_angle(axis, column))
        bases: Floats = self.before @ rot.to_matrix(turn) @ self.after
        return bases

    def off(self, angles: Floats) -> Floats:
        """Return violations (3, N) rad of locked axes, of other ranges and of twist, see BoneLimits.off."""
        return np.stack(self.limits.off(self.bases(angles)))

    def at_rest(self) -> Floats:
        """Return the angles (K,) rad at which the bone is at rest or near it."""
        eulers = least_eulers((self.after @ self.before).T[None], "XYZ")[0]
        angles: Floats = self.axes @ eulers
        return angles


def keyed_joints(binding: RigBinding, hand: HandModel, world: Floats) -> dict[int, KeyedJoint]:
    """Return the moving joints with a bone whose rotation depends on the joint's own angles alone."""
    free = replace(binding, limits={})
    rng = np.random.default_rng(0)
    low, high = hand.limits.T
    angles = np.concatenate([np.zeros((1, hand.dofs)), low + rng.random((3, hand.dofs)) * (high - low)])
    roots = np.tile(np.eye(4), (len(angles), 1, 1))
    roots[1:, :3, :3] = rot.to_matrix(rot.from_axis_angle(np.eye(3), np.array([0.5, 1.0, 1.5])))
    keyed = rot.to_matrix(transfer(free, hand, Pose(hand, roots, angles), world, {}).rotations)
    # A mirrored armature shows the other hand: its bones rotate as mirror images.
    mirror = np.array([1.0, -1.0, -1.0] if np.linalg.det(world[:3, :3]) < 0 else [1.0, 1.0, 1.0])
    joints: dict[int, KeyedJoint] = {}
    for index in set(hand.axis_joint.tolist()) & set(binding.mapped):
        dofs = np.flatnonzero(hand.axis_joint == index)
        after = binding.rest_to_bone[index, :3, :3]
        joint = KeyedJoint(
            movements=tuple(hand.movements[dof] for dof in dofs),
            axes=hand.axes[dofs] * mirror,
            own=hand.limits[dofs],
            neutral=hand.neutral[dofs],
            before=_rounded(keyed[0, index] @ after.T),
            after=_rounded(after),
            limits=binding.limits.get(index, BoneLimits(str(binding.bones[index]), ())),
        )
        if apart(joint.bases(angles[:, dofs]), keyed[:, index]).max() < NARROW / 10:
            joints[index] = joint
    return joints


def _rounded(rotation: Floats) -> Floats:
    """Round off the last bits, which depend on the armature's position, so that equal joints are found in the cache."""
    result: Floats = np.round(rotation, 9) + 0.0
    return result


@lru_cache(maxsize=256)  # the same rigs are queried repeatedly
def _range(joint: KeyedJoint) -> JointRange:
    base, off = _nearest_allowed(joint, joint.own)
    if off.max() > NARROW:
        # A stiff rig keeps its rest pose, even if its abduction and twist are outside a hand's limits.
        built = joint.at_rest()[:, None]
        wider = np.concatenate([np.minimum(joint.own, built)[:, :1], np.maximum(joint.own, built)[:, 1:]], axis=1)
        bends = np.array([movement == "flexion" for movement in joint.movements])[:, None]
        loose = replace(joint, own=np.where(bends, joint.own, wider))
        as_built, off_as_built = _nearest_allowed(loose, loose.own)
        if off_as_built.max() < off.max() - NARROW:
            joint, base, off = loose, as_built, off_as_built
    return _filled(joint, base, off)


def _nearest_allowed(joint: KeyedJoint, own: Floats) -> tuple[Floats, Floats]:
    """Return the allowed angles (K,) nearest to neutral, else the nearest to allowed ones, and their violations (3,).

    By a pattern search from the best point of a grid: to the best neighbour, with smaller steps when none is better.
    """
    counts = [TRIED[movement] for movement in joint.movements]
    grid = _grid(own, counts)
    points = np.concatenate([grid, np.clip([joint.at_rest(), joint.neutral], *own.T)])
    best, cost = _cheapest(joint, points)
    step = np.ptp(own, axis=1) / np.array(counts)
    around = np.array(list(product((-1.0, -1 / 3, 0.0, 1 / 3, 1.0), repeat=len(counts))))
    smaller = 0
    while smaller < NEARER:
        found, found_cost = _cheapest(joint, np.clip(best + around * step, *own.T))
        if found_cost < cost - 1e-6:
            best, cost = found, found_cost
        else:
            step, smaller = step / 3, smaller + 1
    return best, joint.off(best[None])[:, 0]


def _cheapest(joint: KeyedJoint, points: Floats) -> tuple[Floats, float]:
    """Return the point (K,) of (N, K) of least violation, of allowed ones the nearest to neutral, and its cost."""
    beside, outside, twisted = joint.off(points)
    excess = np.maximum(beside - NARROW / 2, 0.0) + np.maximum(outside - PRECISE / 2, 0.0)
    costs = (
        1000.0 * excess
        + 100.0 * np.maximum(twisted - NARROW / 2, 0.0)
        + np.linalg.norm(points - joint.neutral, axis=-1)
    )
    least = int(costs.argmin())
    return points[least], float(costs[least])


def _filled(joint: KeyedJoint, base: Floats, off: Floats) -> JointRange:
    """Return the box around `base` (K,), whose violations are `off` (3,), extended in the order of TRIED."""
    box = np.stack([base, base], axis=1)
    # The twist of a bone that must not twist is fixed.
    untwisted = any(part.untwisted for part in joint.limits.parts)
    for movement in TRIED:
        if movement in joint.movements and not (movement == "twist" and untwisted):
            row = joint.movements.index(movement)
            for end in (0, 1):
                box[row, end] = _furthest(joint, base, off, box, (row, end))
    ranges = {movement: (float(low), float(high)) for movement, (low, high) in zip(joint.movements, box, strict=True)}
    return JointRange(MappingProxyType(ranges), float(off[1]))


def _furthest(joint: KeyedJoint, base: Floats, off: Floats, box: Floats, at: tuple[int, int]) -> float:
    """Return the furthest value of one end of a box for which all of the box is allowed, up to the hand's limit."""
    inside, outside = float(box[at]), float(joint.own[at])
    for _ in range(ROUNDS if inside != outside else 0):
        ends = np.linspace(inside, outside, PARTS + 1)[1:]
        larger = np.repeat(box[None], PARTS, axis=0)
        larger[:, at[0], at[1]] = ends
        fits = _allowed(joint, base, off, larger)
        if fits.all():
            return outside
        count = int(fits.argmin())
        inside, outside = float(ends[count - 1]) if count else inside, float(ends[count])
    return inside


def _allowed(joint: KeyedJoint, base: Floats, off: Floats, boxes: Floats) -> NDArray[np.bool_]:
    """Return (B,) whether a bone's limits allow all angles of boxes (B, K, 2), in which the same axes have a width.

    A bone's hinge may be inclined to the joint's flexion axis by up to LEAN: then flexion violates the locked axes in
    proportion, and keys are clipped to the hinge. Other movements must not add to that violation.
    """
    counts = [TRIED[movement] for movement in joint.movements]
    points = np.concatenate([_grid(box, counts) for box in boxes])
    bends = np.array([movement == "flexion" for movement in joint.movements])
    beside, outside, _ = joint.off(points)
    bent = beside if bends.all() else joint.off(np.where(bends, points, base))[0]
    lean = LEAN * np.abs((points - base)[:, bends]).sum(axis=-1)
    within = bent <= np.maximum(lean, max(NARROW, off[0] + NARROW / 2))
    allowed = within & (beside <= bent + NARROW) & (outside <= max(PRECISE, off[1] + PRECISE / 2))
    fits: NDArray[np.bool_] = np.all(allowed.reshape(len(boxes), -1), axis=1)
    return fits


def _grid(box: Floats, counts: list[int]) -> Floats:
    """Return a grid of angles (N, K) over a box (K, 2), including its corners; one angle for a range of no width."""
    columns = [
        np.linspace(low, high, count if high > low else 1) for (low, high), count in zip(box, counts, strict=True)
    ]
    return np.stack(np.meshgrid(*columns, indexing="ij"), axis=-1).reshape(-1, len(columns))
