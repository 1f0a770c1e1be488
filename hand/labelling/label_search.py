"""Find hands in a capture by shape and motion: which column is which marker in which frames."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ..calibration.measuring import measure_proportions
from ..generators import Progress, Steps, run_to_end
from ..joints import SIDES, Side
from ..marker_sets import Spot, on_palm
from ..measured_hand import MeasuredHand
from ..proportions import build, site_positions
from .hungarian import exchange_costs
from .label_confidence import marker_confidence, side_confidence
from .labelling_result import PERFORMER_LAYOUT, LabelledHand, Labelling, labelled_hand, spot_columns
from .palm_candidates import ShapeFit, TrajectorySample, fit_proposals, fit_shape, propose_palms
from .region_growing import TrackLabels, label_fragments
from .shape_model import LAYOUTS, HandShape, MarkerLayout, mean_shape, mirrored, shape_of, update_shape
from .trajectories import Trajectories, find_trajectories

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SEARCH_FRAMES = 100
"""Frames used to find a hand."""
MAX_TRACKS = 120
"""Number of trajectories, the longest ones, among which a hand is sought."""
PERFORMER_MARKER_SD_M = 0.008
"""m, standard deviation of a performer's markers in the palm beyond that of sampled poses."""
MAX_SPOT_DISTANCE_M = 0.02
"""m within which a performer's marker is the one that a layout has there."""
LONG_TRACK_FRAMES = 50
"""Frames from which a trajectory is long: the search starts where most of the long ones are seen."""
MAX_HANDS = 2
"""Hands of further people are not labelled."""
MIN_FILLED_SHARE = 0.6
"""Share of a layout's spots that must have a marker."""
MAX_SPOT_COST = -2.5
"""Highest mean cost per spot for a hand; what is no hand costs more."""
HAND_SIZE_RANGE = (0.7, 1.4)
"""Range of hand sizes, relative to the mean adult's."""
MIN_SIDE_CONFIDENCE = 0.85
"""Confidence below which the side is not decided: of hands at 0.5 to 0.83, four of seven were wrong."""
MAX_LOST_WINDOWS = 8
"""How often a hand that was lost completely is sought again."""


SIDE_HINT = "say which hand is wanted, left or right, or give a marker map or a performer's measures"


def label_hands(
    times: Floats,
    positions: Floats,
    known: Mapping[Side, MeasuredHand] | None = None,
    asked: Side | None = None,
) -> Labelling:
    """Find the hands in a capture without usable labels.

    Args:
        times: (F,) s.
        positions: (F, M, 3) m, NaN where not seen.
        known: measured hands with their markers' labels and spots. If there are any, only these are sought; otherwise
            mean hands with the markers of `shape_model.LAYOUTS`, and a hand that was found is measured before the
            rest of its markers are identified.
        asked: the side to assume for a hand that could be either.
    """
    return run_to_end(label_hands_stepwise(times, positions, known, asked))


def label_hands_stepwise(
    times: Floats,
    positions: Floats,
    known: Mapping[Side, MeasuredHand] | None = None,
    asked: Side | None = None,
) -> Steps[Labelling]:
    """Run `find` step by step."""
    yield Progress(0.0, "Following the markers")
    tracks = find_trajectories(times, positions)
    if not len(tracks.first):
        return Labelling((), tracks, ())
    free = np.ones(len(tracks.first), bool)
    hands: list[LabelledHand] = []
    notes: list[str] = []
    shapes = _shapes(known or {})
    while len(hands) < MAX_HANDS:
        best = yield from _best_fit(tracks, _windows(tracks, free), shapes)
        if best is None:
            break
        layout, laid, sure, seen = best
        owned = seen.which[laid.labels[laid.labels < len(seen.which)]]
        free[owned] = False
        if sure < MIN_SIDE_CONFIDENCE:
            said = _fit_of_side(laid, asked)
            what = SIDE_HINT if said is None else f"taken for the {asked} hand that was asked for"
            notes.append(
                f"{len(owned)} markers move like a hand with the set '{layout.name}', but left or right cannot be "
                f"told: {what}"
            )
            if said is None:
                continue
            laid, sure = said, MIN_SIDE_CONFIDENCE
        exact = laid.shape if laid.shape.measured else _measured_shape(tracks, seen, laid)
        start = _labels_of_fit(tracks, seen, laid)
        growth = yield from _extend_to_all_frames(tracks, exact, start, free)
        free[growth.spot >= 0] = False
        hands.append(labelled_hand(tracks, layout, laid.shape.side, sure, growth))
    return Labelling(tuple(hands), tracks, tuple(notes))


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """Trajectories that are seen together, and frames that show most of them."""

    which: Ints
    frames: Ints


def _shapes(known: Mapping[Side, MeasuredHand]) -> list[tuple[MarkerLayout, HandShape]]:
    """Shapes to search for: mean hands with the known layouts, or performers' hands with their own markers."""
    if known:
        return [each for hand in known.values() for each in _performer_shapes(hand)]
    return [(layout, mean_shape(side, tuple(layout.spots.values()))) for layout in LAYOUTS for side in SIDES]


def _performer_shapes(hand: MeasuredHand) -> list[tuple[MarkerLayout, HandShape]]:
    """A performer's hand with all of its markers, and with those of each known layout.

    A take may have fewer markers than the capture in which the hand was measured.
    """
    found = (
        [(MarkerLayout(PERFORMER_LAYOUT, hand.spots), _performer_shape(hand, hand.spots))]
        if len(hand.spots) >= 4
        else []
    )
    for layout in LAYOUTS:
        own = _performer_spots(hand, layout)
        if own is not None and own.keys() != hand.spots.keys():
            found.append((MarkerLayout(f"{PERFORMER_LAYOUT} {layout.name}", own), _performer_shape(hand, own)))
    return found


def _performer_spots(hand: MeasuredHand, layout: MarkerLayout) -> dict[str, Spot] | None:
    """The performer's markers that correspond to a layout's, None where one is missing.

    A measured marker may be a centimetre from its nominal position, and palm markers are attached to the wrist.
    """
    if not hand.spots:
        return None
    owns, theirs = tuple(hand.spots.values()), tuple(layout.spots.values())
    apart = np.linalg.norm(
        site_positions(hand.proportions, theirs)[:, None] - site_positions(hand.proportions, owns), axis=-1
    )
    palm = np.array([on_palm(spot) for spot in owns])
    for row, spot in enumerate(theirs):
        alike = palm if on_palm(spot) else np.array([own.joint == spot.joint for own in owns])
        apart[row, ~alike] = np.inf
    nearest = apart.argmin(1)
    labels = list(hand.spots)
    if len(set(nearest.tolist())) < len(theirs) or apart.min(1).max() > MAX_SPOT_DISTANCE_M:
        return None
    return {labels[at]: owns[at] for at in nearest}


def _performer_shape(hand: MeasuredHand, spots: dict[str, Spot]) -> HandShape:
    """Shape of a performer's hand: its bones are known, its poses in this take are sampled as for anybody."""
    shape = shape_of(hand.model, tuple(spots.values()), exact=True)
    return replace(shape, covariances=shape.covariances + PERFORMER_MARKER_SD_M**2 * np.eye(3))


def _best_window(tracks: Trajectories, free: Bools, frames: Bools) -> _Window:
    """Free trajectories at the frame, among those marked (F,), at which the longest ones are seen."""
    length = np.where(free, tracks.count, 0)
    value = np.where(tracks.ids >= 0, np.minimum(length, LONG_TRACK_FRAMES)[tracks.ids], 0).sum(1)
    at = int(np.argmax(np.where(frames, value, -1)))
    which = tracks.ids[at][tracks.ids[at] >= 0]
    which = which[free[which]]
    which = np.sort(which[np.argsort(-tracks.count[which], kind="stable")[:MAX_TRACKS]])
    together = np.isin(tracks.ids, which).sum(1) >= 0.7 * len(which)
    rows = np.flatnonzero(together)
    return _Window(
        which, rows[np.unique(np.linspace(0, len(rows) - 1, SEARCH_FRAMES).astype(int))] if len(rows) else rows
    )


def _windows(tracks: Trajectories, free: Bools) -> list[_Window]:
    """Trajectories seen together in each third of a capture, without duplicates."""
    thirds = np.array_split(np.arange(len(tracks.ids)), min(3, len(tracks.ids)))
    found: dict[bytes, _Window] = {}
    for third in thirds:
        frames = np.zeros(len(tracks.ids), bool)
        frames[third] = True
        seen = _best_window(tracks, free, frames)
        found.setdefault(seen.which.tobytes(), seen)
    return list(found.values())


def _best_fit(
    tracks: Trajectories, windows: list[_Window], shapes: list[tuple[MarkerLayout, HandShape]]
) -> Steps[tuple[MarkerLayout, ShapeFit, float, _Window] | None]:
    """Find the layout and side that explain most, the confidence of the side, and where; None where nothing fits."""
    samples = [
        (seen, TrajectorySample.of(tracks.positions_in(seen.frames, seen.which)))
        for seen in windows
        if len(seen.which) >= 4 and len(seen.frames)
    ]
    found: list[ShapeFit] = []
    for layout, shape in shapes:
        yield Progress(0.0, f"Looking for a {shape.side} hand with the set '{layout.name}'")
        proposals = [each for _, sample in samples for each in propose_palms(sample, shape)]
        found += [laid for laid in fit_proposals(proposals) if _is_hand(laid)]
    if not found:
        return None
    laid = min(found, key=_ranking_cost)
    layout = next(layout for layout, shape in shapes if shape is laid.shape)
    seen = next(seen for seen, sample in samples if sample is laid.sample)
    return layout, laid, _side_confidence(laid), seen


def _fit_of_side(laid: ShapeFit, side: Side | None) -> ShapeFit | None:
    """Fit a hand of the requested side to the same markers; None if there is no request, or that hand does not fit."""
    if side is None or laid.shape.side == side:
        return laid if side else None
    other = fit_shape(laid.sample, mirrored(laid.shape))
    return other if other is not None and _is_hand(other) else None


def _side_confidence(laid: ShapeFit) -> float:
    """Confidence 0.5..1 of the side, by how much worse the other hand fits the same markers."""
    own = np.sort(laid.labels[laid.labels < len(laid.sample.mean_distances)])
    other = fit_shape(laid.sample.only(own), mirrored(laid.shape))
    # A mirrored hand must not win by leaving out the markers that do not fit it.
    rival = 0.0 if other is None else min(_ranking_cost(other), 0.0)
    gap = (rival / _filled_share(laid) - laid.cost) / len(laid.labels)
    return side_confidence(gap)


def _filled_share(laid: ShapeFit) -> float:
    """Share of the spots that have a marker."""
    return float((laid.labels < len(laid.sample.mean_distances)).mean())


def _ranking_cost(laid: ShapeFit) -> float:
    """The cost times the share of spots that have a marker, so that a larger set does not win by its empty spots."""
    return laid.cost * _filled_share(laid)


def _is_hand(laid: ShapeFit) -> bool:
    filled = _filled_share(laid)
    fits = laid.cost <= MAX_SPOT_COST * len(laid.labels) * filled
    return filled >= MIN_FILLED_SHARE and fits and HAND_SIZE_RANGE[0] < laid.scale < HAND_SIZE_RANGE[1]


def _measured_shape(tracks: Trajectories, seen: _Window, laid: ShapeFit) -> HandShape:
    """Shape of the hand that was found: measured where seen, by its proportions where not.

    Which spots are on the palm, and which are neighbours, stays as in the layout.
    """
    spots = np.flatnonzero(laid.labels < len(seen.which))
    places = tracks.positions_in(seen.frames, seen.which[laid.labels[spots]])
    try:
        proportions, found = measure_proportions(laid.shape.side, tuple(laid.shape.spots[i] for i in spots), places)
        every: list[Spot] = list(laid.shape.spots)
        for i, spot in zip(spots, found, strict=True):
            every[i] = spot
        shape = shape_of(build(proportions), tuple(every), exact=True)
    except HandError:
        shape = laid.shape
    return update_shape(replace(shape, palm=laid.shape.palm, pair_weights=laid.shape.pair_weights), spots, places)


def _labels_of_fit(tracks: Trajectories, seen: _Window, laid: ShapeFit) -> TrackLabels:
    """Assignment and confidence of the trajectories in a fit."""
    spot, confidence = np.full(len(tracks.first), -1), np.zeros(len(tracks.first))
    chances = marker_confidence(marker_margins(laid))
    for c, label in enumerate(laid.labels):
        if label < len(seen.which):
            spot[seen.which[label]] = c
            confidence[seen.which[label]] = chances[c]
    return TrackLabels(spot, confidence)


def marker_margins(laid: ShapeFit) -> Floats:
    """Increase of cost (C,) if a spot's marker is exchanged for another's, a free one, or none."""
    swaps, changes = exchange_costs(laid.costs, laid.local_labels)
    np.fill_diagonal(swaps, np.inf)
    least: Floats = np.minimum(swaps.min(1), changes.min(1))
    return np.maximum(least, 0.0)


def _extend_to_all_frames(
    tracks: Trajectories, shape: HandShape, start: TrackLabels, free: Bools
) -> Steps[TrackLabels]:
    """Extend the labels from the frames in which the hand was found to all others, also to those after it was lost."""
    growth = yield from label_fragments(tracks, shape, start, free)
    for _ in range(MAX_LOST_WINDOWS):
        columns = spot_columns(tracks, growth, len(shape.spots))
        lost = (columns[:, shape.palm] >= 0).sum(1) < 3
        open_ones = free & (growth.spot < 0) & (tracks.count >= 10)
        enough = lost & (np.isin(tracks.ids, np.flatnonzero(open_ones)).sum(1) >= 0.5 * len(shape.spots))
        if not enough.any():
            break
        seen = _best_window(tracks, open_ones, enough)
        laid = fit_shape(TrajectorySample.of(tracks.positions_in(seen.frames, seen.which)), shape)
        # Markers seen while this hand is lost may be the other hand's.
        if laid is None or not _is_hand(laid) or _side_confidence(laid) < MIN_SIDE_CONFIDENCE:
            break
        more = _labels_of_fit(tracks, seen, laid)
        new = (more.spot >= 0) & (growth.spot < 0)
        merged = TrackLabels(np.where(new, more.spot, growth.spot), np.where(new, more.confidence, growth.confidence))
        growth = yield from label_fragments(tracks, shape, merged, free)
    return growth
