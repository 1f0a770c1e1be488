"""Where bones end, whatever their tails say: importers lay these along any axis, or a hundred times too far."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MEETS = 0.3
"""A tail nearer to the next bone's head than this share of the way there points at it."""
BEYOND = 0.7
"""A last bone whose tail means nothing ends this share of the step before it further on."""


def ends(heads: Floats, tails: Floats, above: Sequence[int]) -> Floats:
    """(B, 3) where bones end, from heads and tails (B, 3) and the number of each one's parent, −1 for none.

    A tail is believed where it meets the head of a bone that hangs on it, or where the tail before it meets its own
    bone; of bones that branch, where most of the armature's do. Else a bone ends where the furthest bone on it begins,
    and the last one goes straight on.
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
    """Of each bone the nearest above that begins elsewhere, −1 for none."""
    before = list(above)
    for bone in parents_first(above):
        parent = above[bone]
        if parent >= 0 and np.all(heads[parent] == heads[bone]):
            before[bone] = before[parent]
    return before


def parents_first(above: Sequence[int]) -> list[int]:
    """The numbers of bones, each after that of the bone that it hangs on (−1: on none)."""
    hung: dict[int, list[int]] = {}
    for number, parent in enumerate(above):
        hung.setdefault(parent, []).append(number)
    order = list(hung.get(-1, ()))
    for number in order:
        order += hung.get(number, ())
    return order
