"""Search for the assignment with which an articulated hand fits a take best, and for what could be instead of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..calibration.skin_markers.chain import ShapeParameters
from ..calibration.skin_markers.skin_fit import PALM
from ..joints import DIGITS
from .model_fit import ModelFit, fit_model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_ROUNDS = 6
"""Number of times that an exchange of fingers may improve the fit."""
MAX_TRIALS, MIN_TRIALS = 48, 16
"""Fits of exchanged fingers in the search for a hand after which none of its fits is improved any further, and those
that each of them may have in any case, since what was not tried does not show how sure its markers are. Real takes'
searches need 16 to 32, seldom up to 60."""
INNER_FINGERS = (1, 2, 3)
"""Rows in DIGITS of the fingers: a mirror only exchanges the outer ones."""
MAX_EXCESS = 12.0
"""A fit that costs this much more than the best one is given up."""
MIN_MARKERS = 4
"""Markers that a fit needs to begin with."""
MIN_GAIN = 0.05
"""Decrease of the cost that counts as an improvement."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchedFit:
    """The best fit, and by how much each of its markers would cost more elsewhere."""

    fit: ModelFit
    margins: Floats
    """(C,) increase of the cost in the best fit that was tried with another marker at the spot."""
    trials: int
    """Number of exchanges that were fitted."""


def improve_fit(
    shape: ShapeParameters, positions: Floats, start: ModelFit, max_trials: int = MAX_TRIALS
) -> SearchedFit:
    """Exchange fingers, from their knuckles or from a joint on, or seek them anew, as long as the hand fits better.

    Args:
        shape: the right hand that is expected, with its C markers.
        positions: (F, T, 3) m, NaN where not seen.
        start: the fit to begin with.
        max_trials: the search ends after so many exchanges.
    """
    best, tried, trials = start, {start.labels.tobytes(): start}, 0
    for _ in range(MAX_ROUNDS):
        improved = False
        for labels in _exchanges(shape, best.labels, positions.shape[1]):
            if labels.tobytes() in tried:
                continue
            if trials == max_trials:
                break
            trials += 1
            fit = fit_model(shape, start.side, positions, labels, limit=best.cost + MAX_EXCESS, known=tried)
            fit = tried.setdefault(fit.labels.tobytes(), fit)
            tried[labels.tobytes()] = fit
            if fit.cost < best.cost - MIN_GAIN:
                best, improved = fit, True
                break
        if not improved:
            break
    return SearchedFit(best, _margins(best, tried.values()), trials)


def reflected(shape: ShapeParameters, labels: Ints, none: int) -> Ints:
    """Labels (C,) of the other hand in a mirror: index and ring finger exchanged, and the middle finger's.

    All others are left open, and the outermost where enough remain. Markers on a hand that hardly bends resemble those
    of the other hand in this order, but the tips of fingers that are bent.
    """
    first, middle, last = INNER_FINGERS
    result, tips = np.full(len(labels), none), []
    for finger, facing in ((first, last), (middle, middle), (last, first)):
        own, other = _chain(shape, finger), _chain(shape, facing)
        shared = min(len(own), len(other))
        result[own[len(own) - shared :]] = labels[other[len(other) - shared :]]
        tips += own[-1:]
    without_tips = result.copy()
    without_tips[tips] = none
    return without_tips if np.count_nonzero(without_tips < none) >= MIN_MARKERS else result


def _chain(shape: ShapeParameters, digit: int) -> list[int]:
    """Markers of a digit, from the knuckle to the tip."""
    return sorted(np.flatnonzero(shape.digits == digit).tolist(), key=lambda m: (shape.bones[m], shape.offsets[m, 1]))


def _margins(best: ModelFit, others: Iterable[ModelFit]) -> Floats:
    """Increase of cost (C,) in the best of the other fits that has another marker at the spot."""
    margins = np.full(len(best.labels), np.inf)
    for fit in others:
        margins = np.where(fit.labels != best.labels, np.minimum(margins, fit.cost - best.cost), margins)
    return margins


def _exchanges(shape: ShapeParameters, labels: Ints, none: int) -> Iterator[Ints]:
    """Assignments (C,) to try: neighbouring fingers exchanged, wholly or outer markers; digits shifted, or open."""
    thumb, *chains = [_chain(shape, digit) for digit in range(len(DIGITS))]
    palm = np.flatnonzero(shape.digits == PALM).tolist()
    for one, other in pairwise(chains):
        for count in range(min(len(one), len(other)), 0, -1):
            exchanged = labels.copy()
            exchanged[one[-count:]], exchanged[other[-count:]] = labels[other[-count:]], labels[one[-count:]]
            yield exchanged
    for chain in (thumb, *chains):
        for place, shift in ((-1, 1), (0, -1)):
            if len(chain) > 1 and labels[chain[place]] == none:
                shifted = labels.copy()
                shifted[chain] = np.roll(labels[chain], shift)
                yield shifted
    outer = [chain[1:] for chain in chains]
    for left_open in (*pairwise(outer), outer, [thumb, palm], [thumb], [thumb, palm, chains[-1]]):
        emptied = labels.copy()
        emptied[[m for chain in left_open for m in chain]] = none
        if np.count_nonzero(emptied < none) >= MIN_MARKERS:
            yield emptied
