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
    places: Floats
    """(F, T + 1, 3) m."""
    place_roots: Floats
    """(F, T + 1) square roots of the weights."""
    turns: Floats | None
    """(F, T + 1, 3, 3)"""
    turn_roots: Floats
    """(F, T + 1) square roots of the weights."""

    @classmethod
    def of(cls, hand: HandModel, targets: Targets, begun: Floats) -> "RelativeTargets":
        """The targets relative to the wrist's start poses, `begun` (F, 4, 4) T_world_wrist."""
        sites = [hand.sites[site] for site in targets.sites]
        back = begun[:, None, :3, :3].swapaxes(-1, -2)
        places = (back @ (targets.positions - begun[:, None, :3, 3])[..., None])[..., 0]
        places = np.where(targets.weights[..., None] > 0, places, 0.0)
        turns, turn_weights = None, np.zeros_like(targets.weights)
        if targets.rotations is not None and targets.rotation_weights is not None:
            turn_weights = targets.rotation_weights
            asked = rotation_matrices(targets.rotations, turn_weights)
            turns = np.concatenate([back @ asked, np.tile(np.eye(3), (len(targets), 1, 1, 1))], axis=1)
        none = np.zeros((len(targets), 1))
        return cls(
            tuple(int(site) for site in targets.sites),
            np.array([*(site.joint for site in sites), 0]),
            np.array([*(site.offset for site in sites), (0.0, 0.0, 0.0)])[..., None],
            np.concatenate([places, none[..., None] * np.ones(3)], axis=1),
            np.sqrt(np.concatenate([targets.weights, none], axis=1)),
            turns,
            np.sqrt(np.concatenate([turn_weights, none], axis=1)),
        )

    def select(self, frames: Ints) -> "RelativeTargets":
        """The targets of some frames."""
        return replace(
            self,
            places=self.places[frames],
            place_roots=self.place_roots[frames],
            turns=None if self.turns is None else self.turns[frames],
            turn_roots=self.turn_roots[frames],
        )

    def asked(self, places: tuple[bool, ...], turns: tuple[bool, ...]) -> TargetedSites:
        """The sites with flags for which have position targets and which have rotation targets."""
        return TargetedSites(self.sites, places, turns)


@dataclass(frozen=True, slots=True, eq=False)
class RelativePoses:
    """F poses relative to the wrist's start pose."""

    root: Floats
    """(F, 4, 4)"""
    angles: Floats
    """(F, D + 1) rad; the last one pads parts and is always 0."""

    @classmethod
    def at_ease(cls, hand: HandModel, count: int) -> "RelativePoses":
        """The neutral pose, `count` times."""
        return cls(np.tile(np.eye(4), (count, 1, 1)), np.tile(np.append(hand.neutral, 0.0), (count, 1)))

    def select(self, frames: Ints) -> "RelativePoses":
        """Some of the poses."""
        return RelativePoses(self.root[frames], self.angles[frames])

    def copy(self) -> "RelativePoses":
        """Return a deep copy."""
        return RelativePoses(self.root.copy(), self.angles.copy())
