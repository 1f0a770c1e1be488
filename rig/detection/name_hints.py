"""Hints from bone names about joint, digit and side. The geometry decides."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from ...hand.joints import SIDES, Side, digit_of
from ..mappings import FAMILIES, WORDS, BoneNaming
from ..mappings.family import ARM_PARTS
from .arms import ArmPart

MIN_KNOWN_NAMES = 6
"""A hand belongs to a family of rigs if the family knows at least this many of its bone names."""

_TOKEN_PATTERN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")


@dataclass(frozen=True, slots=True)
class NameHints:
    """Hints from the names of a hand's bones."""

    family: str | None = None
    """The family of rigs that uses these names."""
    side: Side | None = None
    digits: Mapping[str, str] = field(default_factory=dict)
    """bone -> digit"""
    joints: Mapping[str, str] = field(default_factory=dict)
    """bone -> joint, if a family knows the names"""
    ends: frozenset[str] = frozenset()
    """Bones that only mark the end of a chain."""
    non_hand_bones: int = 0
    """Number of bones named after something that is not part of a hand, such as a toe or hair."""


def hints(names: Iterable[str]) -> NameHints:
    """Return the hints from the names of a wrist and of all bones of its chains."""
    names = list(names)
    tokens = {name: _tokens(name) for name in names}
    ends = frozenset(name for name in names if _any_starts_with(tokens[name], WORDS.ends))
    non_hand_bones = sum(_any_starts_with(tokens[name], WORDS.others) for name in names)
    name_sides = [_side_in(tokens[name]) for name in names]
    left, right = (name_sides.count(side) for side in SIDES)
    side: Side | None = None if left == right else "left" if left > right else "right"
    digits = {name: digit for name in names if (digit := _digit_in(tokens[name]))}
    best = _best_family({normalised(name): name for name in names})
    if best is None:
        return NameHints(None, side, digits, {}, ends, non_hand_bones)
    family, family_side, joints = best
    # The family's joints take precedence; words identify the bones that a rig adds to its family's.
    digits |= {name: digit for name, joint in joints.items() if (digit := digit_of(joint))}
    distinguishes_sides = len(set(family.sides.values())) > 1
    return NameHints(family.name, family_side if distinguishes_sides else side, digits, joints, ends, non_hand_bones)


def arm_part(name: str) -> ArmPart | None:
    """Return the part of an arm that a bone's name suggests; None if none."""
    # WORDS.arms marks words that must be at the end of a name with $.
    letters = re.sub(r"[^a-z]", "", name.lower()) + "$"
    return next((part for part in ARM_PARTS if any(word in letters for word in WORDS.arms[part])), None)


def normalised(name: str) -> str:
    """Return a name in lower case without its namespace, with full-width characters in their usual width."""
    return unicodedata.normalize("NFKC", name).rsplit(":", 1)[-1].lower()


def _best_family(names: Mapping[str, str]) -> tuple[BoneNaming, Side, dict[str, str]] | None:
    """Return the family and side that know the most of the names, and bone -> joint for those.

    names: normalised name -> name. None if no family knows MIN_KNOWN_NAMES of them.
    """
    best: tuple[BoneNaming, Side, dict[str, str]] | None = None
    for family in FAMILIES:
        for side in SIDES:
            table = _normalised_table(family.name, side)
            matches = {names[bone]: joint for bone, joint in table.items() if bone in names}
            if len(matches) >= MIN_KNOWN_NAMES and (best is None or len(matches) > len(best[2])):
                best = family, side, matches
    return best


@cache
def _normalised_table(name: str, side: Side) -> dict[str, str]:
    """Return normalised bone name -> joint for one side of a family."""
    family = next(family for family in FAMILIES if family.name == name)
    return {normalised(bone): joint for joint, bone in family.bone_names(side).items()}


def _tokens(name: str) -> list[str]:
    # Accents are removed; Japanese voicing marks are in another code block and stay.
    letters = (letter for letter in unicodedata.normalize("NFKD", name) if not "\u0300" <= letter <= "\u036f")
    plain = unicodedata.normalize("NFKC", "".join(letters)).rsplit(":", 1)[-1]
    return [token.lower() for token in _TOKEN_PATTERN.findall(plain)]


def _any_starts_with(tokens: list[str], words: tuple[str, ...]) -> bool:
    return any(token.startswith(words) for token in tokens)


def _digit_in(tokens: list[str]) -> str | None:
    digits = [digit for digit, words in WORDS.digits.items() if _any_starts_with(tokens, words)]
    return digits[0] if len(digits) == 1 else None


def _side_in(tokens: list[str]) -> Side | None:
    # In scripts without spaces a name starts with the side: 左人指1.
    sides = [
        side
        for side in SIDES
        if any(
            token in WORDS.sides[side] or (token[:1] in WORDS.sides[side] and not token.isascii()) for token in tokens
        )
    ]
    return sides[0] if len(sides) == 1 else None
