"""What a table of bone names is made of."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...hand.joints import DIGIT_JOINTS, DIGITS, SIDES, Side


@dataclass(frozen=True, slots=True)
class Family:
    """The names of the hand's bones in one family of rigs."""

    name: str
    """For people."""
    sides: dict[Side, str]
    """What stands for {side} in the names; '' for both where a file holds one hand and does not say which."""
    bones: dict[str, str]
    """joint -> a bone's name with {side}; joints that the family never has are left out."""

    def hand(self, side: Side) -> dict[str, str]:
        """joint -> bone name of one side."""
        return {joint: bone.format(side=self.sides[side]) for joint, bone in self.bones.items()}


def both(left: str, right: str) -> dict[Side, str]:
    """The two spellings of a side."""
    return dict(zip(SIDES, (left, right), strict=True))


def hand_names(wrist: str, digits: Sequence[Sequence[str | None]]) -> dict[str, str]:
    """joint -> name, from the wrist's and a row for each digit, thumb first, from the palm outwards.

    None stands for a joint that the family does not have; a row may end before the tip.
    """
    names = {"wrist": wrist}
    for digit, row in zip(DIGITS, digits, strict=True):
        names.update({joint: bone for joint, bone in zip(DIGIT_JOINTS[digit], row, strict=False) if bone})
    return names
