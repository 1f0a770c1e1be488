"""Label the markers of a capture: mend swapped labels, or find labels from the shape and motion of the hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..capture.marker_labels import unique
from ..capture.markers import Markers
from ..errors import MarkerMapError
from ..hand.generators import Steps
from ..hand.joints import Side
from ..hand.labelling.few_markers import told_of_few
from ..hand.labelling.label_search import finding
from ..hand.labelling.label_swaps import Swap, exchanges, swaps
from ..hand.labelling.labelling_result import PERFORMERS, LabelledHand, Labelling
from ..hand.marker_sets import Groups, suggest
from ..hand.measured_hand import MeasuredHand

Bools = NDArray[np.bool_]

MOST_TOLD = 3
"""How many swaps a warning names."""
DOUBTFUL = 0.8
"""Confidence below which a marker's label is reported as doubtful."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledMarkers:
    """A capture's markers with labels that name their joints."""

    markers: Markers
    facts: dict[str, Any] = field(default_factory=dict)
    """JSON-ready: how labels were found; for each hand its side, marker set, and the confidence of each marker."""
    groups: Groups = field(default_factory=dict)
    """side -> label -> spot, as in a marker map; empty if the capture's own labels were used."""


def as_named(markers: Markers, groups: Groups) -> LabelledMarkers:
    """Keep the capture's own labels, and undo clear swaps between markers of one hand.

    groups: hand -> label -> spot. A doubtful swap is left as it is, with a warning.
    """
    positions, predicted, turns, told = markers.positions, markers.predicted, markers.rotations, []
    counts = {"mended": 0, "doubtful": 0}
    for group, spots in groups.items():
        columns = [markers.names.index(label) for label in spots if label in markers.names]
        found = swaps(markers.times, markers.positions[:, columns])
        if not found:
            continue
        clear = sum(swap.clear for swap in found)
        counts["mended"] += clear
        counts["doubtful"] += len(found) - clear
        order = exchanges(len(markers.times), len(columns), found)
        positions, predicted = positions.copy(), predicted.copy()
        positions[:, columns] = np.take_along_axis(markers.positions[:, columns], order[..., None], axis=1)
        predicted[:, columns] = np.take_along_axis(markers.predicted[:, columns], order, axis=1)
        if turns is not None and markers.rotations is not None:
            turns = turns.copy()
            turns[:, columns] = np.take_along_axis(markers.rotations[:, columns], order[..., None], axis=1)
        told += _swap_sentences(group, [markers.names[column] for column in columns], found)
    if not told:
        return LabelledMarkers(markers, {"by": "names", "swaps": counts})
    mended = replace(
        markers, positions=positions, predicted=predicted, rotations=turns, warnings=(*markers.warnings, *told)
    )
    return LabelledMarkers(mended, {"by": "names", "swaps": counts})


def _swap_sentences(group: str, labels: list[str], found: tuple[Swap, ...]) -> list[str]:
    told = []
    for clear, what in ((True, "were put right"), (False, "may be and were left as they are")):
        some = [swap for swap in found if swap.clear == clear]
        if some:
            each = [
                f"{labels[swap.columns[0]]} and {labels[swap.columns[1]]} in frames {swap.first + 1}-{swap.last + 1}"
                for swap in some[:MOST_TOLD]
            ]
            more = f" and {len(some) - MOST_TOLD} more" if len(some) > MOST_TOLD else ""
            told.append(f"{len(some)} swaps of markers of '{group}' {what}: {'; '.join(each)}{more}")
    return told


def by_shape(
    markers: Markers, known: Mapping[Side, MeasuredHand] | None = None, asked: Side | None = None
) -> Steps[LabelledMarkers]:
    """Label the markers of the hands in a capture by their shape and motion. Other markers keep their labels.

    Args:
        known: measured hands to look for; their markers get the labels with which they were measured.
        asked: the side of a hand whose shape does not show it.

    Raises MarkerMapError if no hand is found.
    """
    found = yield from finding(markers.times, markers.positions, known, asked)
    if not found.hands:
        few = told_of_few(markers.positions, markers.names)
        told = "".join(f"; {note}" for note in (*found.notes, *few))
        whose = f" (only the performer's {' and '.join(known)} hand was looked for)" if known else ""
        raise MarkerMapError(f"{markers.source}: no hand was found by the shape and motion of its markers{whose}{told}")
    names = [_names(hand, found, index) for index, hand in enumerate(found.hands)]
    facts = {
        "by": "shape",
        "hands_found": [_facts(markers, hand, own) for hand, own in zip(found.hands, names, strict=True)],
    }
    groups: Groups = {}
    for hand, own in zip(found.hands, names, strict=True):
        spots = zip(own, hand.layout.spots.values(), strict=True)
        groups.setdefault(hand.side, {}).update({name: spot for name, spot in spots if name})
    return LabelledMarkers(_renamed(markers, found, names), facts, groups)


def _names(hand: LabelledHand, found: Labelling, index: int) -> list[str]:
    """Labels (C,) for the markers of a hand, empty for a spot that is never seen.

    If the layout's labels are no known marker set, side and joint are used instead.
    """
    spots = hand.layout.spots
    before = sum(other.side == hand.side for other in found.hands[:index])
    subject = f"{hand.side}#{before + 1}" if before else hand.side
    try:
        understood = next(iter(suggest(spots).groups.values()))
    except MarkerMapError:
        understood = {}
    sided = not hand.layout.name.startswith(PERFORMERS)
    if understood.keys() == spots.keys():
        names = [f"{subject}:{label}" if sided else label for label in spots]
    else:
        names = list(unique(f"{subject}:{spot.joint}" for spot in spots.values()))
    seen = np.any(hand.columns >= 0, axis=0)
    return [name if seen[c] else "" for c, name in enumerate(names)]


def _facts(markers: Markers, hand: LabelledHand, names: list[str]) -> dict[str, Any]:
    """Describe how a hand was labelled, JSON-ready. Frames are counted from 1."""
    entries: dict[str, Any] = {}
    for c, (label, name) in enumerate(zip(hand.layout.spots, names, strict=True)):
        if name:
            entries[name] = {
                "confidence": round(float(hand.confidence[c]), 3),
                "seen_percent": round(100 * float((hand.columns[:, c] >= 0).mean()), 2),
                "from": [
                    {
                        "label": markers.names[piece.column],
                        "first": piece.first + 1,
                        "last": piece.last + 1,
                        "confidence": piece.confidence,
                    }
                    for piece in hand.pieces
                    if piece.spot == label
                ],
            }
    return {"side": hand.side, "sure": round(hand.sure, 3), "set": hand.layout.name, "markers": entries}


def told_by_shape(facts: Mapping[str, Any]) -> list[str]:
    """Lines for the panel about hands labelled by shape: 'Right, by shape: 97 % sure', and each doubtful marker."""
    lines: list[str] = []
    for hand in facts.get("hands_found", ()):
        lines.append(f"{hand['side'].capitalize()}, by shape: {hand['sure']:.0%} sure")
        lines += [
            f"{name}: {entry['confidence']:.0%} sure"
            for name, entry in hand["markers"].items()
            if entry["confidence"] < DOUBTFUL
        ]
    return lines


def _renamed(markers: Markers, found: Labelling, names: list[list[str]]) -> Markers:
    """Return the hands' markers with their new labels, and the remaining markers with their old ones."""
    columns, labels = [], []
    left: Bools = markers.seen.copy()
    rows = np.arange(len(markers.times))
    for hand, own in zip(found.hands, names, strict=True):
        for c, name in enumerate(own):
            if name:
                columns.append(hand.columns[:, c])
                labels.append(name)
                at = hand.columns[:, c] >= 0
                left[rows[at], hand.columns[at, c]] = False
    at = np.stack(columns, axis=1)
    taken = np.where((at >= 0)[..., None], markers.positions[rows[:, None], np.maximum(at, 0)], np.nan)
    predicted = markers.predicted[rows[:, None], np.maximum(at, 0)] & (at >= 0)
    others = np.flatnonzero(left.any(0))
    rest = np.where(left[:, others, None], markers.positions[:, others], np.nan)
    return replace(
        markers,
        names=unique([*labels, *(markers.names[i] for i in others)]),
        positions=np.concatenate([taken, rest], axis=1),
        predicted=np.concatenate([predicted, markers.predicted[:, others] & left[:, others]], axis=1),
        # The device's rotations belong to the joints that it named, and those names were not used.
        rotations=None,
        warnings=(*markers.warnings, *_sentences(found, names)),
    )


def _sentences(found: Labelling, names: list[list[str]]) -> list[str]:
    told = []
    for hand, own in zip(found.hands, names, strict=True):
        sure = {name: float(hand.confidence[c]) for c, name in enumerate(own) if name}
        least = min(sure, key=lambda name: sure[name])
        text = (
            f"{len(sure)} markers of the {hand.side} hand were told by shape and motion ({hand.layout.name}), "
            f"the side with a confidence of {hand.sure:.2f}, the least sure marker, {least}, with {sure[least]:.2f}"
        )
        doubtful = [name for name in sure if sure[name] < DOUBTFUL]
        told.append(text + (f"; doubtful: {', '.join(doubtful)}" if doubtful else ""))
        lost = [label for label, name in zip(hand.layout.spots, own, strict=True) if not name]
        if lost:
            told.append(f"the {hand.side} hand's {', '.join(lost)} {'was' if len(lost) == 1 else 'were'} not found")
    return [*told, *found.notes]
