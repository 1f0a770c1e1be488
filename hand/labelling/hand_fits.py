"""Find the hand that best fits trajectories seen together, its side, and the confidence in both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..calibration.skin_markers.chain import ShapeParameters
from ..generators import Progress, Steps
from ..joints import TIPS, Side
from .hungarian import exchange_costs
from .label_confidence import marker_confidence, side_confidence
from .model_fit import FITTED_FRAMES, fit_model, shape_of_spots
from .palm_candidates import ShapeFit, TrajectorySample, fit_proposals, fit_shape, propose_palms
from .shape_model import HandShape, MarkerLayout, mirror_shape
from .trajectories import select_evenly

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MIN_FILLED_FRACTION = 0.6
"""Minimum fraction of a layout's spots that must have a marker."""
MAX_SPOT_COST = -2.5
"""Maximum mean cost per spot of a hand; other objects cost more."""
HAND_SIZE_RANGE = (0.7, 1.4)
"""Range of hand sizes, relative to the mean adult's."""
MAX_CHECKED_COST = 1.3
"""Maximum cost for each marker, empty spots included, of an articulated hand that checks labels found by shape. Right
labels cost 0.1 to 0.7; wrong ones 0.9 or more, or 1.5 with their empty spots."""
MIN_SAME_LABELS = 0.85
"""Minimum fraction of the labels that such a hand must leave unchanged."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Trajectories that are seen together, and frames that show most of them."""

    track_ids: Ints
    frames: Ints


@dataclass(frozen=True, slots=True, eq=False)
class MatchedHand:
    """A hand in a window, with C spots."""

    layout: MarkerLayout
    fit: ShapeFit
    window: Window
    side_confidence: float
    confidences: Floats
    """(C,) 0..1, of the markers, given that the side is right."""
    other: ShapeFit | None
    """The other side's hand fitted to the same markers; None if it does not fit."""
    hand: ShapeParameters | None = None
    """The articulated hand, as a right hand, if the hand was found with it."""
    other_hand: ShapeParameters | None = None
    """The articulated hand of the other side, as a right hand."""

    @property
    def track_ids(self) -> Ints:
        """The trajectories that are the hand's markers."""
        return self.window.track_ids[self.fit.labels[self.fit.labels < len(self.window.track_ids)]]

    def of_side(self, side: Side | None) -> "MatchedHand | None":
        """Return the hand of the requested side; None if no side is requested or that side's hand does not fit."""
        if side is None or side == self.fit.shape.side:
            return self if side else None
        if self.other is None:
            return None
        return replace(self, fit=self.other, other=self.fit, hand=self.other_hand, other_hand=self.hand)


Samples = Sequence[tuple[Window, TrajectorySample]]
"""Windows in which a hand is sought, each with its trajectories."""


def samples_of(windows: Sequence[Window], positions: Sequence[Floats]) -> Samples:
    """Return the windows that can show a hand, with their trajectories. positions: (N, T, 3) m in each window."""
    return [
        (window, TrajectorySample.of(window_positions))
        for window, window_positions in zip(windows, positions, strict=True)
        if len(window.track_ids) >= 4 and len(window.frames)
    ]


def find_by_shape(samples: Samples, shapes: Sequence[tuple[MarkerLayout, HandShape]]) -> Steps[MatchedHand | None]:
    """Find the layout and side that explain most markers; None if nothing fits."""
    fits: list[ShapeFit] = []
    for layout, shape in shapes:
        yield Progress(0.0, f"Looking for a {shape.side} hand with the set '{layout.name}'")
        proposals = [palm for _, sample in samples for palm in propose_palms(sample, shape)]
        fits += [fit for fit in fit_proposals(proposals) if is_hand(fit)]
    if not fits:
        return None
    fit = min(fits, key=_ranking_cost)
    layout = next(layout for layout, shape in shapes if shape is fit.shape)
    window = next(window for window, sample in samples if sample is fit.sample)
    mirrored_fit = fit_shape(fit.sample, mirror_shape(fit.shape))
    other = mirrored_fit if mirrored_fit is not None and is_hand(mirrored_fit) else None
    return MatchedHand(layout, fit, window, confidence_of_side(fit), marker_confidence(marker_margins(fit)), other)


def fits_a_hand(match: MatchedHand) -> bool:
    """Return whether an articulated hand reaches the markers of a fit without assigning them differently."""
    fit = match.fit
    model = fit_model(shape_of_spots(fit.shape.spots), fit.shape.side, fitted_frames(fit.sample), fit.labels)
    same_fraction = np.mean(model.labels == fit.labels)
    spots = zip(fit.shape.spots, fit.shape.palm, strict=True)
    may_lack_tips = all(is_palm or spot.joint in TIPS for spot, is_palm in spots)
    filled = np.count_nonzero(model.labels < len(fit.sample.mean_distances))
    cost = model.filled_cost if may_lack_tips else model.cost / max(int(filled), 1)
    return bool(cost <= MAX_CHECKED_COST and same_fraction >= MIN_SAME_LABELS)


def fitted_frames(sample: TrajectorySample) -> Floats:
    """Return positions (N, T, 3) m in the frames to which an articulated hand is fitted."""
    return sample.positions[select_evenly(np.arange(len(sample.positions)), FITTED_FRAMES)]


def confidence_of_side(fit: ShapeFit) -> float:
    """Return the confidence 0.5..1 of the side, by how much worse the other hand fits the same markers."""
    assigned = np.sort(fit.labels[fit.labels < len(fit.sample.mean_distances)])
    mirrored_fit = fit_shape(fit.sample.only(assigned), mirror_shape(fit.shape))
    # A mirrored hand must not win by leaving out the markers that do not fit it.
    mirrored_cost = 0.0 if mirrored_fit is None else min(_ranking_cost(mirrored_fit), 0.0)
    margin = (mirrored_cost / _filled_share(fit) - fit.cost) / len(fit.labels)
    return side_confidence(margin)


def _filled_share(fit: ShapeFit) -> float:
    """Return the fraction of the spots that have a marker."""
    return float((fit.labels < len(fit.sample.mean_distances)).mean())


def _ranking_cost(fit: ShapeFit) -> float:
    """Return the cost times the fraction of spots that have a marker: empty spots must not favour a larger set."""
    return fit.cost * _filled_share(fit)


def is_hand(fit: ShapeFit) -> bool:
    """Return whether a fit has enough markers, a low cost and a plausible size."""
    filled_fraction = _filled_share(fit)
    fits = fit.cost <= MAX_SPOT_COST * len(fit.labels) * filled_fraction
    return filled_fraction >= MIN_FILLED_FRACTION and fits and HAND_SIZE_RANGE[0] < fit.scale < HAND_SIZE_RANGE[1]


def marker_margins(fit: ShapeFit) -> Floats:
    """Return the least increase in cost (C,) if a spot gets the marker of another spot, a free marker, or none."""
    swaps, changes = exchange_costs(fit.costs, fit.local_labels)
    np.fill_diagonal(swaps, np.inf)
    min_increase: Floats = np.minimum(swaps.min(1), changes.min(1))
    return np.maximum(min_increase, 0.0)
