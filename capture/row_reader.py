"""Recordings that are read a few frames at a time: a long take needs no more memory than a short one."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from .markers import Floats
from .recording import Recording

MAX_FRAMES = 20_000_000
"""Maximum number of frames of a file: two days at 120 Hz. A frame's offset and time take 28 bytes."""
OpenFile = Callable[[], BinaryIO]
"""Opens the file. It is opened for each read, since an open file cannot be sent to another process."""


@dataclass(frozen=True, eq=False)
class RowReader(ABC):
    """A file of F frames."""

    source: str
    """The file's name, for messages."""
    head: Recording
    """The properties that all frames share, without frames."""
    frames: int

    @abstractmethod
    def read(self, start: int, stop: int) -> Recording:
        """Read frames from `start` up to but not including `stop`. Raises CaptureError if they are damaged."""
        ...

    def times(self) -> Floats | None:
        """Return the times (F,) in s as in the file, NaN for a frame without a time; None if no frame has a time."""
        return None

    def whole(self) -> Recording:
        """Read all frames."""
        return self.read(0, self.frames)
