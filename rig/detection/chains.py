"""Candidates for hands: bones from which two or more chains branch."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .bone_ends import parents_first
from .skeleton import COINCIDENT, Skeleton

Floats = NDArray[np.float64]

MIN_BONES = 2
"""Minimum number of bones of a digit, since it bends."""
MAX_BONES = 8
"""Maximum number of bones of a digit: a metacarpal, three phalanges and the tip bones that exporters add."""
MAX_CHAINS = 7
SAME_JOINT = 0.1
"""Joints within this fraction of the next bone's length are the same joint."""
FOREARM_END = 0.3
"""The forearm of a rig without a wrist bone ends within this fraction of its length from the heads of the palm's
bones."""
COPY_FRACTION = 0.6
"""A chain is a copy of another if more than this fraction of its heads coincide with heads of the other."""
ALONG_PARENT = 0.8
"""A childless bone whose head is before this fraction of its parent's length is a helper."""
AT_PARENT_END = 0.1
"""A bone continues its parent if its head is within this fraction of the parent's length from the parent's end."""
MAX_DESCENDANTS = 400
"""Maximum number of descendants of a wrist: five digits with as many helpers as any known rig has."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A bone that could be the wrist, and the chains below it, each from the palm outwards."""

    wrist: int
    chains: tuple[tuple[int, ...], ...]
    wrist_position: Floats
    """(3,) position of the wrist, usually its bone's head."""
    descendants: int
    """Number of descendants of the wrist."""


def candidates(skeleton: Skeleton) -> Iterator[Candidate]:
    """Yield the bones that could be wrists, which branch into 2 to MAX_CHAINS chains that bend."""
    descendants = _count_descendants(skeleton)
    for wrist, is_usable in enumerate(skeleton.usable):
        if not is_usable or descendants[wrist] > MAX_DESCENDANTS or len(_branches(skeleton, wrist)) < 2:
            continue
        chains = _chains(skeleton, wrist)
        if 2 <= len(chains) <= MAX_CHAINS:
            yield from _interpretations(skeleton, wrist, chains, descendants[wrist])


def _interpretations(
    skeleton: Skeleton, wrist: int, chains: list[tuple[int, ...]], descendants: int
) -> Iterator[Candidate]:
    """Yield the possible interpretations of a bone and the chains below it.

    If a digit starts at the bone's own head, the bone may lie in the palm, with the wrist at its parent's head. If
    several chains start at the same point, either that point is the wrist and their first bones lie in the palm, or the
    bone spans the palm and their first bones only lead from its end to the knuckles, as in BVH.
    """
    heads = skeleton.heads
    wrist_position = heads[wrist]
    roots = heads[[chain[0] for chain in chains]]
    distances = np.linalg.norm(roots - wrist_position, axis=-1)
    yield Candidate(wrist, tuple(chains), wrist_position, descendants)
    if distances.min() <= SAME_JOINT * distances.max():
        wrist_position = next(
            (heads[bone] for bone in skeleton.ancestors(wrist) if np.any(heads[bone] != wrist_position)), wrist_position
        )
        yield Candidate(wrist, tuple(chains), wrist_position, descendants)
    coincident = np.linalg.norm(roots[:, None] - roots, axis=-1) < SAME_JOINT * distances.max()
    largest = int(np.argmax(coincident.sum(axis=1)))
    together = [chain for chain, included in zip(chains, coincident[largest], strict=True) if included]
    if len(together) < 2 or distances[largest] <= SAME_JOINT * distances.max():
        return
    if np.linalg.norm(skeleton.ends[wrist] - roots[largest]) < FOREARM_END * np.linalg.norm(
        roots[largest] - heads[wrist]
    ):
        yield Candidate(wrist, tuple(chains), roots[largest], descendants)
    shortest = min(map(len, together))
    without_first = [chain for chain in together if len(chain) > shortest] or together
    outer = [chain[1:] if chain in without_first else chain for chain in chains]
    bending = tuple(chain for chain in outer if len(chain) >= MIN_BONES)
    if len(bending) >= 2:
        yield Candidate(wrist, bending, wrist_position, descendants)


def _count_descendants(skeleton: Skeleton) -> list[int]:
    counts = [0] * len(skeleton.bones)
    for number in reversed(parents_first(skeleton.parents)):
        parent = skeleton.parents[number]
        if skeleton.usable[number] and parent >= 0:
            counts[parent] += 1 + counts[number]
    return counts


def _chains(skeleton: Skeleton, wrist: int) -> list[tuple[int, ...]]:
    """Return the chains below a wrist. A bone with several children belongs to the chain of the furthest one."""
    done: list[tuple[int, ...]] = []
    queue: list[tuple[int, ...]] = [(child,) for child in _branches(skeleton, wrist)]
    while queue:
        chain = queue.pop(0)
        branches = _branches(skeleton, chain[-1])
        if not branches:
            done.append(chain)
            continue
        # A bone with three or more chains belongs to the palm, not to a digit.
        start = chain if len(branches) < 3 else ()
        queue.append((*start, branches[0]))
        queue += [(branch,) for branch in branches[1:]]
    distinct = [_without_coincident(skeleton, chain) for chain in done]
    bending = [chain for chain in distinct if len(chain) >= MIN_BONES]
    return _without_copies(skeleton, [chain for chain in bending if len(chain) <= MAX_BONES])


def _without_coincident(skeleton: Skeleton, chain: tuple[int, ...]) -> tuple[int, ...]:
    """Return a chain without bones whose head coincides with the next one's, such as a robot's two-axis joints."""
    steps = np.linalg.norm(np.diff(skeleton.heads[list(chain)], axis=0), axis=-1)
    distinct = [bool(step > SAME_JOINT * following) for step, following in pairwise(steps)]
    last = (
        chain[len(distinct) : -1] if len(steps) > 1 and steps[-1] < COINCIDENT * steps[-2] else chain[len(distinct) :]
    )
    return (*(bone for bone, is_distinct in zip(chain, distinct, strict=False) if is_distinct), *last)


def _branches(skeleton: Skeleton, bone: int) -> list[int]:
    """Return the children that continue a bone, furthest first, without twist bones, sockets and copies."""
    head = skeleton.heads[bone]
    distances = {child: float(np.linalg.norm(skeleton.heads[child] - head)) for child in skeleton.children[bone]}
    length = float(np.linalg.norm(skeleton.ends[bone] - head))
    leaves = [child for child in distances if not skeleton.children[child]]
    continuing = sorted((child for child in distances if skeleton.children[child]), key=lambda child: -distances[child])
    if continuing:
        return continuing
    min_distance = max(COINCIDENT * length, 1e-12)
    beyond = [child for child in leaves if distances[child] > min_distance and not _starts_along(skeleton, bone, child)]
    if not beyond:
        return []
    # At the end of a chain, one child is the tip and the others are helpers. The tip is the straightest child there.
    at_end = [
        child
        for child in beyond
        if np.linalg.norm(skeleton.heads[child] - skeleton.ends[bone]) < AT_PARENT_END * length
    ]
    furthest = max(distances[child] for child in beyond)
    tips = at_end or [child for child in beyond if distances[child] > 0.95 * furthest]
    return [max(tips, key=lambda child: _straightness(skeleton, bone, child))]


def _starts_along(skeleton: Skeleton, bone: int, child: int) -> bool:
    """Return whether a bone starts along its parent, as twist bones do, and not at the parent's end."""
    direction = skeleton.ends[bone] - skeleton.heads[bone]
    offset = skeleton.heads[child] - skeleton.heads[bone]
    length = float(np.linalg.norm(direction))
    fraction = float(offset @ direction) / max(length**2, 1e-24)
    return fraction < ALONG_PARENT and bool(np.linalg.norm(offset - fraction * direction) < 0.1 * length)


def _straightness(skeleton: Skeleton, bone: int, child: int) -> float:
    """Return the cosine between the direction to a child's head and the child's own direction."""
    to_child, direction = skeleton.heads[child] - skeleton.heads[bone], skeleton.ends[child] - skeleton.heads[child]
    return float(to_child @ direction) / max(float(np.linalg.norm(to_child) * np.linalg.norm(direction)), 1e-24)


def _without_copies(skeleton: Skeleton, chains: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the chains without copies. Of chains that coincide (deform, control, mechanism), the longest is returned.

    Of equally long ones it is the first.
    """
    distinct: list[tuple[int, ...]] = []
    for chain in sorted(chains, key=len, reverse=True):
        if not any(_is_copy(skeleton, chain, other_chain) for other_chain in distinct):
            distinct.append(chain)
    return distinct


def _is_copy(skeleton: Skeleton, chain: tuple[int, ...], other_chain: tuple[int, ...]) -> bool:
    heads, other_heads = skeleton.heads[list(chain)], skeleton.heads[list(other_chain)]
    tolerance = 0.05 * min(float(np.linalg.norm(b - a)) for a, b in pairwise(heads))
    distances = np.linalg.norm(heads[:, None] - other_heads, axis=-1).min(axis=1)
    return int(np.sum(distances < tolerance)) >= max(MIN_BONES, COPY_FRACTION * len(chain))
