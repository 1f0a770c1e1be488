"""Forward kinematics of all frames in one batch: from joint angles to rotations, joint frames and site positions."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from . import rotations as rot
from .jacobians import ROOT_DOFS, cross_matrix
from .model import HandModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FRAMES_AT_ONCE = 512
"""Number of frames computed at a time: their joints fit into a processor's cache."""


@dataclass(frozen=True, eq=False)
class Pose:
    """The pose of a hand in F frames."""

    hand: HandModel
    root: Floats
    """(F, 4, 4) T_world_wrist, m."""
    angles: Floats
    """(F, D) rad."""

    @classmethod
    def at_origin(cls, hand: HandModel, angles: Floats) -> "Pose":
        """Return poses at angles (F, D) rad in the wrist's frame."""
        return cls(hand, np.broadcast_to(np.eye(4), (len(angles), 4, 4)), angles)

    def __len__(self) -> int:
        return len(self.root)

    @cached_property
    def rotations(self) -> Floats:
        """(F, J, 4) unit quaternions wxyz, each joint relative to its rest. Computed on first use."""
        return joint_rotations(self.hand, self.angles)

    @cached_property
    def joints_in_wrist(self) -> Floats:
        """(F, J, 3) m, positions of the joints in the wrist's frame. Computed on first use."""
        positions = np.empty((len(self), len(self.hand.joints), 3))
        for start in range(0, len(self), FRAMES_AT_ONCE):
            rows = slice(start, start + FRAMES_AT_ONCE)
            rotations = self.rotations[rows]
            origin = np.broadcast_to(np.eye(4), (len(rotations), 4, 4))
            positions[rows] = _chain_frames(self.hand, origin, rotations)[:, :, 3].transpose(2, 0, 1)
        return positions

    @cached_property
    def joints_in_world(self) -> Floats:
        """(F, J, 3) m, positions of the joints in the world. Computed on first use."""
        x, y, z = np.moveaxis(self.joints_in_wrist, 2, 0)
        positions = np.empty_like(self.joints_in_wrist)
        for axis in range(3):
            a, b, c, origin = self.root[:, axis, :, None].transpose(1, 0, 2)
            positions[..., axis] = a * x + b * y + c * z + origin
        return positions


def joint_rotations(hand: HandModel, angles: Floats) -> Floats:
    """Return the rotation of each joint relative to its rest: R = R_1 · R_2 · R_3, one factor for each degree of
    freedom.

    Args:
        hand: the hand model of J joints and D degrees of freedom.
        angles: (F, D) rad.

    Returns:
        (F, J, 4) unit quaternions wxyz.
    """
    half_angles = angles.T / 2
    quaternions = np.concatenate([np.cos(half_angles)[None], np.sin(half_angles) * hand.axes.T[..., None]])
    result = np.zeros((4, len(hand.joints), len(angles)))
    result[0] = 1.0
    for dofs, joints in _dofs_by_order(tuple(hand.axis_joint.tolist())):
        result[:, joints] = rot.multiply_components(result[:, joints], quaternions[:, dofs])
    return np.ascontiguousarray(result.T)


@lru_cache(maxsize=32)
def _dofs_by_order(axis_joint: tuple[int, ...]) -> tuple[tuple[Ints, Ints], ...]:
    """Return the degrees of freedom that come first, second and third in their joints, and those joints."""
    order = np.arange(len(axis_joint)) - np.searchsorted(axis_joint, axis_joint)
    by_order = [np.flatnonzero(order == k) for k in range(3)]
    return tuple((dofs, np.array(axis_joint)[dofs]) for dofs in by_order)


def joint_frames(hand: HandModel, pose: Pose) -> Floats:
    """Return the frame of each joint in the world.

    Returns:
        (F, J, 4, 4) T_world_joint, m.
    """
    frames = np.empty((len(pose), len(hand.joints), 4, 4))
    frames[..., 3, :] = 0.0, 0.0, 0.0, 1.0
    for start in range(0, len(pose), FRAMES_AT_ONCE):
        rows = slice(start, start + FRAMES_AT_ONCE)
        frames[rows, :, :3] = _chain_frames(hand, pose.root[rows], pose.rotations[rows]).transpose(3, 0, 1, 2)
    return frames


def _chain_frames(hand: HandModel, root: Floats, rotations: Floats) -> Floats:
    """Return the first three rows of T_world_joint, m, as (J, 3, 4, F): the frames are last, which is faster.

    root: (F, 4, 4) T_world_wrist, m. rotations: (F, J, 4) of the joints relative to their rest.
    """
    elements = np.stack(rot.matrix_elements(np.ascontiguousarray(rotations.T)), axis=1)
    joint_count, _, frames = elements.shape
    local = np.zeros((joint_count, 4, 4, frames))
    local[:, :3, :3] = (hand.rest[:, :3, :3] @ elements.reshape(joint_count, 3, -1)).reshape(joint_count, 3, 3, frames)
    local[:, :3, 3], local[:, 3, 3] = hand.rest[:, :3, 3, None], 1.0
    world = np.empty((joint_count, 3, 4, frames))
    for joints, parents in _levels(hand.parents):
        parent_frames = root[None, :, :3].transpose(0, 2, 3, 1) if parents[0] < 0 else world[parents]
        world[joints] = np.einsum("jikf,jklf->jilf", parent_frames, local[joints])
    return world


def world_rotations(hand: HandModel, pose: Pose) -> Floats:
    """Return the rotation of each joint in the world: that of joint_frames, without computing matrices.

    Returns:
        (F, J, 4) unit quaternions wxyz, w >= 0.
    """
    rest, roots = rot.from_matrix(hand.rest[:, :3, :3]).T[..., None], rot.from_matrix(pose.root[:, :3, :3])
    world = np.empty((len(pose), len(hand.joints), 4))
    for start in range(0, len(pose), FRAMES_AT_ONCE):
        rows = slice(start, start + FRAMES_AT_ONCE)
        rotations, root = np.ascontiguousarray(pose.rotations[rows].T), np.ascontiguousarray(roots[rows].T)
        local = np.array(rot.multiply_components(rest, rotations))
        chained = np.empty_like(local)
        for joints, parents in _levels(hand.parents):
            parent_rotations = root[:, None] if parents[0] < 0 else chained[:, parents]
            chained[:, joints] = rot.multiply_components(parent_rotations, local[:, joints])
        world[rows] = np.where(chained[0] < 0, -chained, chained).T
    return world


@lru_cache(maxsize=32)
def _levels(parents: tuple[int, ...]) -> tuple[tuple[Ints, Ints], ...]:
    """Return the joints at each depth of the hierarchy, and their parents, from the root outwards."""
    depths: list[int] = []
    for parent in parents:
        depths.append(0 if parent < 0 else depths[parent] + 1)
    levels = [np.flatnonzero(np.equal(depths, depth)) for depth in range(max(depths) + 1)]
    return tuple((joints, np.array(parents)[joints]) for joints in levels)


def joint_position(pose: Pose, joint: str) -> Floats:
    """Return the position (F, 3) m of a joint in the world."""
    position: Floats = joint_frames(pose.hand, pose)[:, pose.hand.joints.index(joint), :3, 3]
    return position


def site_positions(hand: HandModel, frames: Floats, sites: Ints | None = None) -> Floats:
    """Return positions of sites of the hand.

    Args:
        hand: the hand model of S sites.
        frames: (F, J, 4, 4) T_world_joint, from `joint_frames`.
        sites: (T,) indices of sites; None for all.

    Returns:
        (F, T, 3) m in the world.
    """
    selected = hand.sites if sites is None else [hand.sites[site] for site in sites]
    offsets = np.array([(*site.offset, 1.0) for site in selected]).reshape(-1, 4, 1)
    site_frames = frames.take([site.joint for site in selected], axis=1)
    positions: Floats = (site_frames[..., :3, :] @ offsets)[..., 0]
    return positions


def posed_sites(hand: HandModel, pose: Pose, sites: Ints) -> Floats:
    """Return the positions (F, T, 3) m of sites (T,) of a posed hand. Sites without an offset are at their joints."""
    selected = [hand.sites[site] for site in sites]
    positions = pose.joints_in_world.take([site.joint for site in selected], axis=1)
    with_offset = [index for index, site in enumerate(selected) if any(site.offset)]
    if with_offset:
        positions[:, with_offset] = site_positions(hand, joint_frames(hand, pose), sites[with_offset])
    return positions


@dataclass(frozen=True, slots=True, eq=False)
class SiteMotion:
    """Positions of S sites of a hand in F frames, in the wrist's frame, and their derivatives by n angles."""

    positions: Floats
    """(F, S, 3) m"""
    axes: Floats
    """(F, S, n, 3) unit axes of the degrees of freedom; zero for padding."""
    slopes: Floats
    """(F, S, n, 3) m/rad, derivatives of the positions by the degrees of freedom."""


@dataclass(frozen=True, slots=True, eq=False)
class SiteChains:
    """Kinematic chains from the wrist to S sites, padded to the n degrees of freedom of the longest.

    `joint_frames` computes all joints of a hand; a search needs a few sites, many times.
    """

    dofs: Ints
    """(S, n) indices of degrees of freedom in ν (see hand.jacobians), from the wrist outwards; 6 + D for padding."""
    above: Floats
    """(n, n) upper triangle of ones: 1 where column >= row, else 0."""
    below: Floats
    """(n, n) 1 - above."""
    steps: Floats
    """(3, S, n, 4, 4) A, B and C: the frame after a rotation by q is A + sin q B + (1 - cos q) C (Rodrigues)."""
    axes: Floats
    """(S, n, 3, 1) unit axes in the frame after the rotation."""
    ends: Floats
    """(S, 4, 1) m, the sites in the last frame."""

    def at(self, angles: Floats) -> SiteMotion:
        """Return positions and derivatives of the sites at angles (F, D) rad."""
        padded = np.zeros((len(angles), angles.shape[1] + 1))
        padded[:, :-1] = angles
        chain_angles = padded[:, self.dofs - ROOT_DOFS][..., None, None]
        step, sine, cosine = self.steps
        frames = step + np.sin(chain_angles) * sine + (1.0 - np.cos(chain_angles)) * cosine
        for number in range(1, self.dofs.shape[1]):
            frames[:, :, number] = frames[:, :, number - 1] @ frames[:, :, number]
        positions = (frames[:, :, -1] @ self.ends)[..., :3, 0]
        axes = (frames[..., :3, :3] @ self.axes)[..., 0]
        return SiteMotion(positions, axes, rot.cross(axes, positions[:, :, None] - frames[..., :3, 3]))


@lru_cache(maxsize=32)
def site_chains(hand: HandModel, sites: tuple[int, ...]) -> SiteChains:
    """Return chains to some of a hand's sites; cached, since hands are immutable."""
    chains = [_chain(hand, site) for site in sites]
    longest = max([1, *(len(chain_dofs) for chain_dofs, _, _ in chains)])
    dofs = np.full((len(sites), longest), ROOT_DOFS + hand.dofs)
    steps = np.tile(np.eye(4), (len(sites), longest, 1, 1))
    axes, ends = np.zeros((len(sites), longest, 3)), np.ones((len(sites), 4, 1))
    for row, (chain_dofs, transforms, end) in enumerate(chains):
        count = len(chain_dofs)
        dofs[row, :count] = np.array(chain_dofs, int) + ROOT_DOFS
        steps[row, :count] = np.array(transforms).reshape(-1, 4, 4)
        axes[row, :count] = hand.axes[chain_dofs].reshape(-1, 3)
        ends[row, :3, 0] = end
    sine, cosine = np.zeros((2, len(sites), longest, 4, 4))
    sine[..., :3, :3] = cross_matrix(axes)
    cosine[..., :3, :3] = sine[..., :3, :3] @ sine[..., :3, :3]
    above = np.triu(np.ones((longest, longest)))
    rodrigues = np.stack([steps, steps @ sine, steps @ cosine])
    return SiteChains(dofs, above, 1.0 - above, rodrigues, axes[..., None], ends)


def _chain(hand: HandModel, site: int) -> tuple[list[int], list[Floats], Floats]:
    """Return the chain to a site.

    Returns:
        The degrees of freedom, the transform (4, 4) to each from its predecessor, and the position (3,) m of the site
        in the last frame.
    """
    joint = hand.sites[site].joint
    joints = [joint]
    while hand.parents[joints[0]] >= 0:
        joints.insert(0, hand.parents[joints[0]])
    dofs: list[int] = []
    transforms: list[Floats] = []
    transform = np.eye(4)
    for joint in joints:
        transform = transform @ hand.rest[joint]
        for dof in np.flatnonzero(hand.axis_joint == joint).tolist():
            dofs.append(dof)
            transforms.append(transform)
            transform = np.eye(4)
    end: Floats = transform[:3, :3] @ np.array(hand.sites[site].offset) + transform[:3, 3]
    return dofs, transforms, end
