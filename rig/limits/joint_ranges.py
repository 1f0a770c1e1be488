"""Convert limits on a rig's bones to ranges of the angles of a hand's joints.

The axes of a bone may differ from those of its joint, so limits cannot be converted axis by axis. Instead, the bone's
rotation is computed for sampled angles of the joint, and compared with the bone's limits.
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
from ..rotation_channels import smallest_eulers
from .bone_limits import AXIS_TOLERANCE, BoneLimits, angles_between

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_INCLINATION_SINE = np.sin(np.deg2rad(40.0))
"""Sine of the maximum angle between a bone's hinge and its joint's axis, see rest_frames.HINGE_COSINE."""
RANGE_TOLERANCE = np.deg2rad(0.02)
ROUNDS = 3
PARTS = 16
"""The bounds of a range are searched in ROUNDS subdivisions into PARTS steps, to a resolution of 0.025 degrees."""
REFINEMENTS = 7
"""Number of times that the pattern search for the nearest angles divides its step by 3, to 0.01 degrees."""
SAMPLES: dict[Movement, int] = {"flexion": 13, "abduction": 5, "twist": 5}
"""Samples of each movement's range. Ranges are extended in this order, as flexion matters most."""


@dataclass(frozen=True, slots=True, eq=False)
class JointRange:
    """The angles of a joint within its bone's limits."""

    ranges: Mapping[Movement, tuple[float, float]]
    """Movement -> rad. All combinations of angles in these ranges are allowed."""
    outside: float
    """rad, minimum distance of the bone's rotations from its limits; 0 if any rotation is within them."""


def joint_ranges(binding: RigBinding, hand: HandModel, world: Floats) -> dict[int, JointRange]:
    """Return joint -> range for joints whose bones are limited, within the hand's own limits where possible.

    world: T_world_armature (4, 4). Joints are omitted if the rotation of their bone depends on more than the joint's
    own angles, as in hands whose bones have no parents, or parents other than those of the hand's joints.
    """
    joints = keyed_joints(binding, hand, world)
    return {index: _range(joint) for index, joint in joints.items() if joint.limits.parts}


@dataclass(frozen=True, slots=True, eq=False)
class KeyedJoint(ValueEquality):
    """A joint with K angles and the bone that it keys. The bone's basis rotation is before · R(angles) · after."""

    movements: tuple[Movement, ...]
    axes: Floats
    """(K, 3) signed axes of the joint's frame."""
    own_limits: Floats
    """(K, 2) rad, the hand's own limits."""
    neutral: Floats
    """(K,) rad"""
    before: Floats
    after: Floats
    """(3, 3)"""
    limits: BoneLimits

    def bases(self, angles: Floats) -> Floats:
        """Return the bone's basis rotations (N, 3, 3) at angles (N, K) rad."""
        rotation = np.broadcast_to(rot.IDENTITY, (len(angles), 4))
        for axis, column in zip(self.axes, angles.T, strict=True):
            rotation = rot.multiply(rotation, rot.from_axis_angle(axis, column))
        bases: Floats = self.before @ rot.to_matrix(rotation) @ self.after
        return bases

    def violations(self, angles: Floats) -> Floats:
        """Return violations (3, N) rad of locked axes, other ranges and twist, see BoneLimits.violations."""
        return np.stack(self.limits.violations(self.bases(angles)))

    def rest_angles(self) -> Floats:
        """Return the angles (K,) rad at which the bone is nearest to its rest pose."""
        eulers = smallest_eulers((self.after @ self.before).T[None], "XYZ")[0]
        angles: Floats = self.axes @ eulers
        return angles


def keyed_joints(binding: RigBinding, hand: HandModel, world: Floats) -> dict[int, KeyedJoint]:
    """Return the moving joints with a bone whose rotation depends only on the joint's own angles."""
    unlimited = replace(binding, limits={})
    rng = np.random.default_rng(0)
    low, high = hand.limits.T
    angles = np.concatenate([np.zeros((1, hand.dofs)), low + rng.random((3, hand.dofs)) * (high - low)])
    roots = np.tile(np.eye(4), (len(angles), 1, 1))
    roots[1:, :3, :3] = rot.to_matrix(rot.from_axis_angle(np.eye(3), np.array([0.5, 1.0, 1.5])))
    keyed = rot.to_matrix(transfer(unlimited, hand, Pose(hand, roots, angles), world, {}).rotations)
    # A mirrored armature shows the other hand, so its bones rotate as mirror images.
    mirror = np.array([1.0, -1.0, -1.0] if np.linalg.det(world[:3, :3]) < 0 else [1.0, 1.0, 1.0])
    joints: dict[int, KeyedJoint] = {}
    for index in set(hand.axis_joint.tolist()) & set(binding.mapped):
        dofs = np.flatnonzero(hand.axis_joint == index)
        after = binding.rest_to_bone[index, :3, :3]
        joint = KeyedJoint(
            movements=tuple(hand.movements[dof] for dof in dofs),
            axes=hand.axes[dofs] * mirror,
            own_limits=hand.limits[dofs],
            neutral=hand.neutral[dofs],
            before=_rounded(keyed[0, index] @ after.T),
            after=_rounded(after),
            limits=binding.limits.get(index, BoneLimits(str(binding.bones[index]), ())),
        )
        if angles_between(joint.bases(angles[:, dofs]), keyed[:, index]).max() < AXIS_TOLERANCE / 10:
            joints[index] = joint
    return joints


def _rounded(rotation: Floats) -> Floats:
    """Round off the last bits, which depend on the armature's position, so that the cache finds equal joints."""
    result: Floats = np.round(rotation, 9) + 0.0
    return result


@lru_cache(maxsize=256)  # the same rigs are queried repeatedly
def _range(joint: KeyedJoint) -> JointRange:
    base, violations = _nearest_allowed(joint, joint.own_limits)
    if violations.max() > AXIS_TOLERANCE:
        # A stiff rig keeps its rest pose, even if its abduction and twist are outside a hand's limits.
        rest = joint.rest_angles()[:, None]
        widened = np.concatenate(
            [np.minimum(joint.own_limits, rest)[:, :1], np.maximum(joint.own_limits, rest)[:, 1:]], axis=1
        )
        is_flexion = np.array([movement == "flexion" for movement in joint.movements])[:, None]
        widened_joint = replace(joint, own_limits=np.where(is_flexion, joint.own_limits, widened))
        stiff_base, stiff_violations = _nearest_allowed(widened_joint, widened_joint.own_limits)
        if stiff_violations.max() < violations.max() - AXIS_TOLERANCE:
            joint, base, violations = widened_joint, stiff_base, stiff_violations
    return _extended(joint, base, violations)


def _nearest_allowed(joint: KeyedJoint, limits: Floats) -> tuple[Floats, Floats]:
    """Return the allowed angles (K,) nearest to neutral, and their violations (3,).

    If no angles are allowed, these are the angles nearest to allowed ones. A pattern search starts from the best point
    of a grid and moves to the best neighbour. The step is reduced if no neighbour is better.
    """
    counts = [SAMPLES[movement] for movement in joint.movements]
    grid = _grid(limits, counts)
    points = np.concatenate([grid, np.clip([joint.rest_angles(), joint.neutral], *limits.T)])
    best, cost = _cheapest(joint, points)
    step = np.ptp(limits, axis=1) / np.array(counts)
    neighbours = np.array(list(product((-1.0, -1 / 3, 0.0, 1 / 3, 1.0), repeat=len(counts))))
    refinements = 0
    while refinements < REFINEMENTS:
        candidate, candidate_cost = _cheapest(joint, np.clip(best + neighbours * step, *limits.T))
        if candidate_cost < cost - 1e-6:
            best, cost = candidate, candidate_cost
        else:
            step, refinements = step / 3, refinements + 1
    return best, joint.violations(best[None])[:, 0]


def _cheapest(joint: KeyedJoint, points: Floats) -> tuple[Floats, float]:
    """Return the point (K,) of (N, K) with the least violation, or the allowed one nearest to neutral, and its cost."""
    off_axis, outside, twist = joint.violations(points)
    excess = np.maximum(off_axis - AXIS_TOLERANCE / 2, 0.0) + np.maximum(outside - RANGE_TOLERANCE / 2, 0.0)
    costs = (
        1000.0 * excess
        + 100.0 * np.maximum(twist - AXIS_TOLERANCE / 2, 0.0)
        + np.linalg.norm(points - joint.neutral, axis=-1)
    )
    cheapest = int(costs.argmin())
    return points[cheapest], float(costs[cheapest])


def _extended(joint: KeyedJoint, base: Floats, violations: Floats) -> JointRange:
    """Return the box around `base` (K,), whose violations are (3,), extended in the order of SAMPLES."""
    box = np.stack([base, base], axis=1)
    # If the bone's twist is locked, the joint's is fixed.
    twist_locked = any(part.is_twist_locked for part in joint.limits.parts)
    for movement in SAMPLES:
        if movement in joint.movements and not (movement == "twist" and twist_locked):
            row = joint.movements.index(movement)
            for end in (0, 1):
                box[row, end] = _furthest(joint, base, violations, box, (row, end))
    ranges = {movement: (float(low), float(high)) for movement, (low, high) in zip(joint.movements, box, strict=True)}
    return JointRange(MappingProxyType(ranges), float(violations[1]))


def _furthest(joint: KeyedJoint, base: Floats, violations: Floats, box: Floats, bound: tuple[int, int]) -> float:
    """Return the furthest value of a bound, by its index in `box`, for which the whole box is allowed.

    It stays within the hand's limits.
    """
    inside, outside = float(box[bound]), float(joint.own_limits[bound])
    for _ in range(ROUNDS if inside != outside else 0):
        values = np.linspace(inside, outside, PARTS + 1)[1:]
        larger = np.repeat(box[None], PARTS, axis=0)
        larger[:, bound[0], bound[1]] = values
        fits = _boxes_allowed(joint, base, violations, larger)
        if fits.all():
            return outside
        count = int(fits.argmin())
        inside, outside = float(values[count - 1]) if count else inside, float(values[count])
    return inside


def _boxes_allowed(joint: KeyedJoint, base: Floats, violations: Floats, boxes: Floats) -> NDArray[np.bool_]:
    """Return (B,) whether a bone's limits allow all angles in boxes (B, K, 2). The same axes of all must have a width.

    A bone's hinge may be inclined to the joint's flexion axis, see MAX_INCLINATION_SINE. Flexion then violates the
    locked axes in proportion, and keys are clipped to the hinge. Other movements must not increase that violation.
    """
    counts = [SAMPLES[movement] for movement in joint.movements]
    points = np.concatenate([_grid(box, counts) for box in boxes])
    is_flexion = np.array([movement == "flexion" for movement in joint.movements])
    off_axis, outside, _ = joint.violations(points)
    off_axis_by_flexion = off_axis if is_flexion.all() else joint.violations(np.where(is_flexion, points, base))[0]
    inclination = MAX_INCLINATION_SINE * np.abs((points - base)[:, is_flexion]).sum(axis=-1)
    within = off_axis_by_flexion <= np.maximum(inclination, max(AXIS_TOLERANCE, violations[0] + AXIS_TOLERANCE / 2))
    allowed = (
        within
        & (off_axis <= off_axis_by_flexion + AXIS_TOLERANCE)
        & (outside <= max(RANGE_TOLERANCE, violations[1] + RANGE_TOLERANCE / 2))
    )
    result: NDArray[np.bool_] = np.all(allowed.reshape(len(boxes), -1), axis=1)
    return result


def _grid(box: Floats, counts: list[int]) -> Floats:
    """Return a grid of angles (N, K) over a box (K, 2), including its corners. A range of zero width has one angle."""
    columns = [
        np.linspace(low, high, count if high > low else 1) for (low, high), count in zip(box, counts, strict=True)
    ]
    return np.stack(np.meshgrid(*columns, indexing="ij"), axis=-1).reshape(-1, len(columns))
