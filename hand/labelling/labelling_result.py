"""Result of labelling a capture: the hands, and the column that contains each of their markers in each frame."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..joints import Side
from .label_confidence import lone_tip_factors
from .region_growing import TrackLabels
from .shape_model import MarkerLayout
from .trajectories import Trajectories

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PERFORMER_LAYOUT = "the performer's"
"""Name of the layout that consists of all markers with which a performer was measured."""


@dataclass(frozen=True, slots=True)
class LabelledSpan:
    """A range of frames in which a column contains one marker of the hand."""

    column: int
    spot: str
    first: int
    last: int
    confidence: float
    """0..1, the probability that the label is right."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledHand:
    """A hand of C spots in a capture of F frames."""

    side: Side
    side_confidence: float
    """0..1, confidence of the side."""
    layout: MarkerLayout
    columns: Ints
    """(F, C) the column of each spot, −1 where no column contains its marker."""
    confidence: Floats
    """(C,) 0..1, mean over the frames in which the spot's marker is seen; 0 if it is never seen."""
    spans: tuple[LabelledSpan, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Labelling:
    """The hands and trajectories in a capture."""

    hands: tuple[LabelledHand, ...]
    tracks: Trajectories
    notes: tuple[str, ...]
    """Sentences about what could not be decided."""


def spot_columns(tracks: Trajectories, labels: TrackLabels, spots: int) -> Ints:
    """Return the column (F, C) of each spot, −1 where no column contains its marker."""
    columns = np.full((len(tracks.ids), spots), -1)
    row, column = np.nonzero(tracks.ids >= 0)
    spot = labels.spot[tracks.ids[row, column]]
    columns[row[spot >= 0], spot[spot >= 0]] = column[spot >= 0]
    return columns


def build_labelled_hand(
    tracks: Trajectories, layout: MarkerLayout, side: Side, side_confidence: float, labels: TrackLabels
) -> LabelledHand:
    """Build the result for a hand from the labels of trajectories and the confidence of its side."""
    names = tuple(layout.spots)
    spans: list[LabelledSpan] = []
    rows_of = tracks.frames_and_columns()
    visible = np.isin(np.arange(len(names)), labels.spot)
    is_performer = layout.name == PERFORMER_LAYOUT
    factors = side_confidence * (
        np.ones(len(names)) if is_performer else lone_tip_factors(tuple(layout.spots.values()), visible)
    )
    confidence_sum, frame_count = np.zeros(len(names)), np.zeros(len(names))
    for track in np.flatnonzero(labels.spot >= 0):
        spot = int(labels.spot[track])
        confidence = float(factors[spot] * labels.confidence[track])
        confidence_sum[spot] += confidence * tracks.count[track]
        frame_count[spot] += tracks.count[track]
        rows, column = rows_of[track]
        cuts = np.flatnonzero(np.diff(column)) + 1
        for start, end in zip(np.r_[0, cuts], np.r_[cuts, len(rows)], strict=True):
            first, last = int(rows[start]), int(rows[end - 1])
            spans.append(LabelledSpan(int(column[start]), names[spot], first, last, confidence))
    spans.sort(key=lambda span: (names.index(span.spot), span.first))
    confidence_of = confidence_sum / np.maximum(frame_count, 1)
    return LabelledHand(
        side, side_confidence, layout, spot_columns(tracks, labels, len(names)), confidence_of, tuple(spans)
    )
