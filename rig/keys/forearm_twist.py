"""Pronation: the part of a hand's rotation about its forearm that the forearm's bones take, as radius and ulna do.

The ulna stays and the radius rotates about it, so that the skin's rotation grows linearly from zero at the elbow to the
full rotation at the wrist (Kapandji, The Physiology of the Joints, vol. 1). Each bone takes the rotation at its middle:
a single bone takes a half, two of the same length take a quarter and three quarters.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ..armature_data import plain_bones
from ..armature_hands import FoundHand
from ..binding import RigBinding
from ..limits.read_limits import read_limits, with_driven_rotation
from .arm_keys import ArmMotion, arm_ending_at

if TYPE_CHECKING:
    from bpy.types import Bone, Object

Floats = NDArray[np.float64]

SUPINATION, PRONATION = np.deg2rad(170.0), np.deg2rad(100.0)
"""rad from rest, where palms face down or to the front, up to which a forearm follows the hand. Beyond, as in a capture
that is not aligned, its twist decreases linearly, so that it is a continuous function of the angle."""
MIN_BONE_FRACTION = 0.02
"""Bones shorter than this fraction of the forearm are not rotated."""
MAX_OFF_AXIS = 0.15
"""Maximum distance of a twist bone without children from the line of elbow and wrist, in forearm lengths."""
TWIST_WORDS = ("twist", "roll")
"""Parts of the names of such bones."""


@dataclass(frozen=True, slots=True)
class ForearmBones:
    """The bones between an elbow and a wrist."""

    chain: tuple[str, ...]
    """Bones from the elbow's to the wrist's own, each the parent of the next."""
    shares: Mapping[str, float]
    """Bone -> the fraction of the hand's pronation that it takes relative to the upper arm, if it can twist."""
    beside: Mapping[str, str]
    """Twist bone without children -> its parent in the chain; its share is in `shares`."""


@dataclass(frozen=True, slots=True, eq=False)
class ForearmMotion:
    """The rotations to key on a forearm, and the motion of its children."""

    rotations: Mapping[str, Floats]
    """Bone -> (F, 4) unit quaternions wxyz relative to its rest."""
    moved: Floats
    """(F, 4, 4) motion in armature space of the children of the chain's last bone, relative to the untouched
    forearm."""
    beyond: Floats
    """(F,) rad by which the hand rotates beyond the forearm's range."""


def find_forearm(armature: "Object", found: FoundHand) -> ForearmBones | None:
    """Return the forearm of a hand; None if there is none or if keys cannot twist it.

    Keys cannot twist an arm in IK, one with a bone that constraints or drivers rotate, or one whose limits or locks
    prevent it.
    """
    bones = armature.data.bones
    wrist = bones[found.bones["wrist"]]
    arm = arm_ending_at(armature, found.bones, wrist)
    if arm is None:
        return None
    above = [wrist.name, *(bone.name for bone in wrist.parent_recursive)]
    chain = tuple(reversed(above[: above.index(arm.fore) + 1]))
    overridden = {bone.name for bone in plain_bones(armature) if bone.driven} | set(
        with_driven_rotation(armature, chain)
    )
    if overridden & set(chain[:-1]) or not all(bones[name].use_inherit_rotation for name in chain[1:]):
        return None
    candidates = _twist_bones(armature, chain, overridden)
    fractions = {
        name: fraction
        for name, fraction in _twist_fractions(armature, chain, candidates).items()
        if _may_twist(armature, chain, name)
    }
    twist_bones = {name: parent for name, parent in candidates.items() if name in fractions}
    return ForearmBones(chain, fractions, twist_bones) if fractions else None


def twist_forearm(
    armature: "Object",
    forearm: ForearmBones,
    binding: RigBinding,
    roots: Floats,
    *,
    world: Floats,
    carried: Mapping[str, Floats],
) -> ForearmMotion:
    """Return the motion of a forearm below a hand with T_world_wrist `roots` (F, 4, 4).

    world: T_world_armature. carried: bone of the chain -> its rest transform as its parent moves it, in armature space.
    Each is (4, 4) or (F, 4, 4). The present twist of the forearm's bones is replaced, so that the result does not
    depend on the twist of an earlier take.

    With S a bone's rotation from rest without its twist, and T(a) a twist by a about its axis, which goes to the wrist:
        basis = S · T(share · angle − share above · angle)
    The wrist does not move, because all axes go through it.
    """
    rest = {name: np.array(armature.data.bones[name].matrix_local) for name in (*forearm.chain, *forearm.beside)}
    swings = _untwisted(forearm, rest, carried)
    bare = _carried_by(forearm, rest, carried, swings)
    axis = _axis(rest, forearm.chain[0], forearm.chain[-1], forearm.chain[-1])
    goal = rot.transform_frames(np.asarray(np.linalg.inv(world[..., :3, :3]), float), roots[:, :3, :3])
    hand_rotation = np.swapaxes(bare[..., :3, :3], -1, -2) @ goal @ binding.rest_to_bone[0, :3, :3]
    angle, beyond = _followed(_twist(hand_rotation, axis), _supination(binding, world))
    bases, parent_fraction = dict[str, Floats](), 0.0
    for name in forearm.chain[:-1]:
        fraction = forearm.shares.get(name, parent_fraction)
        twist = rot.from_axis_angle(_axis(rest, name, forearm.chain[-1], name), (fraction - parent_fraction) * angle)
        bases[name] = _with_rotation(swings[name], twist)
        for leaf in (leaf for leaf, parent in forearm.beside.items() if parent == name):
            leaf_twist = rot.from_axis_angle(
                _axis(rest, forearm.chain[0], forearm.chain[-1], leaf), (forearm.shares[leaf] - fraction) * angle
            )
            bases[leaf] = _with_rotation(np.eye(4), leaf_twist)
        parent_fraction = fraction
    moved = _carried_by(forearm, rest, carried, bases) @ np.linalg.inv(carried[forearm.chain[-1]])
    rotations = {name: rot.make_continuous(rot.from_matrix(bases[name][..., :3, :3])) for name in forearm.shares}
    return ForearmMotion(rotations, moved, beyond)


def untwisted_wrist(armature: "Object", forearm: ForearmBones, carried: Mapping[str, Floats]) -> Floats:
    """Return the wrist's rest transform as moved by its forearm without the twist of keyed bones.

    carried: see twist_forearm.
    """
    rest = {name: np.array(armature.data.bones[name].matrix_local) for name in forearm.chain}
    return _carried_by(forearm, rest, carried, _untwisted(forearm, rest, carried))


def carried_by_arm(armature: "Object", forearm: ForearmBones, arm: ArmMotion) -> dict[str, Floats]:
    """Return bone of the chain -> (F, 4, 4), see twist_forearm, of an arm that is posed by keys."""
    carried = {name: arm.forearm @ np.array(armature.data.bones[name].matrix_local) for name in forearm.chain}
    first = forearm.chain[0]
    carried[first] = _with_rotation(carried[first], rot.conjugate(arm.rotations[first]))
    return carried


def _untwisted(forearm: ForearmBones, rest: Mapping[str, Floats], carried: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return bone -> (..., 4, 4) its transform from rest, without the twist of keyed bones."""
    bases = {}
    for name, below in pairwise(forearm.chain):
        basis = _basis(rest, name, below, carried)
        if name in forearm.shares:
            axis = _axis(rest, name, forearm.chain[-1], name)
            basis = _with_rotation(basis, rot.from_axis_angle(axis, -_twist(basis[..., :3, :3], axis)))
        bases[name] = basis
    return bases


def _basis(rest: Mapping[str, Floats], name: str, below: str, carried: Mapping[str, Floats]) -> Floats:
    """Return the transform (..., 4, 4) of a bone from rest, computed from that of its child."""
    posed = carried[below] @ np.linalg.inv(rest[below]) @ rest[name]
    basis: Floats = np.linalg.inv(carried[name]) @ posed
    return basis


def _carried_by(
    forearm: ForearmBones, rest: Mapping[str, Floats], carried: Mapping[str, Floats], bases: Mapping[str, Floats]
) -> Floats:
    """Return the wrist's rest transform (..., 4, 4) as moved by a chain with these transforms from rest."""
    frame = carried[forearm.chain[0]]
    for name, below in pairwise(forearm.chain):
        frame = frame @ bases[name] @ np.linalg.inv(rest[name]) @ rest[below]
    return frame


def _axis(rest: Mapping[str, Floats], start: str, end: str, bone: str) -> Floats:
    """Return the unit vector (3,) from one bone's head to another's, in a bone's rest frame."""
    return rot.unit_vector(rest[bone][:3, :3].T @ (rest[end][:3, 3] - rest[start][:3, 3]))


def _twist(rotations: Floats, axis: Floats) -> Floats:
    """Return the twist (...) rad of rotations (..., 3, 3) about an axis (3,), by swing-twist decomposition."""
    q = rot.from_matrix(rotations)
    angle: Floats = 2 * np.arctan2(q[..., 1:] @ axis, q[..., 0])
    return angle


def _with_rotation(basis: Floats, rotation: Floats) -> Floats:
    """Return transforms (..., 4, 4) rotated by quaternions (..., 4) in their local space."""
    matrices = rot.to_matrix(rotation)
    result = np.broadcast_to(basis, (*np.broadcast_shapes(basis.shape[:-2], matrices.shape[:-2]), 4, 4)).copy()
    result[..., :3, :3] = basis[..., :3, :3] @ matrices
    return result


def _supination(binding: RigBinding, world: Floats) -> Floats:
    """Return 1 or −1 (...), the sign of supination about the line from elbow to wrist in armature space."""
    sign: Floats = np.sign(np.linalg.det(world[..., :3, :3])) * (1 if binding.side == "right" else -1)
    return sign


def _followed(angle: Floats, supination: Floats) -> tuple[Floats, Floats]:
    """Return the forearm's twist (F,) rad for a hand's angles (F,) about it, and the excess (F,) rad.

    The excess is the distance from the nearer end of the forearm's range.
    """
    supinated = (supination * angle + PRONATION) % (2 * np.pi) - PRONATION
    ends = [-PRONATION, SUPINATION, 2 * np.pi - PRONATION]
    followed: Floats = supination * np.interp(supinated, ends, [-PRONATION, SUPINATION, -PRONATION])
    return followed, np.clip(supinated - SUPINATION, 0.0, ends[-1] - supinated)


def _twist_bones(armature: "Object", chain: tuple[str, ...], overridden: set[str]) -> dict[str, str]:
    """Return twist bone without children -> its parent in the chain, for those that keys can rotate."""
    bones = armature.data.bones
    found = {}
    for parent in chain[:-1]:
        for bone in bones[parent].children:
            named = any(word in bone.name.lower() for word in TWIST_WORDS)
            if named and not bone.children and bone.name not in overridden and _is_on_forearm(armature, chain, bone):
                found[bone.name] = parent
    return {name: found[name] for name in found if name not in with_driven_rotation(armature, [name])}


def _is_on_forearm(armature: "Object", chain: tuple[str, ...], bone: "Bone") -> bool:
    position, aside = _position_on_forearm(armature, chain, bone)
    return -MIN_BONE_FRACTION < position < 1 - MIN_BONE_FRACTION and aside < MAX_OFF_AXIS


def _position_on_forearm(armature: "Object", chain: tuple[str, ...], bone: "Bone") -> tuple[float, float]:
    """Return a bone's head along the line from elbow (0) to wrist (1), and its distance from it, in forearm lengths."""
    start, end, head = (
        np.array(each.head_local) for each in (armature.data.bones[chain[0]], armature.data.bones[chain[-1]], bone)
    )
    line = end - start
    position = float((head - start) @ line / (line @ line))
    return position, float(np.linalg.norm(head - start - position * line) / np.linalg.norm(line))


def _twist_fractions(armature: "Object", chain: tuple[str, ...], twist_bones: Mapping[str, str]) -> dict[str, float]:
    """Return bone -> share, for bones that cover a part of the line from elbow to wrist.

    A bone ends where the next one begins. If two begin at the same point, the first covers nothing.
    """
    bones = armature.data.bones
    names = [*chain[:-1], *twist_bones]
    positions = sorted(
        (max(_position_on_forearm(armature, chain, bones[name])[0], 0.0), row, name) for row, name in enumerate(names)
    )
    starts = [position for position, _, _ in positions]
    fractions = {}
    for (start, _, name), end in zip(positions, [*starts[1:], 1.0], strict=True):
        if end - start > MIN_BONE_FRACTION:
            fractions[name] = (start + end) / 2
    return fractions


def _may_twist(armature: "Object", chain: tuple[str, ...], name: str) -> bool:
    """Return whether a bone's limits and locks allow it to twist about the forearm."""
    constraints = armature.pose.bones[name].constraints
    if any(constraint.type == "LIMIT_ROTATION" and not constraint.mute for constraint in constraints):
        return False
    limits = read_limits(armature, [name]).get(name)
    if limits is None:
        return True
    rest = {each: np.array(armature.data.bones[each].matrix_local) for each in (chain[0], chain[-1], name)}
    axis = _axis(rest, chain[0], chain[-1], name)
    ends = rot.to_matrix(rot.from_axis_angle(axis, np.array([-PRONATION, PRONATION])))
    return bool(np.allclose(limits.clipped(ends), ends, atol=1e-6))
