"""What can be known of three markers on a palm or five fingertips alone: never a pose, sometimes a part."""

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from ..markersets import Spot
from .matching import Costs
from .palms import Sample, pair_costs
from .shapes import PALM_ONLY, TIPS_ONLY, mean_shape

Floats = NDArray[np.float64]

FRAMES = 100
FARTHEST = 0.3
"""m between two markers of one hand, at most."""
STEADY = 0.004
"""m by which distances on a palm stray at most."""
CLEAR = 0.5
"""By how much the next best order must cost more."""


def told_of_few(positions: Floats, labels: tuple[str, ...]) -> str | None:
    """A sentence about three or five markers (F, M, 3) m; None for other numbers, and for what is no hand's."""
    seen = np.all(np.isfinite(positions), axis=(1, 2))
    if positions.shape[1] not in {3, 5} or not seen.any():
        return None
    rows = np.flatnonzero(seen)
    sample = Sample.of(positions[rows[np.unique(np.linspace(0, len(rows) - 1, FRAMES).astype(int))]])
    if sample.apart.max() > FARTHEST:
        return None
    steady = bool(np.sqrt(sample.sway.max()) < STEADY)
    if len(labels) == 3 and steady:
        wrist = _place(sample, PALM_ONLY.spots, "wrist")
        which = f"the wrist's is '{labels[wrist]}', " if wrist is not None else ""
        return (
            f"three markers keep their distances, as on a palm: {which}but a palm alone looks alike from both sides, "
            "so neither left or right nor which knuckle is the index finger's can be told, and no finger can be solved"
        )
    if len(labels) == 5 and not steady:
        thumb = _place(sample, TIPS_ONLY.spots, "thumb-tip")
        which = f"the thumb's is '{labels[thumb]}', " if thumb is not None else ""
        return (
            f"five markers move like fingertips: {which}but without three markers on the palm neither left or right "
            "nor how the fingers bend can be told"
        )
    return None


def _place(sample: Sample, spots: dict[str, Spot], joint: str) -> int | None:
    """The marker at a joint, where every order that has another there costs clearly more."""
    shape = mean_shape("right", tuple(spots.values()))
    count = len(spots)
    costs = Costs(np.zeros((count, count + 1)), pair_costs(shape, sample, 1.0))
    at = list(spots).index(joint)
    least = np.full(count, np.inf)
    for order in permutations(range(count)):
        least[order[at]] = min(least[order[at]], costs.of(np.array(order)))
    best, rival = np.sort(least)[:2]
    return int(least.argmin()) if rival - best > CLEAR else None
