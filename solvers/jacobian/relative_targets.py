"""Targets and poses of the Jacobian methods, relative to the wrist's start pose."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.model import HandModel
from ...hand.targets import Targets
from ..wrist_alignment import rotation_matrices
from .parts import TargetedSites

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RelativeTargets:
    """The targets of F frames relative to the wrist's start pose, with an empty one at the end that pads parts."""

    sites: tuple[int, ...]
    """(T,) of the hand."""
    joints: Ints
    """(T + 1,)"""
    offsets: Floats
    """(T + 1, 3, 1) m."""
    positions: Floats
    """(F, T + 1, 3) m."""
    position_scales: Floats
    """(F, T + 1) square roots of the weights."""
    rotations: Floats | None
    """(F, T + 1, 3, 3)"""
    rotation_scales: Floats
    """(F, T + 1) square roots of the weights."""

    @classmethod
    def of(cls, hand: HandModel, targets: Targets, start_root: Floats) -> "RelativeTargets":
        """Return the targets relative to the wrist's start poses, `start_root` (F, 4, 4) T_world_wrist."""
        sites = [hand.sites[site] for site in targets.sites]
        back = start_root[:, None, :3, :3].swapaxes(-1, -2)
        positions = (back @ (targets.positions - start_root[:, None, :3, 3])[..., None])[..., 0]
        positions = np.where(targets.weights[..., None] > 0, positions, 0.0)
        rotations, rotation_weights = None, np.zeros_like(targets.weights)
        if targets.rotations is not None and targets.rotation_weights is not None:
            rotation_weights = targets.rotation_weights
            matrices = rotation_matrices(targets.rotations, rotation_weights)
            rotations = np.concatenate([back @ matrices, np.tile(np.eye(3), (len(targets), 1, 1, 1))], axis=1)
        none = np.zeros((len(targets), 1))
        return cls(
            tuple(int(site) for site in targets.sites),
            np.array([*(site.joint for site in sites), 0]),
            np.array([*(site.offset for site in sites), (0.0, 0.0, 0.0)])[..., None],
            np.concatenate([positions, none[..., None] * np.ones(3)], axis=1),
            np.sqrt(np.concatenate([targets.weights, none], axis=1)),
            rotations,
            np.sqrt(np.concatenate([rotation_weights, none], axis=1)),
        )

    def select(self, frames: Ints) -> "RelativeTargets":
        """Return the targets of some frames."""
        return replace(
            self,
            positions=self.positions[frames],
            position_scales=self.position_scales[frames],
            rotations=None if self.rotations is None else self.rotations[frames],
            rotation_scales=self.rotation_scales[frames],
        )

    def targeted_sites(self, positions: tuple[bool, ...], rotations: tuple[bool, ...]) -> TargetedSites:
        """Return the sites with flags for which have position targets and which have rotation targets."""
        return TargetedSites(self.sites, positions, rotations)


@dataclass(frozen=True, slots=True, eq=False)
class RelativePoses:
    """F poses relative to the wrist's start pose."""

    root: Floats
    """(F, 4, 4)"""
    angles: Floats
    """(F, D + 1) rad; the last one pads parts and is always 0."""

    @classmethod
    def neutral(cls, hand: HandModel, count: int) -> "RelativePoses":
        """Return the neutral pose, `count` times."""
        return cls(np.tile(np.eye(4), (count, 1, 1)), np.tile(np.append(hand.neutral, 0.0), (count, 1)))

    def select(self, frames: Ints) -> "RelativePoses":
        """Return some of the poses."""
        return RelativePoses(self.root[frames], self.angles[frames])

    def copy(self) -> "RelativePoses":
        """Return a deep copy."""
        return RelativePoses(self.root.copy(), self.angles.copy())
