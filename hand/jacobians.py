"""Jacobians of a hand's sites with respect to its wrist and joint angles, over all frames at once.

A hand's velocity is ν = (v, ω, q̇), 6 + D numbers: the linear velocity of the wrist's origin, m/s, and its angular
velocity, rad/s, both in world axes, then the joint velocities, rad/s (Dynamical, section 2.2). A degree of freedom with
the world axis a through the point c moves a point p beyond it by a × (p − c) and rotates its frame by a:

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

ROOT_DOFS = 6
"""Degrees of freedom of the wrist, the first entries of ν; the joint angles follow."""


def cross_matrix(vectors: Floats) -> Floats:
    """Return skew-symmetric matrices S(v) (..., 3, 3) of vectors (..., 3): S(v) u = v × u."""
    columns = np.cross(vectors[..., None, :], np.eye(3))
    matrix: Floats = columns.swapaxes(-1, -2)
    return matrix


@dataclass(frozen=True, slots=True, eq=False)
class HandTopology:
    """The constant data of a hand's forward kinematics, laid out for few NumPy operations per frame."""

    levels: tuple[tuple[Ints, Ints], ...]
    """The joints at each depth of the hierarchy, and their parents; the root's parent is −1."""
    rest_rotations: Floats
    """(J, 3, 3) rotation of T_parent_joint."""
    rest_positions: Floats
    """(J, 3, 1) m, translation of T_parent_joint."""
    axes: Floats
    """(D, 3, 1) unit axes in the joint's frame."""
    axis_crosses: Floats
    """(D, 3, 3) S(axis)"""
    axis_cross_squares: Floats
    """(D, 3, 3) S(axis)²"""
    dofs_by_order: tuple[tuple[Ints, Ints], ...]
    """The degrees of freedom that come first, second, ... in their joints, and those joints."""
    dof_joints: Ints
    """(D,) the joint of each degree of freedom."""
    dof_parents: Ints
    """(D,) the parent of that joint, −1 for the root."""
    affected_by: Bools
    """(J, D) whether a degree of freedom moves a joint's frame."""


@lru_cache(maxsize=8)
def hand_topology(hand: HandModel) -> HandTopology:
    """Return the topology of a hand; cached, since hands are immutable."""
    parents = np.array(hand.parents)
    depth = np.zeros(len(parents), int)
    affected_by = np.zeros((len(parents), hand.dofs), bool)
    for joint, parent in enumerate(hand.parents):
        affected_by[joint] = hand.axis_joint == joint
        if parent >= 0:
            depth[joint] = depth[parent] + 1
            affected_by[joint] |= affected_by[parent]
    levels = [np.flatnonzero(depth == k) for k in range(depth.max() + 1)]
    order = np.arange(hand.dofs) - np.searchsorted(hand.axis_joint, hand.axis_joint)
    dofs_by_order = [np.flatnonzero(order == k) for k in range(order.max(initial=-1) + 1)]
    crosses = cross_matrix(hand.axes)
    return HandTopology(
        levels=tuple((level, parents[level]) for level in levels),
        rest_rotations=hand.rest[:, :3, :3].copy(),
        rest_positions=hand.rest[:, :3, 3, None].copy(),
        axes=hand.axes[:, :, None],
        axis_crosses=crosses,
        axis_cross_squares=crosses @ crosses,
        dofs_by_order=tuple((dofs, hand.axis_joint[dofs]) for dofs in dofs_by_order),
        dof_joints=hand.axis_joint,
        dof_parents=parents[hand.axis_joint],
        affected_by=affected_by,
    )


@dataclass(frozen=True, slots=True, eq=False)
class PosedJoints:
    """Joint frames and rotation axes of a hand in the world over F frames."""

    hand: HandModel
    rotations: Floats
    """(F, J, 3, 3) R_world_joint."""
    positions: Floats
    """(F, J, 3) m."""
    axes: Floats
    """(F, D, 3) unit axes in the world; each goes through its joint's position."""

    def site_positions(self, sites: Ints) -> Floats:
        """Return positions (F, T, 3) m of some of the hand's sites (T,)."""
        selected = [self.hand.sites[site] for site in sites]
        joints = [site.joint for site in selected]
        offsets = np.array([site.offset for site in selected]).reshape(-1, 3, 1)
        positions: Floats = (self.rotations[:, joints] @ offsets)[..., 0] + self.positions[:, joints]
        return positions

    def jacobians(self, sites: Ints) -> tuple[Floats, Floats]:
        """Return linear and angular Jacobians of sites (T,).

        Returns:
            Two arrays (F, T, 3, 6 + D): how ν moves the sites, and how it rotates the joints that carry them.
        """
        joints = np.array([self.hand.sites[site].joint for site in sites], int)
        positions = self.site_positions(sites)
        topology = hand_topology(self.hand)
        axes = np.where(topology.affected_by[joints][..., None], self.axes[:, None], 0.0)
        arms = positions[:, :, None] - self.positions[:, None, topology.dof_joints]
        linear, angular = np.zeros((2, len(positions), len(joints), 3, ROOT_DOFS + len(topology.dof_joints)))
        linear[..., :3] = angular[..., 3:ROOT_DOFS] = np.eye(3)
        linear[..., 3:ROOT_DOFS] = -cross_matrix(positions - self.positions[:, None, 0])
        linear[..., ROOT_DOFS:] = np.cross(axes, arms).swapaxes(-1, -2)
        angular[..., ROOT_DOFS:] = axes.swapaxes(-1, -2)
        return linear, angular


def pose_joints(hand: HandModel, root: Floats, angles: Floats) -> PosedJoints:
    """Return the forward kinematics of a hand in F frames.

    Args:
        hand: the hand model.
        root: (F, 4, 4) T_world_wrist, m.
        angles: (F, D) rad.
    """
    topology = hand_topology(hand)
    sine, cosine = np.sin(angles)[..., None, None], np.cos(angles)[..., None, None]
    # Rodrigues' formula.
    dof_rotations = np.eye(3) + sine * topology.axis_crosses + (1.0 - cosine) * topology.axis_cross_squares
    frames, joints = len(angles), len(hand.joints)
    local = np.broadcast_to(topology.rest_rotations, (frames, joints, 3, 3)).copy()
    axes = np.empty((frames, hand.dofs, 3, 1))
    for dofs, dof_joints in topology.dofs_by_order:
        # In the parent's frame: the joint's earlier rotations are applied, its later ones are not.
        axes[:, dofs] = local[:, dof_joints] @ topology.axes[dofs]
        local[:, dof_joints] = local[:, dof_joints] @ dof_rotations[:, dofs]
    # One extra row at the end holds the wrist's frame, which the root's parent index −1 picks.
    rotations, positions = np.empty((frames, joints + 1, 3, 3)), np.empty((frames, joints + 1, 3, 1))
    rotations[:, -1], positions[:, -1] = root[:, :3, :3], root[:, :3, 3:]
    for level, parents in topology.levels:
        parent_rotations = rotations[:, parents]
        rotations[:, level] = parent_rotations @ local[:, level]
        positions[:, level] = parent_rotations @ topology.rest_positions[level] + positions[:, parents]
    world_axes = (rotations[:, topology.dof_parents] @ axes)[..., 0]
    return PosedJoints(hand, rotations[:, :-1], positions[:, :-1, :, 0], world_axes)


def rotation_errors(target: Floats, current: Floats) -> Floats:
    """Return the shortest rotation vectors (..., 3) rad in world axes that rotate `current` to `target` (..., 3, 3).

    At an angle of π, either of the two opposite vectors may be returned.
    """
    q = rot.from_matrix(target @ current.swapaxes(-1, -2))
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, q[..., :1])
    vectors: Floats = q[..., 1:] * np.where(sine > 1e-12, angle / np.maximum(sine, 1e-12), 2.0)
    return vectors


def integrate(root: Floats, angles: Floats, step: Floats) -> tuple[Floats, Floats]:
    """Integrate a step of the velocity: the root (F, 4, 4) and angles (F, D) after ν dt (F, 6 + D).

    The wrist rotates by the exponential map, and the product is normalised to remain a rotation.
    """
    angle = np.linalg.norm(step[:, 3:ROOT_DOFS], axis=-1)
    axis = step[:, 3:ROOT_DOFS] / np.maximum(angle, 1e-300)[:, None]
    new_root = root.copy()
    new_root[:, :3, 3] += step[:, :3]
    rotated = rot.to_matrix(rot.from_axis_angle(axis, angle)) @ root[:, :3, :3]
    new_root[:, :3, :3] = rot.to_matrix(rot.from_matrix(rotated))
    return new_root, angles + step[:, ROOT_DOFS:]
