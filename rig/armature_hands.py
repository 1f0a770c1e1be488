"""The hands of an armature: what its person said, else what is found from where its bones are (`rig/detection`)."""

from collections.abc import Collection
from collections.abc import Mapping as Table
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..errors import RigError
from ..hand.joints import SIDES, Side
from .armature_data import plain_bones
from .binding import is_armature
from .detection import Bone, DetectedHand, detect
from .keys.parent_motion import check_depth
from .mapping import Mapping, check_bones, check_whole, kept_mapping

if TYPE_CHECKING:
    from bpy.types import Object


@dataclass(frozen=True, slots=True)
class FoundHand:
    """A hand of an armature: what `binding.bind` needs, and how sure it is."""

    side: Side
    bones: dict[str, str]
    """joint -> the bone to key"""
    family: str | None = None
    """The table that knows its names."""
    confidence: dict[str, float] = field(default_factory=dict)
    """digit -> 0..1 (`detection/hand_search.py` has the formula); 1 where the person said so."""
    side_confidence: float = 1.0
    carrier: str | None = None
    """The bone that carries the digits, where that is not the wrist's own: a control moves it."""
    doubts: tuple[str, ...] = ()
    """What was ambiguous, each the end of a sentence."""
    corrected: bool = False
    """It is the person's own mapping."""
    turns: Table[str, float] = field(default_factory=dict)
    """digit -> degrees by which its person turned the plane in which it curls."""


def find_hands(armature: "Object", sides: Collection[Side] = SIDES) -> tuple[FoundHand, ...]:
    """The hands of an armature, left before right; at least one. A mapping saved on it comes before what is found.

    sides: those whose saved mapping must be right; a hand of another side with one that is not is left out, as long as
    there is one at all. Raises RigError for what is no armature or has no bones, for an armature that is flat, without
    a hand, with several that could be the same one or whose bones cannot be keyed, and for a saved mapping that is not
    whole or whose bones are gone.
    """
    hands, problems = hands_and_problems(armature)
    told = [problems[side] for side in SIDES if side in problems and (side in sides or not hands)]
    if told:
        raise RigError(told[0])
    return tuple(hands.values())


def hands_and_problems(armature: "Object") -> tuple[dict[Side, FoundHand], dict[Side, str]]:
    """The hands of an armature, left before right, and what is wrong with what is saved for those that there are not.

    Raises RigError as find_hands does for what is wrong with all of it.
    """
    if not is_armature(armature):
        raise RigError(f"'{armature.name}' is not an armature, choose the armature of the hand")
    check_depth(armature.name, np.array(armature.matrix_world, float))
    saved, problems = _saved(armature)
    taken = {bone for mapping in saved.values() for bone in mapping.bones.values()}
    hands = {} if set(saved) | set(problems) == set(SIDES) else _detected(armature, taken, told=not problems)
    hands |= {side: _corrected(mapping) for side, mapping in saved.items()}
    return {side: hands[side] for side in SIDES if side in hands and side not in problems}, problems


def _saved(armature: "Object") -> tuple[dict[Side, Mapping], dict[Side, str]]:
    """The mappings saved on an armature, and what is wrong with those that cannot be used."""
    saved: dict[Side, Mapping] = {}
    problems: dict[Side, str] = {}
    for side in SIDES:
        try:
            mapping = kept_mapping(armature, side)
            if mapping is not None:
                saved[side] = mapping
                check_bones(armature, mapping)
                check_whole(mapping)
        except RigError as error:
            problems[side] = str(error)
    bones = [set(mapping.bones.values()) for mapping in saved.values()]
    twice = set.intersection(*bones) if len(bones) > 1 else set()
    if twice and not problems:
        both = f"bone '{min(twice)}' is the left hand's as well, pick another bone for one of them"
        problems = dict.fromkeys(SIDES, f"{saved['right'].where}: {both}")
    return saved, problems


def detected_hands(armature: "Object") -> tuple[FoundHand, ...]:
    """The hands that are found from the bones alone, whatever mapping is saved. Raises RigError as find_hands does."""
    mirrored = bool(np.linalg.det(np.array(armature.matrix_world)[:3, :3]) < 0)
    return tuple(map(_found, _in_bones(tuple(plain_bones(armature)), f"armature '{armature.name}'", mirrored)))


@lru_cache(maxsize=16)  # a bake asks several times, and large rigs take long
def _in_bones(bones: tuple[Bone, ...], where: str, mirrored: bool) -> tuple[DetectedHand, ...]:
    return detect(bones, where, mirrored)


def _detected(armature: "Object", taken: set[str], *, told: bool) -> dict[Side, FoundHand]:
    """By side, without a hand of bones that are another's; none is no error where bones are taken, or if not told."""
    try:
        found = detected_hands(armature)
    except RigError:
        if taken or not told:
            return {}
        raise
    return {hand.side: hand for hand in found if not taken.intersection(hand.bones.values())}


def _found(hand: DetectedHand) -> FoundHand:
    return FoundHand(
        side=hand.side,
        bones=dict(hand.bones),
        family=hand.family,
        confidence=dict(hand.confidence),
        side_confidence=hand.side_confidence,
        carrier=None if hand.carrier == hand.bones.get("wrist") else hand.carrier,
        doubts=hand.doubts,
    )


def _corrected(mapping: Mapping) -> FoundHand:
    return FoundHand(
        side=mapping.side,
        bones=dict(mapping.bones),
        confidence=dict.fromkeys(mapping.digits, 1.0),
        carrier=mapping.carrier,
        corrected=True,
        turns=dict(mapping.turns),
    )
