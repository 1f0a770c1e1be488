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
from .trajectories import MAX_GAP_S, Trajectories, evenly_spaced, find_trajectories

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
    requested_side: Side | None = None,
) -> Labelling:
    """Find the hands in a capture without usable labels.

    Args:
        times: (F,) s.
        positions: (F, M, 3) m, NaN where not seen.
        known: measured hands with their markers' labels and spots. If there are any, only these are sought; otherwise
            mean hands with the markers of `shape_model.LAYOUTS`, and a hand that was found is measured before the
            rest of its markers are identified.
        requested_side: the side to assume for a hand that could be either.
    """
    return run_to_end(label_hands_stepwise(times, positions, known, requested_side))


def label_hands_stepwise(
    times: Floats,
    positions: Floats,
    known: Mapping[Side, MeasuredHand] | None = None,
    requested_side: Side | None = None,
) -> Steps[Labelling]:
    """Run `label_hands` step by step."""
    yield Progress(0.0, "Following the markers")
    tracks = find_trajectories(times, positions)
    if not len(tracks.first):
        return Labelling((), tracks, ())
    free = np.ones(len(tracks.first), bool)
    hands: list[LabelledHand] = []
    notes: list[str] = []
    if tracks.max_gap < MAX_GAP_S:
        notes.append(
            f"the markers appear and jump so often that gaps of over {tracks.max_gap:.2g} s were not bridged: "
            "leave out what is no hand's, or name the hand's markers"
        )
    shapes = _shapes(known or {})
    while len(hands) < MAX_HANDS:
        best = yield from _best_fit(tracks, _windows(tracks, free), shapes)
        if best is None:
            break
        layout, fit, confidence, window = best
        used = window.track_ids[fit.labels[fit.labels < len(window.track_ids)]]
        free[used] = False
        if confidence < MIN_SIDE_CONFIDENCE:
            requested_fit = _fit_of_side(fit, requested_side)
            advice = SIDE_HINT if requested_fit is None else f"taken for the {requested_side} hand that was asked for"
            notes.append(
                f"{len(used)} markers move like a hand with the set '{layout.name}', but left or right cannot be "
                f"determined: {advice}"
            )
            if requested_fit is None:
                continue
            fit, confidence = requested_fit, MIN_SIDE_CONFIDENCE
        shape = fit.shape if fit.shape.measured else _measured_shape(tracks, window, fit)
        initial_labels = _labels_of_fit(tracks, window, fit)
        labels = yield from _extend_to_all_frames(tracks, shape, initial_labels, free)
        free[labels.spot >= 0] = False
        hands.append(labelled_hand(tracks, layout, fit.shape.side, confidence, labels))
    return Labelling(tuple(hands), tracks, tuple(notes))


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """Trajectories that are seen together, and frames that show most of them."""

    track_ids: Ints
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
        spots = _performer_spots(hand, layout)
        if spots is not None and spots.keys() != hand.spots.keys():
            found.append((MarkerLayout(f"{PERFORMER_LAYOUT} {layout.name}", spots), _performer_shape(hand, spots)))
    return found


def _performer_spots(hand: MeasuredHand, layout: MarkerLayout) -> dict[str, Spot] | None:
    """The performer's markers that correspond to a layout's, None where one is missing.

    A measured marker may be a centimetre from its nominal position, and palm markers are attached to the wrist.
    """
    if not hand.spots:
        return None
    own_spots, layout_spots = tuple(hand.spots.values()), tuple(layout.spots.values())
    distances = np.linalg.norm(
        site_positions(hand.proportions, layout_spots)[:, None] - site_positions(hand.proportions, own_spots), axis=-1
    )
    palm = np.array([on_palm(spot) for spot in own_spots])
    for row, spot in enumerate(layout_spots):
        comparable = palm if on_palm(spot) else np.array([own.joint == spot.joint for own in own_spots])
        distances[row, ~comparable] = np.inf
    nearest = distances.argmin(1)
    labels = list(hand.spots)
    if len(set(nearest.tolist())) < len(layout_spots) or distances.min(1).max() > MAX_SPOT_DISTANCE_M:
        return None
    return {labels[at]: own_spots[at] for at in nearest}


def _performer_shape(hand: MeasuredHand, spots: dict[str, Spot]) -> HandShape:
    """Shape of a performer's hand: its bones are known, its poses in this take are sampled as for anybody."""
    shape = shape_of(hand.model, tuple(spots.values()), measured=True)
    return replace(shape, covariances=shape.covariances + PERFORMER_MARKER_SD_M**2 * np.eye(3))


def _best_window(tracks: Trajectories, free: Bools, frames: Bools) -> _Window:
    """Free trajectories at the frame, among those marked (F,), at which the longest ones are seen."""
    length = np.where(free, tracks.count, 0)
    seen_length = np.where(tracks.ids >= 0, np.minimum(length, LONG_TRACK_FRAMES)[tracks.ids], 0).sum(1)
    best_frame = int(np.argmax(np.where(frames, seen_length, -1)))
    track_ids = tracks.ids[best_frame][tracks.ids[best_frame] >= 0]
    track_ids = track_ids[free[track_ids]]
    track_ids = np.sort(track_ids[np.argsort(-tracks.count[track_ids], kind="stable")[:MAX_TRACKS]])
    rows = np.flatnonzero(np.isin(tracks.ids, track_ids).sum(1) >= 0.7 * len(track_ids))
    return _Window(track_ids, evenly_spaced(rows, SEARCH_FRAMES))


def _windows(tracks: Trajectories, free: Bools) -> list[_Window]:
    """Trajectories seen together in each third of a capture, without duplicates."""
    thirds = np.array_split(np.arange(len(tracks.ids)), min(3, len(tracks.ids)))
    found: dict[bytes, _Window] = {}
    for third in thirds:
        frames = np.zeros(len(tracks.ids), bool)
        frames[third] = True
        window = _best_window(tracks, free, frames)
        found.setdefault(window.track_ids.tobytes(), window)
    return list(found.values())


def _best_fit(
    tracks: Trajectories, windows: list[_Window], shapes: list[tuple[MarkerLayout, HandShape]]
) -> Steps[tuple[MarkerLayout, ShapeFit, float, _Window] | None]:
    """Find the layout and side that explain most, the confidence of the side, and where; None where nothing fits."""
    samples = [
        (window, TrajectorySample.of(tracks.positions_in(window.frames, window.track_ids)))
        for window in windows
        if len(window.track_ids) >= 4 and len(window.frames)
    ]
    found: list[ShapeFit] = []
    for layout, shape in shapes:
        yield Progress(0.0, f"Looking for a {shape.side} hand with the set '{layout.name}'")
        proposals = [each for _, sample in samples for each in propose_palms(sample, shape)]
        found += [fit for fit in fit_proposals(proposals) if _is_hand(fit)]
    if not found:
        return None
    fit = min(found, key=_ranking_cost)
    layout = next(layout for layout, shape in shapes if shape is fit.shape)
    window = next(window for window, sample in samples if sample is fit.sample)
    return layout, fit, _side_confidence(fit), window


def _fit_of_side(fit: ShapeFit, side: Side | None) -> ShapeFit | None:
    """Fit a hand of the requested side to the same markers; None if there is no request, or that hand does not fit."""
    if side is None or fit.shape.side == side:
        return fit if side else None
    mirrored_fit = fit_shape(fit.sample, mirrored(fit.shape))
    return mirrored_fit if mirrored_fit is not None and _is_hand(mirrored_fit) else None


def _side_confidence(fit: ShapeFit) -> float:
    """Confidence 0.5..1 of the side, by how much worse the other hand fits the same markers."""
    assigned = np.sort(fit.labels[fit.labels < len(fit.sample.mean_distances)])
    mirrored_fit = fit_shape(fit.sample.only(assigned), mirrored(fit.shape))
    # A mirrored hand must not win by leaving out the markers that do not fit it.
    mirrored_cost = 0.0 if mirrored_fit is None else min(_ranking_cost(mirrored_fit), 0.0)
    margin = (mirrored_cost / _filled_share(fit) - fit.cost) / len(fit.labels)
    return side_confidence(margin)


def _filled_share(fit: ShapeFit) -> float:
    """Share of the spots that have a marker."""
    return float((fit.labels < len(fit.sample.mean_distances)).mean())


def _ranking_cost(fit: ShapeFit) -> float:
    """The cost times the share of spots that have a marker, so that a larger set does not win by its empty spots."""
    return fit.cost * _filled_share(fit)


def _is_hand(fit: ShapeFit) -> bool:
    filled_share = _filled_share(fit)
    fits = fit.cost <= MAX_SPOT_COST * len(fit.labels) * filled_share
    return filled_share >= MIN_FILLED_SHARE and fits and HAND_SIZE_RANGE[0] < fit.scale < HAND_SIZE_RANGE[1]


def _measured_shape(tracks: Trajectories, window: _Window, fit: ShapeFit) -> HandShape:
    """Shape of the hand that was found: measured where seen, by its proportions where not.

    Which spots are on the palm, and which are neighbours, stays as in the layout.
    """
    spots = np.flatnonzero(fit.labels < len(window.track_ids))
    positions = tracks.positions_in(window.frames, window.track_ids[fit.labels[spots]])
    try:
        proportions, measured_spots = measure_proportions(
            fit.shape.side, tuple(fit.shape.spots[i] for i in spots), positions
        )
        layout_spots: list[Spot] = list(fit.shape.spots)
        for i, spot in zip(spots, measured_spots, strict=True):
            layout_spots[i] = spot
        shape = shape_of(build(proportions), tuple(layout_spots), measured=True)
    except HandError:
        shape = fit.shape
    return update_shape(replace(shape, palm=fit.shape.palm, pair_weights=fit.shape.pair_weights), spots, positions)


def _labels_of_fit(tracks: Trajectories, window: _Window, fit: ShapeFit) -> TrackLabels:
    """Assignment and confidence of the trajectories in a fit."""
    spot, confidence = np.full(len(tracks.first), -1), np.zeros(len(tracks.first))
    spot_confidences = marker_confidence(marker_margins(fit))
    for c, label in enumerate(fit.labels):
        if label < len(window.track_ids):
            spot[window.track_ids[label]] = c
            confidence[window.track_ids[label]] = spot_confidences[c]
    return TrackLabels(spot, confidence)


def marker_margins(fit: ShapeFit) -> Floats:
    """Increase of cost (C,) if a spot's marker is exchanged for another's, a free one, or none."""
    swaps, changes = exchange_costs(fit.costs, fit.local_labels)
    np.fill_diagonal(swaps, np.inf)
    least: Floats = np.minimum(swaps.min(1), changes.min(1))
    return np.maximum(least, 0.0)


def _extend_to_all_frames(
    tracks: Trajectories, shape: HandShape, initial_labels: TrackLabels, free: Bools
) -> Steps[TrackLabels]:
    """Extend the labels from the frames in which the hand was found to all others, also to those after it was lost."""
    labels = yield from label_fragments(tracks, shape, initial_labels, free)
    for _ in range(MAX_LOST_WINDOWS):
        columns = spot_columns(tracks, labels, len(shape.spots))
        lost = (columns[:, shape.palm] >= 0).sum(1) < 3
        unlabelled = free & (labels.spot < 0) & (tracks.count >= 10)
        candidates = lost & (np.isin(tracks.ids, np.flatnonzero(unlabelled)).sum(1) >= 0.5 * len(shape.spots))
        if not candidates.any():
            break
        window = _best_window(tracks, unlabelled, candidates)
        fit = fit_shape(TrajectorySample.of(tracks.positions_in(window.frames, window.track_ids)), shape)
        # Markers seen while this hand is lost may be the other hand's.
        if fit is None or not _is_hand(fit) or _side_confidence(fit) < MIN_SIDE_CONFIDENCE:
            break
        added = _labels_of_fit(tracks, window, fit)
        new = (added.spot >= 0) & (labels.spot < 0)
        merged = TrackLabels(np.where(new, added.spot, labels.spot), np.where(new, added.confidence, labels.confidence))
        labels = yield from label_fragments(tracks, shape, merged, free)
    return labels
