"""Progress of a run over many takes: a bar on a terminal, otherwise a line every LINE_SECONDS."""

import sys
import time
from collections.abc import Iterable

from ..errors import printable
from ..farm.take_rows import TakeRow

LINE_SECONDS = 30.0
"""s between two lines without a terminal."""
BAR_SECONDS = 0.2
"""s between two updates of the bar."""
BAR_WIDTH = 30
"""Width of the bar in characters."""


class FarmProgress:
    """Counts rows and reports them on standard error."""

    def __init__(self, takes: int) -> None:
        self._take_count, self._is_terminal = takes, sys.stderr.isatty()
        self._start_time = self._last_report = time.monotonic()
        self._finished = self._frames = self._solved = self._failed = 0

    @property
    def seconds(self) -> float:
        """Elapsed time in s."""
        return time.monotonic() - self._start_time

    def add(self, rows: Iterable[TakeRow], workers: int, unmeasured: int) -> None:
        """Count rows, and report the progress if the last report is old enough.

        workers: current number of workers. unmeasured: current number of performers to be measured.
        """
        for row in rows:
            self._finished += 1
            self._failed += row.state == "failed"
            if row.state == "solved":
                self._solved += 1
                self._frames += row.frames
            if row.state == "failed":
                self._print(f"{row.name}: {row.problem}")
        now = time.monotonic()
        if now - self._last_report >= (BAR_SECONDS if self._is_terminal else LINE_SECONDS):
            self._last_report = now
            self._draw(workers, unmeasured)

    def end(self) -> None:
        """Erase the bar from the terminal."""
        if self._is_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _draw(self, workers: int, unmeasured: int) -> None:
        line = self._line(workers, unmeasured)
        if not self._is_terminal:
            self._print(line)
            return
        fraction = self._finished / self._take_count
        bar = f"[{'=' * round(BAR_WIDTH * fraction):<{BAR_WIDTH}}] {100 * fraction:3.0f} %"
        print(f"\r\033[K{bar} {printable(line)}", end="", file=sys.stderr, flush=True)

    def _line(self, workers: int, unmeasured: int) -> str:
        minutes = max(self.seconds, 1e-9) / 60
        parts = [f"{self._finished} of {self._take_count} takes"]
        if self._solved:
            parts += [f"{self._solved / minutes:.3g} takes/min", f"{self._frames / minutes:,.0f} frames/min"]
            minutes_left = (self._take_count - self._finished) * minutes / (self._solved + self._failed)
            parts += [
                f"about {60 * minutes_left:.0f} s left" if minutes_left < 2 else f"about {minutes_left:.0f} min left"
            ]
        if unmeasured:
            parts.append(f"{unmeasured} performer{'' if unmeasured == 1 else 's'} to measure")
        if self._failed:
            parts.append(f"{self._failed} failed")
        parts.append(f"{workers} worker{'' if workers == 1 else 's'}" if workers else "waiting for workers")
        return ", ".join(parts)

    def _print(self, text: str) -> None:
        start = "\r\033[K" if self._is_terminal else ""
        print(f"{start}{printable(text)}", file=sys.stderr, flush=True)
