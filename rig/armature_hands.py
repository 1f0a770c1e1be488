"""The hands of an armature: from the user's saved mapping, else detected from its bones (`rig/detection`)."""

from collections.abc import Collection
from collections.abc import Mapping as Table
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..errors import RigError
from ..hand.joints import SIDES, Side
from .armature_data import expect_current_pose, plain_bones
from .binding import is_armature
from .detection import Bone, DetectedHand, detect
from .keys.parent_motion import check_depth
from .mapping import Mapping, check_bones, check_whole, saved_mapping

if TYPE_CHECKING:
    from bpy.types import Object


@dataclass(frozen=True, slots=True)
class FoundHand:
    """A hand of an armature, with the inputs of `binding.bind`, and its confidence."""

    side: Side
    bones: dict[str, str]
    """joint -> the bone to key"""
    family: str | None = None
    """The name of the family of rigs that uses its bone names."""
    confidence: dict[str, float] = field(default_factory=dict)
    """digit -> 0..1 (`detection/hand_search.py` has the formula); 1 if the user mapped it."""
    side_confidence: float = 1.0
    carrier: str | None = None
    """The digits' parent bone, if the wrist's bone is a control that moves it."""
    doubts: tuple[str, ...] = ()
    """Ambiguities, each the end of a sentence."""
    corrected: bool = False
    """Whether it is the user's own mapping."""
    curl_angles: Table[str, float] = field(default_factory=dict)
    """digit -> degrees by which the user rotated its curl plane."""


def find_hands(armature: "Object", sides: Collection[Side] = SIDES) -> tuple[FoundHand, ...]:
    """Return the hands of an armature, left before right; at least one. Saved mappings take precedence over detection.

    sides: sides whose saved mapping must be valid; hands of other sides with an invalid mapping are left out, unless no
    hand remains. Raises RigError if the object is not an armature or has no bones; if the armature is flattened, has no
    hand, has several candidates for the same hand or only bones that cannot be keyed; and if a saved mapping is
    incomplete or names missing bones.
    """
    hands, problems = hands_and_problems(armature)
    errors = [problems[side] for side in SIDES if side in problems and (side in sides or not hands)]
    if errors:
        raise RigError(errors[0])
    return tuple(hands.values())


def hands_and_problems(armature: "Object") -> tuple[dict[Side, FoundHand], dict[Side, str]]:
    """Return the hands of an armature, left before right, and for each side with an unusable saved mapping, the error.

    Raises RigError as find_hands does for errors that concern the whole armature.
    """
    if not is_armature(armature):
        raise RigError(f"'{armature.name}' is not an armature, choose the armature of the hand")
    check_depth(armature.name, np.array(armature.matrix_world, float))
    expect_current_pose(armature)
    saved, problems = _saved_mappings(armature)
    mapped_bones = {bone for mapping in saved.values() for bone in mapping.bones.values()}
    hands = (
        {}
        if set(saved) | set(problems) == set(SIDES)
        else _detected_by_side(armature, mapped_bones, required=not problems)
    )
    hands |= {side: _from_mapping(mapping) for side, mapping in saved.items()}
    return {side: hands[side] for side in SIDES if side in hands and side not in problems}, problems


def _saved_mappings(armature: "Object") -> tuple[dict[Side, Mapping], dict[Side, str]]:
    """Return the mappings saved on an armature, and error messages for those that cannot be used."""
    saved: dict[Side, Mapping] = {}
    problems: dict[Side, str] = {}
    for side in SIDES:
        try:
            mapping = saved_mapping(armature, side)
            if mapping is not None:
                saved[side] = mapping
                check_bones(armature, mapping)
                check_whole(mapping)
        except RigError as error:
            problems[side] = str(error)
    bones = [set(mapping.bones.values()) for mapping in saved.values()]
    shared = set.intersection(*bones) if len(bones) > 1 else set()
    if shared and not problems:
        message = f"bone '{min(shared)}' is the left hand's as well, pick another bone for one of them"
        problems = dict.fromkeys(SIDES, f"{saved['right'].where}: {message}")
    return saved, problems


def detected_hands(armature: "Object") -> tuple[FoundHand, ...]:
    """Return the hands detected from the bones alone, ignoring saved mappings. Raises RigError as find_hands does."""
    mirrored = bool(np.linalg.det(np.array(armature.matrix_world)[:3, :3]) < 0)
    found = _cached_detect(tuple(plain_bones(armature)), f"armature '{armature.name}'", mirrored)
    return tuple(
        FoundHand(
            side=hand.side,
            bones=dict(hand.bones),
            family=hand.family,
            confidence=dict(hand.confidence),
            side_confidence=hand.side_confidence,
            carrier=None if hand.carrier == hand.bones.get("wrist") else hand.carrier,
            doubts=hand.doubts,
        )
        for hand in found
    )


@lru_cache(maxsize=16)  # a bake detects several times, and large rigs take long
def _cached_detect(bones: tuple[Bone, ...], where: str, mirrored: bool) -> tuple[DetectedHand, ...]:
    return detect(bones, where, mirrored)


def _detected_by_side(armature: "Object", mapped_bones: set[str], *, required: bool) -> dict[Side, FoundHand]:
    """Return detected hands by side, without those that share bones with a saved mapping.

    Finding none is an error only if nothing is saved.
    """
    try:
        found = detected_hands(armature)
    except RigError:
        if mapped_bones or not required:
            return {}
        raise
    return {hand.side: hand for hand in found if not mapped_bones.intersection(hand.bones.values())}


def _from_mapping(mapping: Mapping) -> FoundHand:
    return FoundHand(
        side=mapping.side,
        bones=dict(mapping.bones),
        confidence=dict.fromkeys(mapping.digits, 1.0),
        carrier=mapping.carrier,
        corrected=True,
        curl_angles=dict(mapping.curl_angles),
    )
