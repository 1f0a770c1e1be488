"""Search for the assignment with which an articulated hand fits a take best, and for what could be instead of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..calibration.skin_markers.chain import ShapeParameters
from ..joints import DIGITS
from .model_fit import ModelFit, fit_model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_ROUNDS = 6
"""How often an exchange of fingers may improve the fit."""
MIN_GAIN = 0.05
"""Decrease of the cost that counts as an improvement."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchedFit:
    """The best fit, and by how much each of its markers would cost more elsewhere."""

    fit: ModelFit
    margins: Floats
    """(C,) increase of the cost in the best fit that was tried with another marker at the spot."""


def improve_fit(shape: ShapeParameters, positions: Floats, start: ModelFit) -> SearchedFit:
    """Exchange fingers, from their knuckles or from a joint on, as long as the hand fits better.

    Args:
        shape: the right hand that is expected, with its C markers.
        positions: (F, T, 3) m, NaN where not seen.
        start: the fit to begin with.
    """
    best, tried = start, {start.labels.tobytes(): start}
    for _ in range(MAX_ROUNDS):
        improved = False
        for labels in _exchanges(shape, best.labels, positions.shape[1]):
            if labels.tobytes() in tried:
                continue
            fit = fit_model(shape, start.side, positions, labels)
            tried[labels.tobytes()] = tried[fit.labels.tobytes()] = fit
            if fit.cost < best.cost - MIN_GAIN:
                best, improved = fit, True
                break
        if not improved:
            break
    return SearchedFit(best, _margins(best, tried.values()))


def _margins(best: ModelFit, others: Iterable[ModelFit]) -> Floats:
    """Increase of cost (C,) in the best of the other fits that has another marker at the spot."""
    margins = np.full(len(best.labels), np.inf)
    for fit in others:
        margins = np.where(fit.labels != best.labels, np.minimum(margins, fit.cost - best.cost), margins)
    return margins


def _exchanges(shape: ShapeParameters, labels: Ints, none: int) -> Iterator[Ints]:
    """Assignments (C,) with two neighbouring fingers exchanged, wholly or their outer markers, or left open."""
    chains = [
        sorted(np.flatnonzero(shape.digits == digit), key=lambda m: (shape.bones[m], shape.offsets[m, 1]))
        for digit in range(1, len(DIGITS))
    ]
    for one, other in pairwise(chains):
        for count in range(min(len(one), len(other)), 0, -1):
            exchanged = labels.copy()
            exchanged[one[-count:]], exchanged[other[-count:]] = labels[other[-count:]], labels[one[-count:]]
            yield exchanged
    for left_open in (*pairwise(chains), chains):
        emptied = labels.copy()
        for chain in left_open:
            emptied[chain[1:]] = none
        if np.count_nonzero(emptied < none) >= 4:
            yield emptied
