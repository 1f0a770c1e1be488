"""Candidates for hands: bones from which two or more chains branch."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .bone_ends import parents_first
from .skeleton import SAME_PLACE, Skeleton

Floats = NDArray[np.float64]

LEAST_BONES = 2
"""A digit bends, so it has at least two bones."""
MOST_BONES = 8
"""A metacarpal, three phalanges and the tip bones that exporters add."""
MOST_CHAINS = 7
ONE_PLACE = 0.1
"""Joints nearer to each other than this share of the next bone's length are one joint."""
NEAR_END = 0.3
"""The forearm of a rig without a wrist bone ends within this share of its length from where the palm's bones begin."""
MOST_ON = 0.6
"""A chain is a copy of another if more than this share of its bones begin where the other's do."""
INSIDE = 0.8
"""A childless bone that begins before this share of its parent's length is a helper."""
AT_END = 0.1
"""A bone continues its parent if it begins within this share of the parent's length from the parent's end."""
MOST_BELOW = 400
"""Most descendants of a wrist: five digits with as many helpers as any known rig has."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A bone that could be the wrist, and the chains below it, each from the palm outwards."""

    wrist: int
    chains: tuple[tuple[int, ...], ...]
    place: Floats
    """(3,) position of the wrist, usually its bone's head."""
    below: int
    """Number of its descendants."""


def candidates(skeleton: Skeleton) -> Iterator[Candidate]:
    """Yield the bones that could be wrists: those that branch into 2 to MOST_CHAINS chains that bend."""
    below = _count_below(skeleton)
    for wrist, kept in enumerate(skeleton.kept):
        if not kept or below[wrist] > MOST_BELOW or len(_branches(skeleton, wrist)) < 2:
            continue
        chains = _chains(skeleton, wrist)
        if 2 <= len(chains) <= MOST_CHAINS:
            yield from _read(skeleton, wrist, chains, below[wrist])


def _read(skeleton: Skeleton, wrist: int, chains: list[tuple[int, ...]], below: int) -> Iterator[Candidate]:
    """Yield the possible interpretations of a bone and the chains below it.

    If a digit begins at the bone's own head, the bone may lie in the palm, with the wrist at its parent's head. If
    several chains begin at one point, either that point is the wrist and their first bones lie in the palm, or the bone
    spans the palm and their first bones only lead from its end to the knuckles, as in BVH.
    """
    heads = skeleton.heads
    place = heads[wrist]
    roots = heads[[chain[0] for chain in chains]]
    away = np.linalg.norm(roots - place, axis=-1)
    yield Candidate(wrist, tuple(chains), place, below)
    if away.min() <= ONE_PLACE * away.max():
        place = next((heads[bone] for bone in skeleton.up(wrist) if np.any(heads[bone] != place)), place)
        yield Candidate(wrist, tuple(chains), place, below)
    near = np.linalg.norm(roots[:, None] - roots, axis=-1) < ONE_PLACE * away.max()
    most = int(np.argmax(near.sum(axis=1)))
    together = [chain for chain, there in zip(chains, near[most], strict=True) if there]
    if len(together) < 2 or away[most] <= ONE_PLACE * away.max():
        return
    if np.linalg.norm(skeleton.ends[wrist] - roots[most]) < NEAR_END * np.linalg.norm(roots[most] - heads[wrist]):
        yield Candidate(wrist, tuple(chains), roots[most], below)
    least = min(map(len, together))
    drop = [chain for chain in together if len(chain) > least] or together
    rest = [chain[1:] if chain in drop else chain for chain in chains]
    bends = tuple(chain for chain in rest if len(chain) >= LEAST_BONES)
    if len(bends) >= 2:
        yield Candidate(wrist, bends, place, below)


def _count_below(skeleton: Skeleton) -> list[int]:
    below = [0] * len(skeleton.bones)
    for number in reversed(parents_first(skeleton.parents)):
        above = skeleton.parents[number]
        if skeleton.kept[number] and above >= 0:
            below[above] += 1 + below[number]
    return below


def _chains(skeleton: Skeleton, wrist: int) -> list[tuple[int, ...]]:
    """Return the chains below a wrist. A bone with several children belongs to the chain of the furthest one."""
    done: list[tuple[int, ...]] = []
    waiting: list[tuple[int, ...]] = [(child,) for child in _branches(skeleton, wrist)]
    while waiting:
        chain = waiting.pop(0)
        branches = _branches(skeleton, chain[-1])
        if not branches:
            done.append(chain)
            continue
        # A bone with three or more chains belongs to the palm, not to a digit.
        inside = chain if len(branches) < 3 else ()
        waiting.append((*inside, branches[0]))
        waiting += [(branch,) for branch in branches[1:]]
    apart = [_apart(skeleton, chain) for chain in done]
    bends = [chain for chain in apart if len(chain) >= LEAST_BONES]
    return _without_copies(skeleton, [chain for chain in bends if len(chain) <= MOST_BONES])


def _apart(skeleton: Skeleton, chain: tuple[int, ...]) -> tuple[int, ...]:
    """Return a chain without bones whose head coincides with the next one's, such as a robot's two-axis joints."""
    steps = np.linalg.norm(np.diff(skeleton.heads[list(chain)], axis=0), axis=-1)
    apart = [bool(step > ONE_PLACE * following) for step, following in pairwise(steps)]
    last = chain[len(apart) : -1] if len(steps) > 1 and steps[-1] < SAME_PLACE * steps[-2] else chain[len(apart) :]
    return (*(bone for bone, alone in zip(chain, apart, strict=False) if alone), *last)


def _branches(skeleton: Skeleton, bone: int) -> list[int]:
    """Return the children that continue a bone, the furthest first; twist bones, sockets and copies are left out."""
    here = skeleton.heads[bone]
    far = {child: float(np.linalg.norm(skeleton.heads[child] - here)) for child in skeleton.children[bone]}
    length = float(np.linalg.norm(skeleton.ends[bone] - here))
    leaves = [child for child in far if not skeleton.children[child]]
    going = sorted((child for child in far if skeleton.children[child]), key=lambda child: -far[child])
    if going:
        return going
    least = max(SAME_PLACE * length, 1e-12)
    out = [child for child in leaves if far[child] > least and not _is_inside(skeleton, bone, child)]
    if not out:
        return []
    # At the end of a chain one child is the tip, the others are helpers: the tip is the straightest child at the end.
    ending = [child for child in out if np.linalg.norm(skeleton.heads[child] - skeleton.ends[bone]) < AT_END * length]
    most = max(far[child] for child in out)
    there = ending or [child for child in out if far[child] > 0.95 * most]
    return [max(there, key=lambda child: _straight(skeleton, bone, child))]


def _is_inside(skeleton: Skeleton, bone: int, child: int) -> bool:
    """Whether a bone begins along its parent, as twist bones do, and not at the parent's end."""
    along = skeleton.ends[bone] - skeleton.heads[bone]
    aside = skeleton.heads[child] - skeleton.heads[bone]
    length = float(np.linalg.norm(along))
    share = float(aside @ along) / max(length**2, 1e-24)
    return share < INSIDE and bool(np.linalg.norm(aside - share * along) < 0.1 * length)


def _straight(skeleton: Skeleton, bone: int, child: int) -> float:
    """Return the cosine between the direction to a child's head and the child's own direction."""
    way, own = skeleton.heads[child] - skeleton.heads[bone], skeleton.ends[child] - skeleton.heads[child]
    return float(way @ own) / max(float(np.linalg.norm(way) * np.linalg.norm(own)), 1e-24)


def _without_copies(skeleton: Skeleton, chains: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the chains, only the longest of those that coincide (deform, control, mechanism), of equals the first."""
    kept: list[tuple[int, ...]] = []
    for chain in sorted(chains, key=len, reverse=True):
        if not any(_on_each_other(skeleton, chain, other) for other in kept):
            kept.append(chain)
    return kept


def _on_each_other(skeleton: Skeleton, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    heads, others = skeleton.heads[list(one)], skeleton.heads[list(other)]
    near = 0.05 * min(float(np.linalg.norm(b - a)) for a, b in pairwise(heads))
    apart = np.linalg.norm(heads[:, None] - others, axis=-1).min(axis=1)
    return int(np.sum(apart < near)) >= max(LEAST_BONES, MOST_ON * len(one))
