"""The time axis of all strips and plots of a page, for one take or two."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .content import ReviewedTake
from .html import Html, element, joined

Ints = NDArray[np.int64]

UNITS = 6000
"""Width of a drawing in SVG units; so many that coordinates can be rounded to integers."""
MAX_TICKS = 8


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """Positions of takes on the page's time axis."""

    takes: tuple[ReviewedTake, ...]
    starts: tuple[float, ...]
    """s from the start of the axis to each take's first frame."""
    length: float
    """s, to the end of the last frame."""

    @classmethod
    def of(cls, takes: tuple[ReviewedTake, ...]) -> "TimeAxis":
        """Build the axis: takes of one capture are aligned by its clock, others start together."""
        firsts = [float(take.evidence.times[0]) for take in takes]
        same = len({str(take.report.get("capture")) for take in takes}) == 1
        starts = tuple(first - min(firsts) if same else 0.0 for first in firsts)
        take_ends = [start + float(take.seconds[-1]) + take.period for start, take in zip(starts, takes, strict=True)]
        return cls(takes, starts, max(take_ends))

    def share(self, which: int, row: int) -> float:
        """Return the position 0..1 on the axis at which a frame of a take starts."""
        return (self.starts[which] + float(self.takes[which].seconds[row])) / self.length

    def edges(self, which: int, columns: Ints) -> Ints:
        """Return the edges (C + 1,), in UNITS, of columns of a take. columns: (C,) first frame of each column."""
        take = self.takes[which]
        seconds = np.append(take.seconds[columns], take.seconds[-1] + take.period)
        edges: Ints = np.round(UNITS * (self.starts[which] + seconds) / self.length).astype(int)
        return edges

    def frame_scale(self) -> tuple[float, float]:
        """Return the scene frame of the first take at the start of the axis, and the length of the axis in frames."""
        take = self.takes[0]
        first, last = take.frames
        duration = float(take.seconds[-1])
        rate = (last - first) / duration if duration > 0 else 1.0 / take.period
        return first - rate * self.starts[0], rate * self.length

    def drawn(self) -> Html:
        """Return the axis with ticks at round frames of the first take, and the time there."""
        marks = [joined(*self._tick(number, fraction, frame)) for number, (fraction, frame) in enumerate(self._ticks())]
        name = element("span", "Frame", class_="name")
        return element("div", name, element("svg", *marks, class_="ticks", aria_hidden="true"), class_="row axis")

    def _tick(self, number: int, fraction: float, frame: float) -> tuple[Html, Html, Html]:
        x, kind = f"{100 * fraction:.2f}%", "even" if number % 2 == 0 else "odd"
        anchor = "start" if fraction < 0.04 else "end" if fraction > 0.96 else "middle"
        attributes = {"x": x, "text_anchor": anchor}
        return (
            element("line", x1=x, x2=x, y1=0, y2=5, class_=kind),
            element("text", f"{frame:g}", y=18, class_=kind, **attributes),
            element("text", f"{fraction * self.length:.1f} s", y=32, class_=f"{kind} quiet", **attributes),
        )

    def _ticks(self) -> Iterator[tuple[float, float]]:
        """Yield the position, 0 to 1, and the frame of each tick."""
        origin, length = self.frame_scale()
        step = round_step(length, MAX_TICKS)
        for number in range(math.ceil(origin / step), math.floor((origin + length) / step) + 1):
            yield (number * step - origin) / length, number * step


def round_step(length: float, maximum: int) -> float:
    """Return a round distance between ticks, with at most `maximum` ticks in a length."""
    size = 10.0 ** math.floor(math.log10(length / maximum))
    return next(size * factor for factor in (1, 2, 5, 10) if length / (size * factor) <= maximum)
