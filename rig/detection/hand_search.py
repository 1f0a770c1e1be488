"""Detection of an armature's hands: candidates, their labels, sides and joints, and the confidence in them.

The confidence of a digit is

    c = g + (1 − g) · 2/3   if its bones' names agree,
        g                   if they say nothing,
        g / 2               if they disagree,      with  g = fit · clear,

where fit = 1 − cost / MOST_COST says how well the palm fits a mean hand's (`digit_labels.py`), and clear, by how much
the next best labels are worse, 1 from MARGIN on: for the thumb another digit as the thumb, for a finger the reverse
order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand import mirror
from ...hand.joints import DIGITS, SIDES, Side, digit_label, digit_of
from . import flat_rigs, side_guess
from .chains import LEAST_BONES, Candidate, candidates
from .controls import keyed
from .detected_hand import PICK_WHERE, DetectedHand
from .digit_joints import joints_of
from .digit_labels import DigitLabels, label
from .false_hands import is_mirrored_in_itself, one_a_side
from .layered_rigs import has_layers, joined
from .name_hints import NameHints, hints
from .skeleton import Bone, Skeleton

Floats = NDArray[np.float64]

MOST_COST = 0.32
"""Greatest cost of a hand's palm: feet are at 0.5, faces higher."""
FEW_COST = 0.22
"""The same for a thumb and one or two fingers, which more things resemble."""
MARGIN = 0.1
"""Labels that cost this much less than the next best are unambiguous."""
OTHER = 0.4
"""The cost of names of feet or hair, if at least half of the bones have one."""
LEAST_SURE = 0.1
"""Least confidence in a hand's thumb: paws, fins and the legs of a spider have less."""
MOST_HELPERS = 4
"""With more descendants than this for each bone of two or three digits, it is a body, not a hand."""
FLAT = 1e-3
"""Points whose thickness is less than this share of their spread lie in a plane."""


@dataclass(frozen=True, slots=True)
class _Found:
    labels: DigitLabels
    hints: NameHints
    left_out: tuple[int, ...] = ()
    """First bones of chains below the wrist that are not labelled as digits."""


def detect(bones: Sequence[Bone], where: str = "the armature", mirrored: bool = False) -> tuple[DetectedHand, ...]:
    """Return the hands in an armature's bones in world space; at least one, left before right.

    mirrored: whether the armature is mirrored in the world, so that its names suggest the other side. Raises RigError,
    in a sentence that begins with `where`, if there is no hand, if several could be the same one, if digits are
    missing, or if the hand has no bones that can be keyed.
    """
    if not bones:
        raise RigError(f"{where} has no bones, choose one with a hand")
    driven: list[str] = []
    for hung in _hung(bones):
        skeleton = Skeleton(hung, where)
        hands = []
        for one in _hands(skeleton):
            hand, without = _hand(skeleton, one, mirrored)
            if without:
                driven.append(_no_controls(where, hand.side, without))
            else:
                hands.append((one.labels.wrist, hand))
        if hands:
            return one_a_side(skeleton, hands, where)
    raise RigError(driven[0] if driven else _nothing(bones, where))


def _hung(bones: Sequence[Bone]) -> Iterator[Sequence[Bone]]:
    """Yield the bones in the hierarchies to try in turn.

    For layered rigs the joined deforming bones come first, then the armature's own hierarchy, then those of flat rigs.
    """
    if has_layers(bones):
        yield joined(bones)
    yield bones
    yield flat_rigs.gathered(bones)
    yield flat_rigs.hung(bones, by_name=True)
    yield flat_rigs.hung(bones, by_name=False)


def _no_controls(where: str, side: Side, bones: list[str]) -> str:
    return (
        f"{where}: constraints drive the bones of the {side} hand ('{bones[0]}' and {len(bones) - 1} more) and "
        "there are no controls in their places, choose the rig's control armature or remove the constraints"
    )


def _nothing(bones: Sequence[Bone], where: str) -> str:
    """Return the error message for an armature without a hand; it names digits with too few bones."""
    said = hints(bone.name for bone in bones)
    counts = {digit: sum(1 for one in said.digits.values() if one == digit) for digit in DIGITS}
    if said.family and (short := [digit for digit in DIGITS if counts[digit] < LEAST_BONES]):
        return (
            f"{where}: bones are named as a hand's in {said.family}, but there are fewer than two for "
            f"{', '.join(map(digit_label, short))}, and the others make no hand: add the missing bones, or pick the "
            f"bones {PICK_WHERE}"
        )
    return (
        f"{where} has no hand that can be recognised: at least a thumb and a finger of two bones each must hang on a "
        f"wrist; choose another armature, pick the bones {PICK_WHERE}, or use Knuckle's own hand"
    )


def _hands(skeleton: Skeleton) -> list[_Found]:
    """Return everything that looks like a hand, best first, without shared bones."""
    found: list[_Found] = []
    for candidate in candidates(skeleton):
        said = hints([skeleton.bones[bone].name for bone in (candidate.wrist, *sum(candidate.chains, ()))])
        named_other = said.others / (1 + sum(map(len, candidate.chains)))
        for labels in label(skeleton, candidate, said):
            left_out = tuple(chain[0] for chain in candidate.chains if chain not in labels.digits.values())
            one = _Found(replace(labels, cost=labels.cost + OTHER * min(2 * named_other, 1.0)), said, left_out)
            if _is_hand(skeleton, candidate, one):
                found.append(one)
                break
    if sum(_has_few(one) and not one.hints.digits for one in found) > len(SIDES):
        found = [one for one in found if not _has_few(one) or one.hints.digits]
    found.sort(key=lambda one: (-len(one.labels.digits), one.labels.cost))
    kept: list[_Found] = []
    used: set[int] = set()
    for one in found:
        own = {bone for chain in one.labels.digits.values() for bone in chain} | {one.labels.wrist}
        if not own & used:
            kept.append(one)
            used |= own
    return kept


def _is_hand(skeleton: Skeleton, candidate: Candidate, found: _Found) -> bool:
    """Whether a candidate is similar enough to a hand, its thumb (or fingers) distinct, and it is not symmetric."""
    labels, few = found.labels, _has_few(found)
    if (
        labels.cost >= (FEW_COST if few else MOST_COST)
        or _confidence(skeleton, found, next(iter(labels.digits))) < LEAST_SURE
    ):
        return False
    if few and (
        _is_flat(skeleton, candidate) or candidate.below > MOST_HELPERS * sum(map(len, labels.digits.values()))
    ):
        return False
    return not is_mirrored_in_itself(skeleton, candidate)


def _has_few(found: _Found) -> bool:
    """Whether it has only two or three digits; so have forks in faces, which come in large numbers."""
    return len(found.labels.digits) < 4


def _is_flat(skeleton: Skeleton, candidate: Candidate) -> bool:
    """Whether all bones lie in a plane, like a fin's."""
    points = skeleton.heads[list(sum(candidate.chains, ()))] - candidate.place
    stretch = np.linalg.svd(points, compute_uv=False)
    return bool(stretch[-1] < FLAT * stretch[0])


def _hand(skeleton: Skeleton, found: _Found, mirrored: bool) -> tuple[DetectedHand, list[str]]:
    """Return a hand, and those of its bending bones that cannot be keyed."""
    labels, said = found.labels, found.hints
    joints = joints_of(skeleton, labels, said)
    places = {joint: skeleton.heads[bone] for joint, bone in joints.items()} | {"wrist": labels.place}
    for digit in labels.digits:
        last = [joint for joint in joints if digit_of(joint) == digit][-1]
        if not last.endswith("-tip"):
            places[f"{digit}-tip"] = skeleton.ends[joints[last]]
    named = said.side if said.side is None or not mirrored else mirror.other_side(said.side)
    sided, sure, doubt = side_guess.decide(side_guess.shape_says(places), named, _body_side(skeleton, labels.wrist))
    bones, driven = _keyed(skeleton, joints)
    hand = DetectedHand(
        side=sided,
        bones=bones,
        confidence={digit: _confidence(skeleton, found, digit) for digit in labels.digits},
        side_confidence=sure,
        carrier=skeleton.bones[labels.wrist].name,
        family=said.family,
        doubts=(*([doubt] if doubt else []), *_label_doubts(skeleton, found)),
    )
    return hand, driven


def _keyed(skeleton: Skeleton, joints: dict[str, int]) -> tuple[dict[str, str], list[str]]:
    """Return joint -> the bone to key, and the bending bones that cannot be keyed.

    A bone in the palm without a control of its own is left out.
    """
    bones: dict[str, str] = {}
    driven: list[str] = []
    for joint, bone in joints.items():
        control = keyed(skeleton, bone)
        if joint.endswith("finger-metacarpal") and control != bone:
            continue
        if control is not None:
            bones[joint] = skeleton.bones[control].name
        elif "-phalanx-" in joint:
            driven.append(skeleton.bones[bone].name)
    return bones, driven


def _confidence(skeleton: Skeleton, found: _Found, digit: str) -> float:
    labels = found.labels
    margin = labels.margin if digit == "thumb" else min(labels.margin, labels.order_margin)
    geometry = max(1.0 - labels.cost / MOST_COST, 0.0) * min(max(margin, 0.0) / MARGIN, 1.0)
    said = _said(skeleton, found, digit)
    if said is None:
        return geometry
    return geometry + (1.0 - geometry) * 2 / 3 if said == digit else geometry / 2


def _said(skeleton: Skeleton, found: _Found, digit: str) -> str | None:
    """Return the digit by which most of a digit's bones are named."""
    names = [skeleton.bones[bone].name for bone in found.labels.digits[digit]]
    said = [found.hints.digits[name] for name in names if name in found.hints.digits]
    return max(said, key=said.count) if said else None


def _label_doubts(skeleton: Skeleton, found: _Found) -> list[str]:
    labels = found.labels
    doubts = [
        f"the {digit} is named as a {said}"
        for digit in labels.digits
        if (said := _said(skeleton, found, digit)) not in (None, digit)
    ]
    if labels.margin < MARGIN:
        doubts.append("another of its digits could be the thumb")
    if labels.order_margin < MARGIN:
        doubts.append("its fingers could be in the reverse order")
    if found.left_out:
        others = " and ".join(f"'{skeleton.bones[bone].name}'" for bone in found.left_out)
        doubts.append(
            f"{len(labels.digits) + len(found.left_out)} chains of bones hang on it as digits do: {others} was taken "
            "for none and is not keyed"
        )
    if len(labels.digits) < len(DIGITS) and not found.hints.digits:
        doubts.append(f"it has {len(labels.digits)} digits, taken as {', '.join(labels.digits)}")
    if len(labels.digits) < len(DIGITS) and found.hints.digits:
        named = set(hints(bone.name for bone in skeleton.bones).digits.values())
        loose = [digit for digit in DIGITS if digit in named and digit not in labels.digits]
        if loose:
            doubts.append(
                f"bones are named as {' and '.join(loose)} that do not hang on it as a digit, pick them {PICK_WHERE}"
            )
    return doubts


def _body_side(skeleton: Skeleton, wrist: int) -> Side | None:
    """Return the side of the body on which an arm ends: bodies face −Y in Blender, so their left is at +X."""
    above = list(skeleton.up(wrist))
    if len(above) < 3:
        return None
    aside = skeleton.heads[wrist] - skeleton.heads[above[-1]]
    if abs(aside[0]) < 0.1 * np.linalg.norm(aside):
        return None
    return "left" if aside[0] > 0 else "right"
