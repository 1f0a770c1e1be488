"""Local search for the assignment with which an articulated hand fits a take best."""

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
"""Maximum number of improvements of a fit."""
MAX_TRIALS, MIN_TRIALS = 48, 16
"""Maximum number of trials in the search for a hand, and the number that each fit may have even beyond it, since
confidences come from alternatives that were tried. Real takes need 16 to 32 trials, rarely 60."""
MIRRORED_FINGERS = (1, 2, 3)
"""Indices in DIGITS of the fingers whose markers a mirrored hand exchanges: index and ring; the middle one stays."""
MAX_EXCESS_COST = 12.0
"""Cost above the best fit's at which a trial is abandoned."""
MIN_MARKERS = 4
"""Minimum number of assigned markers at the start of a fit."""
MIN_DECREASE = 0.05
"""Minimum decrease of the cost that counts as an improvement."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchedFit:
    """The best fit of a search, and its margin over the alternatives for each marker."""

    fit: ModelFit
    margins: Floats
    """(C,) increase in cost to the best alternative that has another marker at the spot."""
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
        max_trials: maximum number of alternatives to fit.
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


def exchange_mirrored_fingers(shape: ShapeParameters, labels: Ints, none: int) -> Ints:
    """Return labels (C,) for a hand of the other side: the markers of the index and ring finger are exchanged.

    The middle finger keeps its markers, and all other spots get `none`. So do fingertips if MIN_MARKERS others remain:
    the markers of a nearly flat hand resemble those of the mirrored one, except for the tips of bent fingers.
    """
    first, middle, last = MIRRORED_FINGERS
    result, tips = np.full(len(labels), none), []
    for finger, counterpart in ((first, last), (middle, middle), (last, first)):
        target, source = _chain(shape, finger), _chain(shape, counterpart)
        shared = min(len(target), len(source))
        result[target[len(target) - shared :]] = labels[source[len(source) - shared :]]
        tips += target[-1:]
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
    """Yield assignments (C,) to try, with `none` for spots that the fit is to fill.

    They exchange all or the distal markers of neighbouring fingers, shift a digit's markers along it, or clear digits
    except for the knuckles of fingers.
    """
    thumb, *chains = [_chain(shape, digit) for digit in range(len(DIGITS))]
    palm = np.flatnonzero(shape.digits == PALM).tolist()
    for a, b in pairwise(chains):
        for count in range(min(len(a), len(b)), 0, -1):
            exchanged = labels.copy()
            exchanged[a[-count:]], exchanged[b[-count:]] = labels[b[-count:]], labels[a[-count:]]
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
