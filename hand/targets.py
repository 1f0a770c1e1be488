"""Targets: where a hand's sites should be, frame by frame."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import HandError
from .marker_sets import Spot
from .model import HandModel, Site
from .rotations import IDENTITY

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ARRAYS: tuple[tuple[str, tuple[int, ...], str], ...] = (
    ("weights", (), ""),
    ("positions", (3,), "weights"),
    ("rotation_weights", (), ""),
    ("rotations", (4,), "rotation_weights"),
    ("velocities", (3,), "weights"),
    ("angular_velocities", (3,), "rotation_weights"),
)
"""The arrays of Targets, how many numbers each has for a frame and a site, and which weights they have."""


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """What a solver is asked for, over F frames and T sites of one hand: places, turns and velocities, in any mix.

    What has no weight and is not finite is zero from here on. Raises HandError where turns have no weights, an array is
    not over the same frames and sites, a weight is below zero or not finite, or what has a weight is not finite or a
    quaternion of length zero.
    """

    times: Floats
    """(F,) s."""
    sites: Ints
    """(T,) indices into HandModel.sites."""
    positions: Floats
    """(F, T, 3) m in the world; finite where the weight is above zero."""
    weights: Floats
    """(F, T) >= 0, of the positions; 0 = missing."""
    rotations: Floats | None = None
    """(F, T, 4) unit wxyz in the world, of the joint on which the site is; None where no turn is asked for."""
    rotation_weights: Floats | None = None
    """(F, T) >= 0, of the rotations; 0 = missing."""
    velocities: Floats | None = None
    """(F, T, 3) m/s in the world, where a device measures them; with the positions' weights."""
    angular_velocities: Floats | None = None
    """(F, T, 3) rad/s in the world, where a device measures them; with the rotations' weights."""

    def __post_init__(self) -> None:
        many = (len(self.times), len(self.sites))
        for name, width, weights in ARRAYS:
            array = getattr(self, name)
            if array is None:
                continue
            if array.shape != many + width:
                raise HandError(f"targets: {name} has the shape {array.shape}, expected {many + width}")
            # The sum of all squares tells whether to look closer, and takes no time of a live frame.
            if not math.isfinite(np.vdot(array, array)) or (not weights and array.size and array.min() < 0):
                self._mend(array, name, weights)
        if (self.rotations is None) != (self.rotation_weights is None):
            raise HandError("targets: rotations and rotation_weights come together, one of them is missing")
        if self.rotations is not None:
            squares = np.einsum("ftk,ftk->ft", self.rotations, self.rotations)
            if not squares.all():
                self._refuse(squares == 0, "rotations", "rotation_weights", "of length zero")

    def _mend(self, array: Floats, name: str, weights: str) -> None:
        """Refuses what is not finite and has a weight, or is a weight that is none; the rest becomes zero."""
        if not weights:
            if not np.all(array >= 0) or not np.all(np.isfinite(array)):
                frame, column = np.argwhere(~((array >= 0) & np.isfinite(array)))[0].tolist()
                raise HandError(
                    f"targets: {name} of target {column} in frame {frame} is {array[frame, column]:g}, "
                    "expected a number of at least zero"
                )
            return
        self._refuse(~np.all(np.isfinite(array), axis=-1), name, weights, "not finite")
        object.__setattr__(self, name, np.where(np.isfinite(array), array, 0.0))

    def _refuse(self, bad: NDArray[np.bool_], name: str, weights: str, why: str) -> None:
        """Raises HandError for the first that is bad (F, T) and has a weight."""
        asked = getattr(self, weights)
        if asked is not None and np.any(bad & (asked > 0)):
            frame, column = np.argwhere(bad & (asked > 0))[0].tolist()
            raise HandError(f"targets: {name} of target {column} in frame {frame} are {why}, expected no weight there")

    def __len__(self) -> int:
        return len(self.times)

    def select(self, frames: slice | NDArray[np.int64]) -> "Targets":
        """The targets of some of the frames."""
        # What is a part of what was checked needs no checking: this is in the time of every live frame.
        part = object.__new__(Targets)
        object.__setattr__(part, "times", self.times[frames])
        object.__setattr__(part, "sites", self.sites)
        for name, _, _ in ARRAYS:
            array = getattr(self, name)
            object.__setattr__(part, name, None if array is None else array[frames])
        return part

    def with_sites(self, sites: Ints) -> "Targets":
        """With further sites (M,), of which nothing is asked."""
        more = {"sites": np.concatenate([self.sites, sites])}
        for name, width, _ in ARRAYS:
            array = getattr(self, name)
            if array is not None:
                more[name] = np.concatenate([array, np.zeros((len(self), len(sites), *width))], axis=1)
        return replace(self, **more)


def assign(
    hand: HandModel, spots: dict[str, Spot], times: Floats, positions: Floats, turns: Floats | None = None
) -> tuple[HandModel, Targets]:
    """The hand with a site for each marker that sits beside a joint, and the markers as its targets.

    spots: label -> where it sits (T,); times (F,) s; positions (F, T, 3) m, NaN where not seen; turns
    (F, T, 4) of the joints on which they are, NaN where not told, None where none is.
    """
    beside = tuple(
        Site(label, hand.joints.index(spot.joint), spot.on(hand.side))
        for label, spot in spots.items()
        if any(spot.offset)
    )
    extra = iter(range(len(hand.sites), len(hand.sites) + len(beside)))
    sites = [next(extra) if any(spot.offset) else hand.site_index(spot.joint) for spot in spots.values()]
    hand = hand.with_sites(beside)
    seen = np.all(np.isfinite(positions), axis=-1)
    targets = Targets(times, np.array(sites), np.where(seen[..., None], positions, 0.0), seen.astype(float))
    if turns is None or not np.isfinite(turns).any():
        return hand, targets
    told = np.all(np.isfinite(turns), axis=-1)
    asked = np.where(told[..., None], turns, IDENTITY)
    return hand, replace(targets, rotations=asked, rotation_weights=told.astype(float))
