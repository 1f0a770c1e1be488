"""The hands of an armature that is read as a capture, with the bone, or the point on a bone, of each joint."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...capture.marker_labels import ELBOW
from ...errors import RigError
from ...hand.joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, SIDES, Side
from ...hand.proportions import adult
from ..armature_data import plain_bones
from ..armature_hands import FoundHand, find_hands
from ..detection import Bone as PlainBone
from ..detection import DetectedHand, detect
from ..keys.arm_keys import arm_ending_at
from ..mapping import saved_mapping

if TYPE_CHECKING:
    from bpy.types import Bone, Object

Floats = NDArray[np.float64]

SAME_AXIS_COSINE = np.cos(np.deg2rad(20.0))
"""Cosine: bones of a digit point along a local axis if their next joints are within 20 degrees of it."""
TAIL_TOLERANCE = 0.1
"""A tail meets the next head if their distance is below this fraction of the bone's length."""
STUB_RATIO = 0.2
"""A last bone represents an unknown end if its distance to the parent's head is below this fraction of the previous
bone."""

ALONG_AXIS = 0.9999
"""Minimum fraction of a vector's length along one axis of the armature if the vector is parallel to it."""
SAME_VECTOR = 0.01
"""Fraction of a bone's length by which equal vectors from head to tail may differ."""


@dataclass(frozen=True, slots=True)
class SourceJoint:
    """A joint of a hand on a bone."""

    joint: str
    """WebXR's name, or ELBOW."""
    bone: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Offset of a tip without a bone from the bone's head, in its rest frame and the armature's unit."""
    axes: str = ""
    """The bone whose axes at rest are those of the joint's rotation; empty for the joint's own bone. The elbow's
    rotation
    is that of a hand at rest on the forearm."""
    upper: str = ""
    """The upper arm's bone at an elbow, see `remove_pronation`; empty for other joints."""


@dataclass(frozen=True, slots=True)
class SourceHand:
    """A hand that is read."""

    side: Side
    joints: tuple[SourceJoint, ...]


def source_hands(armature: "Object", *, tails_known: bool) -> tuple[SourceHand, ...]:
    """Return the hands of an armature, at least one, left before right.

    tails_known: whether bones end at their tails. Otherwise last bones without a tip have the lengths of a mean hand's.
    Raises RigError as `find_hands` does.
    """
    bones = plain_bones(armature)
    undirected = _undirected_bones(bones)
    if any(saved_mapping(armature, side) for side in SIDES):
        last_bones = LastBones({}, undirected, tails_known)
        return tuple(_source_hand(armature, hand, last_bones) for hand in find_hands(armature, ()))
    without_ends, ends = _without_end_bones(_without_stubs(bones, undirected))
    last_bones = LastBones(ends, undirected, tails_known)
    return tuple(_source_hand(armature, hand, last_bones) for hand in _detected(armature, without_ends))


def _undirected_bones(bones: "list[PlainBone]") -> frozenset[str]:
    """Return last bones that do not point to an end: several with the same vector along an axis of the armature.

    Blender's import of BVH gives a fixed length upwards to last bones whose end sites have zero length. Most of their
    parents point in other directions.
    """
    steps, parents = _steps(bones), {bone.parent for bone in bones}
    last = [bone for bone in bones if bone.name in steps and bone.name not in parents]
    vectors = np.array([np.subtract(bone.tail, bone.head) for bone in last]).reshape(-1, 3)
    before = np.array([steps[bone.name] for bone in last]).reshape(-1, 3)
    lengths = np.linalg.norm(vectors, axis=1)
    follows_parent = np.einsum("bi,bi->b", before, vectors) > SAME_AXIS_COSINE * lengths * np.linalg.norm(
        before, axis=1
    )
    undirected_names = set()
    for bone, vector, length in zip(last, vectors, lengths, strict=True):
        is_same = np.linalg.norm(vectors - vector, axis=1) < SAME_VECTOR * length
        if np.abs(vector).max() > ALONG_AXIS * length and is_same.sum() > 1 and follows_parent[is_same].mean() <= 0.5:
            undirected_names.add(bone.name)
    return frozenset(undirected_names)


def _steps(bones: "list[PlainBone]") -> dict[str, Floats]:
    """Return bone -> the step (3,) from its parent's head to its own."""
    heads = {bone.name: bone.head for bone in bones}
    return {bone.name: np.subtract(bone.head, heads[bone.parent]) for bone in bones if bone.parent in heads}


def _without_stubs(bones: "list[PlainBone]", undirected: frozenset[str]) -> "list[PlainBone]":
    """Return bones without stubs: last bones next to their parent's head, which converters add in any direction.

    Importers let the parent end there. Instead, it continues its own parent in a straight line, as undirected bones do.
    """
    steps, parents = _steps(bones), {bone.parent for bone in bones}
    stubs = {
        bone.name: bone.parent
        for bone in bones
        if bone.parent in steps
        and bone.name not in parents
        and np.linalg.norm(steps[bone.name]) < STUB_RATIO * np.linalg.norm(steps[bone.parent])
    }
    ended = set(stubs.values())
    short = {
        bone.name
        for bone in bones
        if bone.name in ended
        and np.linalg.norm(np.subtract(bone.tail, bone.head)) < STUB_RATIO * np.linalg.norm(steps[bone.name])
    }
    return [
        _straight_on(bone, steps[bone.name]) if bone.name in short | undirected else bone
        for bone in bones
        if bone.name not in stubs
    ]


def _straight_on(bone: "PlainBone", step: Floats) -> "PlainBone":
    """Return a bone whose tail is its head plus the step (3,) from its parent's head."""
    x, y, z = (np.array(bone.head) + step).tolist()
    return replace(bone, tail=(x, y, z))


def _without_end_bones(bones: "list[PlainBone]") -> tuple[tuple[PlainBone, ...], dict[str, str]]:
    """Return bones without those that only mark the end of another, and bone -> the bone that marks its end.

    Exporters add them, named like the previous bone with `_end`, even if the fingers have bones for their tips.
    """
    parents = {bone.parent for bone in bones}
    ends = {
        bone.parent: bone
        for bone in bones
        if bone.parent is not None and bone.name not in parents and bone.name.lower() == f"{bone.parent}_end".lower()
    }
    end_names = {bone.name for bone in ends.values()}
    remaining = (bone for bone in bones if bone.name not in end_names)
    return (
        tuple(replace(bone, tail=ends[bone.name].head) if bone.name in ends else bone for bone in remaining),
        {name: bone.name for name, bone in ends.items()},
    )


def _detected(armature: "Object", bones: "tuple[PlainBone, ...]") -> tuple[DetectedHand, ...]:
    """Return the hands whose bones can be keyed, or else the hands whose bones follow constraints."""
    where = f"armature '{armature.name}'"
    mirrored = bool(np.linalg.det(np.array(armature.matrix_world)[:3, :3]) < 0)
    try:
        return detect(bones, where, mirrored)
    except RigError:
        if not any(bone.driven or bone.locked for bone in bones):
            raise
        return detect(tuple(replace(bone, driven=False, locked=False) for bone in bones), where, mirrored)


@dataclass(frozen=True, slots=True)
class LastBones:
    """The ends of the last bones of digits."""

    ends: Mapping[str, str]
    """Bone -> the bone that marks its end."""
    undirected: frozenset[str]
    """Bones that do not point to their ends."""
    tails_known: bool
    """Whether other bones end at their tails."""


def _source_hand(armature: "Object", hand: FoundHand | DetectedHand, last_bones: LastBones) -> SourceHand:
    return SourceHand(hand.side, tuple(_joints(armature, hand, last_bones)))


def _joints(armature: "Object", hand: FoundHand | DetectedHand, last_bones: LastBones) -> Iterator[SourceJoint]:
    for joint, bone in hand.bones.items():
        # A wrist's control may be apart from the hand.
        yield SourceJoint(joint, hand.carrier or bone if joint == "wrist" else bone)
    bones = armature.data.bones
    for digit in DIGITS:
        *inner_joints, tip = DIGIT_JOINTS[digit]
        joints = [joint for joint in inner_joints if joint in hand.bones]
        if tip in hand.bones or not joints:
            continue
        if hand.bones[joints[-1]] in last_bones.ends:
            yield SourceJoint(tip, last_bones.ends[hand.bones[joints[-1]]])
        elif len(joints) > 1:
            chain = [bones[hand.bones[joint]] for joint in joints]
            x, y, z = _tip_offset(chain, last_bones, _last_share(digit, *joints[-2:])).tolist()
            yield SourceJoint(tip, chain[-1].name, (x, y, z))
    arm = arm_ending_at(armature, hand.bones, bones[hand.carrier or hand.bones["wrist"]])
    if arm is not None:
        upper = bones[arm.fore].parent
        yield SourceJoint(ELBOW, arm.fore, axes=hand.carrier or hand.bones["wrist"], upper=upper.name)


def _tip_offset(chain: "list[Bone]", last_bones: LastBones, fraction: float) -> Floats:
    """Return the offset (3,) of a digit's tip from the head of its last bone, in that bone's rest frame.

    In most rigs, the next joint is along the same local axis of all bones of a digit (N bones, from the palm).
    Otherwise the last bone continues in a straight line. fraction: the last bone's length in lengths of the previous
    one, used if its tail is not known.
    """
    steps = [np.array(bone.matrix_local)[:3, :3].T @ _step(bone, after) for bone, after in pairwise(chain)]
    local = [step / max(float(np.linalg.norm(step)), 1e-12) for step in steps[-2:]]
    length = float(np.linalg.norm(steps[-1]))
    last = chain[-1]
    # Importers rotate a bone that ends at a stub towards it.
    is_rotated = last.name in last_bones.undirected or last.length < STUB_RATIO * length
    if local[0] @ local[-1] > SAME_AXIS_COSINE and not is_rotated:
        direction = local[-1]
    else:
        direction = np.array(last.matrix_local)[:3, :3].T @ _step(chain[-2], last) / max(length, 1e-12)
    gaps = [(bone.tail_local - after.head_local).length for bone, after in pairwise(chain[-3:])]
    tails_meet = max(gaps) < TAIL_TOLERANCE * length
    is_length_known = last_bones.tails_known and tails_meet and not is_rotated
    tip: Floats = direction * (float(last.length) if is_length_known else length * fraction)
    return tip


def _step(bone: "Bone", after: "Bone") -> Floats:
    step: Floats = np.array(after.head_local) - np.array(bone.head_local)
    return step


def _last_share(digit: str, before: str, last: str) -> float:
    """Return a mean hand's length from a joint of a digit to its tip, as a fraction of the length before the joint."""
    lengths = adult("right").phalanges[DIGITS.index(digit)]
    distances = dict(zip(CHAIN_JOINTS[digit], np.concatenate([[0.0], np.cumsum(lengths)]).tolist(), strict=True))
    # A finger's metacarpal is before its chain, about as long as its first phalanx.
    start = distances.get(before, -float(lengths[0]))
    return float((lengths.sum() - distances[last]) / (distances[last] - start))
