"""How a hand's sites move and turn when its wrist and its joints do, over all frames at once.

A hand's velocity is ν = (v, ω, q̇), 6 + D numbers: how fast the wrist's origin moves, m/s, and how fast the wrist turns,
rad/s, both in the world's axes, then the angles' rates, rad/s (Dynamical, section 2.2). A degree of freedom that turns
about the world axis a through the point c moves a point p beyond it by a × (p − c) and turns what is there by a:

    ṗ = v + ω × (p − p_wrist) + Σ a_d × (p − c_d) q̇_d        ω_site = ω + Σ a_d q̇_d
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from . import rotations as rot
from .model import HandModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

BASE = 6
"""The numbers of ν that move the wrist; those of the angles follow."""


def cross_matrix(vectors: Floats) -> Floats:
    """S(v) (..., 3, 3) of v (..., 3): S(v) u = v × u."""
    columns = np.cross(vectors[..., None, :], np.eye(3))
    matrix: Floats = columns.swapaxes(-1, -2)
    return matrix


@dataclass(frozen=True, slots=True, eq=False)
class HandTopology:
    """What of a hand does not change with its pose, laid out so that a frame takes few steps of numpy."""

    levels: tuple[tuple[Ints, Ints], ...]
    """Joints that are as far from the root, and their parents; the root's is −1."""
    rest_turns: Floats
    """(J, 3, 3) of T_parent_joint."""
    rest_places: Floats
    """(J, 3, 1) m of T_parent_joint."""
    axes: Floats
    """(D, 3, 1) unit, in the joint's frame."""
    crosses: Floats
    """(D, 3, 3) S(axis)"""
    squares: Floats
    """(D, 3, 3) S(axis)²"""
    turns: tuple[tuple[Ints, Ints], ...]
    """The degrees of freedom that are first, second, ... of their joint, and those joints."""
    joint_of: Ints
    """(D,) the joint that a degree of freedom turns."""
    below: Ints
    """(D,) that joint's parent, −1 for the root's."""
    moves: Bools
    """(J, D) whether a degree of freedom moves a joint's frame."""


@lru_cache(maxsize=8)
def linkage(hand: HandModel) -> HandTopology:
    """The linkage of a hand; hands never change."""
    parents = np.array(hand.parents)
    depth = np.zeros(len(parents), int)
    moves = np.zeros((len(parents), hand.dofs), bool)
    for joint, parent in enumerate(hand.parents):
        moves[joint] = hand.axis_joint == joint
        if parent >= 0:
            depth[joint] = depth[parent] + 1
            moves[joint] |= moves[parent]
    levels = [np.flatnonzero(depth == k) for k in range(depth.max() + 1)]
    order = np.arange(hand.dofs) - np.searchsorted(hand.axis_joint, hand.axis_joint)
    turns = [np.flatnonzero(order == k) for k in range(order.max(initial=-1) + 1)]
    crosses = cross_matrix(hand.axes)
    return HandTopology(
        levels=tuple((level, parents[level]) for level in levels),
        rest_turns=hand.rest[:, :3, :3].copy(),
        rest_places=hand.rest[:, :3, 3, None].copy(),
        axes=hand.axes[:, :, None],
        crosses=crosses,
        squares=crosses @ crosses,
        turns=tuple((dofs, hand.axis_joint[dofs]) for dofs in turns),
        joint_of=hand.axis_joint,
        below=parents[hand.axis_joint],
        moves=moves,
    )


@dataclass(frozen=True, slots=True, eq=False)
class PosedJoints:
    """Where a hand's joints are in the world in F frames, and what they turn about."""

    hand: HandModel
    turns: Floats
    """(F, J, 3, 3) R_world_joint."""
    places: Floats
    """(F, J, 3) m."""
    axes: Floats
    """(F, D, 3) unit, in the world; each goes through the place of its joint."""

    def sites(self, sites: Ints) -> Floats:
        """(F, T, 3) m, where some of the hand's sites are."""
        chosen = [self.hand.sites[site] for site in sites]
        joints = [site.joint for site in chosen]
        offsets = np.array([site.offset for site in chosen]).reshape(-1, 3, 1)
        at: Floats = (self.turns[:, joints] @ offsets)[..., 0] + self.places[:, joints]
        return at

    def jacobians(self, sites: Ints) -> tuple[Floats, Floats]:
        """(F, T, 3, 6 + D) m and rad per unit of ν: how the sites move, and how the joints they are on turn."""
        joints = np.array([self.hand.sites[site].joint for site in sites], int)
        at = self.sites(sites)
        link = linkage(self.hand)
        moved = link.moves[joints]
        axes = np.where(moved[..., None], self.axes[:, None], 0.0)
        arms = at[:, :, None] - self.places[:, None, link.joint_of]
        count = len(at)
        moves, turns = np.zeros((2, count, len(joints), 3, BASE + len(link.joint_of)))
        moves[..., :3] = turns[..., 3:BASE] = np.eye(3)
        moves[..., 3:BASE] = -cross_matrix(at - self.places[:, None, 0])
        moves[..., BASE:] = np.cross(axes, arms).swapaxes(-1, -2)
        turns[..., BASE:] = axes.swapaxes(-1, -2)
        return moves, turns


def place(hand: HandModel, root: Floats, angles: Floats) -> PosedJoints:
    """The hand with its wrist at root (F, 4, 4) T_world_wrist and its joints at angles (F, D) rad."""
    link = linkage(hand)
    sine, cosine = np.sin(angles)[..., None, None], np.cos(angles)[..., None, None]
    turned = np.eye(3) + sine * link.crosses + (1.0 - cosine) * link.squares  # Rodrigues
    count, joints = len(angles), len(hand.joints)
    local = np.broadcast_to(link.rest_turns, (count, joints, 3, 3)).copy()
    axes = np.empty((count, hand.dofs, 3, 1))
    for dofs, owners in link.turns:
        # In the frame below the joint: the turns before this one have been made, those after it have not.
        axes[:, dofs] = local[:, owners] @ link.axes[dofs]
        local[:, owners] = local[:, owners] @ turned[:, dofs]
    # One row more than joints, so that the root, whose parent is −1, finds the wrist's frame there.
    turns, places = np.empty((count, joints + 1, 3, 3)), np.empty((count, joints + 1, 3, 1))
    turns[:, -1], places[:, -1] = root[:, :3, :3], root[:, :3, 3:]
    for level, parents in link.levels:
        above = turns[:, parents]
        turns[:, level] = above @ local[:, level]
        places[:, level] = above @ link.rest_places[level] + places[:, parents]
    return PosedJoints(hand, turns[:, :-1], places[:, :-1, :, 0], (turns[:, link.below] @ axes)[..., 0])


def log_errors(wanted: Floats, found: Floats) -> Floats:
    """(..., 3) rad, the turn about the world's axes that leads the shortest way from R̂ found to R wanted (..., 3, 3).

    Of the two ways about half a turn, one.
    """
    q = rot.from_matrix(wanted @ found.swapaxes(-1, -2))
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, q[..., :1])
    turn: Floats = q[..., 1:] * np.where(sine > 1e-12, angle / np.maximum(sine, 1e-12), 2.0)
    return turn


def moved(root: Floats, angles: Floats, step: Floats) -> tuple[Floats, Floats]:
    """Root (F, 4, 4) and angles (F, D) after a step ν dt (F, 6 + D), the turn by the exponential map.

    Rotations stay such: the step's is made of a unit quaternion, and the product is brought back to the nearest.
    """
    angle = np.linalg.norm(step[:, 3:BASE], axis=-1)
    axis = step[:, 3:BASE] / np.maximum(angle, 1e-300)[:, None]
    after = root.copy()
    after[:, :3, 3] += step[:, :3]
    turned = rot.to_matrix(rot.about(axis, angle)) @ root[:, :3, :3]
    after[:, :3, :3] = rot.to_matrix(rot.from_matrix(turned))
    return after, angles + step[:, BASE:]
