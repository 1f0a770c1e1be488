"""Plots over time: the area between the lowest and the highest value of each column."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...capture.cleaning import runs
from ...hand.joints import DIGITS, Side, digit_label
from ..evidence.angle_curves import MAX_COLUMNS
from ..evidence.columns import column_starts, highest, lowest
from ..evidence.evidence import PALM, PARTS
from ..evidence.reasons import part_label
from .html import Html, element
from .time_axis import UNITS, TimeAxis

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HEIGHT = 1000
"""Height of a plot, in units of its SVG."""
MIN_RANGE = {"mm": 5.0, "°": 10.0}
"""Unit -> minimum range of a plot's scale, so that noise does not look like motion."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """A curve of one take in C columns."""

    low: Floats
    """(C,) lowest values, NaN where unknown."""
    high: Floats
    edges: Ints
    """(C + 1,) UNITS: start of each column, and end of the last."""
    take: int


def error_plots(axis: TimeAxis, side: Side) -> Html:
    """Return plots of the errors of a hand's parts on one scale: of the fingertip, or else of the farthest marker."""
    plots: list[tuple[str, list[Series]]] = []
    for part, name in enumerate(PARTS):
        tip = name != PARTS[PALM] and any(
            _known(axis, number, side, part, "tip_error") for number in range(len(axis.takes))
        )
        measure = "tip_error" if tip else "marker_error"
        label = f"{part_label(name, tip=tip)}tip" if tip else f"{digit_label(name)}, farthest marker"
        series = _error_series(axis, side, part, measure)
        if any(np.isfinite(curve.high).any() for curve in series):
            plots.append((label.capitalize(), series))
    if not plots:
        return element("p", "No marker was measured.", class_="quiet")
    top = max(float(np.nanmax(curve.high)) for _, series in plots for curve in series if np.isfinite(curve.high).any())
    return element(
        "div",
        *(_plot(label, series, (0.0, max(top, MIN_RANGE["mm"])), "mm") for label, series in plots),
        class_="plots",
    )


def angle_plots(axis: TimeAxis, side: Side) -> Html:
    """Return the plots of a hand's angles, by digit, each on its own scale."""
    groups = []
    curves = [
        (number, angle_curves)
        for number, take in enumerate(axis.takes)
        if (angle_curves := take.curves(side)) is not None
    ]
    names = list(dict.fromkeys(name for _, angle_curves in curves for name in angle_curves.names))
    for digit in (*DIGITS, "wrist"):
        plots = []
        for name in (name for name in names if name.startswith(digit)):
            series = [
                _angle_series(axis, number, angle_curves.low, angle_curves.high, angle_curves.names.index(name))
                for number, angle_curves in curves
                if name in angle_curves.names
            ]
            span = _span([curve for curve in series if np.isfinite(curve.high).any()], MIN_RANGE["°"])
            label = name.removeprefix(f"{digit}-").removeprefix("phalanx-").capitalize()
            plots.append(_plot(label, series, span, "°"))
        if plots:
            title = element("summary", digit_label(digit).capitalize())
            groups.append(element("details", title, element("div", *plots, class_="plots"), open=True))
    return element("div", *groups) if groups else element("p", "The angles are not known.", class_="quiet")


def _known(axis: TimeAxis, number: int, side: Side, part: int, measure: str) -> bool:
    hand = axis.takes[number].hand(side)
    return hand is not None and bool(np.isfinite(hand.of(measure)[:, part]).any())


def _error_series(axis: TimeAxis, side: Side, part: int, measure: str) -> list[Series]:
    series = []
    for number, take in enumerate(axis.takes):
        hand = take.hand(side)
        if hand is not None:
            columns = column_starts(len(hand.values), MAX_COLUMNS)
            values = hand.of(measure)[:, part].astype(float)
            series.append(
                Series(lowest(values, columns), highest(values, columns), axis.edges(number, columns), number)
            )
    return series


def _angle_series(axis: TimeAxis, number: int, low: Floats, high: Floats, column: int) -> Series:
    columns = column_starts(len(axis.takes[number].seconds), len(low))
    return Series(low[:, column], high[:, column], axis.edges(number, columns), number)


def _span(series: Sequence[Series], minimum: float) -> tuple[float, float]:
    """Return the ends of a plot's scale, multiples of five."""
    if not series:
        return 0.0, minimum
    low = min(float(np.nanmin(curve.low)) for curve in series)
    high = max(float(np.nanmax(curve.high)) for curve in series)
    padding = max(minimum - (high - low), 0.0) / 2
    return 5 * np.floor((low - padding) / 5), 5 * np.ceil((high + padding) / 5)


def _plot(label: str, series: Sequence[Series], span: tuple[float, float], unit: str) -> Html:
    """Return a plot with its scale, and the range of its curves in words."""
    low, high = span
    known_curves = [curve for curve in series if np.isfinite(curve.high).any()]
    reach = [f"{np.nanmin(curve.low):.1f} to {np.nanmax(curve.high):.1f} {unit}" for curve in known_curves]
    zero = HEIGHT * high / (high - low)
    line = element("path", d=f"M0 {zero:.0f}h{UNITS}", class_="zero") if low < 0 < high else None
    drawn = element(
        "svg",
        line,
        *(element("path", d=_area(curve, span), class_=f"take{curve.take}") for curve in known_curves),
        viewBox=f"0 0 {UNITS} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{label}: {' and '.join(reach) or 'not known'}",
        class_="curve over-time",
    )
    scale = [element("span", f"{value:.0f} {unit}", class_=where) for value, where in ((high, "high"), (low, "low"))]
    caption = element("figcaption", element("span", label), element("output"))
    return element(
        "figure",
        caption,
        element("div", *scale, drawn, class_="field"),
        class_="plot",
        data_low=f"{low:g}",
        data_high=f"{high:g}",
        data_unit=unit,
    )


def _area(series: Series, span: tuple[float, float]) -> str:
    """Return the SVG path around a series: for each run of known columns, along its highest values and back along its
    lowest ones."""
    low, high = span
    x = (series.edges[:-1] + series.edges[1:]) // 2
    tops, bottoms = (
        np.nan_to_num(np.round(HEIGHT * (high - values) / (high - low))).astype(int)
        for values in (series.high, series.low)
    )
    _, starts, stops = runs(np.isfinite(series.high)[:, None])
    known_runs = (slice(*ends) for ends in zip(starts, stops, strict=True))
    return "".join(_outline(x[part], tops[part], bottoms[part]) for part in known_runs)


def _outline(x: Ints, tops: Ints, bottoms: Ints) -> str:
    corners = np.concatenate([np.stack([x, tops], axis=1), np.stack([x, bottoms], axis=1)[::-1]])
    steps = " ".join(f"{dx} {dy}" for dx, dy in np.diff(corners, axis=0))
    return f"M{corners[0, 0]} {corners[0, 1]}l{steps}z"
