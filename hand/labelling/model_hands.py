"""Find a hand by fitting articulated hands of both sides, and keep the side that fits better."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..calibration.skin_markers.chain import ShapeParameters
from ..generators import Progress, Steps
from ..joints import SIDES, Side
from ..mirror import other_side
from .hand_fits import MatchedHand, Samples, fitted_frames
from .label_confidence import SIDE_CURVE, articulated_marker_confidence, side_margin
from .model_fit import EMPTY_COST, ModelFit, fit_model, posterior_cost, shape_of_spots
from .model_search import MAX_TRIALS, MIN_MARKERS, MIN_TRIALS, SearchedFit, exchange_mirrored_fingers, improve_fit
from .palm_candidates import ShapeFit, TrajectorySample, fit_proposals, propose_palms
from .shape_model import MarkerLayout, mean_shape, mirror_shape

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_SEEDS = 2
"""Number of fits, the best ones, whose labels are also tried on a hand of the other side."""
MAX_RIVAL_EXCESS = 5.0
"""Maximum excess over the best fit's cost with which a fit of the other side is improved: the correct hand costs less
from the start."""
MAX_CHANGES = 2
"""Maximum number of changes between the sides during a search."""
HOPELESS_COST = 2.0
"""Cost for each spot above which the search is given up; with half of the labels right it is 1 to 1.5."""
MAX_MODEL_COST = 0.75
"""Maximum cost for each spot of an articulated hand: 0.2 to 0.7 with right labels, 0.8 or more with wrong ones."""
NEAR_HAND_M = 0.05
"""m from a hand's nearest marker within which a trajectory could be one of its markers."""
MIN_MODEL_FRACTION = 0.75
"""Minimum fraction of a layout's spots that must have a marker if a hand was found by the articulated hand alone."""


def find_by_model(samples: Samples, layout: MarkerLayout, sides: tuple[Side, ...] = SIDES) -> Steps[MatchedHand | None]:
    """Find a hand with a layout by fitting articulated hands; None if none fits, or only one of another side."""
    spots = tuple(layout.spots.values())
    shape, fits = shape_of_spots(spots), []
    for side in SIDES:
        yield Progress(0.0, f"Looking for a {side} hand with the set '{layout.name}'")
        proposals = [palm for _, sample in samples for palm in propose_palms(sample, mean_shape(side, spots))]
        for fit in fit_proposals(proposals):
            fits.append((fit, fit_model(shape, side, fitted_frames(fit.sample), fit.labels)))
            yield Progress(0.0, f"Fitting a {side} hand with the set '{layout.name}'")
    if not fits:
        return None
    start, best_model = min(fits, key=lambda pair: pair[1].cost)
    if best_model.cost > HOPELESS_COST * len(spots):
        return None
    starts = [model for fit, model in fits if fit.sample is start.sample]
    positions = fitted_frames(start.sample)
    searched, rivals = yield from search_sides(shape, positions, starts)
    yield Progress(0.0, f"Comparing both hands with the set '{layout.name}'")
    (cost, likelier), (other_cost, other) = compare_sides(shape, positions, rivals)
    best = next((search for search in searched if search.fit is likelier), None) or improve_fit(
        shape, positions, likelier
    )
    if best.fit.side not in sides or not _is_plausible(best.fit, start.sample):
        return None
    return MatchedHand(
        layout,
        _relabel_fit(start, best.fit),
        next(window for window, sample in samples if sample is start.sample),
        SIDE_CURVE.probability(side_margin(cost, other_cost)),
        articulated_marker_confidence(best.fit.cost, best.margins),
        _relabel_fit(start, other) if _is_plausible(other, start.sample) else None,
        best.fit.hand,
        other.hand,
    )


def search_sides(
    shape: ShapeParameters, positions: Floats, starts: Sequence[ModelFit]
) -> Steps[tuple[list[SearchedFit], list[ModelFit]]]:
    """Improve fits of both sides in turn; each side starts from the best fit of the other.

    Args:
        shape: the right hand that is expected, with its C markers.
        positions: (F, T, 3) m, NaN where not seen.
        starts: fits of any side to begin with.

    Returns:
        The improved fits, and all fits that were tried.
    """
    pool = list(starts)
    for start in sorted(starts, key=_cost)[:MAX_SEEDS]:
        yield Progress(0.0, f"Fitting a {other_side(start.side)} hand to the markers of a {start.side} one")
        pool += counterparts(shape, positions, start)
    best = improve_fit(shape, positions, min(pool, key=_cost))
    searched = [best]
    for _ in range(MAX_CHANGES):
        yield Progress(0.0, f"Fitting a {other_side(best.fit.side)} hand to the markers of a {best.fit.side} one")
        rivals = counterparts(shape, positions, best.fit)
        promising = [fit for fit in rivals if fit.cost <= best.fit.cost + MAX_RIVAL_EXCESS]
        improved: list[SearchedFit] = []
        for fit in promising:
            remaining = MAX_TRIALS - sum(search.trials for search in [*searched, *improved])
            improved.append(improve_fit(shape, positions, fit, max(remaining, MIN_TRIALS)))
        pool += rivals
        searched += improved
        new_best = min([best, *improved], key=lambda search: search.fit.cost)
        if new_best is best:
            break
        best = new_best
    return searched, [*pool, *(search.fit for search in searched)]


def compare_sides(shape: ShapeParameters, positions: Floats, fits: Sequence[ModelFit]) -> list[tuple[float, ModelFit]]:
    """Return the best fit of each side with its posterior cost, the likelier side first."""
    best_fits = [min((fit for fit in fits if fit.side == side), key=_cost) for side in SIDES]
    costs = [(posterior_cost(shape, positions, fit), fit) for fit in best_fits]
    return sorted(costs, key=lambda pair: pair[0])


def counterparts(shape: ShapeParameters, positions: Floats, fit: ModelFit) -> list[ModelFit]:
    """Return fits of the other side's hand: with the same labels, which bend it backwards, and with mirrored labels."""
    side, mirror = other_side(fit.side), exchange_mirrored_fingers(shape, fit.labels, positions.shape[1])
    starts = [fit.labels, mirror] if np.count_nonzero(mirror < positions.shape[1]) >= MIN_MARKERS else [fit.labels]
    return [fit_model(shape, side, positions, labels) for labels in starts]


def _cost(fit: ModelFit) -> float:
    return fit.cost


def _is_plausible(model: ModelFit, sample: TrajectorySample) -> bool:
    """Return whether a hand fits its markers well, and enough of its spots have a marker."""
    tracks, spots = len(sample.mean_distances), len(model.labels)
    assigned = model.labels[model.labels < tracks]
    avoidable = min(spots - len(assigned), _unexplained_count(assigned, sample))
    cost = model.filled_cost * len(assigned) + EMPTY_COST * avoidable
    return cost <= MAX_MODEL_COST * spots and len(assigned) >= MIN_MODEL_FRACTION * spots


def _unexplained_count(assigned: Ints, sample: TrajectorySample) -> int:
    """Return the number of often seen trajectories near a hand that are not `assigned` to it."""
    distances = np.where(np.isnan(sample.mean_distances), np.inf, sample.mean_distances)
    is_near = distances[:, assigned].min(axis=1, initial=np.inf) < NEAR_HAND_M
    is_near[assigned] = False
    seen_fraction = np.isfinite(sample.positions[..., 0]).mean(axis=0)
    return int(np.count_nonzero(is_near & (seen_fraction > 0.5)))


def _relabel_fit(fit: ShapeFit, model: ModelFit) -> ShapeFit:
    """Return a fit with the labels and side of an articulated hand."""
    shape = fit.shape if fit.shape.side == model.side else mirror_shape(fit.shape)
    return replace(fit, shape=shape, labels=model.labels)
