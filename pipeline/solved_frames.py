"""What the evidence of a solved hand is computed from, with what corrections have settled of it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .corrections.correction import Correction, HiddenMarkers, SwappedLabels
from .corrections.resolving import labels_changed
from .evidence.marker_history import MarkerHistory
from .evidence.measuring import SolvedFrames
from .take import SolvedHand

Bools = NDArray[np.bool_]


def solved_frames(
    solved: SolvedHand,
    history: MarkerHistory,
    corrections: Sequence[Correction],
    measured_labels: frozenset[str] | None,
    *,
    seen: Bools,
) -> SolvedFrames:
    """Return what the evidence of a hand is computed from; measured_labels: see PieceContext.

    Where a person hides a marker or swaps labels, what cleaning and labelling found of them is settled.

    seen: (F, T) where the markers were seen without corrections: hiding one that was not changes nothing.
    """
    corrected, doubt = history.at(solved.targets.times, solved.labels)
    hidden = labels_changed(HiddenMarkers, corrections, solved)
    settled = hidden | labels_changed(SwappedLabels, corrections, solved)
    ever_measured = None
    if measured_labels is not None:
        known = np.array([label in measured_labels for label in solved.labels], dtype=bool)
        ever_measured = known | solved.measured.any(axis=0)
    return SolvedFrames(
        solved.targets,
        solved.pose,
        solved.keyed,
        solved.measured,
        solved.predicted,
        corrected & ~settled,
        np.where(settled, 0.0, doubt),
        solved.flesh,
        ever_measured,
        solved.depths,
        hidden & seen,
    )
