"""Split a hand into parts; independent parts are solved as rows of one batch.

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
DofSet = frozenset[int]
"""A set of degrees of freedom."""

SPLITS = ("digits", "whole", "pairs")


@dataclass(frozen=True, slots=True)
class TargetedSites:
    """The sites of a hand that have targets, and which of them have position and rotation targets."""

    sites: tuple[int, ...]
    positions: tuple[bool, ...]
    rotations: tuple[bool, ...]


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
    affected_by: Bools
    """(G, t, n) whether a degree of freedom moves the joint that a target's site is on."""
    soft: Ints
    """(G, c) couplings that are part of the cost."""
    hard: Ints
    """(G, h) couplings that are constraints."""


def constrained_dofs(hand: HandModel, sites: TargetedSites) -> Bools:
    """Return (T, D) which degrees of freedom each target constrains; a joint's own do not move its origin."""
    result = np.zeros((len(sites.sites), hand.dofs), bool)
    moves = hand_topology(hand).affected_by
    for row, site, position, rotation in zip(result, sites.sites, sites.positions, sites.rotations, strict=True):
        joint = hand.sites[site].joint
        includes_own_dofs = rotation or any(hand.sites[site].offset)
        if position or rotation:
            row[:] = moves[joint] if includes_own_dofs else moves[joint] & (hand.axis_joint != joint)
    return result


def known_through_couplings(hand: HandModel, is_known: Bools) -> Bools:
    """Return (F, D) which angles are known directly or through couplings. is_known: (F, D), directly."""
    for _ in hand.couplings:
        previous = is_known
        for row in hand.couplings:
            coupled = row.coefficients != 0
            is_known = is_known | (np.any(is_known & coupled, axis=-1, keepdims=True) & coupled)
        if np.array_equal(is_known, previous):
            break
    return is_known


@lru_cache(maxsize=64)
def split(hand: HandModel, sites: TargetedSites, how: str) -> tuple[HandParts, ...]:
    """Split a hand by `how`, one of SPLITS; the entries are solved one after the other."""
    constrained = constrained_dofs(hand, sites)
    if how == "pairs":
        return _pairs(hand, sites, constrained)
    if how == "whole":
        dofs, numbers = frozenset(range(hand.dofs)), list(range(len(constrained)))
        return (_parts(hand, sites, [dofs], [numbers], [list(range(len(hand.couplings)))]),)
    members = _merged(_dof_sets(constrained) + _coupled_dofs(hand, with_soft=True))
    members = [part for part in members if np.any(constrained[:, sorted(part)])]
    if not members:
        return ()
    targets = [np.flatnonzero(np.any(constrained[:, sorted(part)], axis=1)).tolist() for part in members]
    couplings = [
        [number for number, row in enumerate(hand.couplings) if np.any(row.coefficients[sorted(part)])]
        for part in members
    ]
    return (_parts(hand, sites, members, targets, couplings),)


def _pairs(hand: HandModel, sites: TargetedSites, constrained: Bools) -> tuple[HandParts, ...]:
    """Return one part for the degrees of freedom between each rotation target and the next one above it, those nearest
    the root first. A position target does not determine a bone's rotation, so it does not split the hand.

    A hard coupling merges the parts that it links. A soft coupling belongs to the last of the parts that it links, and
    adds the linked degrees of freedom that are in no part.
    """
    pair_dofs = constrained.copy()
    for upper in constrained[np.array(sites.rotations, bool)]:
        below = np.all(constrained | ~upper, axis=1) & np.any(constrained != upper, axis=1)
        pair_dofs[below] &= ~upper
    members = _merged(_dof_sets(pair_dofs) + _coupled_dofs(hand, with_soft=False))
    members = [part for part in members if np.any(pair_dofs[:, sorted(part)])]
    stage = _stages(members, pair_dofs, constrained)
    couplings: list[list[int]] = [[] for _ in members]
    for number, row in enumerate(hand.couplings):
        coupled = frozenset(np.flatnonzero(row.coefficients).tolist())
        linked = [part for part in range(len(members)) if members[part] & coupled]
        if linked:
            last = max(linked, key=lambda part: stage[part])
            couplings[last].append(number)
            members[last] |= coupled - frozenset().union(*members)
    targets = [np.flatnonzero(np.any(pair_dofs[:, sorted(part)], axis=1)).tolist() for part in members]
    result = []
    for k in range(max(stage, default=-1) + 1):
        stage_parts = [part for part in range(len(members)) if stage[part] == k]
        stage_members, stage_targets = [members[part] for part in stage_parts], [targets[part] for part in stage_parts]
        result.append(_parts(hand, sites, stage_members, stage_targets, [couplings[part] for part in stage_parts]))
    return tuple(result)


def _stages(members: list[DofSet], pair_dofs: Bools, constrained: Bools) -> list[int]:
    """Return the stage at which each part is solved: after those that move its targets.

    Cycles end at the last stage.
    """
    own_targets = np.array([np.any(pair_dofs[:, sorted(part)], axis=1) for part in members])
    moved_targets = np.array([np.any(constrained[:, sorted(part)], axis=1) for part in members])
    stage = [0] * len(members)
    for _ in members:
        for part in range(len(members)):
            upper = [o for o in range(len(members)) if o != part and np.any(own_targets[part] & moved_targets[o])]
            stage[part] = min(max((stage[upper_part] + 1 for upper_part in upper), default=0), len(members))
    return stage


def _dof_sets(rows: Bools) -> list[DofSet]:
    """Return the degrees of freedom of each row that is not empty."""
    return [frozenset(np.flatnonzero(row).tolist()) for row in rows if np.any(row)]


def _coupled_dofs(hand: HandModel, *, with_soft: bool) -> list[DofSet]:
    """Return the degrees of freedom of each coupling."""
    return [frozenset(np.flatnonzero(row.coefficients).tolist()) for row in hand.couplings if with_soft or not row.soft]


def _merged(sets: list[DofSet]) -> list[DofSet]:
    """Return the sets, with overlapping ones merged."""
    merged: list[DofSet] = []
    for new in sets:
        overlapping = [dofs for dofs in merged if dofs & new]
        merged = [dofs for dofs in merged if not dofs & new] + [new.union(*overlapping)]
    return sorted(merged, key=min)


def _parts(
    hand: HandModel, sites: TargetedSites, members: list[DofSet], targets: list[list[int]], couplings: list[list[int]]
) -> HandParts:
    dofs = _padded([sorted(part) for part in members], hand.dofs)
    part_targets = _padded(targets, len(sites.sites))
    moves = np.zeros((len(sites.sites) + 1, hand.dofs + 1), bool)
    moves[:-1, :-1] = hand_topology(hand).affected_by[[hand.sites[site].joint for site in sites.sites]]
    soft, hard = (
        _padded([[n for n in rows if hand.couplings[n].soft == kind] for rows in couplings], len(hand.couplings))
        for kind in (True, False)
    )
    return HandParts(
        np.array(sites.sites, int), dofs, part_targets, moves[part_targets[:, :, None], dofs[:, None, :]], soft, hard
    )


def _padded(lists: list[list[int]], fill: int) -> Ints:
    """Return the lists (G, longest), padded with `fill`."""
    longest = max(map(len, lists), default=0)
    return np.array([[*items, *[fill] * (longest - len(items))] for items in lists], int).reshape(len(lists), longest)
