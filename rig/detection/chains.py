"""Where a hand could be: bones from which two and more chains of bones branch."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .bones import SAME_PLACE, Skeleton

LEAST_BONES = 2
"""A digit bends: it has at least two bones."""
MOST_BONES = 8
"""A metacarpal, three phalanges and the tip bones that exporters add."""
MOST_CHAINS = 7
INSIDE = 0.8
"""A bone without children that begins before this share of the bone that it hangs on is a helper."""
MOST_BELOW = 400
"""Bones below a wrist: five digits with all helpers that a rig ever hung on them."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A bone and the chains that leave it, from inside outwards."""

    wrist: int
    chains: tuple[tuple[int, ...], ...]


def candidates(skeleton: Skeleton) -> Iterator[Candidate]:
    """The bones that could be wrists: what branches into two to MOST_CHAINS chains that bend."""
    below = _count_below(skeleton)
    for wrist, kept in enumerate(skeleton.kept):
        if not kept or below[wrist] > MOST_BELOW or len(_branches(skeleton, wrist)) < 2:
            continue
        chains = _chains(skeleton, wrist)
        if 2 <= len(chains) <= MOST_CHAINS:
            yield Candidate(wrist, tuple(chains))


def _count_below(skeleton: Skeleton) -> list[int]:
    below = [0] * len(skeleton.bones)
    for number, kept in enumerate(skeleton.kept):
        if kept:
            for above in skeleton.up(number):
                below[above] += 1
    return below


def _chains(skeleton: Skeleton, wrist: int) -> list[tuple[int, ...]]:
    """The chains below a wrist. Where a bone carries several, it belongs to the one that begins furthest out on it."""
    done: list[tuple[int, ...]] = []
    waiting: list[tuple[int, ...]] = [(child,) for child in _branches(skeleton, wrist)]
    while waiting:
        chain = waiting.pop(0)
        branches = _branches(skeleton, chain[-1])
        if not branches:
            done.append(chain)
            continue
        # A bone that carries three chains and more is the palm's, and no digit's.
        inside = chain if len(branches) < 3 else ()
        waiting.append((*inside, branches[0]))
        waiting += [(branch,) for branch in branches[1:]]
    bends = [chain for chain in done if len(chain) >= LEAST_BONES]
    return _without_copies(skeleton, [chain for chain in bends if len(chain) <= MOST_BONES])


def _branches(skeleton: Skeleton, bone: int) -> list[int]:
    """The bones on a bone that go on, the furthest out first; twist bones, sockets and copies are left out."""
    here = skeleton.heads[bone]
    far = {child: float(np.linalg.norm(skeleton.heads[child] - here)) for child in skeleton.children[bone]}
    length = float(np.linalg.norm(skeleton.tails[bone] - here))
    leaves = [child for child in far if not skeleton.children[child]]
    going = sorted((child for child in far if child not in leaves), key=lambda child: -far[child])
    if going:
        return going
    least = max(SAME_PLACE * length, 1e-12)
    out = [child for child in leaves if far[child] > least and not _is_inside(skeleton, bone, child)]
    if not out:
        return []
    # At the end of a chain one bone is the tip, the others are helpers: of those that begin there, it goes straight on.
    most = max(far[child] for child in out)
    return [
        max((child for child in out if far[child] > 0.95 * most), key=lambda child: _straight(skeleton, bone, child))
    ]


def _is_inside(skeleton: Skeleton, bone: int, child: int) -> bool:
    """Whether a bone begins on the way of the bone that it hangs on, as twist bones do, and not at its end."""
    along = skeleton.tails[bone] - skeleton.heads[bone]
    aside = skeleton.heads[child] - skeleton.heads[bone]
    length = float(np.linalg.norm(along))
    share = float(aside @ along) / max(length**2, 1e-24)
    return share < INSIDE and bool(np.linalg.norm(aside - share * along) < 0.1 * length)


def _straight(skeleton: Skeleton, bone: int, child: int) -> float:
    """The cosine between a bone's way to a child and the child's own."""
    way, own = skeleton.heads[child] - skeleton.heads[bone], skeleton.tails[child] - skeleton.heads[child]
    return float(way @ own) / max(float(np.linalg.norm(way) * np.linalg.norm(own)), 1e-24)


def _without_copies(skeleton: Skeleton, chains: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Of chains that lie on each other (deform, control, mechanism) the longest, and of these the first."""
    kept: list[tuple[int, ...]] = []
    for chain in sorted(chains, key=len, reverse=True):
        if not any(_on_each_other(skeleton, chain, other) for other in kept):
            kept.append(chain)
    return kept


def _on_each_other(skeleton: Skeleton, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    heads, others = skeleton.heads[list(one)], skeleton.heads[list(other)]
    near = 0.05 * min(float(np.linalg.norm(b - a)) for a, b in pairwise(heads))
    apart = np.linalg.norm(heads[:, None] - others, axis=-1).min(axis=1)
    return int(np.sum(apart < near)) >= LEAST_BONES
