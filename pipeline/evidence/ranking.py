"""Problems of a take: spans of frames, worst first, each with its reason in words.

A frame's severity is the ratio of a measure to its threshold. The threshold is the median of the measure in the take
plus a multiple of its spread (MAD), and at least a floor, so that a noisy device does not make every frame a problem.
An error that lasts for much of a take raises this threshold. It is therefore also compared with a second threshold,
which only noise raises, and ranked after the other problems.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...capture.cleaning import MAD_TO_SIGMA, runs
from ...hand.joints import Side
from .evidence import PARTS, Evidence, HandEvidence
from .reasons import limit_advice, reason

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Threshold:
    """Threshold above which a measure is a problem."""

    measure: str
    floor: float
    """Minimum value of a problem, in the measure's unit."""
    spreads: float = 0.0
    """Standard deviations (from the MAD) above the take's median; with 0 only the floor counts."""
    min_frames: int = 1
    """Minimum number of frames in a row."""


THRESHOLDS = (
    Threshold("tip_error", 8.0, 8.0, min_frames=2),
    Threshold("marker_error", 8.0, 8.0, min_frames=2),
    Threshold("marker_leap", 7.0, 25.0),
    Threshold("joint_leap", 15.0, 10.0),
    Threshold("label_doubt", 0.25),
    # 0.12 is one of eight markers of a part. Splines fill one or two frames accurately.
    Threshold("corrected", 0.12, min_frames=3),
    Threshold("unseen", 0.12, min_frames=3),
)
"""Tuned on takes that the documentation's figures do not use."""
ERRORS = ("tip_error", "marker_error")
"""Measures of how far the hand is from its markers."""
_IS_ERROR = np.array([threshold.measure in ERRORS for threshold in THRESHOLDS])
LASTING = Threshold("", 10.0, 8.0)
"""Threshold of a lasting error: floor in mm, and multiples of the spread of its changes between frames."""
LASTING_S, LASTING_JOIN_S = 0.5, 1.0
"""s, minimum duration of a lasting error, and maximum gap over which two of one part are joined."""
LASTING_SEVERITY = 1.0
"""Severity of a lasting error, the minimum severity of a problem."""
JOIN_S = 0.1
"""s, maximum gap between two problems of a part that are joined."""
MIN_OVERLAP = 0.3
"""Minimum overlap of two parts' spans, as a fraction of their union, at which they are one problem."""

SIDE_EFFECT = 0.5
"""Maximum severity of a side effect at a problem's start or end, relative to the problem."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A span of frames of one hand in which something is wrong."""

    side: Side
    parts: tuple[str, ...]
    """The affected parts, the worst first."""
    first: int
    last: int
    """First and last frame of the span, both included, counted from 0."""
    worst: int
    """The frame of highest severity."""
    severity: float
    """Ratio of the worst measure to its threshold, at least 1."""
    measure: str
    """The worst measure."""
    value: float
    """Maximum value of the measure."""
    reason: str
    """Description of the problem and its likely cause."""
    at_limit: tuple[str, ...] = ()
    """Parts whose error is explained only by a joint at its limit, the worst first."""
    lasts: bool = False
    """Whether it is a lasting error that does not stand out from the take; such errors are listed last."""


MAX_REPORTED = 500
"""Maximum number of problems in a report."""


def problems_as_json(problems: tuple[Problem, ...]) -> list[dict[str, Any]]:
    """Return problems for a report, JSON-ready, the worst first; frames are counted from 1."""
    return [
        {
            "hand": problem.side,
            "parts": list(problem.parts),
            "first": problem.first + 1,
            "last": problem.last + 1,
            "worst": problem.worst + 1,
            "severity": problem.severity,
            "measure": problem.measure,
            "value": problem.value,
            "reason": problem.reason,
            "lasts": problem.lasts,
        }
        for problem in problems[:MAX_REPORTED]
    ]


def limit_notes(problems: Iterable[Problem], hands: Mapping[Side, Mapping[str, Any]]) -> list[str]:
    """Return advice for each hand whose errors are explained by joint limits.

    hands: each hand's part of the report, which says how many of the rig's bones are limited.
    """
    parts_by_side: dict[Side, list[str]] = {}
    for problem in problems:
        if problem.at_limit:
            parts_by_side.setdefault(problem.side, []).extend(problem.at_limit)
    return [
        limit_advice(side, sorted(set(parts), key=PARTS.index), limited_bones=bool(hands[side].get("limited_bones")))
        for side, parts in parts_by_side.items()
    ]


def rank(evidence: Evidence) -> tuple[Problem, ...]:
    """Return the problems of a take, the worst first."""
    problems = [problem for hand in evidence.hands for problem in _problems_of_hand(hand, evidence.times)]
    return worst_first(problems)


def worst_first(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return problems by severity, the worst first, followed by lasting errors."""
    return tuple(sorted(problems, key=lambda problem: (problem.lasts, -problem.severity, problem.first, problem.side)))


def severities(hand: HandEvidence) -> Floats:
    """Return severities (F, P, T): measures relative to their thresholds, 0 where unknown or too short."""
    result = _zero_severities(hand)
    for column, threshold in enumerate(THRESHOLDS):
        values = hand.of(threshold.measure).astype(float)
        severity = np.nan_to_num(values / _limits(values, threshold))
        if threshold.min_frames > 1:
            severity[_short(severity >= 1.0, threshold.min_frames)] = 0.0
        result[..., column] = severity
    return result


def _zero_severities(hand: HandEvidence) -> Floats:
    """Return severities (F, P, T) of 0, with the frames of each measure contiguous in memory."""
    frames, parts, _ = hand.values.shape
    severity: Floats = np.zeros((len(THRESHOLDS), frames, parts)).transpose(1, 2, 0)
    return severity


def _limits(values: Floats, threshold: Threshold) -> Floats:
    """Return the thresholds (P,) of a measure, from its values (F, P)."""
    limits = np.full(values.shape[1], threshold.floor)
    for part in range(values.shape[1]) if threshold.spreads else ():
        finite_values = values[np.isfinite(values[:, part]), part]
        if len(finite_values):
            median = np.median(finite_values)
            spread = MAD_TO_SIGMA * np.median(np.abs(finite_values - median))
            limits[part] = max(threshold.floor, median + threshold.spreads * spread)
    return limits


def _short(mask: Bools, minimum: int) -> Bools:
    """Return (F, P), True in runs of the mask that are shorter than `minimum` frames."""
    short = np.zeros_like(mask)
    for column, start, stop in zip(*runs(mask), strict=True):
        short[start:stop, column] = stop - start < minimum
    return short


def _problems_of_hand(hand: HandEvidence, times: Floats) -> Iterator[Problem]:
    """Yield the problems of a hand, and its lasting errors."""
    severity = severities(hand)
    by_part = severity.max(axis=2)
    yield from _problems(hand, severity, _spans_of_parts(by_part >= 1.0, times, JOIN_S), times)
    del severity  # frees memory: it is as large as the evidence
    lasting = _lasting_severities(hand)
    np.copyto(lasting, 0.0, where=(by_part >= 1.0)[..., None])
    bad = lasting.max(axis=2) >= 1.0
    step = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    spans = _spans_of_parts(bad, times, LASTING_JOIN_S)
    long = [step * bad[first : last + 1, part].sum() >= LASTING_S for part, first, last in spans]
    yield from _problems(hand, lasting, spans[np.array(long, bool)], times, lasting=True)


def _lasting_severities(hand: HandEvidence) -> Floats:
    """Return (F, P, T): errors relative to the threshold of lasting errors, 0 for other measures and where unknown."""
    result = _zero_severities(hand)
    for column, threshold in enumerate(THRESHOLDS):
        for part in range(len(PARTS)) if threshold.measure in ERRORS else ():
            values = hand.of(threshold.measure)[:, part].astype(float)
            changes = np.abs(np.diff(values))
            changes = changes[np.isfinite(changes)]
            noise = MAD_TO_SIGMA * np.median(changes) / np.sqrt(2) if len(changes) else 0.0
            result[:, part, column] = np.nan_to_num(values / (LASTING.floor + LASTING.spreads * noise))
    return result


def _spans_of_parts(bad: Bools, times: Floats, join: float) -> Ints:
    """Return (S, 3) part, first and last frame of runs of bad frames (F, P), joined over gaps of up to `join` s."""
    spans = [(part, *span) for part in range(len(PARTS)) for span in _spans(bad[:, part], times, join)]
    return np.array(spans, int).reshape(-1, 3)


def _problems(
    hand: HandEvidence, severity: Floats, spans: Ints, times: Floats, *, lasting: bool = False
) -> Iterator[Problem]:
    """Yield the problems of a hand; spans that overlap or are side effects are one problem.

    severity: (F, P, T). spans: (S, 3) part, first and last frame.
    """
    by_part = severity.max(axis=2)
    worst = np.array([first + by_part[first : last + 1, part].argmax() for part, first, last in spans], int)
    worst_severity = by_part[worst, spans[:, 0]]
    is_unassigned, by_frame = np.ones(len(spans), bool), _SpansByFrame(spans)
    for row in np.argsort(-worst_severity, kind="stable"):
        if is_unassigned[row]:
            neighbours = by_frame.overlapping(row)
            neighbours = neighbours[is_unassigned[neighbours]]
            is_minor = worst_severity[neighbours] <= SIDE_EFFECT * worst_severity[row]
            members = neighbours[
                _belongs(
                    spans[neighbours], times[worst[neighbours]], is_minor, int(np.searchsorted(neighbours, row)), times
                )
            ]
            is_unassigned[members] = False
            parts = spans[members[np.argsort(-worst_severity[members], kind="stable")], 0]
            first, last = int(spans[members, 1].min()), int(spans[members, 2].max())
            frames = (first, last, int(worst[row]))
            yield _problem(hand, severity, list(dict.fromkeys(parts.tolist())), frames, lasting=lasting)


class _SpansByFrame:
    """An index by frame of spans (S, 3) of part, first and last frame."""

    def __init__(self, spans: Ints) -> None:
        self._spans = spans
        self._order = np.argsort(spans[:, 1], kind="stable")
        self._firsts = spans[self._order, 1]
        self._latest = np.maximum.accumulate(spans[self._order, 2])

    def overlapping(self, row: int) -> Ints:
        """Return indices (N,), in order, of spans that may overlap a span, including itself."""
        _, first, last = self._spans[row]
        start, end = np.searchsorted(self._latest, first), np.searchsorted(self._firsts, last, "right")
        rows: Ints = np.sort(self._order[start:end])
        return rows


def _belongs(spans: Ints, worst: Floats, is_minor: Bools, row: int, times: Floats) -> Bools:
    """Return (S,) whether each span belongs to the same problem as span `row`.

    It does if it overlaps that span and is about as long, or if it is a side effect: minor, and worst where that span
    begins, ends or is worst. A faulty marker affects other digits where it appears and disappears.

    spans: (S, 3) part, first and last frame. worst: (S,) s, times of highest severity. is_minor: (S,)
    """
    _, first, last = spans[row]
    overlap = np.minimum(spans[:, 2], last) - np.maximum(spans[:, 1], first) + 1
    union = np.maximum(spans[:, 2], last) - np.minimum(spans[:, 1], first) + 1
    instants = np.array([times[first], times[last], worst[row]])
    is_side_effect = is_minor & (np.abs(worst[:, None] - instants) <= JOIN_S).any(axis=1)
    belongs: Bools = (overlap > 0) & ((overlap >= MIN_OVERLAP * union) | is_side_effect)
    return belongs


def _problem(
    hand: HandEvidence, severity: Floats, parts: list[int], frames: tuple[int, int, int], *, lasting: bool
) -> Problem:
    """Describe a problem of parts (indices, the worst first) over its first, last and worst frame."""
    first, last, worst = frames
    column = int(severity[worst, parts[0]].argmax())
    measure = THRESHOLDS[column].measure
    value = float(hand.of(measure)[worst, parts[0]])
    has_failed: Bools = np.any(severity[first : last + 1, parts] >= 1.0, axis=0)
    measures = [threshold.measure for threshold, failed in zip(THRESHOLDS, has_failed[0], strict=True) if failed]
    names = tuple(PARTS[part] for part in parts)
    limited: Bools = np.any(hand.of("at_limit")[first : last + 1, parts] > 0, axis=0)
    measures += ["at_limit"] if limited[0] else []
    sentence = reason(names, last - first + 1, measure, value, measures, lasting=lasting)
    height = LASTING_SEVERITY if lasting else round(float(severity[worst, parts[0], column]), 2)
    at_limit = limited & _errors_alone(has_failed)
    explained = tuple(name for name, is_limited in zip(names, at_limit, strict=True) if is_limited)
    return Problem(hand.side, names, first, last, worst, height, measure, round(value, 2), sentence, explained, lasting)


def _errors_alone(has_failed: Bools) -> Bools:
    """Return (P,) whether a part has an error and no other fault. has_failed: (P, T) by part and measure."""
    has_error: Bools = np.any(has_failed & _IS_ERROR, axis=1)
    has_other_fault: Bools = np.any(has_failed & ~_IS_ERROR, axis=1)
    return has_error & ~has_other_fault


def _spans(bad: Bools, times: Floats, join: float) -> list[tuple[int, int]]:
    """Return first and last frames of runs of bad frames (F,), joined over gaps of up to `join` s."""
    frames = np.flatnonzero(bad)
    if not len(frames):
        return []
    breaks = np.flatnonzero((np.diff(times[frames]) > join) & (np.diff(frames) > 1))
    firsts, lasts = frames[np.r_[0, breaks + 1]], frames[np.r_[breaks, len(frames) - 1]]
    return [(int(first), int(last)) for first, last in zip(firsts, lasts, strict=True)]
