"""Clean the markers of a capture whose hands are known."""

from dataclasses import dataclass, replace

import numpy as np

from ..capture.cleaning import clean
from ..capture.fragments import LONGEST, Body, drop_fragments
from ..capture.markers import Markers
from ..hand.generators import Steps
from ..hand.marker_sets import on_palm
from .assignment import Assignment
from .recipe import Recipe

MAX_NAMED_LABELS = 5
"""How many labels a warning names."""


@dataclass(frozen=True, slots=True, eq=False)
class CleanedMarkers:
    """Markers after cleaning."""

    markers: Markers
    fragments: dict[str, int]
    """Label -> how many of its fragments were dropped."""


def clean_markers(recipe: Recipe, raw: Markers, assigned: Assignment) -> Steps[CleanedMarkers]:
    """Drop fragments of the hands' markers, if the recipe says so, and clean all markers."""
    fragments: dict[str, int] = {}
    if recipe.cleaning.fragments:
        bodies = [
            Body(
                np.array([raw.names.index(label) for label in spots]),
                np.flatnonzero([on_palm(spot) for spot in spots.values()]),
            )
            for spots in assigned.hands.values()
        ]
        raw, fragments = yield from drop_fragments(raw, bodies)
        raw = replace(raw, warnings=(*raw.warnings, *_warnings(fragments)))
    return CleanedMarkers(clean(raw, recipe.cleaning), fragments)


def _warnings(fragments: dict[str, int]) -> list[str]:
    """A sentence about dropped fragments, if there are any; the labels with most of them first."""
    if not fragments:
        return []
    labels = sorted(fragments, key=lambda label: -fragments[label])
    more = len(labels) - MAX_NAMED_LABELS
    named = ", ".join(f"{label} {fragments[label]}" for label in labels[:MAX_NAMED_LABELS])
    count = sum(fragments.values())
    what = "1 fragment was" if count == 1 else f"{count} fragments were"
    return [
        f"{what} dropped, up to {LONGEST} frames between gaps that did not fit what was before and after: {named}"
        + (f" and {more} more labels" if more > 0 else "")
    ]
