"""Markers that vanish for a while: how far the hand carries them from where they were withheld, and how it jumps.

Live is without what looks ahead: no gap is filled, no spike taken out. The hand is measured with all markers seen, so
that the prediction alone is measured. `nothing hidden` is how far the same markers are off in those frames otherwise.
A jump is a step at either end of a gap beyond that of the marker itself (mm), or beyond the joint's own step where
nothing was hidden (degrees).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from skin_figures import turns
from skin_methods import Method, Solved
from skin_takes import ROOT, Clip, splits

from knuckle.capture import formats
from knuckle.errors import KnuckleError

Floats = NDArray[np.float64]

GLOVE = ROOT.parent / "shared" / "data" / "captures" / "qualisys_glove.tsv"
GLOVE_FRAMES = slice(0, 2000)
DIGIT_WORDS = ("thumb", "index", "middle", "ring", "pinky", "little")
PALM_WORDS = ("hand_", "backhand")
CLEAR = 0.4
"""Minimum time without a gap, at the beginning and between two gaps, s."""
HEAD = [
    "method",
    "capture",
    "hidden",
    "nothing hidden: mean mm",
    "live: mean / p90 mm",
    "jump: p90 mm, °",
    "whole take: mean / p90 mm",
    "jump: p90 mm, °",
    "wanted mean mm: live, whole take",
]


@dataclass(frozen=True, slots=True)
class Case:
    """Which markers are hidden, and for how long."""

    name: str
    seconds: float
    hidden: Callable[[Clip, int], list[str]]
    """Function that returns the labels hidden in the nth gap."""
    wanted: str


def _of_digit(clip: Clip, word: str) -> list[str]:
    return [label for label in clip.labels if label.lower().startswith(word)]


def tip(clip: Clip, number: int) -> list[str]:
    """Return the label of one fingertip; `number` selects the finger."""
    tips = [label for label in clip.labels if label.lower().endswith("tip") and not label.lower().startswith("thumb")]
    return [tips[number % len(tips)]]


def palm(clip: Clip, number: int) -> list[str]:
    """Return two of the three markers on the back of the hand."""
    back = [label for label in clip.labels if label.lower().startswith(PALM_WORDS)]
    return [label for i, label in enumerate(back) if i != number % 3]


def fingers(clip: Clip, number: int) -> list[str]:
    """Return all markers of two neighbouring fingers."""
    words = [word for word in DIGIT_WORDS[1:] if _of_digit(clip, word)]
    first = number % (len(words) - 1)
    return [label for word in words[first : first + 2] for label in _of_digit(clip, word)]


def everything(clip: Clip, number: int) -> list[str]:
    """Return all markers of the hand."""
    return list(clip.labels)


CASES = (
    Case("one tip, 0.1 s", 0.1, tip, ""),
    Case("one tip, 0.3 s", 0.3, tip, "8, 4"),
    Case("one tip, 0.6 s", 0.6, tip, ""),
    Case("one tip, 1 s", 1.0, tip, "-, 10"),
    Case("two of three on the palm, 0.3 s", 0.3, palm, "-, 8"),
    Case("two neighbouring fingers, 0.5 s", 0.5, fingers, "-, 10"),
    Case("the whole hand, 1 s", 1.0, everything, ""),
)


@dataclass(frozen=True, slots=True, eq=False)
class Gap:
    """Markers hidden in a range of frames."""

    rows: slice
    labels: tuple[str, ...]


def gaps(clip: Clip, case: Case) -> list[Gap]:
    """Return gaps throughout the clip, with pauses as long as the gaps, and at least CLEAR."""
    length, clear = round(case.seconds * clip.rate), round(max(CLEAR, case.seconds) * clip.rate)
    starts = range(round(CLEAR * clip.rate), len(clip) - length - 2, length + clear)
    return [Gap(slice(start, start + length), tuple(case.hidden(clip, n))) for n, start in enumerate(starts)]


def hide(clip: Clip, hidden: list[Gap]) -> Clip:
    """Return the clip with these gaps."""
    positions = clip.positions.copy()
    for gap in hidden:
        positions[gap.rows, [clip.column(label) for label in gap.labels]] = np.nan
    return replace(clip, positions=positions)


@dataclass(slots=True)
class Found:
    """Results over all gaps of a case."""

    away: list[Floats]
    """mm in the hidden frames."""
    jumps: list[float]
    """mm"""
    turned: list[float]
    """Degrees."""

    def cells(self) -> list[str]:
        """Return the cells of the table: errors and jumps."""
        errors = np.concatenate(self.away) if self.away else np.array([np.nan])
        if not np.isfinite(errors).any():
            return ["-", "-"]
        jump = f"{np.nanquantile(self.jumps, 0.9):.0f}, {np.nanquantile(self.turned, 0.9):.0f}"
        return [f"{np.nanmean(errors):.1f} / {np.nanquantile(errors, 0.9):.1f}", jump]


def measure(clip: Clip, hidden: list[Gap], solved: Solved, plain: Solved, results: Found) -> None:
    """Add the results of a clip, solved with gaps and without."""
    steps = turns(solved) - turns(plain)
    for gap in hidden:
        for label in gap.labels:
            if label not in solved.labels:
                continue
            carried, truth = solved.carried[:, solved.labels.index(label)], clip.positions[:, clip.column(label)]
            results.away.append(1000 * np.linalg.norm(carried - truth, axis=-1)[gap.rows])
            for end in (gap.rows.start, gap.rows.stop):
                step = carried[end] - carried[end - 1] - (truth[end] - truth[end - 1])
                results.jumps.append(float(1000 * np.linalg.norm(step)))
        results.turned += [float(steps[end - 1].max()) for end in (gap.rows.start, gap.rows.stop)]


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """A clip in which markers are hidden, and the takes to which its performer is fitted."""

    clip: Clip
    calibration: tuple[Clip, ...]


def clips() -> dict[str, list[Recorded]]:
    """Return the captures in which markers are hidden."""
    markers = formats.read(GLOVE)
    names = [name for name in markers.names if name.lower().startswith(DIGIT_WORDS + PALM_WORDS)]
    positions = markers.positions[GLOVE_FRAMES][:, [markers.names.index(name) for name in names]]
    glove = Clip("glove", "right", markers.rate, tuple(names), positions)
    skin = [Recorded(split.test[0], split.calibration) for split in splits(1) if split.side == "left"]
    return {"optical glove, tips and middles": [Recorded(glove, (glove,))], "skin, three performers": skin}


def rows(methods: list[tuple[str, Method, Method]]) -> Iterator[list[str]]:
    """Yield a row for each method, capture and case; a method is a name, the method live, and the method for a whole
    take."""
    for title, *method_pair in methods:
        for name, takes in clips().items():
            plain = [[_solved(case_name, take, take.clip) for take in takes] for case_name in method_pair]
            for case in CASES:
                cells, usual = [], Found([], [], [])
                for case_name, results in zip(method_pair, plain, strict=True):
                    cells += _hidden(case_name, case, takes, results, usual).cells()
                usually = f"{np.nanmean(np.concatenate(usual.away)):.1f}" if usual.away else "-"
                yield [title, name, case.name, usually, *cells, case.wanted]
                print(f"{title}, {name}, {case.name}: done", flush=True)


def _hidden(method: Method, case: Case, takes: list[Recorded], plain: list[Solved | None], usual: Found) -> Found:
    """Return the results of a case over all takes, and add those without gaps to `usual`."""
    results = Found([], [], [])
    for take, markers_left in zip(takes, plain, strict=True):
        hidden = gaps(take.clip, case)
        solved = _solved(method, take, hide(take.clip, hidden))
        if solved is not None and markers_left is not None:
            measure(take.clip, hidden, solved, markers_left, results)
            measure(take.clip, hidden, markers_left, markers_left, usual)
    return results


def _solved(method: Method, take: Recorded, clip: Clip) -> Solved | None:
    """Return the solved clip; None if it is refused, or solved as the other hand."""
    try:
        return method.solve(clip, method.fit(take.calibration), take.clip)
    except KnuckleError:
        return None
