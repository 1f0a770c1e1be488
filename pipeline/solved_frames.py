"""The inputs of the evidence of a solved hand, in which markers changed by corrections count as resolved."""

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
    """Return the inputs of a hand's evidence.

    Where a correction hides a marker or swaps its label, problems of cleaning and labelling with it are resolved.
    measured_labels: see PieceContext. seen: (F, T) True where a marker was seen before corrections; hiding one that was
    not seen changes nothing.
    """
    corrected, doubt = history.at(solved.targets.times, solved.labels)
    hidden = labels_changed(HiddenMarkers, corrections, solved)
    resolved = hidden | labels_changed(SwappedLabels, corrections, solved)
    ever_measured = None
    if measured_labels is not None:
        is_in_take = np.array([label in measured_labels for label in solved.labels], dtype=bool)
        ever_measured = is_in_take | solved.measured.any(axis=0)
    return SolvedFrames(
        solved.targets,
        solved.pose,
        solved.keyed,
        solved.measured,
        solved.predicted,
        corrected & ~resolved,
        np.where(resolved, 0.0, doubt),
        solved.flesh,
        ever_measured,
        solved.depths,
        hidden & seen,
    )
