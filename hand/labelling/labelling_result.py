"""Result of labelling a capture: hands, and which column contains which of their markers in which frames."""

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
"""Name of the layout of a performer's own markers."""


@dataclass(frozen=True, slots=True)
class LabelledSpan:
    """A range of frames in which a column contains one marker of the hand."""

    column: int
    spot: str
    first: int
    last: int
    confidence: float
    """0..1, the probability that it is right."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledHand:
    """A hand of C spots in a capture of F frames."""

    side: Side
    side_confidence: float
    """0..1, confidence of the side."""
    layout: MarkerLayout
    columns: Ints
    """(F, C) the column of each spot, −1 where none has it."""
    confidence: Floats
    """(C,) 0..1, mean over the frames in which the spot is seen; 0 for a spot that never is."""
    spans: tuple[LabelledSpan, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Labelling:
    """The hands and trajectories in a capture."""

    hands: tuple[LabelledHand, ...]
    tracks: Trajectories
    notes: tuple[str, ...]
    """Sentences about what could not be decided."""


def spot_columns(tracks: Trajectories, growth: TrackLabels, spots: int) -> Ints:
    """Column (F, C) of each spot, −1 where none has it."""
    columns = np.full((len(tracks.ids), spots), -1)
    row, column = np.nonzero(tracks.ids >= 0)
    spot = growth.spot[tracks.ids[row, column]]
    columns[row[spot >= 0], spot[spot >= 0]] = column[spot >= 0]
    return columns


def labelled_hand(
    tracks: Trajectories, layout: MarkerLayout, side: Side, sure: float, growth: TrackLabels
) -> LabelledHand:
    """Build the result for a hand from what is known of each trajectory, and the confidence of its side."""
    names = tuple(layout.spots)
    pieces: list[LabelledSpan] = []
    rows_of = tracks.frames_and_columns()
    shown = np.isin(np.arange(len(names)), growth.spot)
    known = layout.name == PERFORMER_LAYOUT
    factors = sure * (np.ones(len(names)) if known else lone_tip_factors(tuple(layout.spots.values()), shown))
    total, weight = np.zeros(len(names)), np.zeros(len(names))
    for track in np.flatnonzero(growth.spot >= 0):
        spot = int(growth.spot[track])
        confidence = float(factors[spot] * growth.confidence[track])
        total[spot] += confidence * tracks.count[track]
        weight[spot] += tracks.count[track]
        rows, column = rows_of[track]
        cuts = np.flatnonzero(np.diff(column)) + 1
        for begin, end in zip(np.r_[0, cuts], np.r_[cuts, len(rows)], strict=True):
            where = (int(column[begin]), names[spot], int(rows[begin]), int(rows[end - 1]))
            pieces.append(LabelledSpan(*where, round(confidence, 3)))
    pieces.sort(key=lambda piece: (names.index(piece.spot), piece.first))
    confidence_of = total / np.maximum(weight, 1)
    return LabelledHand(side, sure, layout, spot_columns(tracks, growth, len(names)), confidence_of, tuple(pieces))
