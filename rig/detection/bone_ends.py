"""Where bones end, when tails cannot be trusted: importers put them along any axis, or a hundred times too far away."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TAIL_TOLERANCE = 0.3
"""A tail meets a child if its distance to the child's head is below this fraction of the distance between the heads."""
LAST_BONE_RATIO = 0.7
"""Length of a last bone whose tail cannot be trusted, as a fraction of the distance from its parent's head."""


def bone_ends(heads: Floats, tails: Floats, parents: Sequence[int]) -> Floats:
    """Return the ends (B, 3) of bones, by heads and tails (B, 3) and the index of each one's parent, −1 for none.

    A tail is trusted if it meets the head of a child, or if the parent's tail meets this bone's head. If the parent
    branches, a tail is trusted if most tails in the armature meet a child. Otherwise a bone ends at the head of its
    furthest child, and a last bone continues its parent in a straight line.
    """
    child_lists: list[list[int]] = [[] for _ in parents]
    for index, parent in enumerate(parents):
        if parent >= 0 and np.any(heads[index] != heads[parent]):
            child_lists[parent].append(index)
    meets_child = [
        any(_meets(heads, tails, bone, child) for child in children) for bone, children in enumerate(child_lists)
    ]
    single_children_met = [meets_child[bone] for bone, children in enumerate(child_lists) if len(children) == 1]
    tails_usable = not single_children_met or 2 * sum(single_children_met) > len(single_children_met)
    result = tails.copy()
    ancestors = _distinct_ancestors(heads, parents)
    for bone, children in enumerate(child_lists):
        ancestor = ancestors[bone]
        if (
            meets_child[bone]
            or ancestor < 0
            or _meets(heads, tails, ancestor, bone)
            or (len(child_lists[ancestor]) > 1 and tails_usable)
        ):
            continue
        step = heads[bone] - heads[ancestor]
        distances = [float(np.linalg.norm(heads[child] - heads[bone])) for child in children]
        result[bone] = heads[children[int(np.argmax(distances))]] if children else heads[bone] + LAST_BONE_RATIO * step
    return result


def _meets(heads: Floats, tails: Floats, bone: int, following: int) -> bool:
    step = float(np.linalg.norm(heads[following] - heads[bone]))
    return bool(np.linalg.norm(tails[bone] - heads[following]) < TAIL_TOLERANCE * step)


def _distinct_ancestors(heads: Floats, parents: Sequence[int]) -> list[int]:
    """Return the nearest ancestor of each bone with a different head, −1 for none."""
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
