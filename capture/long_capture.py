"""A capture whose frames are read in batches because not all of them would fit into memory."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import CaptureError
from .markers import Markers
from .recording import convert, expect_content
from .row_reader import MAX_FRAMES, RowReader
from .timestamps import Timestamps, clean_timestamps

SAMPLED_FRAMES = 400
"""Number of evenly spaced frames from which the unit and the up axis are guessed."""
MAX_ROWS = 2000
"""Maximum number of frames in a batch."""


@dataclass(frozen=True, eq=False)
class LongCapture:
    """F frames of M markers, read in batches, with the same result as `capture.read` of the whole file."""

    reader: RowReader
    clock: Timestamps
    unit: str
    up: str
    warnings: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.clock.times)

    @property
    def source(self) -> str:
        """The file's name."""
        return self.reader.source

    def select(self, frames: slice) -> "LongCapture":
        """Return the same capture over a slice of the frames."""
        clock = replace(self.clock, frames=self.clock.frames[frames], times=self.clock.times[frames])
        return replace(self, clock=clock)

    def markers(self, frames: NDArray[np.intp]) -> Markers:
        """Read some frames (N,), in ascending order. Raises CaptureError if they are damaged."""
        rows, head = self.clock.frames[frames], self.reader.head
        positions = np.full((len(rows), len(head.names), 3), np.nan)
        # Consecutive rows are read in one batch.
        for run in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(rows) != 1) + 1):
            for part in np.split(run, range(MAX_ROWS, len(run), MAX_ROWS)):
                if len(part):
                    try:
                        recording = self.reader.read(int(rows[part[0]]), int(rows[part[-1]]) + 1)
                    except OSError as error:
                        raise CaptureError(f"{self.source}: cannot be read any more ({error.strerror})") from None
                    positions[part] = convert(recording, self.source, self.unit, self.up).positions
        return Markers(
            names=head.names,
            times=self.clock.times[frames],
            positions=positions,
            source=self.source,
            rate=self.clock.rate,
            unit=self.unit,
            format=head.format,
            timecode=head.timecode,
        )


def long_capture(reader: RowReader, unit: str = "auto", up: str = "auto", rate: float | None = None) -> LongCapture:
    """Prepare a file for reading in batches. Arguments and errors are those of `capture.read`."""
    head = reader.head
    expect_content(len(head.names), reader.frames, reader.source)
    if reader.frames > MAX_FRAMES:
        raise CaptureError(f"{reader.source}: {reader.frames} frames, expected {MAX_FRAMES} at most: split the take")
    sampled = np.unique(np.linspace(0, reader.frames - 1, SAMPLED_FRAMES).astype(int))
    positions = np.concatenate([reader.read(row, row + 1).positions for row in sampled.tolist()])
    converted = convert(replace(head, positions=positions), reader.source, unit, up)
    times, stated_rate = (reader.times(), head.rate) if rate is None else (None, rate)
    clock = clean_timestamps(times, stated_rate, reader.frames, reader.source)
    return LongCapture(reader, clock, converted.unit, converted.up, head.warnings + converted.notes + clock.warnings)
