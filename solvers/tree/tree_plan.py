"""The part of a skeleton that a set of goals affects, prepared once for all frames with the same goals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import swing_twist_limits
from .goal_points import GoalPoints
from .tree_skeleton import Skeleton

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class AffectedJoint:
    """A joint that goals affect, and the points on it: child joints and sites."""

    parent: int
    """Index in the plan's joints, −1 for the first."""
    children: tuple[int, ...]
    """Its children among the plan's joints."""
    sites: tuple[int, ...]
    """The sites on it."""
    offsets: Floats
    """(E, 3) m, positions of the children and then the sites in the joint's frame."""
    direction: Floats
    """(3,) unit vector along which all offsets lie; zero if there is none, as on a palm, or if the joint has an
    orientation goal."""
    along: Floats
    """(E,) m, the offsets along `direction`."""
    relative: Bools
    """(E,) which of the points belong to an orientation."""
    levers: Ints
    """The nearest points below that its rotation moves, as indices into joints then sites. Children that coincide with
    the joint are skipped for theirs. Empty if its rotation moves nothing."""
    far_levers: Ints
    """The nearest points below those, which the twist about a bone moves."""


@dataclass(frozen=True, slots=True, eq=False)
class TreePlan:
    """The S sites that have goals, and the N joints at or above them."""

    joints: Ints
    """(N,) indices into the skeleton's joints, ascending."""
    links: tuple[AffectedJoint, ...]
    rest_rotations: Floats
    """(N, 3, 3) rotation of each joint on its parent at rest."""
    rest_offsets: Floats
    """(N, 3) m, position of each joint on its parent at rest."""
    axes: Floats
    """(N, 3, 3)"""
    cone: Floats
    """(N, 4)"""
    twist: Floats
    """(N, 2)"""
    free: Bools
    """(N, 3) which angles have a range and affect a goal, see `_free`."""
    site_joints: Ints
    """(S,) index in the plan's joints."""
    site_offsets: Floats
    """(S, 3) m"""
    relative: Bools
    """(S,) whether a site's goal is relative to its joint's position."""
    loop_pairs: Ints
    """(L, 2) sites that must coincide, at the end of the sites."""
    moves_site: Bools
    """(S, N) whether a joint's rotation moves a site."""
    is_ancestor: Bools
    """(N, N) whether the first joint is an ancestor of the second."""
    position_known: Bools
    """(N,) joints of known position: the pinned root, and those with a goal of their own."""
    has_closed_form: bool
    """Whether this is a single chain without limits and with one goal, which has a closed form out of reach."""
    root_free: bool
    reach: float


def make_plan(skeleton: Skeleton, sites: GoalPoints, has_goal: Bools) -> TreePlan:
    """Make the plan for the sites that have goals, `has_goal` (S,)."""
    goal_indices = np.flatnonzero(has_goal)
    on, offsets, relative = sites.joints[goal_indices], sites.offsets[goal_indices], sites.relative[goal_indices]
    joints = _with_ancestors(skeleton, on)
    number = {int(j): n for n, j in enumerate(joints)}
    parents = [number.get(skeleton.parents[j], -1) for j in joints]
    local = np.array([number[j] for j in on], int)
    rest_offsets = skeleton.rest[joints, :3, 3]
    links = _links(parents, rest_offsets, local, offsets, relative)
    first = len(on) - sites.loops
    is_known = np.isin(np.arange(len(joints)), local[:first][~offsets[:first].any(-1)])
    is_known[:1] |= not skeleton.root_free
    chained = len(on) == 1 and not skeleton.root_free and not offsets.any()
    return TreePlan(
        joints=joints,
        links=links,
        rest_rotations=skeleton.rest[joints, :3, :3],
        rest_offsets=rest_offsets,
        axes=skeleton.axes[joints],
        cone=skeleton.cone[joints],
        twist=skeleton.twist[joints],
        free=_free(skeleton, joints, links),
        site_joints=local,
        site_offsets=offsets,
        relative=relative,
        loop_pairs=first + np.arange(sites.loops).reshape(-1, 2),
        moves_site=_moves(parents, local),
        is_ancestor=_moves(parents, np.arange(len(joints))).T & ~np.eye(len(joints), dtype=bool),
        position_known=is_known,
        has_closed_form=chained and _unlimited(skeleton, joints, links),
        root_free=skeleton.root_free,
        reach=skeleton.reach,
    )


def _with_ancestors(skeleton: Skeleton, on: Ints) -> Ints:
    """Return (N,) these joints and all their ancestors."""
    chosen_joints = np.zeros(len(skeleton.joints), bool)
    chosen_joints[on] = True
    for j in reversed(range(1, len(chosen_joints))):
        chosen_joints[skeleton.parents[j]] |= chosen_joints[j]
    joints: Ints = np.flatnonzero(chosen_joints)
    return joints


def _unlimited(skeleton: Skeleton, joints: Ints, links: tuple[AffectedJoint, ...]) -> bool:
    """Return whether each joint that moves a site can point it in any direction."""
    swings = np.all(skeleton.cone[joints] >= swing_twist_limits.FULL_SWING, axis=-1)
    return all(
        swings[n] and _on_axis(skeleton, j, links[n]) for n, j in enumerate(joints.tolist()) if len(links[n].levers)
    )


def _links(
    parents: list[int], rest_offsets: Floats, site_joints: Ints, site_offsets: Floats, relative: Bools
) -> tuple[AffectedJoint, ...]:
    count = len(parents)
    children = [tuple(c for c in range(count) if parents[c] == n) for n in range(count)]
    sites = [tuple(int(s) for s in np.flatnonzero(site_joints == n)) for n in range(count)]
    levers: list[list[int]] = [[] for _ in range(count)]
    for n in reversed(range(count)):
        for child in children[n]:
            levers[n] += [child] if rest_offsets[child].any() else levers[child]
        levers[n] += [count + s for s in sites[n] if site_offsets[s].any()]
    links = []
    for n in range(count):
        offsets = np.concatenate([rest_offsets[list(children[n])], site_offsets[list(sites[n])]]).reshape(-1, 3)
        direction, along = _line(offsets)
        on_orientation = np.concatenate([np.zeros(len(children[n]), bool), relative[list(sites[n])]])
        far = [e for lever in levers[n] if lever < count for e in levers[lever]]
        links.append(
            AffectedJoint(
                parent=parents[n],
                children=children[n],
                sites=sites[n],
                offsets=offsets,
                direction=np.zeros(3) if on_orientation.any() else direction,
                along=along,
                relative=on_orientation,
                levers=np.array(levers[n], int),
                far_levers=np.array(far, int),
            )
        )
    return tuple(links)


def _line(offsets: Floats) -> tuple[Floats, Floats]:
    """Return the unit vector along which all offsets (E, 3) lie, zero if there is none, and their lengths along it
    (E,)."""
    lengths = np.linalg.norm(offsets, axis=-1)
    if not lengths.any():
        return np.array([0.0, 1.0, 0.0]), lengths
    direction: Floats = offsets[lengths.argmax()] / lengths.max()
    coordinates = offsets @ direction
    if np.abs(offsets - coordinates[:, None] * direction).max() > 1e-9 * lengths.max():
        return np.zeros(3), coordinates
    return direction, coordinates


def _moves(parents: list[int], site_joints: Ints) -> Bools:
    moves = np.zeros((len(site_joints), len(parents)), bool)
    for s, site_joint in enumerate(site_joints):
        above = int(site_joint)
        while above >= 0:
            moves[s, above] = True
            above = parents[above]
    return moves


def _on_axis(skeleton: Skeleton, joint: int, link: AffectedJoint) -> bool:
    """Return whether all points on a joint lie on its twist axis, so that the twist does not move them."""
    axis = skeleton.axes[joint, :, 1]
    return bool(np.all(np.linalg.norm(np.cross(link.offsets, axis), axis=-1) < 1e-9 * skeleton.reach))


def _free(skeleton: Skeleton, joints: Ints, links: tuple[AffectedJoint, ...]) -> Bools:
    """Return the angles (N, 3) that have a range and affect a goal.

    A twist about the bone matters only if limits keep a joint below from doing the same; otherwise it is left as it is.
    """
    cone, twist = skeleton.cone[joints], skeleton.twist[joints]
    swings = np.all(cone >= swing_twist_limits.FULL_SWING, axis=-1)
    twists = twist[:, 1] - twist[:, 0] >= swing_twist_limits.FULL_TWIST
    moving = np.array([len(link.levers) > 0 for link in links], bool)
    useful = np.zeros(len(joints), bool)
    for n in reversed(range(len(joints))):
        below = [c for c in links[n].children if moving[c]]
        through = any(not swings[c] or (useful[c] and not twists[c]) for c in below)
        useful[n] = moving[n] and (through or not _on_axis(skeleton, joints[n], links[n]))
    free = np.stack(
        [
            (cone[:, 0] > 0) | (cone[:, 2] > 0),
            (twist[:, 1] > twist[:, 0]) & useful,
            (cone[:, 1] > 0) | (cone[:, 3] > 0),
        ],
        -1,
    )
    affecting: Bools = free & moving[:, None]
    return affecting
