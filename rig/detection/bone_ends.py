"""Where bones end, when tails cannot be trusted: importers put them along any axis, or a hundred times too far away."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MEETS = 0.3
"""A tail nearer to a child's head than this share of the distance from head to head meets the child."""
BEYOND = 0.7
"""Length of a last bone whose tail cannot be trusted, as a share of the distance from its parent's head."""


def ends(heads: Floats, tails: Floats, above: Sequence[int]) -> Floats:
    """Return the ends (B, 3) of bones, from heads and tails (B, 3) and the index of each one's parent, −1 for none.

    A tail is trusted if it meets the head of a child, or if the parent's tail meets this bone's head; if the parent
    branches, if most tails in the armature meet a child. Otherwise a bone ends at its furthest child's head, and a last
    bone continues straight on.
    """
    hung: list[list[int]] = [[] for _ in above]
    for number, parent in enumerate(above):
        if parent >= 0 and np.any(heads[number] != heads[parent]):
            hung[parent].append(number)
    met = [any(_meets(heads, tails, bone, child) for child in children) for bone, children in enumerate(hung)]
    single = [met[bone] for bone, children in enumerate(hung) if len(children) == 1]
    mostly = not single or 2 * sum(single) > len(single)
    result = tails.copy()
    all_before = _all_before(heads, above)
    for bone, children in enumerate(hung):
        before = all_before[bone]
        if met[bone] or before < 0 or _meets(heads, tails, before, bone) or (len(hung[before]) > 1 and mostly):
            continue
        step = heads[bone] - heads[before]
        reach = [float(np.linalg.norm(heads[child] - heads[bone])) for child in children]
        result[bone] = heads[children[int(np.argmax(reach))]] if children else heads[bone] + BEYOND * step
    return result


def _meets(heads: Floats, tails: Floats, bone: int, following: int) -> bool:
    step = float(np.linalg.norm(heads[following] - heads[bone]))
    return bool(np.linalg.norm(tails[bone] - heads[following]) < MEETS * step)


def _all_before(heads: Floats, above: Sequence[int]) -> list[int]:
    """Return for each bone its nearest ancestor with a different head, −1 for none."""
    before = list(above)
    for bone in parents_first(above):
        parent = above[bone]
        if parent >= 0 and np.all(heads[parent] == heads[bone]):
            before[bone] = before[parent]
    return before


def parents_first(above: Sequence[int]) -> list[int]:
    """Return the indices of bones, each after its parent's (−1 for no parent)."""
    hung: dict[int, list[int]] = {}
    for number, parent in enumerate(above):
        hung.setdefault(parent, []).append(number)
    order = list(hung.get(-1, ()))
    for number in order:
        order += hung.get(number, ())
    return order
