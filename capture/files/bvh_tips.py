"""End sites without length: place the fingertips of a BVH file that ends at the last joint of each finger."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...hand.joint_words import joint_in_label
from ...hand.joints import CHAIN_JOINTS, DIGITS
from ...hand.proportions import adult
from ..markers import Floats

_LAST_JOINTS = {joints[2]: row for row, joints in enumerate(CHAIN_JOINTS[digit] for digit in DIGITS)}
"""The last joint of each digit before its tip -> its row in DIGITS."""
_NO_LENGTH = 1e-6
"""Offsets up to this fraction of the skeleton's longest one are no length."""


@dataclass(frozen=True, slots=True, eq=False)
class JointsAndTips:
    """The joints of a skeleton whose positions are known, with those of the fingertips."""

    indices: tuple[int, ...]
    """Indices of the joints with position channels, in file order."""
    offsets: Floats
    """(J, 3) in the file's unit, with those of the added tips."""
    warnings: tuple[str, ...]


def add_tips(names: Sequence[str], parents: Sequence[int], offsets: Floats, end_sites: frozenset[int]) -> JointsAndTips:
    """Place the tips of fingers that end without length, and leave out other end sites without length.

    A tip continues the bone before it, as long as in a mean hand with that bone. With the rotation of the last joint
    it then moves as the finger was recorded.

    names and parents (-1 for a root): of each of the J joints, parents first. offsets: (J, 3). end_sites: indices of
    the joints that the file calls End Site.
    """
    offsets = offsets.copy()
    lengths = np.linalg.norm(offsets, axis=1)
    short = lengths <= _NO_LENGTH * lengths.max(initial=0.0)
    has_child, dropped, added = [False] * len(names), set(), 0
    for index in range(len(names) - 1, -1, -1):
        parent = parents[index]
        if parent < 0:
            continue
        tip = _tip_offset(names[parent], offsets[parent]) if short[index] and not has_child[index] else None
        if tip is not None:
            offsets[index] = tip
            added += 1
        elif short[index] and index in end_sites:
            dropped.add(index)
            continue
        has_child[parent] = True
    note = f"{added} fingers end at their last joint: their tips were placed as in a mean hand of that size"
    return JointsAndTips(tuple(i for i in range(len(names)) if i not in dropped), offsets, (note,) if added else ())


def _tip_offset(name: str, bone: Floats) -> Floats | None:
    """Return the offset (3,) of the tip from a digit's last joint of this name, to which `bone` (3,) leads; None for
    others."""
    named = joint_in_label(name)
    row = _LAST_JOINTS.get(named[1]) if named else None
    if row is None or not bone.any():
        return None
    _, middle, last = adult("right").phalanges[row]
    return np.asarray(bone * (last / middle))
