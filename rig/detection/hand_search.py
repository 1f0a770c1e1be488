"""Detect an armature's hands: candidates, their labels, sides and joints, and the confidence in them.

The confidence of a digit is

    c = g + (1 − g) · 2/3   if its bones' names agree,
        g                   if they suggest nothing,
        g / 2               if they disagree,      with  g = fit · clear,

where fit = 1 − cost / MAX_COST measures how well the palm fits a mean hand's (`digit_labels.py`), and clear measures
how much worse the second best labels are (1 from MARGIN on): for the thumb, those with another digit as the thumb, for
a finger, those in reverse order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand import mirror
from ...hand.joints import DIGITS, SIDES, Side, digit_label, digit_of
from . import flat_rigs, side_guess
from .chains import MIN_BONES, Candidate, candidates
from .controls import bone_to_key
from .detected_hand import PICK_WHERE, DetectedHand
from .digit_joints import joints_of
from .digit_labels import DigitLabels, label_digits
from .false_hands import is_symmetric, one_per_side
from .layered_rigs import has_layers, with_skin_hierarchy
from .name_hints import NameHints, hints
from .skeleton import Bone, Skeleton

Floats = NDArray[np.float64]

MAX_COST = 0.32
"""Maximum cost of a hand's palm. Feet cost 0.5, faces more."""
MAX_COST_OF_FEW = 0.22
"""Maximum cost of the palm of a thumb and one or two fingers, which more structures resemble."""
MARGIN = 0.1
"""Labels that cost this much less than the next best are unambiguous."""
NON_HAND_NAMES_COST = 0.4
"""The cost if at least half of the bones have names of feet or hair."""
MIN_THUMB_CONFIDENCE = 0.1
"""Minimum confidence in a hand's thumb. Paws, fins and the legs of a spider have less."""
MAX_HELPERS = 4
"""A candidate with more descendants than this for each bone of two or three digits is a body, not a hand."""
FLATNESS = 1e-3
"""Points whose thickness is below this fraction of their spread lie in a plane."""


@dataclass(frozen=True, slots=True)
class _LabelledHand:
    labels: DigitLabels
    hints: NameHints
    left_out: tuple[int, ...] = ()
    """First bones of chains below the wrist that are not labelled as digits."""


def detect(bones: Sequence[Bone], where: str = "the armature", mirrored: bool = False) -> tuple[DetectedHand, ...]:
    """Return the hands in an armature's bones in world space, at least one, left before right.

    mirrored: whether the armature is mirrored in the world, so that its names suggest the other side. Raises RigError,
    in a sentence that starts with `where`, if there is no hand, if several could be the same one, if digits are
    missing, or if the hand has no bones that can be keyed.
    """
    if not bones:
        raise RigError(f"{where} has no bones, choose one with a hand")
    driven: list[str] = []
    for hierarchy in _hierarchies(bones):
        skeleton = Skeleton(hierarchy, where)
        hands = []
        for labelled in _labelled_hands(skeleton):
            hand, undriven = _detected_hand(skeleton, labelled, mirrored)
            if undriven:
                driven.append(_no_controls_message(where, hand.side, undriven))
            else:
                hands.append((labelled.labels.wrist, hand))
        if hands:
            return one_per_side(skeleton, hands, where)
    raise RigError(driven[0] if driven else _no_hand_message(bones, where))


def _hierarchies(bones: Sequence[Bone]) -> Iterator[Sequence[Bone]]:
    """Yield the bones in the hierarchies to try, in order.

    For layered rigs the hierarchy of the deforming bones comes first, then the armature's own, then those for flat
    rigs.
    """
    if has_layers(bones):
        yield with_skin_hierarchy(bones)
    yield bones
    yield flat_rigs.with_loose_wrist(bones)
    yield flat_rigs.with_hand_hierarchy(bones, by_name=True)
    yield flat_rigs.with_hand_hierarchy(bones, by_name=False)


def _no_controls_message(where: str, side: Side, bones: list[str]) -> str:
    return (
        f"{where}: constraints drive the bones of the {side} hand ('{bones[0]}' and {len(bones) - 1} more) and "
        "there are no controls in their places, choose the rig's control armature or remove the constraints"
    )


def _no_hand_message(bones: Sequence[Bone], where: str) -> str:
    """Return the error message for an armature without a hand. It names the digits that have too few bones."""
    named = hints(bone.name for bone in bones)
    counts = {digit: sum(1 for digit_of_bone in named.digits.values() if digit_of_bone == digit) for digit in DIGITS}
    if named.family and (short := [digit for digit in DIGITS if counts[digit] < MIN_BONES]):
        return (
            f"{where}: bones are named as a hand's in {named.family}, but there are fewer than two for "
            f"{', '.join(map(digit_label, short))}, and the others make no hand: add the missing bones, or pick the "
            f"bones {PICK_WHERE}"
        )
    return (
        f"{where} has no hand that can be recognised: at least a thumb and a finger of two bones each must branch from "
        f"a wrist; choose another armature, pick the bones {PICK_WHERE}, or use Knuckle's own hand"
    )


def _labelled_hands(skeleton: Skeleton) -> list[_LabelledHand]:
    """Return everything that looks like a hand, the best first; no two share a bone."""
    labelled_hands: list[_LabelledHand] = []
    for candidate in candidates(skeleton):
        name_hints = hints([skeleton.bones[bone].name for bone in (candidate.wrist, *sum(candidate.chains, ()))])
        other_names_fraction = name_hints.non_hand_bones / (1 + sum(map(len, candidate.chains)))
        for labels in label_digits(skeleton, candidate, name_hints):
            left_out = tuple(chain[0] for chain in candidate.chains if chain not in labels.digits.values())
            labelled = _LabelledHand(
                replace(labels, cost=labels.cost + NON_HAND_NAMES_COST * min(2 * other_names_fraction, 1.0)),
                name_hints,
                left_out,
            )
            if _is_hand(skeleton, candidate, labelled):
                labelled_hands.append(labelled)
                break
    if sum(_has_few_digits(labelled) and not labelled.hints.digits for labelled in labelled_hands) > len(SIDES):
        labelled_hands = [
            labelled for labelled in labelled_hands if not _has_few_digits(labelled) or labelled.hints.digits
        ]
    labelled_hands.sort(key=lambda labelled: (-len(labelled.labels.digits), labelled.labels.cost))
    chosen: list[_LabelledHand] = []
    used: set[int] = set()
    for labelled in labelled_hands:
        hand_bones = {bone for chain in labelled.labels.digits.values() for bone in chain} | {labelled.labels.wrist}
        if not hand_bones & used:
            chosen.append(labelled)
            used |= hand_bones
    return chosen


def _is_hand(skeleton: Skeleton, candidate: Candidate, labelled: _LabelledHand) -> bool:
    """Return whether a candidate is similar to a hand, not symmetric, and its thumb (or fingers) is distinct."""
    labels, few = labelled.labels, _has_few_digits(labelled)
    if (
        labels.cost >= (MAX_COST_OF_FEW if few else MAX_COST)
        or _confidence(skeleton, labelled, next(iter(labels.digits))) < MIN_THUMB_CONFIDENCE
    ):
        return False
    if few and (
        _is_flat(skeleton, candidate) or candidate.descendants > MAX_HELPERS * sum(map(len, labels.digits.values()))
    ):
        return False
    return not is_symmetric(skeleton, candidate)


def _has_few_digits(labelled: _LabelledHand) -> bool:
    """Return whether a hand has only two or three digits. So do forks in faces, of which there are many."""
    return len(labelled.labels.digits) < 4


def _is_flat(skeleton: Skeleton, candidate: Candidate) -> bool:
    """Return whether all bones lie in a plane, like a fin's."""
    points = skeleton.heads[list(sum(candidate.chains, ()))] - candidate.wrist_position
    stretch = np.linalg.svd(points, compute_uv=False)
    return bool(stretch[-1] < FLATNESS * stretch[0])


def _detected_hand(skeleton: Skeleton, labelled: _LabelledHand, mirrored: bool) -> tuple[DetectedHand, list[str]]:
    """Return a hand, and its bending bones that cannot be keyed."""
    labels, name_hints = labelled.labels, labelled.hints
    joints = joints_of(skeleton, labels, name_hints)
    positions = {joint: skeleton.heads[bone] for joint, bone in joints.items()} | {"wrist": labels.wrist_position}
    for digit in labels.digits:
        last = [joint for joint in joints if digit_of(joint) == digit][-1]
        if not last.endswith("-tip"):
            positions[f"{digit}-tip"] = skeleton.ends[joints[last]]
    named_side = name_hints.side if name_hints.side is None or not mirrored else mirror.other_side(name_hints.side)
    side, side_confidence, doubt = side_guess.decide_side(
        side_guess.right_hand_evidence(positions), named_side, _body_side(skeleton, labels.wrist)
    )
    bones, driven = _bones_to_key(skeleton, joints)
    hand = DetectedHand(
        side=side,
        bones=bones,
        confidence={digit: _confidence(skeleton, labelled, digit) for digit in labels.digits},
        side_confidence=side_confidence,
        carrier=skeleton.bones[labels.wrist].name,
        family=name_hints.family,
        doubts=(*([doubt] if doubt else []), *_label_doubts(skeleton, labelled)),
    )
    return hand, driven


def _bones_to_key(skeleton: Skeleton, joints: dict[str, int]) -> tuple[dict[str, str], list[str]]:
    """Return joint -> the bone to key, and the bending bones that cannot be keyed.

    Bones in the palm without a control of their own are omitted.
    """
    bones: dict[str, str] = {}
    driven: list[str] = []
    for joint, bone in joints.items():
        control = bone_to_key(skeleton, bone)
        if joint.endswith("finger-metacarpal") and control != bone:
            continue
        if control is not None:
            bones[joint] = skeleton.bones[control].name
        elif "-phalanx-" in joint:
            driven.append(skeleton.bones[bone].name)
    return bones, driven


def _confidence(skeleton: Skeleton, labelled: _LabelledHand, digit: str) -> float:
    labels = labelled.labels
    margin = labels.margin if digit == "thumb" else min(labels.margin, labels.order_margin)
    geometry = max(1.0 - labels.cost / MAX_COST, 0.0) * min(max(margin, 0.0) / MARGIN, 1.0)
    named = _named_digit(skeleton, labelled, digit)
    if named is None:
        return geometry
    return geometry + (1.0 - geometry) * 2 / 3 if named == digit else geometry / 2


def _named_digit(skeleton: Skeleton, labelled: _LabelledHand, digit: str) -> str | None:
    """Return the digit that the names of most bones of a digit suggest."""
    names = [skeleton.bones[bone].name for bone in labelled.labels.digits[digit]]
    named = [labelled.hints.digits[name] for name in names if name in labelled.hints.digits]
    return max(named, key=named.count) if named else None


def _label_doubts(skeleton: Skeleton, labelled: _LabelledHand) -> list[str]:
    labels = labelled.labels
    doubts = [
        f"the {digit} is named as a {named_as}"
        for digit in labels.digits
        if (named_as := _named_digit(skeleton, labelled, digit)) not in (None, digit)
    ]
    if labels.margin < MARGIN:
        doubts.append("another of its digits could be the thumb")
    if labels.order_margin < MARGIN:
        doubts.append("its fingers could be in the reverse order")
    if labelled.left_out:
        unlabelled_roots = " and ".join(f"'{skeleton.bones[bone].name}'" for bone in labelled.left_out)
        doubts.append(
            f"{len(labels.digits) + len(labelled.left_out)} chains of bones branch off it: {unlabelled_roots} was not "
            "taken for a digit and is not keyed"
        )
    if len(labels.digits) < len(DIGITS) and not labelled.hints.digits:
        doubts.append(f"it has {len(labels.digits)} digits, taken as {', '.join(labels.digits)}")
    if len(labels.digits) < len(DIGITS) and labelled.hints.digits:
        named_digits = set(hints(bone.name for bone in skeleton.bones).digits.values())
        unlabelled = [digit for digit in DIGITS if digit in named_digits and digit not in labels.digits]
        if unlabelled:
            doubts.append(f"the bones named as {' and '.join(unlabelled)} form no digit of it, pick them {PICK_WHERE}")
    return doubts


def _body_side(skeleton: Skeleton, wrist: int) -> Side | None:
    """Return the side of the body on which an arm ends. Bodies face −Y in Blender, so their left is at +X."""
    ancestors = list(skeleton.ancestors(wrist))
    if len(ancestors) < 3:
        return None
    offset = skeleton.heads[wrist] - skeleton.heads[ancestors[-1]]
    if abs(offset[0]) < 0.1 * np.linalg.norm(offset):
        return None
    return "left" if offset[0] > 0 else "right"
