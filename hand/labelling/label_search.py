"""Find hands in a capture by shape and motion, and label their markers in every frame."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ..calibration.measuring import measure_proportions
from ..calibration.skin_markers.chain import ShapeParameters
from ..generators import Progress, Steps, run_to_end
from ..joints import SIDES, Side
from ..marker_sets import Spot
from ..measured_hand import MeasuredHand
from ..proportions import build
from .hand_fits import (
    MatchedHand,
    Window,
    confidence_of_side,
    find_by_shape,
    fits_a_hand,
    is_hand,
    marker_margins,
    samples_of,
)
from .label_confidence import marker_confidence
from .labelling_result import LabelledHand, Labelling, build_labelled_hand, spot_columns
from .marker_prediction import predict_markers
from .model_hands import find_by_model
from .palm_candidates import ShapeFit, TrajectorySample, fit_shape
from .performer_shapes import performer_shapes
from .region_growing import TrackLabels, label_fragments
from .shape_model import LAYOUTS, SKIN_LAYOUTS, HandShape, MarkerLayout, mean_shape, shape_of, update_shape
from .trajectories import MAX_GAP_S, Trajectories, find_trajectories, select_evenly

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SEARCH_FRAMES = 100
"""Maximum number of frames used to find a hand."""
MAX_TRACKS = 120
"""Maximum number of trajectories among which a hand is sought, the longest ones."""
LONG_TRACK_FRAMES = 50
"""Number of frames from which a trajectory is long: the search starts where most long trajectories are seen."""
MAX_HANDS = 2
"""Maximum number of hands that are labelled."""
MAX_SEARCHES = 6
"""Maximum number of searches, including those that find a part of a hand or a hand of unknown side."""
MIN_SIDE_CONFIDENCE = 0.85
"""Confidence below which the side is left undecided: of hands at 0.5 to 0.83, four of seven were wrong."""
MIN_HANDS_APART_M = 0.05
"""m, minimum distance between the centres of two hands' markers; nearer ones are parts of one hand."""
POSE_ROUNDS = ((2.0,), (1.0,), (1.0, 0.2))
"""Minimum margins in cost for a fragment to be labelled, in each round of poses: large in the first."""
MAX_LOST_WINDOWS = 8
"""Maximum number of searches for a hand after frames in which all its markers were lost."""


SidedLayout = tuple[MarkerLayout, tuple[Side, ...]]
"""A marker set, and the sides of the hands that may wear it."""
SET_HINT = "give a marker map, learnt from a labelled take with 'knuckle labels learn', or name them"
SIDE_HINT = "choose the hand, left or right, or give a marker map or a performer's measurements"


def label_hands(
    times: Floats,
    positions: Floats,
    measured_hands: Mapping[Side, MeasuredHand] | None = None,
    requested_side: Side | None = None,
    layouts: Sequence[SidedLayout] = (),
) -> Labelling:
    """Find the hands in a capture without usable labels.

    Args:
        times: (F,) s.
        positions: (F, M, 3) m, NaN where not seen.
        measured_hands: performers' hands with their markers' labels and spots. If given, only these are sought.
            Otherwise, mean hands with the markers of `shape_model.LAYOUTS` are, and each is measured before its other
            markers are identified.
        requested_side: the side to assume for a hand whose side cannot be determined.
        layouts: marker sets, and the sides of the hands that may wear them. If given, only these are sought.
    """
    return run_to_end(label_hands_stepwise(times, positions, measured_hands, requested_side, layouts))


def label_hands_stepwise(
    times: Floats,
    positions: Floats,
    measured_hands: Mapping[Side, MeasuredHand] | None = None,
    requested_side: Side | None = None,
    layouts: Sequence[SidedLayout] = (),
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
            "remove markers that do not belong to a hand, or name the hand's markers"
        )
    for _ in range(MAX_SEARCHES):
        if len(hands) == MAX_HANDS:
            break
        match = yield from _best_hand(tracks, free, measured_hands or {}, layouts, notes)
        if match is None:
            break
        free[match.track_ids] = False
        if any(_is_within(match, tracks, hand) for hand in hands):
            continue
        if match.side_confidence < MIN_SIDE_CONFIDENCE:
            requested = match.of_side(requested_side)
            advice = SIDE_HINT if requested is None else f"taken for the requested {requested_side} hand"
            notes.append(
                f"{len(match.track_ids)} markers move like a hand with the set '{match.layout.name}', but left or "
                f"right cannot be determined: {advice}"
            )
            if requested is None:
                if match.hand is None:
                    continue
                # The remaining trajectories fit worse, and searching with the articulated hand takes seconds.
                break
            match = replace(requested, side_confidence=MIN_SIDE_CONFIDENCE)
        shape = match.fit.shape if match.fit.shape.is_measured else _measured_shape(tracks, match)
        labels = _labels_of_hand(tracks, match)
        if match.hand is None:
            labels = yield from _extend_to_all_frames(tracks, shape, labels, free)
        else:
            labels = yield from _extend_by_poses(tracks, match.hand, shape, labels, free)
        free[labels.spot >= 0] = False
        hands.append(build_labelled_hand(tracks, match.layout, match.fit.shape.side, match.side_confidence, labels))
    return Labelling(tuple(hands), tracks, tuple(notes))


def _best_hand(
    tracks: Trajectories,
    free: Bools,
    measured_hands: Mapping[Side, MeasuredHand],
    layouts: Sequence[SidedLayout],
    notes: list[str],
) -> Steps[MatchedHand | None]:
    """Find the next hand among the free trajectories: a performer's, one with a given layout, or any known one."""
    windows = _windows(tracks, free)
    samples = samples_of(windows, [tracks.positions_in(window.frames, window.track_ids) for window in windows])
    if measured_hands:
        shapes = [shape for hand in measured_hands.values() for shape in performer_shapes(hand)]
        return (yield from find_by_shape(samples, shapes))
    rejected: tuple[str, ...] = ()
    if not layouts:
        mean = [(layout, mean_shape(side, tuple(layout.spots.values()))) for layout in LAYOUTS for side in SIDES]
        match = yield from find_by_shape(samples, mean)
        if match is None or fits_a_hand(match):
            return match
        rejected = (
            f"{len(match.track_ids)} markers move together like a hand's, most like the set '{match.layout.name}', "
            f"but no hand fits them: {SET_HINT}",
        )
    for layout, sides in layouts or [(layout, SIDES) for layout in SKIN_LAYOUTS]:
        match = yield from find_by_model(samples, layout, sides)
        if match is not None:
            return match
    notes.extend(rejected)
    return None


def _is_within(match: MatchedHand, tracks: Trajectories, hand: LabelledHand) -> bool:
    """Return whether a match is a part of a hand that is already labelled: both are at the same position."""
    frames = match.window.frames
    columns = hand.columns[frames]
    labelled = tracks.positions_at(frames, columns)
    both_seen = (columns >= 0).any(axis=1)
    new = tracks.positions_in(frames, match.track_ids)
    both_seen &= np.isfinite(new[..., 0]).any(axis=1)
    if not both_seen.any():
        return False
    distances = np.linalg.norm(np.nanmean(labelled[both_seen], axis=1) - np.nanmean(new[both_seen], axis=1), axis=-1)
    return float(np.median(distances)) < MIN_HANDS_APART_M


def _best_window(tracks: Trajectories, free: Bools, frames: Bools) -> Window:
    """Return the free trajectories seen in the one of `frames` (F,) that shows the longest ones."""
    length = np.where(free, tracks.count, 0)
    seen_length = np.where(tracks.ids >= 0, np.minimum(length, LONG_TRACK_FRAMES)[tracks.ids], 0).sum(1)
    best_frame = int(np.argmax(np.where(frames, seen_length, -1)))
    track_ids = tracks.ids[best_frame][tracks.ids[best_frame] >= 0]
    track_ids = track_ids[free[track_ids]]
    track_ids = np.sort(track_ids[np.argsort(-tracks.count[track_ids], kind="stable")[:MAX_TRACKS]])
    rows = np.flatnonzero(np.isin(tracks.ids, track_ids).sum(1) >= 0.7 * len(track_ids))
    return Window(track_ids, select_evenly(rows, SEARCH_FRAMES))


def _windows(tracks: Trajectories, free: Bools) -> list[Window]:
    """Return the best window of each third of a capture, without duplicates."""
    thirds = np.array_split(np.arange(len(tracks.ids)), min(3, len(tracks.ids)))
    windows: dict[bytes, Window] = {}
    for third in thirds:
        frames = np.zeros(len(tracks.ids), bool)
        frames[third] = True
        window = _best_window(tracks, free, frames)
        windows.setdefault(window.track_ids.tobytes(), window)
    return list(windows.values())


def _measured_shape(tracks: Trajectories, match: MatchedHand) -> HandShape:
    """Return the shape of a matched hand: from its markers where they are seen, else from its measured proportions.

    The layout determines which spots are on the palm and which are neighbours.
    """
    fit, window = match.fit, match.window
    spots = np.flatnonzero(fit.labels < len(window.track_ids))
    positions = tracks.positions_in(window.frames, window.track_ids[fit.labels[spots]])
    try:
        proportions, measured_spots = measure_proportions(
            fit.shape.side, tuple(fit.shape.spots[i] for i in spots), positions
        )
        layout_spots: list[Spot] = list(fit.shape.spots)
        for i, spot in zip(spots, measured_spots, strict=True):
            layout_spots[i] = spot
        shape = shape_of(build(proportions), tuple(layout_spots), is_measured=True)
    except HandError:
        shape = fit.shape
    return update_shape(replace(shape, palm=fit.shape.palm, pair_weights=fit.shape.pair_weights), spots, positions)


def _labels_of_hand(tracks: Trajectories, match: MatchedHand) -> TrackLabels:
    """Return the assignment and confidence of the trajectories in a window."""
    return _labels_of_fit(tracks, match.window, match.fit, match.confidences)


def _labels_of_fit(tracks: Trajectories, window: Window, fit: ShapeFit, confidences: Floats) -> TrackLabels:
    """Return the labels of a fit whose markers have these confidences (C,)."""
    spot, confidence = np.full(len(tracks.first), -1), np.zeros(len(tracks.first))
    for c, label in enumerate(fit.labels):
        if label < len(window.track_ids):
            spot[window.track_ids[label]] = c
            confidence[window.track_ids[label]] = confidences[c]
    return TrackLabels(spot, confidence)


def _extend_by_poses(
    tracks: Trajectories, hand: ShapeParameters, shape: HandShape, initial_labels: TrackLabels, free: Bools
) -> Steps[TrackLabels]:
    """Extend the labels to all frames: fit poses of an articulated hand to the labels, label by the poses, repeat."""
    labels = initial_labels
    for margins in POSE_ROUNDS:
        columns = spot_columns(tracks, labels, len(shape.spots))
        positions = tracks.positions_at(np.arange(len(columns)), columns)
        predicted = predict_markers(hand, shape.side, positions)
        labels = yield from label_fragments(tracks, shape, initial_labels, free, predicted=predicted, margins=margins)
    return labels


def _extend_to_all_frames(
    tracks: Trajectories, shape: HandShape, initial_labels: TrackLabels, free: Bools
) -> Steps[TrackLabels]:
    """Extend the labels from the frames in which the hand was found to all others, also after it was lost."""
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
        if fit is None or not is_hand(fit) or confidence_of_side(fit) < MIN_SIDE_CONFIDENCE:
            break
        added = _labels_of_fit(tracks, window, fit, marker_confidence(marker_margins(fit)))
        new = (added.spot >= 0) & (labels.spot < 0)
        merged = TrackLabels(np.where(new, added.spot, labels.spot), np.where(new, added.confidence, labels.confidence))
        labels = yield from label_fragments(tracks, shape, merged, free)
    return labels
