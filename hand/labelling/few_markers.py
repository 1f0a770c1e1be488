"""Identify groups of three or five markers, too few for a pose: a palm alone, or fingertips alone."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..joints import DIGITS, TIPS, digit_label
from ..marker_sets import Spot
from .hungarian import AssignmentCosts
from .palm_candidates import TrajectorySample, pair_costs
from .shape_model import PALM_ONLY, distance_statistics, mean_shape, mutual_distances
from .trajectories import select_evenly

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_FRAMES = 100
"""Maximum number of frames that are used, evenly spaced."""
MAX_HAND_SPAN_M = 0.3
"""m, the largest distance between two markers of one hand."""
MAX_PALM_SD_M = 0.004
"""m, the largest standard deviation of a distance between palm markers."""
MIN_TIP_MARGIN = 1.25
"""Margin in cost by which every assignment with another tip must be worse for a marker to be identified."""
CONFIDENCE_SLOPE = np.log(13.0) / 0.7
"""Increase of the logit of a marker's confidence per unit of margin: at 0.7, 13 of 14 markers were right."""
MIN_WRIST_MARGIN = 0.5
"""Minimum margin in cost for a palm's wrist marker to be identified by its distances."""
TIP_SD_M = 0.008
"""m, standard deviation of a person's fingertips about the mean hand's, and of markers about the tips."""
HAND_SIZE_SD = 0.1
"""Relative standard deviation of hand size."""
MAX_TIP_DEVIATION = 4.0
"""Mean squared deviation per distance above which no assignment of the tips is plausible."""
TIP_SETS: dict[int, tuple[tuple[str, ...], ...]] = {5: (TIPS,), 3: ((*TIPS[:2], TIPS[4]), TIPS[:3])}
"""Number of markers -> the tips that they may show; three are the thumb's, the index finger's and one more."""
MAX_MARKERS = 300
"""Maximum number of markers of a capture in which small groups are sought, above that of full-body sets."""
MISSING_MARKERS = (
    "add three markers that keep their distances: at the wrist and two knuckles, or on the back of the hand"
)


@dataclass(frozen=True, slots=True)
class FewMarkers:
    """A group of few markers, as close to each other as those of a hand."""

    sentence: str
    """A description of the group, for the user."""
    tips: dict[str, tuple[str, float]]
    """Label -> the tip's joint and its confidence, for markers that are identified."""


def describe_few_markers(positions: Floats, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Describe, in a sentence, each group of three or five markers that look like those of a hand."""
    return tuple(group.sentence for group in find_few_markers(positions, labels))


def find_few_markers(positions: Floats, labels: tuple[str, ...]) -> tuple[FewMarkers, ...]:
    """Find groups of three or five markers that look like those of a hand.

    Args:
        positions: (F, M, 3) m, NaN where not seen.
        labels: (M,).
    """
    groups = [_identify(positions[:, group], [labels[i] for i in group]) for group in _close_groups(positions)]
    return tuple(markers for markers in groups if markers is not None)


def _close_groups(positions: Floats) -> list[Ints]:
    """Return groups of markers within a hand's span of each other and farther from all others.

    Empty if the capture has more than MAX_MARKERS.
    """
    if positions.shape[1] > MAX_MARKERS:
        return []
    distances = TrajectorySample.of(_sample_frames(positions)).mean_distances if positions.size else np.zeros((0, 0))
    is_close = np.nan_to_num(distances, nan=np.inf) < MAX_HAND_SPAN_M
    rows = {tuple(np.flatnonzero(row).tolist()) for row in is_close}
    return [np.array(group) for group in sorted(rows) if group and np.all(is_close[np.ix_(group, group)])]


def _sample_frames(positions: Floats) -> Floats:
    """Select frames (N, M, 3) evenly from those that show most of the markers."""
    visible_markers = np.all(np.isfinite(positions), axis=-1).sum(axis=1)
    rows = np.flatnonzero(visible_markers == visible_markers.max(initial=0))
    sampled: Floats = positions[select_evenly(rows, MAX_FRAMES)]
    return sampled


def _identify(positions: Floats, labels: list[str]) -> FewMarkers | None:
    """Identify the markers of a group as a palm's or as fingertips; None if they are neither."""
    sampled = _sample_frames(positions)
    if len(labels) not in TIP_SETS or not np.all(np.isfinite(sampled)):
        return None
    sample = TrajectorySample.of(sampled)
    is_rigid = bool(np.sqrt(sample.distance_variances.max()) < MAX_PALM_SD_M)
    if is_rigid and len(labels) == 3:
        wrist = _identify_wrist(sample)
        words = f"the wrist's is '{labels[wrist]}', " if wrist is not None else ""
        return FewMarkers(
            f"three markers keep their distances, as on a palm: {words}but a palm alone looks alike from both sides, "
            "so neither left or right nor which knuckle is the index finger's can be determined, and no finger can be "
            "solved: add markers on the fingertips",
            {},
        )
    tips = None if is_rigid else _tips_with_confidence(sampled)
    if tips is None:
        return None
    tip_words = [
        f"'{labels[marker]}' is the {digit_label(DIGITS[TIPS.index(tip)])}'s" for marker, (tip, _) in tips.items()
    ]
    words = ", ".join(tip_words) if tip_words else "which is which is unknown"
    return FewMarkers(
        f"{'three' if len(labels) == 3 else 'five'} markers move like fingertips ({words}): without a palm neither "
        f"left or right nor how the fingers bend can be determined, {MISSING_MARKERS}",
        {labels[marker]: tip_and_confidence for marker, tip_and_confidence in tips.items()},
    )


def identify_tips(positions: Floats) -> dict[int, str] | None:
    """Identify fingertips among three or five markers (N, M, 3) m: marker -> tip.

    Ambiguous markers are left out. None if the markers do not look like those of a hand.
    """
    identified = _tips_with_confidence(positions)
    return None if identified is None else {marker: tip for marker, (tip, _) in identified.items()}


def _tips_with_confidence(positions: Floats) -> dict[int, tuple[str, float]] | None:
    """Identify fingertips with their confidence, as `identify_tips`.

    The cost of an assignment is the Mahalanobis distance of the tips' mutual distances from a mean hand's over its
    poses. A marker is identified if all assignments of nearly the least cost agree on it.
    """
    assignments = [
        assignment for tips in TIP_SETS[positions.shape[1]] for assignment in _score_assignments(positions, tips)
    ]
    min_cost = min(cost for cost, _, _ in assignments)
    if min(deviation for _, deviation, _ in assignments) > MAX_TIP_DEVIATION:
        return None
    best = next(tips for cost, _, tips in assignments if cost == min_cost)
    identified = {}
    for marker, tip in enumerate(best):
        margin = min(cost for cost, _, tips in assignments if tips[marker] != tip) - min_cost
        if margin > MIN_TIP_MARGIN:
            identified[marker] = tip, float(1.0 / (1.0 + np.exp(-CONFIDENCE_SLOPE * margin)))
    return identified


def _score_assignments(positions: Floats, tips: tuple[str, ...]) -> list[tuple[float, float, tuple[str, ...]]]:
    """Return the cost, the mean squared deviation per distance and each marker's tip, for every assignment of tips."""
    mean, inverse_covariance, log_determinant = _distance_statistics(tips)
    assignments = []
    for order in permutations(range(len(tips))):
        difference = mutual_distances(positions[:, list(order)]) - mean
        deviation = float(np.einsum("nd,de,ne->", difference, inverse_covariance, difference)) / len(positions)
        of_marker = tuple(tips[order.index(marker)] for marker in range(len(tips)))
        assignments.append(((deviation + log_determinant) / 2, deviation / len(mean), of_marker))
    return assignments


@lru_cache(maxsize=8)
def _distance_statistics(tips: tuple[str, ...]) -> tuple[Floats, Floats, float]:
    """Return the mean (P,) m, the inverse covariance (P, P) and its log determinant of the distances between tips.

    The covariance is that over poses, plus the variation of hand size and of each tip between people.
    """
    mean, covariance = distance_statistics(tuple(Spot(tip) for tip in tips))
    covariance += HAND_SIZE_SD**2 * np.outer(mean, mean) + TIP_SD_M**2 * np.eye(len(mean))
    inverse_covariance: Any = np.linalg.inv(covariance)
    return mean, inverse_covariance, float(np.linalg.slogdet(covariance)[1])


def _identify_wrist(sample: TrajectorySample) -> int | None:
    """Return the wrist's marker among a palm's three; None if another could be it at nearly the same cost."""
    spots = PALM_ONLY.spots
    costs = AssignmentCosts(np.zeros((3, 4)), pair_costs(mean_shape("right", tuple(spots.values())), sample, 1.0))
    wrist_spot = list(spots).index("wrist")
    min_costs = np.full(3, np.inf)
    for order in permutations(range(3)):
        min_costs[order[wrist_spot]] = min(min_costs[order[wrist_spot]], costs.total(np.array(order)))
    best, rival = np.sort(min_costs)[:2]
    return int(min_costs.argmin()) if rival - best > MIN_WRIST_MARGIN else None
