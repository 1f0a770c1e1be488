"""Label the markers of a capture: correct swapped labels, or find labels from the shape and motion of the hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..capture.marker_labels import unique
from ..capture.markers import Markers
from ..errors import MarkerMapError
from ..hand.generators import Steps
from ..hand.joints import SIDES, Side
from ..hand.labelling.few_markers import describe_few_markers
from ..hand.labelling.label_search import SidedLayout, label_hands_stepwise
from ..hand.labelling.label_swaps import Swap, corrected_columns, find_swaps
from ..hand.labelling.labelling_result import PERFORMER_LAYOUT, LabelledHand, Labelling
from ..hand.labelling.shape_model import MarkerLayout
from ..hand.marker_sets import Groups, suggest
from ..hand.measured_hand import MeasuredHand

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MAP_LAYOUT = "marker map"
"""Name of the layout of a marker map."""
MAX_NAMED_SWAPS = 3
"""Maximum number of swaps that a warning names."""
SWAP_RESULTS = {
    "mended": ("was undone", "were undone"),
    "doubtful": ("is possible and was left as it is", "are possible and were left as they are"),
}
"""Key of a count of swaps in the report -> what warnings say about one swap, and about several."""
SWAP_DOUBT = 0.5
"""Doubt of labels that may be swapped: as likely swapped as not."""
DOUBTFUL_CONFIDENCE = 0.8
"""Confidence below which a marker's label is reported as doubtful."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledMarkers:
    """A capture's markers with labels that name their joints."""

    markers: Markers
    facts: dict[str, Any] = field(default_factory=dict)
    """JSON-ready: how labels were found; for each hand its side, marker set, and the confidence of each marker."""
    groups: Groups = field(default_factory=dict)
    """side -> label -> spot, as in a marker map; empty if the capture's own labels were used."""
    swapped: Bools | None = None
    """(F, M) where a swap of labels was undone; None if none was."""
    doubt: Floats | None = None
    """(F, M) 0..1, probability that the label is wrong; None if nothing speaks against the labels."""


def keep_labels(markers: Markers, groups: Groups) -> LabelledMarkers:
    """Keep the capture's own labels, and undo clear swaps between markers of one hand.

    groups: hand -> label -> spot. A doubtful swap is left as it is, with a warning.
    """
    positions, predicted, rotations = markers.positions, markers.predicted, markers.rotations
    counts, warnings = {"mended": 0, "doubtful": 0}, []
    swapped, doubt = np.zeros(markers.predicted.shape, bool), np.zeros(markers.predicted.shape)
    for group, spots in groups.items():
        columns = [markers.names.index(label) for label in spots if label in markers.names]
        swaps = find_swaps(markers.times, markers.positions[:, columns])
        if not swaps:
            continue
        confirmed = sum(swap.is_confirmed for swap in swaps)
        counts["mended"] += confirmed
        counts["doubtful"] += len(swaps) - confirmed
        order = corrected_columns(len(markers.times), len(columns), swaps)
        positions, predicted = positions.copy(), predicted.copy()
        positions[:, columns] = np.take_along_axis(markers.positions[:, columns], order[..., None], axis=1)
        predicted[:, columns] = np.take_along_axis(markers.predicted[:, columns], order, axis=1)
        if rotations is not None and markers.rotations is not None:
            rotations = rotations.copy()
            rotations[:, columns] = np.take_along_axis(markers.rotations[:, columns], order[..., None], axis=1)
        for swap in swaps:
            rows, pair = slice(swap.first, swap.last + 1), [columns[column] for column in swap.columns]
            swapped[rows, pair] |= swap.is_confirmed
            doubt[rows, pair] = np.maximum(doubt[rows, pair], 0.0 if swap.is_confirmed else SWAP_DOUBT)
        warnings += _swap_warnings(group, [markers.names[column] for column in columns], swaps)
    if warnings:
        corrected = replace(markers, positions=positions, predicted=predicted, rotations=rotations)
        markers = replace(corrected, warnings=(*markers.warnings, *warnings))
    return LabelledMarkers(markers, {"by": "names", "swaps": counts}, swapped=swapped, doubt=doubt)


def describe_swaps(kind: str, count: int, group: str = "") -> str:
    """Describe the swaps of a kind: "2 swaps of markers of 'right' were undone"."""
    noun, result = "swap" if count == 1 else "swaps", SWAP_RESULTS[kind][count != 1]
    owner = f" of '{group}'" if group else ""
    return f"{count} {noun} of markers{owner} {result}"


def _swap_warnings(group: str, labels: list[str], swaps: tuple[Swap, ...]) -> list[str]:
    """Return one sentence about the clear swaps of a hand, and one about the doubtful ones."""
    warnings = []
    for kind in SWAP_RESULTS:
        swaps_of_kind = [swap for swap in swaps if swap.is_confirmed == (kind == "mended")]
        if swaps_of_kind:
            named = [
                f"{labels[swap.columns[0]]} and {labels[swap.columns[1]]} in frames {swap.first + 1}-{swap.last + 1}"
                for swap in swaps_of_kind[:MAX_NAMED_SWAPS]
            ]
            count = len(swaps_of_kind)
            more = f" and {count - MAX_NAMED_SWAPS} more" if count > MAX_NAMED_SWAPS else ""
            warnings.append(f"{describe_swaps(kind, count, group)}: {'; '.join(named)}{more}")
    return warnings


def label_by_shape(
    markers: Markers,
    measured_hands: Mapping[Side, MeasuredHand] | None = None,
    side: Side | None = None,
    marker_map: Groups | None = None,
) -> Steps[LabelledMarkers]:
    """Label the markers of the hands in a capture by their shape and motion. Other markers keep their labels.

    measured_hands: hands to look for; their markers get the labels that they were measured with. side: the side of a
    hand whose shape does not show it. marker_map: if not empty, only hands with its markers are looked for; a map of
    one hand also stands for its mirror image. Raises MarkerMapError if no hand is found.
    """
    labelling = yield from label_hands_stepwise(
        markers.times, markers.positions, measured_hands, side, _layouts(marker_map or {})
    )
    if not labelling.hands:
        few_marker_notes = describe_few_markers(markers.positions, markers.names)
        notes = "".join(f"; {note}" for note in (*labelling.notes, *few_marker_notes))
        whose = f" (only the performer's {' and '.join(measured_hands)} hand was looked for)" if measured_hands else ""
        raise MarkerMapError(
            f"{markers.source}: no hand was found by the shape and motion of its markers{whose}{notes}"
        )
    labels = [_labels_of(hand, labelling, index) for index, hand in enumerate(labelling.hands)]
    facts: dict[str, Any] = {"by": "shape", "hands_found": []}
    groups: Groups = {}
    for hand, hand_labels in zip(labelling.hands, labels, strict=True):
        facts["hands_found"].append(_hand_facts(markers, hand, hand_labels))
        spots = zip(hand_labels, hand.layout.spots.values(), strict=True)
        groups.setdefault(hand.side, {}).update({label: spot for label, spot in spots if label})
    relabelled = _relabel(markers, labelling, labels)
    return LabelledMarkers(relabelled, facts, groups, doubt=_doubt(relabelled, labelling, labels))


def _doubt(markers: Markers, labelling: Labelling, labels: list[list[str]]) -> Floats:
    """Return the doubt (F, M) of labels that were found by shape."""
    doubt = np.zeros(markers.predicted.shape)
    for hand, hand_labels in zip(labelling.hands, labels, strict=True):
        column_of = {
            spot: markers.names.index(label)
            for spot, label in zip(hand.layout.spots, hand_labels, strict=True)
            if label in markers.names
        }
        for span in hand.spans:
            if span.spot in column_of:
                doubt[span.first : span.last + 1, column_of[span.spot]] = 1.0 - span.confidence
    return doubt


def _layouts(marker_map: Groups) -> list[SidedLayout]:
    """Return the layouts of a marker map; the layout of a map of one hand fits either hand."""
    return [
        (MarkerLayout(MAP_LAYOUT, spots), SIDES if len(marker_map) == 1 else (side,))
        for side in SIDES
        if (spots := marker_map.get(side))
    ]


def map_label(side: str, label: str) -> str:
    """Return the label that a marker of a map gets if it is found by shape."""
    return f"{side}:{label}"


def _labels_of(hand: LabelledHand, labelling: Labelling, index: int) -> list[str]:
    """Return labels (C,) for the markers of a hand, empty for a spot that is never seen.

    If the layout's labels are no known marker set, side and joint are used instead.
    """
    spots = hand.layout.spots
    same_side = sum(earlier.side == hand.side for earlier in labelling.hands[:index])
    subject = f"{hand.side}#{same_side + 1}" if same_side else hand.side
    is_seen = np.any(hand.columns >= 0, axis=0)
    if hand.layout.name == MAP_LAYOUT:
        return [map_label(subject, label) if is_seen[column] else "" for column, label in enumerate(spots)]
    try:
        recognised = next(iter(suggest(spots).groups.values()))
    except MarkerMapError:
        recognised = {}
    if recognised.keys() != spots.keys():
        labels = list(unique(f"{subject}:{spot.joint}" for spot in spots.values()))
    elif hand.layout.name.startswith(PERFORMER_LAYOUT):
        labels = list(spots)
    else:
        labels = [f"{subject}:{label}" for label in spots]
    return [label if is_seen[column] else "" for column, label in enumerate(labels)]


def _hand_facts(markers: Markers, hand: LabelledHand, labels: list[str]) -> dict[str, Any]:
    """Describe how a hand was labelled, JSON-ready. Frames are counted from 1."""
    entries: dict[str, Any] = {}
    for c, (spot, label) in enumerate(zip(hand.layout.spots, labels, strict=True)):
        if label:
            entries[label] = {
                "confidence": round(float(hand.confidence[c]), 3),
                "seen_percent": round(100 * float((hand.columns[:, c] >= 0).mean()), 2),
                "from": [
                    {
                        "label": markers.names[span.column],
                        "first": span.first + 1,
                        "last": span.last + 1,
                        "confidence": round(span.confidence, 3),
                    }
                    for span in hand.spans
                    if span.spot == spot
                ],
            }
    return {"side": hand.side, "sure": round(hand.side_confidence, 3), "set": hand.layout.name, "markers": entries}


def source_map(labels: LabelledMarkers) -> Groups:
    """Return the marker map, by the capture's own labels, of hands that were labelled by shape; empty for others.

    If the marker at a spot has several labels in the capture, its label for the longest span is used.
    """
    groups: Groups = {}
    for hand in labels.facts.get("hands_found", ()):
        spots, named_spots = labels.groups[hand["side"]], groups.setdefault(hand["side"], {})
        for name, entry in hand["markers"].items():
            spans = [span for span in entry["from"] if span["label"] not in named_spots]
            if spans and spots[name] not in named_spots.values():
                named_spots[max(spans, key=lambda span: span["last"] - span["first"])["label"]] = spots[name]
    return groups


def describe_labels(facts: Mapping[str, Any]) -> list[str]:
    """Return lines for the panel about hands labelled by shape, such as 'Right, by shape: 97 % sure', and about their
    doubtful markers."""
    lines: list[str] = []
    for hand in facts.get("hands_found", ()):
        lines.append(f"{hand['side'].capitalize()}, by shape: {hand['sure']:.0%} sure")
        lines += [
            f"{name}: {entry['confidence']:.0%} sure"
            for name, entry in hand["markers"].items()
            if entry["confidence"] < DOUBTFUL_CONFIDENCE
        ]
    return lines


def _relabel(markers: Markers, labelling: Labelling, labels: list[list[str]]) -> Markers:
    """Return all markers, the hands' with their new labels and the others with their old ones."""
    columns, names = [], []
    remaining: Bools = markers.seen.copy()
    frames = np.arange(len(markers.times))
    for hand, hand_labels in zip(labelling.hands, labels, strict=True):
        for c, label in enumerate(hand_labels):
            if label:
                columns.append(hand.columns[:, c])
                names.append(label)
                is_seen = hand.columns[:, c] >= 0
                remaining[frames[is_seen], hand.columns[is_seen, c]] = False
    column = np.stack(columns, axis=1)
    is_seen = column >= 0
    positions = np.where(is_seen[..., None], markers.positions[frames[:, None], np.maximum(column, 0)], np.nan)
    predicted = markers.predicted[frames[:, None], np.maximum(column, 0)] & is_seen
    other_columns = np.flatnonzero(remaining.any(0))
    other_positions = np.where(remaining[:, other_columns, None], markers.positions[:, other_columns], np.nan)
    return replace(
        markers,
        names=unique([*names, *(markers.names[i] for i in other_columns)]),
        positions=np.concatenate([positions, other_positions], axis=1),
        predicted=np.concatenate(
            [predicted, markers.predicted[:, other_columns] & remaining[:, other_columns]], axis=1
        ),
        # Rotations belong to the joints in the capture's own labels, which were not used.
        rotations=None,
        warnings=(*markers.warnings, *_label_warnings(labelling, labels)),
    )


def _label_warnings(labelling: Labelling, labels: list[list[str]]) -> list[str]:
    """Return sentences about each hand: how certain its labels are, and which of its markers were not found."""
    warnings = []
    for hand, hand_labels in zip(labelling.hands, labels, strict=True):
        confidence = {label: float(hand.confidence[c]) for c, label in enumerate(hand_labels) if label}
        least_certain = min(confidence, key=lambda label: confidence[label])
        text = (
            f"{len(confidence)} markers of the {hand.side} hand were labelled by shape and motion "
            f"({hand.layout.name}), the side with a confidence of {hand.side_confidence:.2f}, the least certain "
            f"marker, {least_certain}, with {confidence[least_certain]:.2f}"
        )
        doubtful = [label for label in confidence if confidence[label] < DOUBTFUL_CONFIDENCE]
        warnings.append(text + (f"; doubtful: {', '.join(doubtful)}" if doubtful else ""))
        missing_spots = [spot for spot, label in zip(hand.layout.spots, hand_labels, strict=True) if not label]
        if missing_spots:
            warnings.append(
                f"the {hand.side} hand's {', '.join(missing_spots)} "
                f"{'was' if len(missing_spots) == 1 else 'were'} not found"
            )
    return [*warnings, *labelling.notes]
