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
from .hungarian import moves
from .label_confidence import of_marker, of_side
from .labelling_result import PERFORMERS, LabelledHand, Labelling, columns_of, found_hand
from .palm_candidates import ShapeFit, TrajectorySample, lay, propose, settled
from .region_growing import TrajectoryStats, grow
from .shape_model import LAYOUTS, HandShape, MarkerLayout, as_seen, mean_shape, mirrored, shape_of
from .trajectories import Trajectories, follow

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FRAMES = 100
"""Frames used to find a hand."""
MOST_TRACKS = 120
"""Number of trajectories, the longest ones, among which a hand is sought."""
HELD = 0.008
"""m, standard deviation of a performer's markers in the palm beyond that of sampled poses."""
NEAR = 0.02
"""m within which a performer's marker is the one that a layout has there."""
LONG = 50
"""Frames from which a trajectory is long: the search starts where most of the long ones are seen."""
MOST_HANDS = 2
"""Hands of further people are not labelled."""
LEAST_FILLED = 0.6
"""Share of a layout's spots that must have a marker."""
LEAST_FIT = -2.5
"""Highest mean cost per spot for a hand; what is no hand costs more."""
SIZES = (0.7, 1.4)
"""Range of hand sizes, relative to the mean adult's."""
SIDE_SURE = 0.85
"""Confidence below which the side is not decided: of hands at 0.5 to 0.83, four of seven were wrong."""
MOST_WINDOWS = 8
"""How often a hand that was lost completely is sought again."""


UNTOLD = "say which hand is wanted, left or right, or give a marker map or a performer's measures"


def find(
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
    return run_to_end(finding(times, positions, known, asked))


def finding(
    times: Floats,
    positions: Floats,
    known: Mapping[Side, MeasuredHand] | None = None,
    asked: Side | None = None,
) -> Steps[Labelling]:
    """Run `find` step by step."""
    yield Progress(0.0, "Following the markers")
    tracks = follow(times, positions)
    if not len(tracks.first):
        return Labelling((), tracks, ())
    free = np.ones(len(tracks.first), bool)
    hands: list[LabelledHand] = []
    notes: list[str] = []
    shapes = _shapes(known or {})
    while len(hands) < MOST_HANDS:
        best = yield from _best(tracks, _windows(tracks, free), shapes)
        if best is None:
            break
        layout, laid, sure, seen = best
        owned = seen.which[laid.labels[laid.labels < len(seen.which)]]
        free[owned] = False
        if sure < SIDE_SURE:
            said = _on_side(laid, asked)
            what = UNTOLD if said is None else f"taken for the {asked} hand that was asked for"
            notes.append(
                f"{len(owned)} markers move like a hand with the set '{layout.name}', but left or right cannot be "
                f"told: {what}"
            )
            if said is None:
                continue
            laid, sure = said, SIDE_SURE
        exact = laid.shape if laid.shape.exact else _measured(tracks, seen, laid)
        start = _as_growth(tracks, seen, laid)
        growth = yield from _everywhere(tracks, exact, start, free)
        free[growth.spot >= 0] = False
        hands.append(found_hand(tracks, layout, laid.shape.side, sure, growth))
    return Labelling(tuple(hands), tracks, tuple(notes))


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """Trajectories that are seen together, and frames that show most of them."""

    which: Ints
    frames: Ints


def _shapes(known: Mapping[Side, MeasuredHand]) -> list[tuple[MarkerLayout, HandShape]]:
    """Shapes to search for: mean hands with the known layouts, or performers' hands with their own markers."""
    if known:
        return [each for hand in known.values() for each in _of_performer(hand)]
    return [(layout, mean_shape(side, tuple(layout.spots.values()))) for layout in LAYOUTS for side in SIDES]


def _of_performer(hand: MeasuredHand) -> list[tuple[MarkerLayout, HandShape]]:
    """A performer's hand with all of its markers, and with those of each known layout.

    A take may have fewer markers than the capture in which the hand was measured.
    """
    found = [(MarkerLayout(PERFORMERS, hand.spots), _known_shape(hand, hand.spots))] if len(hand.spots) >= 4 else []
    for layout in LAYOUTS:
        own = _own_spots(hand, layout)
        if own is not None and own.keys() != hand.spots.keys():
            found.append((MarkerLayout(f"{PERFORMERS} {layout.name}", own), _known_shape(hand, own)))
    return found


def _own_spots(hand: MeasuredHand, layout: MarkerLayout) -> dict[str, Spot] | None:
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
    if len(set(nearest.tolist())) < len(theirs) or apart.min(1).max() > NEAR:
        return None
    return {labels[at]: owns[at] for at in nearest}


def _known_shape(hand: MeasuredHand, spots: dict[str, Spot]) -> HandShape:
    """Shape of a performer's hand: its bones are known, its poses in this take are sampled as for anybody."""
    shape = shape_of(hand.model, tuple(spots.values()), exact=True)
    return replace(shape, spread=shape.spread + HELD**2 * np.eye(3))


def _seeds(tracks: Trajectories, free: Bools, frames: Bools) -> _Seen:
    """Free trajectories at the frame, among those marked (F,), at which the longest ones are seen."""
    length = np.where(free, tracks.count, 0)
    value = np.where(tracks.ids >= 0, np.minimum(length, LONG)[tracks.ids], 0).sum(1)
    at = int(np.argmax(np.where(frames, value, -1)))
    which = tracks.ids[at][tracks.ids[at] >= 0]
    which = which[free[which]]
    which = np.sort(which[np.argsort(-tracks.count[which], kind="stable")[:MOST_TRACKS]])
    together = np.isin(tracks.ids, which).sum(1) >= 0.7 * len(which)
    rows = np.flatnonzero(together)
    return _Seen(which, rows[np.unique(np.linspace(0, len(rows) - 1, FRAMES).astype(int))] if len(rows) else rows)


def _windows(tracks: Trajectories, free: Bools) -> list[_Seen]:
    """Trajectories seen together in each third of a capture, without duplicates."""
    thirds = np.array_split(np.arange(len(tracks.ids)), min(3, len(tracks.ids)))
    found: dict[bytes, _Seen] = {}
    for third in thirds:
        frames = np.zeros(len(tracks.ids), bool)
        frames[third] = True
        seen = _seeds(tracks, free, frames)
        found.setdefault(seen.which.tobytes(), seen)
    return list(found.values())


def _best(
    tracks: Trajectories, windows: list[_Seen], shapes: list[tuple[MarkerLayout, HandShape]]
) -> Steps[tuple[MarkerLayout, ShapeFit, float, _Seen] | None]:
    """Find the layout and side that explain most, the confidence of the side, and where; None where nothing fits."""
    samples = [
        (seen, TrajectorySample.of(tracks.places(seen.frames, seen.which)))
        for seen in windows
        if len(seen.which) >= 4 and len(seen.frames)
    ]
    found: list[ShapeFit] = []
    for layout, shape in shapes:
        yield Progress(0.0, f"Looking for a {shape.side} hand with the set '{layout.name}'")
        proposals = [each for _, sample in samples for each in propose(sample, shape)]
        found += [laid for laid in settled(proposals) if _is_hand(laid)]
    if not found:
        return None
    laid = min(found, key=_worth)
    layout = next(layout for layout, shape in shapes if shape is laid.shape)
    seen = next(seen for seen, sample in samples if sample is laid.sample)
    return layout, laid, _side_sure(laid), seen


def _on_side(laid: ShapeFit, side: Side | None) -> ShapeFit | None:
    """Fit a hand of the requested side to the same markers; None if there is no request, or that hand does not fit."""
    if side is None or laid.shape.side == side:
        return laid if side else None
    other = lay(laid.sample, mirrored(laid.shape))
    return other if other is not None and _is_hand(other) else None


def _side_sure(laid: ShapeFit) -> float:
    """Confidence 0.5..1 of the side, by how much worse the other hand fits the same markers."""
    own = np.sort(laid.labels[laid.labels < len(laid.sample.apart)])
    other = lay(laid.sample.only(own), mirrored(laid.shape))
    # A mirrored hand must not win by leaving out the markers that do not fit it.
    rival = 0.0 if other is None else min(_worth(other), 0.0)
    gap = (rival / _filled(laid) - laid.cost) / len(laid.labels)
    return of_side(gap)


def _filled(laid: ShapeFit) -> float:
    """Share of the spots that have a marker."""
    return float((laid.labels < len(laid.sample.apart)).mean())


def _worth(laid: ShapeFit) -> float:
    """The cost times the share of spots that have a marker, so that a larger set does not win by its empty spots."""
    return laid.cost * _filled(laid)


def _is_hand(laid: ShapeFit) -> bool:
    filled = _filled(laid)
    fits = laid.cost <= LEAST_FIT * len(laid.labels) * filled
    return filled >= LEAST_FILLED and fits and SIZES[0] < laid.scale < SIZES[1]


def _measured(tracks: Trajectories, seen: _Seen, laid: ShapeFit) -> HandShape:
    """Shape of the hand that was found: measured where seen, by its proportions where not.

    Which spots are on the palm, and which are neighbours, stays as in the layout.
    """
    spots = np.flatnonzero(laid.labels < len(seen.which))
    places = tracks.places(seen.frames, seen.which[laid.labels[spots]])
    try:
        proportions, found = measure_proportions(laid.shape.side, tuple(laid.shape.spots[i] for i in spots), places)
        every: list[Spot] = list(laid.shape.spots)
        for i, spot in zip(spots, found, strict=True):
            every[i] = spot
        shape = shape_of(build(proportions), tuple(every), exact=True)
    except HandError:
        shape = laid.shape
    return as_seen(replace(shape, palm=laid.shape.palm, weight=laid.shape.weight), spots, places)


def _as_growth(tracks: Trajectories, seen: _Seen, laid: ShapeFit) -> TrajectoryStats:
    """Assignment and confidence of the trajectories in a fit."""
    spot, confidence = np.full(len(tracks.first), -1), np.zeros(len(tracks.first))
    chances = of_marker(margins(laid))
    for c, label in enumerate(laid.labels):
        if label < len(seen.which):
            spot[seen.which[label]] = c
            confidence[seen.which[label]] = chances[c]
    return TrajectoryStats(spot, confidence)


def margins(laid: ShapeFit) -> Floats:
    """Increase of cost (C,) if a spot's marker is exchanged for another's, a free one, or none."""
    swaps, changes = moves(laid.costs, laid.local)
    np.fill_diagonal(swaps, np.inf)
    least: Floats = np.minimum(swaps.min(1), changes.min(1))
    return np.maximum(least, 0.0)


def _everywhere(tracks: Trajectories, shape: HandShape, start: TrajectoryStats, free: Bools) -> Steps[TrajectoryStats]:
    """Extend the labels from the frames in which the hand was found to all others, also to those after it was lost."""
    growth = yield from grow(tracks, shape, start, free)
    for _ in range(MOST_WINDOWS):
        columns = columns_of(tracks, growth, len(shape.spots))
        lost = (columns[:, shape.palm] >= 0).sum(1) < 3
        open_ones = free & (growth.spot < 0) & (tracks.count >= 10)
        enough = lost & (np.isin(tracks.ids, np.flatnonzero(open_ones)).sum(1) >= 0.5 * len(shape.spots))
        if not enough.any():
            break
        seen = _seeds(tracks, open_ones, enough)
        laid = lay(TrajectorySample.of(tracks.places(seen.frames, seen.which)), shape)
        # Markers seen while this hand is lost may be the other hand's.
        if laid is None or not _is_hand(laid) or _side_sure(laid) < SIDE_SURE:
            break
        more = _as_growth(tracks, seen, laid)
        new = (more.spot >= 0) & (growth.spot < 0)
        merged = TrajectoryStats(
            np.where(new, more.spot, growth.spot), np.where(new, more.confidence, growth.confidence)
        )
        growth = yield from grow(tracks, shape, merged, free)
    return growth
