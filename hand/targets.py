"""Targets: where a hand's sites should be, frame by frame."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .markersets import Spot
from .model import HandModel, Site

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """What a solver is asked for, over F frames and T sites of one hand."""

    times: Floats
    """(F,) s."""
    sites: Ints
    """(T,) indices into HandModel.sites."""
    positions: Floats
    """(F, T, 3) m in the world; finite where the weight is above zero."""
    weights: Floats
    """(F, T) >= 0, 0 = missing."""

    def __len__(self) -> int:
        return len(self.times)

    def select(self, frames: slice) -> "Targets":
        """The targets of some of the frames."""
        return replace(self, times=self.times[frames], positions=self.positions[frames], weights=self.weights[frames])


def assign(hand: HandModel, spots: dict[str, Spot], times: Floats, positions: Floats) -> tuple[HandModel, Targets]:
    """The hand with a site for each marker that sits beside a joint, and the markers as its targets.

    spots: label -> where it sits (T,); times (F,) s; positions (F, T, 3) m, NaN where not seen.
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
    return hand, Targets(times, np.array(sites), np.where(seen[..., None], positions, 0.0), seen.astype(float))
