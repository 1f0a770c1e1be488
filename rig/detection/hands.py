"""The hands of an armature: candidates, their labels, sides and joints, and how sure all of that is.

The confidence of a digit is

    c = g + (1 − g) · 2/3   where its bones' names say the same,
        g                   where they say nothing,
        g / 2               where they say otherwise,      with  g = fit · clear,

fit = 1 − cost / MOST_COST: how well the palm lies on a mean hand's (`labels.py`); clear: how much worse the next best
labels would do, 1 from MARGIN on: for the thumb another digit as the thumb, for a finger the reverse order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand.joints import DIGITS, SIDES, Side, digit_of
from . import flat, side
from .bones import Bone, Skeleton
from .chains import LEAST_BONES, candidates
from .controls import keyed
from .hints import Hints, hints
from .joints import joints_of
from .labels import Labels, label

Floats = NDArray[np.float64]

MOST_COST = 0.32
"""A palm further than that from a mean one is no hand's: feet are at 0.5, faces further."""
FEW_COST = 0.22
"""The same for a thumb and one or two fingers, of which more things are made."""
MARGIN = 0.1
"""Labels that cost this much less than the next best are clear."""
OTHER = 0.4
"""What the names of a bone of feet or hair add to the cost, where half of the bones have one."""
SURE_SIDE = 0.15
"""A side less sure than this gives way to the other hand's."""


@dataclass(frozen=True, slots=True)
class DetectedHand:
    """A hand of an armature."""

    side: Side
    bones: dict[str, str]
    """joint -> the bone to key"""
    confidence: dict[str, float]
    """digit -> 0..1, for the digits that it has"""
    side_confidence: float
    carrier: str
    """The bone that carries the digits: the wrist's own, or the one that follows it."""
    family: str | None = None
    """The table that knows its names."""
    doubts: tuple[str, ...] = ()
    """What was ambiguous, each a sentence's end."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The digits that it does not have."""
        return tuple(digit for digit in DIGITS if digit not in self.confidence)


@dataclass(frozen=True, slots=True)
class Detection:
    """What was found in an armature."""

    hands: tuple[DetectedHand, ...]
    """Left before right."""
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    labels: Labels
    hints: Hints


def detect(bones: Sequence[Bone], where: str = "the armature", mirrored: bool = False) -> Detection:
    """The hands in an armature's bones, placed in the world; at least one.

    `mirrored` tells that the world mirrors the armature, so that its names say the other side. Raises RigError in one
    sentence that begins with `where`: no hand, several that could be the same one, digits that are missing, or a rig
    whose hand has no bones to key.
    """
    if not bones:
        raise RigError(f"{where} has no bones, choose one with a hand")
    found: list[_Found] = []
    for hung in _hung(bones):
        skeleton = Skeleton(hung, where)
        if found := _hands(skeleton):
            break
    else:
        raise RigError(_nothing(bones, where))
    hands = [_hand(skeleton, one, where, mirrored) for one in found]
    return Detection(_one_a_side(hands, where))


def _hung(bones: Sequence[Bone]) -> Iterator[Sequence[Bone]]:
    """The bones as they hang on each other, and where that makes no hand, as those of flat hands would."""
    yield bones
    yield flat.gathered(bones)
    yield flat.hung(bones, by_name=True)
    yield flat.hung(bones, by_name=False)


def _nothing(bones: Sequence[Bone], where: str) -> str:
    """The sentence for an armature without a hand; it names the digits that are short of bones."""
    said = hints(bone.name for bone in bones)
    counts = {digit: sum(1 for one in said.digits.values() if one == digit) for digit in DIGITS}
    if said.family and (short := [digit for digit in DIGITS if counts[digit] < LEAST_BONES]):
        return (
            f"{where}: bones are named as a hand's in {said.family}, but the {' and the '.join(short)} have fewer than "
            "two bones each and the others make no hand: add the missing bones, or pick the bones yourself"
        )
    return (
        f"{where} has no hand that can be recognised: at least a thumb and a finger of two bones each must hang on a "
        "wrist; choose another armature, pick the bones yourself, or use Knuckle's own hand"
    )


def _hands(skeleton: Skeleton) -> list[_Found]:
    """What looks like a hand, best first, no two of the same bones."""
    found: list[_Found] = []
    for candidate in candidates(skeleton):
        said = hints([skeleton.bones[bone].name for bone in (candidate.wrist, *sum(candidate.chains, ()))])
        labels = label(skeleton, candidate, said)
        if labels is None:
            continue
        named_other = said.others / (1 + sum(map(len, candidate.chains)))
        cost = labels.cost + OTHER * min(2 * named_other, 1.0)
        if cost < (MOST_COST if len(labels.digits) > 3 else FEW_COST):
            found.append(_Found(replace(labels, cost=cost), said))
    found.sort(key=lambda one: (-len(one.labels.digits), one.labels.cost))
    kept: list[_Found] = []
    used: set[int] = set()
    for one in found:
        own = {bone for chain in one.labels.digits.values() for bone in chain} | {one.labels.wrist}
        if not own & used:
            kept.append(one)
            used |= own
    return kept


def _hand(skeleton: Skeleton, found: _Found, where: str, mirrored: bool) -> DetectedHand:
    labels, said = found.labels, found.hints
    joints = joints_of(skeleton, labels, said)
    places = {joint: skeleton.heads[bone] for joint, bone in joints.items()}
    for digit in labels.digits:
        last = [joint for joint in joints if digit_of(joint) == digit][-1]
        if not last.endswith("-tip"):
            places[f"{digit}-tip"] = skeleton.tails[joints[last]]
    named = said.side if said.side is None or not mirrored else SIDES[1 - SIDES.index(said.side)]
    sided, sure, doubt = side.decide(side.shape_says(places), named, _body_side(skeleton, labels.wrist))
    bones, driven = _keyed(skeleton, joints)
    if driven:
        raise RigError(
            f"{where}: constraints drive the bones of the {sided} hand ('{driven[0]}' and {len(driven) - 1} more) and "
            "there are no controls in their places, choose the rig's control armature or remove the constraints"
        )
    return DetectedHand(
        side=sided,
        bones=bones,
        confidence={digit: _confidence(skeleton, found, digit) for digit in labels.digits},
        side_confidence=sure,
        carrier=skeleton.bones[labels.wrist].name,
        family=said.family,
        doubts=(*([doubt] if doubt else []), *_label_doubts(skeleton, found)),
    )


def _keyed(skeleton: Skeleton, joints: dict[str, int]) -> tuple[dict[str, str], list[str]]:
    """joint -> the bone to key, and the bones that bend and that no key moves.

    A bone of the palm without a control of its own stays as the rig has it.
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
    """The digit that most of a digit's bones are named as."""
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
    if len(labels.digits) < len(DIGITS) and not found.hints.digits:
        doubts.append(f"it has {len(labels.digits)} digits, taken as {', '.join(labels.digits)}")
    return doubts


def _body_side(skeleton: Skeleton, wrist: int) -> Side | None:
    """The side of the body on which an arm ends: bodies face −Y in Blender and have their left at +X."""
    above = list(skeleton.up(wrist))
    if len(above) < 3:
        return None
    aside = skeleton.heads[wrist] - skeleton.heads[above[-1]]
    if abs(aside[0]) < 0.1 * np.linalg.norm(aside):
        return None
    return "left" if aside[0] > 0 else "right"


def _one_a_side(hands: list[DetectedHand], where: str) -> tuple[DetectedHand, ...]:
    """At most one hand a side: of two alike the one that is hardly sure takes the other side."""
    if len(hands) == 2 and hands[0].side == hands[1].side:
        weaker = min(hands, key=lambda hand: hand.side_confidence)
        if weaker.side_confidence < SURE_SIDE:
            other: Side = SIDES[1 - SIDES.index(weaker.side)]
            hands = [replace(hand, side=other) if hand is weaker else hand for hand in hands]
    for wanted in SIDES:
        same = [hand for hand in hands if hand.side == wanted]
        if len(same) > 1:
            raise RigError(
                f"{where} has {len(same)} {wanted} hands, at bones {' and '.join(repr(h.carrier) for h in same)}: "
                "pick the bones of the one to drive yourself"
            )
    return tuple(hand for wanted in SIDES for hand in hands if hand.side == wanted)
