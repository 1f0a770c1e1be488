"""Heat strips: the severity of problems of each part over time. Height and color show the level."""

import numpy as np
from numpy.typing import NDArray

from ...capture.cleaning import runs
from ...hand.joints import Side, digit_title
from ..evidence.columns import column_starts, highest
from ..evidence.evidence import PARTS, HandEvidence
from ..evidence.heat import LEVEL_HEIGHTS, LEVEL_NAMES, NEAR_LEVEL, PROBLEM_LEVEL, heat
from .content import ReviewedTake
from .html import Html, element, joined
from .time_axis import UNITS, TimeAxis

Ints = NDArray[np.int64]

MAX_COLUMNS = 1500
HEIGHT = 24
"""Height of a strip in SVG units; the lowest three mark predicted frames."""
LANE = 3
BASE = HEIGHT - LANE - 1
"""Height of the baseline of bars."""
BAR_HEIGHTS = tuple(round(BASE * share) for share in LEVEL_HEIGHTS)
"""Height of the bars of each level."""
MAX_RANKS = 9
"""Number of problems of a hand whose ranks are shown above its strips."""


def strips(axis: TimeAxis, side: Side) -> Html:
    """Return the strips of a hand, a row for each part and take, under the ranks of its worst problems."""
    takes = [(number, take) for number, take in enumerate(axis.takes) if take.hand(side) is not None]
    heats = {number: _Columns(axis, number, take, side) for number, take in takes}
    rows = [_marks(axis, side)]
    for part, name in enumerate(PARTS):
        for number, columns in heats.items():
            letter = f" {'AB'[number]}" if len(axis.takes) > 1 else ""
            label = f"{digit_title(name)}{letter}"
            rows.append(element("div", element("span", label, class_="name"), columns.strip(part, label), class_="row"))
    return element("div", *rows, axis.drawn(), class_="strips")


class _Columns:
    """The levels of a hand, and predicted frames, in columns."""

    def __init__(self, axis: TimeAxis, number: int, take: ReviewedTake, side: Side) -> None:
        hand = take.hand(side)
        assert hand is not None, "a hand of the take"
        self.levels = heat(hand)
        columns = column_starts(len(self.levels), MAX_COLUMNS)
        self.highest = np.maximum.reduceat(self.levels, columns, axis=0)
        self.predicted = highest(predicted(hand), columns) > 0
        self.edges = axis.edges(number, columns)

    def strip(self, part: int, label: str) -> Html:
        """Return the strip of a part."""
        part_levels = self.highest[:, part]
        bars = [
            element("path", d=_bars(part_levels == level, self.edges, BAR_HEIGHTS[level]), class_=f"level{level}")
            for level in range(NEAR_LEVEL, len(BAR_HEIGHTS))
            if (part_levels == level).any()
        ]
        guessed = self.predicted[:, part]
        lane = _bars(guessed, self.edges, LANE, HEIGHT) if guessed.any() else None
        description = _description(label, self.levels[:, part], guessed)
        return element(
            "svg",
            *bars,
            element("path", d=lane, class_="predicted") if lane else None,
            viewBox=f"0 0 {UNITS} {HEIGHT}",
            preserveAspectRatio="none",
            role="img",
            aria_label=description,
            class_="strip over-time",
        )


def predicted(hand: HandEvidence) -> NDArray[np.float64]:
    """Return (F, P), above 0 where no marker determines a joint of the part."""
    return np.nan_to_num(hand.of("predicted")).astype(float)


def legend(*, predicted_lane: bool = True) -> Html:
    """Return the legend of the levels and of predicted frames."""
    items = []
    for level in range(NEAR_LEVEL, len(LEVEL_NAMES)):
        high = BAR_HEIGHTS[level]
        bar = element("rect", y=BASE - high, width=14, height=high, class_=f"level{level}")
        items.append(_item(bar, LEVEL_NAMES[level]))
    if predicted_lane:
        lane = element("rect", y=HEIGHT - LANE, width=14, height=LANE, class_="predicted")
        items.append(_item(lane, "predicted: no marker determines it"))
    return element("ul", *items, class_="legend")


def _item(drawn: Html, description: str) -> Html:
    return element("li", element("svg", drawn, viewBox=f"0 0 14 {HEIGHT}", aria_hidden="true"), description)


def _description(label: str, levels: NDArray[np.uint8], guessed: NDArray[np.bool_]) -> str:
    """Return a description of a strip in words."""
    worst = int(levels.max())
    fraction = float((levels >= PROBLEM_LEVEL).mean())
    said = (
        f"{label}: a problem in {fraction:.1%} of frames, at worst {LEVEL_NAMES[worst]}"
        if fraction
        else f"{label}: no problem"
    )
    return f"{said}; partly predicted" if guessed.any() else said


def _bars(mask: NDArray[np.bool_], edges: Ints, high: int, bottom: int = BASE) -> str:
    """Return the path of bars over the columns of a mask (C,), adjacent ones merged."""
    _, starts, stops = runs(mask[:, None])
    # A minimum width, or a single bad frame of a long take would be invisible.
    lefts, widths = edges[starts], np.maximum(edges[stops] - edges[starts], UNITS // 500)
    return "".join(f"M{x} {bottom}v{-high}h{width}v{high}z" for x, width in zip(lefts, widths, strict=True))


def _marks(axis: TimeAxis, side: Side) -> Html:
    """Return the ranks of the worst problems of a hand, of the first take, at their worst frames."""
    ranked = [
        (rank, own_problem) for rank, own_problem in enumerate(axis.takes[0].problems, 1) if own_problem.side == side
    ][:MAX_RANKS]
    marks, used_fractions = [], list[float]()
    for rank, problem in ranked:
        fraction = axis.share(0, problem.worst)
        if all(abs(fraction - used) > 0.02 for used in used_fractions):
            used_fractions.append(fraction)
            marks.append(element("text", rank, x=f"{100 * fraction:.2f}%", y=13, text_anchor="middle"))
    if not marks:
        return joined()
    return element(
        "div", element("span", class_="name"), element("svg", *marks, class_="ranks", aria_hidden="true"), class_="row"
    )
