"""Forward kinematics of a few sites of a hand, with the parts of their Jacobians.

`hand.kinematics` and `hand.jacobians` compute all joints of a hand; a search needs few of them, many times.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import ROOT_DOFS, cross_matrix
from ...hand.model import HandModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """S sites in F frames, in the wrist's frame."""

    positions: Floats
    """(F, S, 3) m"""
    axes: Floats
    """(F, S, n, 3) unit rotation axes of the degrees of freedom; zero for padding."""
    slopes: Floats
    """(F, S, n, 3) m/rad, derivatives of the site's position."""


@dataclass(frozen=True, slots=True, eq=False)
class Chains:
    """The chains of degrees of freedom from the wrist to each of S sites, padded to the length n of the longest."""

    dofs: Ints
    """(S, n) indices as in hand.jacobians, from the wrist outwards; 6 + D for padding."""
    above: Floats
    """(n, n) 1 on and above the diagonal: the second degree of freedom is no nearer to the wrist than the first."""
    below: Floats
    """(n, n) 1 below the diagonal."""
    steps: Floats
    """(3, S, n, 4, 4) A, B and C: the frame after a rotation by q is A + sin q B + (1 - cos q) C (Rodrigues)."""
    axes: Floats
    """(S, n, 3, 1) unit rotation axes in the frame after the rotation."""
    ends: Floats
    """(S, 4, 1) m, homogeneous position of the site in the last frame."""

    def at(self, angles: Floats) -> Placed:
        """Compute the sites at angles (F, D) rad."""
        padded = np.zeros((len(angles), angles.shape[1] + 1))
        padded[:, :-1] = angles
        own = padded[:, self.dofs - ROOT_DOFS][..., None, None]
        step, sine, cosine = self.steps
        frames = step + np.sin(own) * sine + (1.0 - np.cos(own)) * cosine
        for number in range(1, self.dofs.shape[1]):
            frames[:, :, number] = frames[:, :, number - 1] @ frames[:, :, number]
        positions = (frames[:, :, -1] @ self.ends)[..., :3, 0]
        axes = (frames[..., :3, :3] @ self.axes)[..., 0]
        return Placed(positions, axes, cross(axes, positions[:, :, None] - frames[..., :3, 3]))


@lru_cache(maxsize=32)
def chains(hand: HandModel, sites: tuple[int, ...]) -> Chains:
    """Return the chains to some of a hand's sites, cached because hands are immutable."""
    found = [_chain(hand, site) for site in sites]
    most = max([1, *(len(dofs) for dofs, _, _ in found)])
    dofs = np.full((len(sites), most), ROOT_DOFS + hand.dofs)
    before = np.tile(np.eye(4), (len(sites), most, 1, 1))
    axes, ends = np.zeros((len(sites), most, 3)), np.ones((len(sites), 4, 1))
    for row, (own, frames, end) in enumerate(found):
        dofs[row, : len(own)] = np.array(own, int) + ROOT_DOFS
        before[row, : len(own)] = np.array(frames).reshape(-1, 4, 4)
        axes[row, : len(own)] = hand.axes[own].reshape(-1, 3)
        ends[row, :3, 0] = end
    sine, cosine = np.zeros((2, len(sites), most, 4, 4))
    sine[..., :3, :3] = cross_matrix(axes)
    cosine[..., :3, :3] = sine[..., :3, :3] @ sine[..., :3, :3]
    steps = np.stack([before, before @ sine, before @ cosine])
    above = np.triu(np.ones((most, most)))
    return Chains(dofs, above, 1.0 - above, steps, axes[..., None], ends)


def _chain(hand: HandModel, site: int) -> tuple[list[int], list[Floats], Floats]:
    """Return the degrees of freedom from the wrist to a site.

    With them, the fixed transforms (4, 4) from each to the next, and the site in the last frame (3,) m.
    """
    joint = hand.sites[site].joint
    joints = [joint]
    while hand.parents[joints[0]] >= 0:
        joints.insert(0, hand.parents[joints[0]])
    dofs: list[int] = []
    frames: list[Floats] = []
    between = np.eye(4)
    for joint in joints:
        between = between @ hand.rest[joint]
        for dof in np.flatnonzero(hand.axis_joint == joint).tolist():
            dofs.append(dof)
            frames.append(between)
            between = np.eye(4)
    end: Floats = between[:3, :3] @ np.array(hand.sites[site].offset) + between[:3, 3]
    return dofs, frames, end


def cross(a: Floats, b: Floats) -> Floats:
    """Return a × b (..., 3); faster than numpy.cross for small arrays."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    result = np.empty(np.broadcast_shapes(a.shape, b.shape))
    result[..., 0] = y * w - z * v
    result[..., 1] = z * u - x * w
    result[..., 2] = x * v - y * u
    return result
