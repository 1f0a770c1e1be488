"""Splits a hand into parts; independent parts are solved side by side as rows of one batch.

With the palm fixed, the digits are independent, so five problems of five or six angles replace one of 26. The other
ways to split are the whole hand as one part, and the pairs of Dynamical, figure 6.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import hand_topology
from ...hand.model import HandModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Members = frozenset[int]
"""A set of degrees of freedom."""

CUTS = ("digits", "whole", "pairs")


@dataclass(frozen=True, slots=True)
class TargetedSites:
    """The sites of a hand that have targets, and which of them have position and rotation targets."""

    sites: tuple[int, ...]
    places: tuple[bool, ...]
    turns: tuple[bool, ...]


@dataclass(frozen=True, slots=True, eq=False)
class HandParts:
    """G parts that are solved at the same time, each with at most n degrees of freedom, t targets, c and h couplings.

    Parts with fewer are padded with the index after the last: D, T or C.
    """

    sites: Ints
    """(T,) the hand's sites that have targets."""
    dofs: Ints
    """(G, n)"""
    targets: Ints
    """(G, t)"""
    moved: Bools
    """(G, t, n) whether a degree of freedom moves the joint that a target's site is on."""
    soft: Ints
    """(G, c) couplings that are part of the cost."""
    hard: Ints
    """(G, h) couplings that are constraints."""


def told(hand: HandModel, asked: TargetedSites) -> Bools:
    """(T, D) the degrees of freedom that each target constrains; a joint's own do not move its origin."""
    result = np.zeros((len(asked.sites), hand.dofs), bool)
    moves = hand_topology(hand).affected_by
    for row, site, place, turn in zip(result, asked.sites, asked.places, asked.turns, strict=True):
        joint = hand.sites[site].joint
        own = turn or any(hand.sites[site].offset)
        if place or turn:
            row[:] = moves[joint] if own else moves[joint] & (hand.axis_joint != joint)
    return result


def spread(hand: HandModel, known: Bools) -> Bools:
    """(F, D) which angles are known once couplings carry knowledge from one to another. known: (F, D)."""
    for _ in hand.couplings:
        before = known
        for row in hand.couplings:
            tied = row.coefficients != 0
            known = known | (np.any(known & tied, axis=-1, keepdims=True) & tied)
        if np.array_equal(known, before):
            break
    return known


@lru_cache(maxsize=64)
def cut(hand: HandModel, asked: TargetedSites, how: str) -> tuple[HandParts, ...]:
    """Split a hand as `how` says, one of CUTS; the entries are solved one after the other."""
    tells = told(hand, asked)
    if how == "pairs":
        return _pairs(hand, asked, tells)
    if how == "whole":
        everything = list(range(hand.dofs)), list(range(len(tells))), list(range(len(hand.couplings)))
        return (_parts(hand, asked, [frozenset(everything[0])], [everything[1]], [everything[2]]),)
    members = [part for part in _joined(_members(tells) + _tied(hand, True)) if np.any(tells[:, sorted(part)])]
    if not members:
        return ()
    targets = [np.flatnonzero(np.any(tells[:, sorted(part)], axis=1)).tolist() for part in members]
    return (_parts(hand, asked, members, targets, [_touching(hand, part) for part in members]),)


def _pairs(hand: HandModel, asked: TargetedSites, tells: Bools) -> tuple[HandParts, ...]:
    """One part for the degrees of freedom between each rotation target and the next one above it, those nearest the
    root first. A position target does not determine a bone's rotation, so it does not split the hand.

    A hard coupling merges the parts that it links. A soft one belongs to the last of its parts, and adds to it those
    linked degrees of freedom that are in no part.
    """
    fresh = tells.copy()
    for other in tells[np.array(asked.turns, bool)]:
        above = np.all(tells | ~other, axis=1) & np.any(tells != other, axis=1)
        fresh[above] &= ~other
    members = _joined(_members(fresh) + _tied(hand, False))
    members = [part for part in members if np.any(fresh[:, sorted(part)])]
    stage = _stages(members, fresh, tells)
    couplings: list[list[int]] = [[] for _ in members]
    for number, row in enumerate(hand.couplings):
        tied = frozenset(np.flatnonzero(row.coefficients).tolist())
        has = [part for part in range(len(members)) if members[part] & tied]
        if has:
            last = max(has, key=lambda part: stage[part])
            couplings[last].append(number)
            members[last] |= tied - frozenset().union(*members)
    targets = [np.flatnonzero(np.any(fresh[:, sorted(part)], axis=1)).tolist() for part in members]
    result = []
    for k in range(max(stage, default=-1) + 1):
        now = [part for part in range(len(members)) if stage[part] == k]
        own = ([members[part] for part in now], [targets[part] for part in now], [couplings[part] for part in now])
        result.append(_parts(hand, asked, *own))
    return tuple(result)


def _stages(members: list[Members], fresh: Bools, tells: Bools) -> list[int]:
    """The stage at which each part is solved: after those that move its targets. Cycles end at the last stage."""
    own = np.array([np.any(fresh[:, sorted(part)], axis=1) for part in members])
    moves = np.array([np.any(tells[:, sorted(part)], axis=1) for part in members])
    stage = [0] * len(members)
    for _ in members:
        for part in range(len(members)):
            before = [o for o in range(len(members)) if o != part and np.any(own[part] & moves[o])]
            stage[part] = min(max((stage[other] + 1 for other in before), default=0), len(members))
    return stage


def _members(rows: Bools) -> list[Members]:
    """The degrees of freedom of each row that is not empty."""
    return [frozenset(np.flatnonzero(row).tolist()) for row in rows if np.any(row)]


def _tied(hand: HandModel, soft_too: bool) -> list[Members]:
    """The degrees of freedom of each coupling."""
    return [frozenset(np.flatnonzero(row.coefficients).tolist()) for row in hand.couplings if soft_too or not row.soft]


def _joined(sets: list[Members]) -> list[Members]:
    """The sets, with overlapping ones merged."""
    apart: list[Members] = []
    for each in sets:
        touching = [other for other in apart if other & each]
        apart = [other for other in apart if not other & each] + [each.union(*touching)]
    return sorted(apart, key=min)


def _touching(hand: HandModel, part: Members) -> list[int]:
    """The couplings that involve a part."""
    return [number for number, row in enumerate(hand.couplings) if np.any(row.coefficients[sorted(part)])]


def _parts(
    hand: HandModel, asked: TargetedSites, members: list[Members], targets: list[list[int]], couplings: list[list[int]]
) -> HandParts:
    dofs = _filled([sorted(part) for part in members], hand.dofs)
    chosen = _filled(targets, len(asked.sites))
    moves = np.zeros((len(asked.sites) + 1, hand.dofs + 1), bool)
    moves[:-1, :-1] = hand_topology(hand).affected_by[[hand.sites[site].joint for site in asked.sites]]
    soft, hard = (
        _filled([[n for n in rows if hand.couplings[n].soft == kind] for rows in couplings], len(hand.couplings))
        for kind in (True, False)
    )
    return HandParts(np.array(asked.sites, int), dofs, chosen, moves[chosen[:, :, None], dofs[:, None, :]], soft, hard)


def _filled(lists: list[list[int]], fill: int) -> Ints:
    """(G, longest) the lists, padded with `fill`."""
    longest = max(map(len, lists), default=0)
    return np.array([[*each, *[fill] * (longest - len(each))] for each in lists], int).reshape(len(lists), longest)
