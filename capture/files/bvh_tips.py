"""Place the fingertips of a BVH file whose fingers end at their last joint, with end sites of no length."""

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
"""Maximum length of an offset, as a fraction of the skeleton's longest one, that counts as zero."""


@dataclass(frozen=True, slots=True, eq=False)
class JointsAndTips:
    """The joints of a skeleton that become markers, and the offsets of all its joints."""

    indices: tuple[int, ...]
    """Indices of the joints without dropped end sites, in file order."""
    offsets: Floats
    """(J, 3) offsets of all joints in the file's unit, including the added tips."""
    warnings: tuple[str, ...]


def add_tips(names: Sequence[str], parents: Sequence[int], offsets: Floats, end_sites: frozenset[int]) -> JointsAndTips:
    """Place the tips of fingers whose end sites have no length, and drop other end sites without length.

    A tip continues the last bone, with the length ratio of a mean hand. It moves with the rotation of the last joint.

    Args:
        names: of the J joints, parents first.
        parents: index of each joint's parent, -1 for a root.
        offsets: (J, 3) in the file's unit.
        end_sites: indices of the joints that the file calls End Site.
    """
    offsets = offsets.copy()
    lengths = np.linalg.norm(offsets, axis=1)
    has_no_length = lengths <= _NO_LENGTH * lengths.max(initial=0.0)
    has_child, dropped, added = [False] * len(names), set(), 0
    for index in range(len(names) - 1, -1, -1):
        parent = parents[index]
        if parent < 0:
            continue
        tip = _tip_offset(names[parent], offsets[parent]) if has_no_length[index] and not has_child[index] else None
        if tip is not None:
            offsets[index] = tip
            added += 1
        elif has_no_length[index] and index in end_sites:
            dropped.add(index)
            continue
        has_child[parent] = True
    note = f"{added} fingers end at their last joint: their tips were placed as in a mean hand of that size"
    return JointsAndTips(tuple(i for i in range(len(names)) if i not in dropped), offsets, (note,) if added else ())


def _tip_offset(name: str, bone: Floats) -> Floats | None:
    """Return the offset (3,) of a tip from the last joint of its digit; None for other joints.

    name: of the joint. bone: (3,) its offset from its parent.
    """
    side_and_joint = joint_in_label(name)
    row = _LAST_JOINTS.get(side_and_joint[1]) if side_and_joint else None
    if row is None or not bone.any():
        return None
    _, middle, last = adult("right").phalanges[row]
    return np.asarray(bone * (last / middle))
