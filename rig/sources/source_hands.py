"""The hands of an armature that is read as a capture: which bone, or point of a bone, each joint is."""

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
from ..armature_data import expect_current_pose, plain_bones
from ..armature_hands import FoundHand, find_hands
from ..detection import Bone as PlainBone
from ..detection import DetectedHand, detect
from ..keys.arm_keys import arm_ending_at
from ..mapping import saved_mapping

if TYPE_CHECKING:
    from bpy.types import Bone, Object

Floats = NDArray[np.float64]

SAME_AXIS_COSINE = np.cos(np.deg2rad(20.0))
"""Cosine; bones of a digit whose next joints are within 20 degrees of the same local axis point along that axis."""
TAIL_TOLERANCE = 0.1
"""A tail nearer to the next head than this share of the bone meets it."""
STUB_SHARE = 0.2
"""A last bone nearer to its parent's head than this share of the bone before stands for an end that is not known."""

ALONG_AXIS = 0.9999
"""Least share of a vector's length that is along one axis of the armature, if it is along that."""
SAME_VECTOR = 0.01
"""Share of a bone by which others differ from it that are the same from head to tail."""


@dataclass(frozen=True, slots=True)
class SourceJoint:
    """A joint of a hand on a bone."""

    joint: str
    """WebXR's name, or ELBOW."""
    bone: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """From the bone's head, in its rest frame and the armature's unit; of a tip that has no bone."""
    axes: str = ""
    """Bone whose axes at rest the joint's rotation is of; empty for its own bone's. The elbow's is that of a hand that
    rests on the forearm."""
    upper: str = ""
    """The upper arm's bone at an elbow, see `unpronated`; empty for other joints."""


@dataclass(frozen=True, slots=True)
class SourceHand:
    """A hand that is read."""

    side: Side
    joints: tuple[SourceJoint, ...]


def source_hands(armature: "Object", *, tails_known: bool) -> tuple[SourceHand, ...]:
    """Return the hands of an armature, left before right; at least one.

    tails_known: whether bones end where their tails are. Otherwise the lengths of last bones without a tip are a mean
    hand's. Raises RigError as `find_hands` does.
    """
    found = plain_bones(armature)
    nowhere = _pointing_nowhere(found)
    if any(saved_mapping(armature, side) for side in SIDES):
        known = LastBones({}, nowhere, tails_known)
        return tuple(_source_hand(armature, hand, known) for hand in find_hands(armature, ()))
    expect_current_pose(armature)
    bones, ends = _without_ends(_without_stubs(found, nowhere))
    known = LastBones(ends, nowhere, tails_known)
    return tuple(_source_hand(armature, hand, known) for hand in _detected(armature, bones))


def _pointing_nowhere(bones: "list[PlainBone]") -> frozenset[str]:
    """Return last bones that do not point to an end: those that are one vector along an axis of the armature.

    Blender lets those of a BVH whose end sites have no length go up by a fixed length. Their parents mostly lead
    elsewhere.
    """
    steps, parents = _steps(bones), {bone.parent for bone in bones}
    last = [bone for bone in bones if bone.name in steps and bone.name not in parents]
    vectors = np.array([np.subtract(bone.tail, bone.head) for bone in last]).reshape(-1, 3)
    before = np.array([steps[bone.name] for bone in last]).reshape(-1, 3)
    lengths = np.linalg.norm(vectors, axis=1)
    leads_there = np.einsum("bi,bi->b", before, vectors) > SAME_AXIS_COSINE * lengths * np.linalg.norm(before, axis=1)
    found = set()
    for bone, vector, length in zip(last, vectors, lengths, strict=True):
        same = np.linalg.norm(vectors - vector, axis=1) < SAME_VECTOR * length
        if np.abs(vector).max() > ALONG_AXIS * length and same.sum() > 1 and leads_there[same].mean() <= 0.5:
            found.add(bone.name)
    return frozenset(found)


def _steps(bones: "list[PlainBone]") -> dict[str, Floats]:
    """Return bone -> the step (3,) from its parent's head to its own."""
    heads = {bone.name: bone.head for bone in bones}
    return {bone.name: np.subtract(bone.head, heads[bone.parent]) for bone in bones if bone.parent in heads}


def _without_stubs(bones: "list[PlainBone]", nowhere: frozenset[str]) -> "list[PlainBone]":
    """Return bones without last ones that are next to their parent's head: converters add them, in any direction.

    Importers let the parent end there; it continues its own parent straight on instead, as bones that point nowhere do.
    """
    steps, parents = _steps(bones), {bone.parent for bone in bones}
    stubs = {
        bone.name: bone.parent
        for bone in bones
        if bone.parent in steps
        and bone.name not in parents
        and np.linalg.norm(steps[bone.name]) < STUB_SHARE * np.linalg.norm(steps[bone.parent])
    }
    ended = set(stubs.values())
    short = {
        bone.name
        for bone in bones
        if bone.name in ended
        and np.linalg.norm(np.subtract(bone.tail, bone.head)) < STUB_SHARE * np.linalg.norm(steps[bone.name])
    }
    return [
        _straight_on(bone, steps[bone.name]) if bone.name in short | nowhere else bone
        for bone in bones
        if bone.name not in stubs
    ]


def _straight_on(bone: "PlainBone", step: Floats) -> "PlainBone":
    """Return a bone that ends along the step (3,) from its parent's head to its own."""
    x, y, z = (np.array(bone.head) + step).tolist()
    return replace(bone, tail=(x, y, z))


def _without_ends(bones: "list[PlainBone]") -> tuple[tuple[PlainBone, ...], dict[str, str]]:
    """Return bones without those that only mark where others end, and bone -> the one that marks its end.

    Exporters add them, named as the bone before with `_end`, also where the fingers have bones for their tips.
    """
    parents = {bone.parent for bone in bones}
    ends = {
        bone.parent: bone
        for bone in bones
        if bone.parent is not None and bone.name not in parents and bone.name.lower() == f"{bone.parent}_end".lower()
    }
    marks = {bone.name for bone in ends.values()}
    kept = (bone for bone in bones if bone.name not in marks)
    return (
        tuple(replace(bone, tail=ends[bone.name].head) if bone.name in ends else bone for bone in kept),
        {name: bone.name for name, bone in ends.items()},
    )


def _detected(armature: "Object", bones: "tuple[PlainBone, ...]") -> tuple[DetectedHand, ...]:
    """Return the hands among bones that can be keyed, else those whose bones follow constraints."""
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
    """What is known of the last bones of digits."""

    ends: Mapping[str, str]
    """Bone -> the one that marks its end."""
    nowhere: frozenset[str]
    """Those that point nowhere."""
    tails_known: bool
    """Whether others end where their tails are."""


def _source_hand(armature: "Object", hand: FoundHand | DetectedHand, known: LastBones) -> SourceHand:
    return SourceHand(hand.side, tuple(_joints(armature, hand, known)))


def _joints(armature: "Object", hand: FoundHand | DetectedHand, known: LastBones) -> Iterator[SourceJoint]:
    for joint, bone in hand.bones.items():
        # A wrist's control need not be where the hand is.
        yield SourceJoint(joint, hand.carrier or bone if joint == "wrist" else bone)
    bones = armature.data.bones
    for digit in DIGITS:
        *others, tip = DIGIT_JOINTS[digit]
        joints = [joint for joint in others if joint in hand.bones]
        if tip in hand.bones or not joints:
            continue
        if hand.bones[joints[-1]] in known.ends:
            yield SourceJoint(tip, known.ends[hand.bones[joints[-1]]])
        elif len(joints) > 1:
            chain = [bones[hand.bones[joint]] for joint in joints]
            x, y, z = _tip_offset(chain, known, _last_share(digit, *joints[-2:])).tolist()
            yield SourceJoint(tip, chain[-1].name, (x, y, z))
    arm = arm_ending_at(armature, hand.bones, bones[hand.carrier or hand.bones["wrist"]])
    if arm is not None:
        upper = bones[arm.fore].parent
        yield SourceJoint(ELBOW, arm.fore, axes=hand.carrier or hand.bones["wrist"], upper=upper.name)


def _tip_offset(chain: "list[Bone]", known: LastBones, share: float) -> Floats:
    """Return where a digit's tip is, from the head of its last bone in that bone's rest frame.

    Digits (N bones, from the palm) keep a convention: the next joint is along the same local axis of each bone. Without
    one, the last bone continues straight on. share: the last bone's length in lengths of the one before, where its tail
    does not say it.
    """
    steps = [np.array(bone.matrix_local)[:3, :3].T @ _step(bone, after) for bone, after in pairwise(chain)]
    local = [step / max(float(np.linalg.norm(step)), 1e-12) for step in steps[-2:]]
    length = float(np.linalg.norm(steps[-1]))
    last = chain[-1]
    # Importers turn a bone that ends at a stub towards it.
    is_turned = last.name in known.nowhere or last.length < STUB_SHARE * length
    if local[0] @ local[-1] > SAME_AXIS_COSINE and not is_turned:
        direction = local[-1]
    else:
        direction = np.array(last.matrix_local)[:3, :3].T @ _step(chain[-2], last) / max(length, 1e-12)
    gaps = [(bone.tail_local - after.head_local).length for bone, after in pairwise(chain[-3:])]
    met = max(gaps) < TAIL_TOLERANCE * length
    tip: Floats = direction * (float(last.length) if known.tails_known and met and not is_turned else length * share)
    return tip


def _step(bone: "Bone", after: "Bone") -> Floats:
    step: Floats = np.array(after.head_local) - np.array(bone.head_local)
    return step


def _last_share(digit: str, before: str, last: str) -> float:
    """Return a mean hand's length from one joint of a digit to its tip, as a share of that from the joint before."""
    lengths = adult("right").phalanges[DIGITS.index(digit)]
    reach = dict(zip(CHAIN_JOINTS[digit], np.concatenate([[0.0], np.cumsum(lengths)]).tolist(), strict=True))
    # A finger's metacarpal is before its chain, about as long as its first phalanx.
    begin = reach.get(before, -float(lengths[0]))
    return float((lengths.sum() - reach[last]) / (reach[last] - begin))
