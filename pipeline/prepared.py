"""Facts about all frames of a take: which markers belong to which hand, and the performer who wears them.

A long take is measured on evenly spread ranges of frames, which bounds the time, and gives the same result whether it
is solved in pieces or as a whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..capture.markers import Markers
from ..hand.generators import Progress, Steps, part_of
from ..hand.joints import Side
from ..hand.targets import assign
from ..solvers.smoothing.observability import visible_digits
from .assignment import Assignment, assign_hands, measure_performer, positions_of
from .marker_cleaning import CleanedMarkers, clean_markers
from .performer import Performer
from .recipe import Recipe

Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

MAX_MEASURED = 20_000
"""Maximum frames of a take that is measured on all of its frames."""
SAMPLED_RANGES, RANGE_FRAMES = 40, 250
"""Number of ranges on which a longer take is measured, and the frames of each."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Facts about all frames of a take."""

    assigned: Assignment
    """Assignment of the hands that can be solved."""
    performer: Performer
    seen_digits: Mapping[Side, Bools]
    """(G,) of each hand, whether a digit is ever seen."""
    measured_labels: frozenset[str]
    """Labels of markers that are measured in at least one frame."""


def measured_frames(frames: int) -> Ints:
    """Return the frames (N,) of a take on which its performer is measured."""
    if frames <= MAX_MEASURED:
        return np.arange(frames)
    starts = np.linspace(0, frames - RANGE_FRAMES, SAMPLED_RANGES).astype(int)
    return (starts[:, None] + np.arange(RANGE_FRAMES)).reshape(-1)


def solvable_hands(recipe: Recipe, raw: Markers) -> Steps[tuple[Performer, Assignment]]:
    """Return the performer of labelled markers and the hands that a solve of them would solve, with its warnings.

    Markers on the skin are not fitted. Raises MarkerMapError or HandError if there is no such hand.
    """
    frames = raw.select(measured_frames(len(raw.times)))
    _, performer, assigned = yield from _measured(recipe, frames, fit_skin=False)
    return performer, assigned


def _measured(recipe: Recipe, raw: Markers, *, fit_skin: bool) -> Steps[tuple[CleanedMarkers, Performer, Assignment]]:
    """Clean and measure the hands of labelled markers. Raises MarkerMapError or HandError if there is none."""
    assigned = assign_hands(recipe, raw)
    cleaned: CleanedMarkers = yield from part_of(0.0, 0.2, "Cleaning", clean_markers(recipe, raw, assigned))
    yield Progress(0.2, "Measuring the performer")
    performer, assigned = measure_performer(recipe, cleaned.markers, assigned, fit_skin=fit_skin)
    return cleaned, performer, assigned


def prepare(recipe: Recipe, raw: Markers) -> Steps[Prepared]:
    """Find and measure the hands of labelled markers, which are all frames of a take or samples of them.

    Raises MarkerMapError or HandError if there is none.
    """
    cleaned, performer, assigned = yield from _measured(recipe, raw, fit_skin=True)
    seen = {}
    for side, worn in performer.hands.items():
        positions = positions_of(cleaned.markers, worn.spots)
        hand, targets = assign(worn.model, worn.spots, cleaned.markers.times, positions)
        seen[side] = np.any(visible_digits(hand, targets), axis=0)
    measured = np.flatnonzero((cleaned.markers.seen & ~cleaned.markers.predicted).any(axis=0))
    labels = frozenset(raw.names[column] for column in measured)
    return Prepared(assigned, performer, seen, labels)
