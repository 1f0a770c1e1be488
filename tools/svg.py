"""Charts for the docs as SVG: lines and bars, readable on light and dark pages."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 34, 46
COLOURS = ("#4878d0", "#ee854a", "#6acc64", "#d65f5f", "#956cb4", "#8c613c", "#dc7ec0", "#797979")
INK = "#8a8a8a"


@dataclass(frozen=True, slots=True)
class Series:
    """A curve: its name for the legend, and its points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: label with unit, and range."""

    label: str
    low: float
    high: float
    ticks: Sequence[float]
    names: Sequence[str] = field(default=())
    """Labels of the ticks; if empty, their values."""

    def share(self, value: float) -> float:
        """Return a value's position along the axis, 0..1."""
        return (value - self.low) / (self.high - self.low)


def ticks(low: float, high: float, maximum: int = 6) -> list[float]:
    """Round numbers between two values, at most `maximum`."""
    size = 10.0 ** math.floor(math.log10((high - low) / maximum))
    step = next(size * factor for factor in (1, 2, 5, 10) if (high - low) / (size * factor) <= maximum)
    return [round(k * step, 12) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def axis(label: str, values: Sequence[float], zero: bool = False) -> Axis:
    """Return an axis that contains all values, with a small margin."""
    low, high = min(values), max(values)
    margin = 0.04 * (high - low or abs(high) or 1.0)
    low, high = (0.0 if zero and low >= 0 else low - margin), high + margin
    return Axis(label, low, high, ticks(low, high))


def lines(title: str, x: Axis, y: Axis, curves: Sequence[Series]) -> str:
    """Return a chart of curves with a legend."""
    marks = []
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(
            f"{_across(x, a):.1f},{_up(y, b):.1f}" for a, b in zip(curve.x, curve.y, strict=True) if not math.isnan(b)
        )
        dash = ' stroke-dasharray="6 4"' if curve.dashed else ""
        marks.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>')
    return page(title, [_heading(title), *_frame(x, y), *marks, *_legend([curve.name for curve in curves])])


def bars(title: str, y: Axis, groups: Sequence[str], rows: dict[str, Sequence[float]]) -> str:
    """Return a bar chart: each group has one bar for each row."""
    x = Axis("", 0, len(groups), [k + 0.5 for k in range(len(groups))], groups)
    marks = []
    width = 0.8 / len(rows)
    for number, values in enumerate(rows.values()):
        for k, value in enumerate(values):
            if math.isnan(value):
                continue
            left, right = (_across(x, k + 0.1 + width * (number + side)) for side in (0, 1))
            top = _up(y, min(value, y.high))
            marks.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left - 1:.1f}" '
                f'height="{_up(y, y.low) - top:.1f}" fill="{COLOURS[number % len(COLOURS)]}"/>'
            )
    return page(title, [_heading(title), *_frame(x, y), *marks, *_legend(list(rows))])


def write(path: Path, drawing: str) -> None:
    """Write a drawing to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(drawing)


def _across(x: Axis, value: float) -> float:
    return LEFT + x.share(value) * (WIDTH - LEFT - RIGHT)


def _up(y: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - y.share(value) * (HEIGHT - TOP - BOTTOM)


def text(x: float, y: float, words: str, anchor: str = "middle", extra: str = "") -> str:
    """Return a text at a point."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(words)}</text>'


def _frame(x: Axis, y: Axis) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="{INK}"/>']
    for number, value in enumerate(x.ticks):
        name = x.names[number] if x.names else f"{value:g}"
        parts.append(text(_across(x, value), bottom + 16, name))
    for number, value in enumerate(y.ticks):
        height = _up(y, value)
        parts.append(f'<path d="M{LEFT} {height:.1f}H{right}" stroke="{INK}" stroke-opacity=".25"/>')
        parts.append(text(LEFT - 6, height + 4, y.names[number] if y.names else f"{value:g}", "end"))
    parts.append(text((LEFT + right) / 2, HEIGHT - 8, x.label))
    middle = (TOP + bottom) / 2
    return [*parts, text(14, middle, y.label, extra=f' transform="rotate(-90 14 {middle:.1f})"')]


def _heading(title: str) -> str:
    return text(LEFT, 14, title, "start")


def _legend(names: Sequence[str]) -> list[str]:
    parts, at = [], float(LEFT + 8)
    for number, name in enumerate(names):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<rect x="{at:.1f}" y="{TOP - 10}" width="10" height="10" fill="{colour}"/>')
        parts.append(text(at + 14, TOP - 1, name, "start"))
        at += 28 + 6.6 * len(name)
    return parts


def path(points: Sequence[tuple[float, float]], colour: str, wide: float, opacity: float = 1.0) -> str:
    """Return a polyline with round ends."""
    positions = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f'<polyline points="{positions}" fill="none" stroke="{colour}" stroke-width="{wide:g}" '
        f'stroke-opacity="{opacity:g}" stroke-linecap="round" stroke-linejoin="round"/>'
    )


def page(title: str, parts: Sequence[str], width: float = WIDTH, height: float = HEIGHT) -> str:
    """Return a drawing of these parts, with a title for screen readers."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'font-family="sans-serif" font-size="12" fill="{INK}">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>", ""])
