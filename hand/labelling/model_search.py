"""Search for the assignment with which an articulated hand fits a take best, and for its closest alternatives."""

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
"""Maximum improvements of a fit."""
MAX_TRIALS, MIN_TRIALS = 48, 16
"""Trials in the search for a hand after which its fits are not improved further, and trials that each fit may have
in any case, since confidences come from alternatives that were tried. Real takes need 16 to 32 trials, rarely 60."""
MIRRORED_FINGERS = (1, 2, 3)
"""Indices in DIGITS of the index, middle and ring finger, which trade places in a mirrored hand."""
MAX_EXCESS_COST = 12.0
"""Cost above the best fit's at which a trial is abandoned."""
MIN_MARKERS = 4
"""Minimum markers at the start of a fit."""
MIN_DECREASE = 0.05
"""Minimum decrease of the cost that counts as an improvement."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchedFit:
    """The best fit of a search, and how clearly it is the best for each marker."""

    fit: ModelFit
    margins: Floats
    """(C,) increase of the cost to the best alternative with another marker at the spot."""
    trials: int
    """Number of alternatives that were fitted."""


def improve_fit(
    shape: ShapeParameters, positions: Floats, start: ModelFit, max_trials: int = MAX_TRIALS
) -> SearchedFit:
    """Improve a fit by local search over assignments: see _alternatives.

    Args:
        shape: the expected hand, as a right hand, with its C markers.
        positions: (F, T, 3) m, NaN where not seen.
        start: the fit to improve.
        max_trials: maximum fits of alternatives.
    """
    best, tried, trials = start, {start.labels.tobytes(): start}, 0
    for _ in range(MAX_ROUNDS):
        improved = False
        for labels in _alternatives(shape, best.labels, positions.shape[1]):
            if labels.tobytes() in tried:
                continue
            if trials == max_trials:
                break
            trials += 1
            fit = fit_model(shape, start.side, positions, labels, limit=best.cost + MAX_EXCESS_COST, known=tried)
            fit = tried.setdefault(fit.labels.tobytes(), fit)
            tried[labels.tobytes()] = fit
            if fit.cost < best.cost - MIN_DECREASE:
                best, improved = fit, True
                break
        if not improved:
            break
    return SearchedFit(best, _margins(best, tried.values()), trials)


def reflected(shape: ShapeParameters, labels: Ints, none: int) -> Ints:
    """Return labels (C,) for a hand of the other side: those of index and ring finger are exchanged.

    The middle finger keeps its labels. All others get `none`, and so do fingertips if MIN_MARKERS remain: the markers
    of a nearly flat hand resemble those of the other hand in this order, except for the tips of bent fingers.
    """
    first, middle, last = MIRRORED_FINGERS
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
    """Return the markers of a digit, from the knuckle to the tip."""
    return sorted(np.flatnonzero(shape.digits == digit).tolist(), key=lambda m: (shape.bones[m], shape.offsets[m, 1]))


def _margins(best: ModelFit, others: Iterable[ModelFit]) -> Floats:
    """Return SearchedFit.margins of the best fit."""
    margins = np.full(len(best.labels), np.inf)
    for fit in others:
        margins = np.where(fit.labels != best.labels, np.minimum(margins, fit.cost - best.cost), margins)
    return margins


def _alternatives(shape: ShapeParameters, labels: Ints, none: int) -> Iterator[Ints]:
    """Yield assignments (C,) to try, with `none` for spots that the fit shall fill.

    Neighbouring fingers are exchanged, all markers or the distal ones; a digit's markers are shifted along it; digits
    are cleared, except for the knuckles of fingers.
    """
    thumb, *chains = [_chain(shape, digit) for digit in range(len(DIGITS))]
    palm = np.flatnonzero(shape.digits == PALM).tolist()
    for one, other in pairwise(chains):
        for count in range(min(len(one), len(other)), 0, -1):
            exchanged = labels.copy()
            exchanged[one[-count:]], exchanged[other[-count:]] = labels[other[-count:]], labels[one[-count:]]
            yield exchanged
    for chain in (thumb, *chains):
        for end, shift in ((-1, 1), (0, -1)):
            if len(chain) > 1 and labels[chain[end]] == none:
                shifted = labels.copy()
                shifted[chain] = np.roll(labels[chain], shift)
                yield shifted
    distal = [chain[1:] for chain in chains]
    for to_clear in (*pairwise(distal), distal, [thumb, palm], [thumb], [thumb, palm, chains[-1]]):
        cleared = labels.copy()
        cleared[[marker for chain in to_clear for marker in chain]] = none
        if np.count_nonzero(cleared < none) >= MIN_MARKERS:
            yield cleared
