"""What can be known of three markers on a palm, or of fingertips alone: never a pose, often which is which."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..joints import DIGITS, TIPS, digit_words
from ..marker_sets import Spot
from .hungarian import Costs
from .palm_candidates import TrajectorySample, pair_costs
from .shape_model import PALM_ONLY, distances, mean_distances, mean_shape

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FRAMES = 100
FARTHEST = 0.3
"""m between two markers of one hand, at most."""
STEADY = 0.004
"""m by which distances on a palm stray at most."""
CLEAR = 1.25
"""By how much every other reading must cost more for a marker to be told: at 0.7 one in fourteen was wrong."""
SURER = np.log(13.0) / 0.7
"""By how much a unit of cost raises the logit of a marker's confidence: at 0.7 thirteen in fourteen were right."""
CLEAR_WRIST = 0.5
"""The same for the wrist's marker of a palm, by its distances."""
STRAY = 0.008
"""m by which a person's tips stand aside of the mean hand's, and their markers of the tips."""
OWN_SIZE = 0.1
"""How much larger or smaller a person's hand is than the mean adult's."""
LIKELY = 4.0
"""Of squared deviations, for each distance: with more, no order of the tips is a hand's."""
SETS: dict[int, tuple[tuple[str, ...], ...]] = {5: (TIPS,), 3: ((*TIPS[:2], TIPS[4]), TIPS[:3])}
"""The tips that sets of so many markers show: of three, the thumb's, the index finger's and one more."""
NEEDED = "add three markers that keep their distances: at the wrist and two knuckles, or on the back of the hand"


@dataclass(frozen=True, slots=True)
class FewMarkers:
    """What is known of a few markers that stand together like a hand's."""

    sentence: str
    tips: dict[str, tuple[str, float]]
    """label -> the tip's joint and its confidence, of those that are clear."""


def told_of_few(positions: Floats, labels: tuple[str, ...]) -> tuple[str, ...]:
    """A sentence about each three or five of the markers (F, M, 3) m that stand together like a hand's."""
    return tuple(few.sentence for few in few_of(positions, labels))


def few_of(positions: Floats, labels: tuple[str, ...]) -> tuple[FewMarkers, ...]:
    """Each three or five of the markers (F, M, 3) m that stand together like a hand's."""
    found = [_told(positions[:, group], [labels[i] for i in group]) for group in _groups(positions)]
    return tuple(few for few in found if few is not None)


def _groups(positions: Floats) -> list[Ints]:
    """Markers that are no farther from each other than those of a hand, and from all others farther."""
    apart = TrajectorySample.of(_some(positions)).apart if positions.size else np.zeros((0, 0))
    near = np.nan_to_num(apart, nan=np.inf) < FARTHEST
    rows = {tuple(np.flatnonzero(row).tolist()) for row in near}
    return [np.array(group) for group in sorted(rows) if group and np.all(near[np.ix_(group, group)])]


def _some(positions: Floats) -> Floats:
    """Frames (N, M, 3) evenly through those that show most of the markers."""
    seen = np.all(np.isfinite(positions), axis=-1).sum(axis=1)
    rows = np.flatnonzero(seen == seen.max(initial=0))
    some: Floats = positions[rows[np.unique(np.linspace(0, len(rows) - 1, FRAMES).astype(int))]]
    return some


def _told(positions: Floats, labels: list[str]) -> FewMarkers | None:
    places = _some(positions)
    if len(labels) not in SETS or not np.all(np.isfinite(places)):
        return None
    sample = TrajectorySample.of(places)
    steady = bool(np.sqrt(sample.sway.max()) < STEADY)
    if steady and len(labels) == 3:
        wrist = _wrist(sample)
        which = f"the wrist's is '{labels[wrist]}', " if wrist is not None else ""
        return FewMarkers(
            f"three markers keep their distances, as on a palm: {which}but a palm alone looks alike from both sides, "
            "so neither left or right nor which knuckle is the index finger's can be told, and no finger can be "
            "solved: add markers on the fingertips",
            {},
        )
    tips = None if steady else _clear_tips(places)
    if tips is None:
        return None
    named = [f"'{labels[marker]}' is the {_digit(tip)}'s" for marker, (tip, _) in tips.items()]
    which = ", ".join(named) if named else "which is which cannot be told"
    return FewMarkers(
        f"{'three' if len(labels) == 3 else 'five'} markers move like fingertips ({which}): without a palm neither "
        f"left or right nor how the fingers bend can be told, {NEEDED}",
        {labels[marker]: told for marker, told in tips.items()},
    )


def _digit(tip: str) -> str:
    return digit_words(DIGITS[TIPS.index(tip)])


def tips_told(places: Floats) -> dict[int, str] | None:
    """Which of three or five markers (N, M, 3) m is which tip, of those that are clear; None where none is a hand's."""
    clear = _clear_tips(places)
    return None if clear is None else {marker: tip for marker, (tip, _) in clear.items()}


def _clear_tips(places: Floats) -> dict[int, tuple[str, float]] | None:
    """The same, each with its confidence.

    Each reading costs what the distances of the tips, all together in a frame, stray from a mean hand's, measured by
    how they stray over its poses. A marker is told where all readings that cost hardly more agree.
    """
    readings = [reading for tips in SETS[places.shape[1]] for reading in _readings(places, tips)]
    least = min(cost for cost, _, _ in readings)
    if min(off for _, off, _ in readings) > LIKELY:
        return None
    best = next(tips for cost, _, tips in readings if cost == least)
    clear = {}
    for marker, tip in enumerate(best):
        more = min(cost for cost, _, tips in readings if tips[marker] != tip) - least
        if more > CLEAR:
            clear[marker] = tip, float(1.0 / (1.0 + np.exp(-SURER * more)))
    return clear


def _readings(places: Floats, tips: tuple[str, ...]) -> list[tuple[float, float, tuple[str, ...]]]:
    """Of each order of the tips what it costs, the squared deviation of a distance, and each marker's tip."""
    middle, inverse, size = _expected(tips)
    found = []
    for order in permutations(range(len(tips))):
        off = distances(places[:, list(order)]) - middle
        deviation = float(np.einsum("nd,de,ne->", off, inverse, off)) / len(places)
        of_marker = tuple(tips[order.index(marker)] for marker in range(len(tips)))
        found.append(((deviation + size) / 2, deviation / len(middle), of_marker))
    return found


@lru_cache(maxsize=8)
def _expected(tips: tuple[str, ...]) -> tuple[Floats, Floats, float]:
    """Mean (P,) m and inverse covariance (P, P) of the distances of tips, and the log determinant of the latter's
    inverse: over poses, and over people by their size and by each tip."""
    middle, spread = mean_distances(tuple(Spot(tip) for tip in tips))
    spread += OWN_SIZE**2 * np.outer(middle, middle) + STRAY**2 * np.eye(len(middle))
    inverse: Any = np.linalg.inv(spread)
    return middle, inverse, float(np.linalg.slogdet(spread)[1])


def _wrist(sample: TrajectorySample) -> int | None:
    """The marker at the wrist of a palm's three, where every order that has another there costs clearly more."""
    spots = PALM_ONLY.spots
    costs = Costs(np.zeros((3, 4)), pair_costs(mean_shape("right", tuple(spots.values())), sample, 1.0))
    at = list(spots).index("wrist")
    least = np.full(3, np.inf)
    for order in permutations(range(3)):
        least[order[at]] = min(least[order[at]], costs.of(np.array(order)))
    best, rival = np.sort(least)[:2]
    return int(least.argmin()) if rival - best > CLEAR_WRIST else None
