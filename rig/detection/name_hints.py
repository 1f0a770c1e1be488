"""What the names of bones say: which joint, which digit, which side. Hints only: the geometry decides."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from ...hand.joints import SIDES, Side, digit_of
from ..mappings import FAMILIES, WORDS, BoneNaming
from ..mappings.family import PARTS
from .arms import Part

LEAST_KNOWN = 6
"""A family knows a hand of which it knows at least so many bones."""

_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")


@dataclass(frozen=True, slots=True)
class NameHints:
    """What is known of the bones of a hand by name."""

    family: str | None = None
    """The table that knows them."""
    side: Side | None = None
    digits: Mapping[str, str] = field(default_factory=dict)
    """bone -> digit"""
    joints: Mapping[str, str] = field(default_factory=dict)
    """bone -> joint, where a family knows them"""
    ends: frozenset[str] = frozenset()
    """The bones that only mark an end."""
    others: int = 0
    """How many bones are named as something else's."""


def hints(names: Iterable[str]) -> NameHints:
    """What the names of a wrist and of all bones of its chains say."""
    names = list(names)
    parts = {name: _parts(name) for name in names}
    ends = frozenset(name for name in names if _begins(parts[name], WORDS.ends))
    others = sum(_begins(parts[name], WORDS.others) for name in names)
    spoken = [_spoken_side(parts[name]) for name in names]
    left, right = (spoken.count(side) for side in SIDES)
    side: Side | None = None if left == right else "left" if left > right else "right"
    known = _best_family({plain(name): name for name in names})
    if known is None:
        digits = {name: digit for name in names if (digit := _spoken_digit(parts[name]))}
        return NameHints(None, side, digits, {}, ends, others)
    family, family_side, joints = known
    digits = {name: digit for name, joint in joints.items() if (digit := digit_of(joint))}
    says_which = len(set(family.sides.values())) > 1
    return NameHints(family.name, family_side if says_which else side, digits, joints, ends, others)


def arm_part(name: str) -> Part | None:
    """What part of an arm a bone's name says that it is."""
    letters = re.sub(r"[^a-z]", "", name.lower()) + "$"
    return next((part for part in PARTS if any(word in letters for word in WORDS.arms[part])), None)


def plain(name: str) -> str:
    """A name without its namespace, in small letters, wide letters as narrow ones."""
    return unicodedata.normalize("NFKC", name).rsplit(":", 1)[-1].lower()


def _best_family(names: Mapping[str, str]) -> tuple[BoneNaming, Side, dict[str, str]] | None:
    """The family and side that know most of plain names, and bone -> joint."""
    best: tuple[BoneNaming, Side, dict[str, str]] | None = None
    for family in FAMILIES:
        for side in SIDES:
            table = _plain_table(family.name, side)
            known = {names[bone]: joint for bone, joint in table.items() if bone in names}
            if len(known) >= LEAST_KNOWN and (best is None or len(known) > len(best[2])):
                best = family, side, known
    return best


@cache
def _plain_table(name: str, side: Side) -> dict[str, str]:
    family = next(family for family in FAMILIES if family.name == name)
    return {plain(bone): joint for joint, bone in family.hand(side).items()}


def _parts(name: str) -> list[str]:
    # Accents are taken off letters; Japanese voicing marks lie elsewhere and stay.
    letters = (letter for letter in unicodedata.normalize("NFKD", name) if not "\u0300" <= letter <= "\u036f")
    plainer = unicodedata.normalize("NFKC", "".join(letters)).rsplit(":", 1)[-1]
    return [part.lower() for part in _PARTS.findall(plainer)]


def _begins(parts: list[str], words: tuple[str, ...]) -> bool:
    return any(part.startswith(words) for part in parts)


def _spoken_digit(parts: list[str]) -> str | None:
    found = [digit for digit, words in WORDS.digits.items() if _begins(parts, words)]
    return found[0] if len(found) == 1 else None


def _spoken_side(parts: list[str]) -> Side | None:
    # Scripts without gaps begin a name with the side: 左人指1.
    found = [
        side
        for side in SIDES
        if any(part in WORDS.sides[side] or (part[:1] in WORDS.sides[side] and not part.isascii()) for part in parts)
    ]
    return found[0] if len(found) == 1 else None
