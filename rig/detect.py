"""Finding the hands of an armature, for now by the names of their bones; the side by where the bones are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import RigError
from ..hand.joints import DIGIT_JOINTS, DIGITS, SIDES, Side
from .binding import is_armature, joint_points, world_points
from .mappings import FAMILIES, Family
from .rest_frames import side_of

if TYPE_CHECKING:
    from bpy.types import Object

SIDE_IS_CLEAR = 0.2
"""A hand that curls this much shows its side whatever its bones are called."""


@dataclass(frozen=True, slots=True)
class FoundHand:
    """A hand of an armature: what `binding.bind` needs."""

    side: Side
    bones: dict[str, str]
    """joint -> bone name"""
    family: str
    """The table that its names come from."""


def find_hands(armature: "Object") -> tuple[FoundHand, ...]:
    """The hands of an armature, left before right; at least one.

    Raises RigError for an armature without bones, without a hand that is known by name, or with a digit missing.
    """
    if not is_armature(armature):
        raise RigError(f"'{armature.name}' is not an armature, choose the armature of the hand")
    names = _by_plain_name(armature)
    if not names:
        raise RigError(f"armature '{armature.name}' has no bones, choose one with a hand")
    hands = [_best(armature, names, family_side) for family_side in _spellings()]
    found = {hand.side: hand for hand in sorted(filter(None, hands), key=lambda hand: len(hand.bones))}
    if not found:
        raise RigError(
            f"armature '{armature.name}' has no hand whose bones are named as in "
            f"{', '.join(family.name for family in FAMILIES)}: rename its bones, or use Knuckle's own hand"
        )
    for hand in found.values():
        _check_digits(armature, hand)
    return tuple(found[side] for side in SIDES if side in found)


def find_hand(armature: "Object", side: Side) -> FoundHand:
    """The left or the right hand of an armature. Raises RigError if it has none."""
    hands = find_hands(armature)
    for hand in hands:
        if hand.side == side:
            return hand
    raise RigError(f"armature '{armature.name}' has a {hands[0].side} hand and no {side} one, choose another armature")


def _spellings() -> list[tuple[Family, Side]]:
    """Each family and side that is spelled differently."""
    return [
        (family, side) for family in FAMILIES for side in SIDES if side == "left" or len(set(family.sides.values())) > 1
    ]


def _by_plain_name(armature: "Object") -> dict[str, str]:
    """The bones' names by what they are without a namespace and in lower case."""
    return {bone.name.rsplit(":", 1)[-1].lower(): bone.name for bone in armature.data.bones}


def _best(armature: "Object", names: dict[str, str], family_side: tuple[Family, Side]) -> FoundHand | None:
    """The hand that a family's names find: at least a wrist and one bone of three digits."""
    family, side = family_side
    bones = {joint: names[bone.lower()] for joint, bone in family.hand(side).items() if bone.lower() in names}
    if "wrist" not in bones or sum(_has_bones(bones, digit, 1) for digit in DIGITS) < 3:
        return None
    return FoundHand(_side(armature, bones, family, side), bones, family.name)


def _has_bones(bones: dict[str, str], digit: str, least: int) -> bool:
    """Whether a digit has at least so many bones that bend."""
    return sum(joint in bones for joint in DIGIT_JOINTS[digit][-4:-1]) >= least


def _side(armature: "Object", bones: dict[str, str], family: Family, named: Side) -> Side:
    """By geometry where the hand shows it, as it is seen in the world: a mirrored armature has the other hand."""
    says_which = len(set(family.sides.values())) > 1
    points = world_points(armature, joint_points(armature, bones))
    side, clearness = side_of(points)
    mirrored = np.linalg.det(np.array(armature.matrix_world)[:3, :3]) < 0
    if says_which and clearness < SIDE_IS_CLEAR:
        return SIDES[(SIDES.index(named) + mirrored) % 2]
    return side


def _check_digits(armature: "Object", hand: FoundHand) -> None:
    missing: Sequence[str] = [digit for digit in DIGITS if not _has_bones(hand.bones, digit, 2)]
    if missing:
        raise RigError(
            f"armature '{armature.name}': the {hand.side} hand has no bones named for the {' and the '.join(missing)}, "
            f"name them as in {hand.family} or use Knuckle's own hand"
        )
