"""Where bones end, when tails cannot be trusted: importers put them along any axis, or a hundred times too far away."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TAIL_TOLERANCE = 0.3
"""A tail nearer to a child's head than this share of the distance from head to head meets the child."""
LAST_BONE_SHARE = 0.7
"""Length of a last bone whose tail cannot be trusted, as a share of the distance from its parent's head."""


def bone_ends(heads: Floats, tails: Floats, parents: Sequence[int]) -> Floats:
    """Return the ends (B, 3) of bones, from heads and tails (B, 3) and the index of each one's parent, −1 for none.

    A tail is trusted if it meets the head of a child, or if the parent's tail meets this bone's head; if the parent
    branches, if most tails in the armature meet a child. Otherwise a bone ends at its furthest child's head, and a last
    bone continues straight on.
    """
    child_lists: list[list[int]] = [[] for _ in parents]
    for number, parent in enumerate(parents):
        if parent >= 0 and np.any(heads[number] != heads[parent]):
            child_lists[parent].append(number)
    met = [any(_meets(heads, tails, bone, child) for child in children) for bone, children in enumerate(child_lists)]
    single_child_met = [met[bone] for bone, children in enumerate(child_lists) if len(children) == 1]
    tails_usable = not single_child_met or 2 * sum(single_child_met) > len(single_child_met)
    result = tails.copy()
    ancestors = _distinct_ancestors(heads, parents)
    for bone, children in enumerate(child_lists):
        ancestor = ancestors[bone]
        if (
            met[bone]
            or ancestor < 0
            or _meets(heads, tails, ancestor, bone)
            or (len(child_lists[ancestor]) > 1 and tails_usable)
        ):
            continue
        step = heads[bone] - heads[ancestor]
        reach = [float(np.linalg.norm(heads[child] - heads[bone])) for child in children]
        result[bone] = heads[children[int(np.argmax(reach))]] if children else heads[bone] + LAST_BONE_SHARE * step
    return result


def _meets(heads: Floats, tails: Floats, bone: int, following: int) -> bool:
    step = float(np.linalg.norm(heads[following] - heads[bone]))
    return bool(np.linalg.norm(tails[bone] - heads[following]) < TAIL_TOLERANCE * step)


def _distinct_ancestors(heads: Floats, parents: Sequence[int]) -> list[int]:
    """Return for each bone its nearest ancestor with a different head, −1 for none."""
    ancestors = list(parents)
    for bone in parents_first(parents):
        parent = parents[bone]
        if parent >= 0 and np.all(heads[parent] == heads[bone]):
            ancestors[bone] = ancestors[parent]
    return ancestors


def parents_first(parents: Sequence[int]) -> list[int]:
    """Return the indices of bones, each after its parent's (−1 for no parent)."""
    child_lists: dict[int, list[int]] = {}
    for number, parent in enumerate(parents):
        child_lists.setdefault(parent, []).append(number)
    order = list(child_lists.get(-1, ()))
    for number in order:
        order += child_lists.get(number, ())
    return order
