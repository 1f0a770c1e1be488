"""Targets: positions and rotations that a hand's sites should reach in each frame."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import HandError
from .finite_points import finite_points
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
"""The arrays of Targets: name, shape after (F, T), and the name of the array with their weights."""


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Input of a solver over F frames and T sites of one hand: positions, rotations and velocities in any combination.

    Values that are not finite are set to zero where their weight is zero.

    Raises:
        HandError: rotations come without weights or the reverse, the shapes disagree, a weight is negative or not
            finite, or a weighted value is not finite or is a quaternion of length zero.
    """

    times: Floats
    """(F,) s."""
    sites: Ints
    """(T,) indices into HandModel.sites."""
    positions: Floats
    """(F, T, 3) m in the world; finite where the weight is positive."""
    weights: Floats
    """(F, T) >= 0, weights of the positions; 0 = missing."""
    rotations: Floats | None = None
    """(F, T, 4) unit quaternions wxyz of the joints that carry the sites, in the world; None if there are none."""
    rotation_weights: Floats | None = None
    """(F, T) >= 0, weights of the rotations; 0 = missing."""
    velocities: Floats | None = None
    """(F, T, 3) m/s in the world, if a device measures them; weighted as the positions."""
    angular_velocities: Floats | None = None
    """(F, T, 3) rad/s in the world, if a device measures them; weighted as the rotations."""

    def __post_init__(self) -> None:
        shape = (len(self.times), len(self.sites))
        for name, trailing_shape, weights in ARRAYS:
            array = getattr(self, name)
            if array is None:
                continue
            if array.shape != shape + trailing_shape:
                raise HandError(f"targets: {name} has the shape {array.shape}, expected {shape + trailing_shape}")
            # A sum of squares is a cheap test, which matters in a live frame.
            if not math.isfinite(np.vdot(array, array)) or (not weights and array.size and array.min() < 0):
                self._check_values(array, name, weights)
        if (self.rotations is None) != (self.rotation_weights is None):
            raise HandError("targets: rotations and rotation_weights come together, one of them is missing")
        if self.rotations is not None:
            squares = np.einsum("ftk,ftk->ft", self.rotations, self.rotations)
            if not squares.all():
                self._raise_if_weighted(squares == 0, "rotations", "rotation_weights", "of length zero")

    def _check_values(self, array: Floats, name: str, weights: str) -> None:
        """Raise HandError for invalid weights and weighted values that are not finite.

        Values that are not finite and have no weight are set to zero.
        """
        if not weights:
            if not np.all(array >= 0) or not np.all(np.isfinite(array)):
                frame, column = np.argwhere(~((array >= 0) & np.isfinite(array)))[0].tolist()
                raise HandError(
                    f"targets: {name} of target {column} in frame {frame} is {array[frame, column]:g}, "
                    "expected a number of at least zero"
                )
            return
        self._raise_if_weighted(~finite_points(array), name, weights, "not finite")
        object.__setattr__(self, name, np.where(np.isfinite(array), array, 0.0))

    def _raise_if_weighted(self, is_bad: NDArray[np.bool_], name: str, weights: str, description: str) -> None:
        """Raise HandError for the first entry for which `is_bad` (F, T) holds and whose weight is positive."""
        weight_values = getattr(self, weights)
        if weight_values is not None and np.any(is_bad & (weight_values > 0)):
            frame, column = np.argwhere(is_bad & (weight_values > 0))[0].tolist()
            raise HandError(
                f"targets: {name} of target {column} in frame {frame} are {description}, expected no weight there"
            )

    def __len__(self) -> int:
        return len(self.times)

    def select(self, frames: slice | NDArray[np.int64]) -> "Targets":
        """Return the targets of the given frames."""
        # A subset of valid targets is valid. Skipping the checks saves time in every live frame.
        part = object.__new__(Targets)
        object.__setattr__(part, "times", self.times[frames])
        object.__setattr__(part, "sites", self.sites)
        for name, _, _ in ARRAYS:
            array = getattr(self, name)
            object.__setattr__(part, name, None if array is None else array[frames])
        return part

    def with_sites(self, sites: Ints) -> "Targets":
        """Return the targets with additional sites (M,) of weight zero."""
        extended = {"sites": np.concatenate([self.sites, sites])}
        for name, trailing_shape, _ in ARRAYS:
            array = getattr(self, name)
            if array is not None:
                extended[name] = np.concatenate([array, np.zeros((len(self), len(sites), *trailing_shape))], axis=1)
        return replace(self, **extended)


def assign(
    hand: HandModel, spots: dict[str, Spot], times: Floats, positions: Floats, rotations: Floats | None = None
) -> tuple[HandModel, Targets]:
    """Make targets from markers, adding a site to the hand for each marker that does not sit at a joint.

    Args:
        hand: the hand model.
        spots: label -> where the marker sits, for T markers.
        times: (F,) s.
        positions: (F, T, 3) m in the world, NaN where a marker is not seen.
        rotations: (F, T, 4) unit quaternions wxyz of the joints that carry the markers, NaN where unknown; None if
            there are none.

    Returns:
        The hand with the additional sites, and the targets.
    """
    offset_sites = tuple(
        Site(label, hand.joints.index(spot.joint), spot.offset_on(hand.side))
        for label, spot in spots.items()
        if any(spot.offset)
    )
    new_indices = iter(range(len(hand.sites), len(hand.sites) + len(offset_sites)))
    sites = [next(new_indices) if any(spot.offset) else hand.site_index(spot.joint) for spot in spots.values()]
    hand = hand.with_sites(offset_sites)
    visible = finite_points(positions)
    targets = Targets(times, np.array(sites), np.where(visible[..., None], positions, 0.0), visible.astype(float))
    if rotations is None or not np.isfinite(rotations).any():
        return hand, targets
    has_rotation = finite_points(rotations)
    finite_rotations = np.where(has_rotation[..., None], rotations, IDENTITY)
    return hand, replace(targets, rotations=finite_rotations, rotation_weights=has_rotation.astype(float))
