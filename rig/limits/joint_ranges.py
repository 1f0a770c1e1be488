"""From what the bones of a rig may do to how far the joints of a hand may turn.

A bone's axes need not be those of its joint, so nothing is told by the names of axes: for angles of a joint it is
worked out how the bone would be keyed, and asked whether the bone may stand so.
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
"""As far as rest_frames trusts an axis."""
PRECISE = np.deg2rad(0.02)
ROUNDS = 3
PARTS = 16
"""Ends of ranges are tried in so many parts of what is left, so often: to a fortieth of a degree."""
NEARER = 7
"""How often a third of the step is tried on the way to the nearest angles: to a hundredth of a degree."""
TRIED: dict[Movement, int] = {"flexion": 13, "abduction": 5, "twist": 5}
"""How many angles of a range are tried. Ranges are filled in this order: what bends a finger counts most."""


@dataclass(frozen=True, slots=True, eq=False)
class JointRange:
    """How far a joint may turn within its bone's limits."""

    ranges: Mapping[Movement, tuple[float, float]]
    """rad, a box of which every corner is allowed."""
    outside: float
    """rad, how far the bone is from its ranges where it comes nearest to them; 0 where it comes inside."""


def joint_ranges(binding: RigBinding, hand: HandModel, world: Floats) -> dict[int, JointRange]:
    """The ranges of the joints whose bones are limited, by joint; each within the hand's own where there is room.

    world: T_world_armature (4, 4). Joints whose bones do not turn by the joint's own angles alone are left out: those
    of a hand whose bones hang on nothing, or on other bones than the hand's joints do.
    """
    joints = keyed_joints(binding, hand, world)
    return {index: _range(joint) for index, joint in joints.items() if joint.limits.parts}


@dataclass(frozen=True, slots=True, eq=False)
class KeyedJoint(ValueEquality):
    """A joint with K movements, and the bone that is keyed by it: basis = before · R(angles) · after."""

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
        """(N, 3, 3) of angles (N, K) rad."""
        turn = np.broadcast_to(rot.IDENTITY, (len(angles), 4))
        for axis, column in zip(self.axes, angles.T, strict=True):
            turn = rot.multiply(turn, rot.about(axis, column))
        bases: Floats = self.before @ rot.to_matrix(turn) @ self.after
        return bases

    def off(self, angles: Floats) -> Floats:
        """(3, N) rad beside the axes that are locked, outside the ranges of the others, and twisted, see BoneLimits."""
        return np.stack(self.limits.off(self.bases(angles)))

    def at_rest(self) -> Floats:
        """(K,) rad, the angles at which the bone is at rest, or near to it."""
        eulers = least_eulers((self.after @ self.before).T[None], "XYZ")[0]
        angles: Floats = self.axes @ eulers
        return angles


def keyed_joints(binding: RigBinding, hand: HandModel, world: Floats) -> dict[int, KeyedJoint]:
    """The joints that turn and have a bone, as far as their bones turn by the joints' own angles alone."""
    free = replace(binding, limits={})
    rng = np.random.default_rng(0)
    low, high = hand.limits.T
    angles = np.concatenate([np.zeros((1, hand.dofs)), low + rng.random((3, hand.dofs)) * (high - low)])
    roots = np.tile(np.eye(4), (len(angles), 1, 1))
    roots[1:, :3, :3] = rot.to_matrix(rot.about(np.eye(3), np.array([0.5, 1.0, 1.5])))
    keyed = rot.to_matrix(transfer(free, hand, Pose(hand, roots, angles), world, {}).rotations)
    # An armature that is mirrored shows the other hand: its bones turn as mirror images do.
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
    """A rig is the same wherever its armature stands: what that does to the last bits is taken off."""
    result: Floats = np.round(rotation, 9) + 0.0
    return result


@lru_cache(maxsize=256)  # rigs are asked again and again
def _range(joint: KeyedJoint) -> JointRange:
    base, off = _nearest_allowed(joint, joint.own)
    if off.max() > NARROW:
        # A rig that is stiff stands as it was built, also where a hand's joints do not lean or twist so.
        built = joint.at_rest()[:, None]
        wider = np.concatenate([np.minimum(joint.own, built)[:, :1], np.maximum(joint.own, built)[:, 1:]], axis=1)
        bends = np.array([movement == "flexion" for movement in joint.movements])[:, None]
        loose = replace(joint, own=np.where(bends, joint.own, wider))
        as_built, off_as_built = _nearest_allowed(loose, loose.own)
        if off_as_built.max() < off.max() - NARROW:
            joint, base, off = loose, as_built, off_as_built
    return _filled(joint, base, off)


def _nearest_allowed(joint: KeyedJoint, own: Floats) -> tuple[Floats, Floats]:
    """(K,) the angles nearest to neutral that are allowed, and (3,) how far off they are: of those tried the best.

    From the best of a grid, by a pattern search: to the neighbours on all sides, with smaller steps where none is
    better.
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
    """The point (K,) of (N, K) that is least outside, and of those inside the nearest to neutral."""
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
    """The box around `base` (K,), which is so far off (3,), with room first for flexion, then abduction, then twist."""
    box = np.stack([base, base], axis=1)
    # A bone that does not twist has the one twist that it has.
    untwisted = any(part.untwisted for part in joint.limits.parts)
    for movement in TRIED:
        if movement in joint.movements and not (movement == "twist" and untwisted):
            row = joint.movements.index(movement)
            for end in (0, 1):
                box[row, end] = _furthest(joint, base, off, box, (row, end))
    ranges = {movement: (float(low), float(high)) for movement, (low, high) in zip(joint.movements, box, strict=True)}
    return JointRange(MappingProxyType(ranges), float(off[1]))


def _furthest(joint: KeyedJoint, base: Floats, off: Floats, box: Floats, at: tuple[int, int]) -> float:
    """Where one end of a box goes so that all of the box is allowed, at most to the hand's own limit."""
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
    """(B,) whether a bone may stand as it is keyed by all angles of boxes (B, K, 2), which have a width alike.

    The axis on which a bone bends may lean to the joint's by LEAN: then it comes the further beside the joint's plane
    the more it bends, and what is keyed is held to the bone's. Other movements must not bring it further beside.
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
    """(N, K) angles evenly over a box (K, 2), its corners among them; one angle where a range has no width."""
    columns = [
        np.linspace(low, high, count if high > low else 1) for (low, high), count in zip(box, counts, strict=True)
    ]
    return np.stack(np.meshgrid(*columns, indexing="ij"), axis=-1).reshape(-1, len(columns))
