"""Clean the markers of a capture whose hands are known."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..capture.cleaning import clean, remove_spikes, runs
from ..capture.fragments import MAX_FRAGMENT_FRAMES, Body, drop_fragments
from ..capture.markers import Markers
from ..hand.generators import Steps
from ..hand.marker_sets import on_palm
from .assignment import Assignment
from .recipe import Recipe

Bools = NDArray[np.bool_]

MAX_NAMED_LABELS = 5
"""Maximum labels that a warning names."""


@dataclass(frozen=True, slots=True, eq=False)
class CleanedMarkers:
    """F frames of M markers after cleaning."""

    markers: Markers
    dropped: Bools
    """(F, M) positions of fragments that were dropped."""
    spikes: Bools
    """(F, M) positions that were removed as spikes."""

    def fragments(self, rows: slice = slice(None)) -> dict[str, int]:
        """Return label -> number of dropped fragments that begin in the given frames."""
        columns, starts, _ = runs(self.dropped)
        inside = np.isin(starts, np.arange(len(self.dropped))[rows])
        counts = np.bincount(columns[inside], minlength=len(self.markers.names))
        return {label: count for label, count in zip(self.markers.names, counts.tolist(), strict=True) if count}


def clean_markers(recipe: Recipe, raw: Markers, assigned: Assignment) -> Steps[CleanedMarkers]:
    """Clean all markers; if the recipe says so, first drop fragments of the hands' markers and spikes of all."""
    kept_markers = raw
    if recipe.cleaning.fragments:
        bodies = [
            Body(
                np.array([raw.names.index(label) for label in spots]),
                np.flatnonzero([on_palm(spot) for spot in spots.values()]),
            )
            for spots in assigned.hands.values()
        ]
        kept_markers, _ = yield from drop_fragments(raw, bodies)
    despiked = remove_spikes(kept_markers) if recipe.cleaning.spikes else kept_markers
    masks = raw.seen & ~kept_markers.seen, kept_markers.seen & ~despiked.seen
    cleaned = CleanedMarkers(clean(despiked, replace(recipe.cleaning, spikes=False)), *masks)
    warnings = cleaning_warnings(cleaned.fragments(), int(cleaned.spikes.sum()))
    return replace(cleaned, markers=replace(cleaned.markers, warnings=(*raw.warnings, *warnings)))


def cleaning_warnings(fragments: dict[str, int], spikes: int) -> list[str]:
    """Return a sentence about dropped fragments, by label, and one about spikes, if there are any."""
    what = "1 position was" if spikes == 1 else f"{spikes} positions were"
    removed = f"{what} removed as spikes, which left their marker's path for a frame or two"
    return [*_warnings(fragments), *([removed] if spikes else [])]


def _warnings(fragments: dict[str, int]) -> list[str]:
    """Return a sentence about dropped fragments, if any, with the most affected labels first."""
    if not fragments:
        return []
    labels = sorted(fragments, key=lambda label: -fragments[label])
    more = len(labels) - MAX_NAMED_LABELS
    named = ", ".join(f"{label} {fragments[label]}" for label in labels[:MAX_NAMED_LABELS])
    count = sum(fragments.values())
    what = "1 fragment was" if count == 1 else f"{count} fragments were"
    return [
        f"{what} dropped, up to {MAX_FRAGMENT_FRAMES} frames between gaps that did not fit their marker's path: {named}"
        + (f" and {more} more labels" if more > 0 else "")
    ]
