"""The user's choices for a calibration: clips and caliper measurements."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..capture.markers import Markers
from ..errors import HandError, RecipeError
from ..hand.calibration.still_clip import STILL_FRAMES
from ..hand.joints import DIGITS
from .performer import MAX_RADIUS_MM

Floats = NDArray[np.float64]

FRAME_RANGE = r"(\d*)-(\d*)"
"""Pattern of a range of frames, as users write it."""


@dataclass(frozen=True, slots=True)
class FrameRange:
    """A range of a capture's frames, counted from 1. Raises RecipeError if it ends before it begins."""

    first: int = 1
    last: int | None = None
    """Last frame; None for the capture's end."""

    def __post_init__(self) -> None:
        if self.first < 1 or (self.last is not None and self.last < self.first):
            raise RecipeError(f"the frames are {self}, expected a range such as 1-30, the first frame is 1")

    def __str__(self) -> str:
        return f"{self.first}-{'' if self.last is None else self.last}"

    @classmethod
    def parse(cls, text: str) -> "FrameRange":
        """Parse '1-30', '31-' or '-30'. Raises RecipeError for anything else."""
        match = re.fullmatch(FRAME_RANGE, text.strip())
        if match is None:
            raise RecipeError(f"the frames are '{text}', expected a range such as 1-30, 31- or -30")
        first, last = match.groups()
        return cls(int(first or 1), int(last) if last else None)

    def frames(self, markers: Markers) -> range:
        """Return the capture's rows in this range, counted from 0. Raises HandError if they are too few for a clip."""
        count = len(markers.times)
        rows = range(min(self.first - 1, count), min(self.last or count, count))
        if len(rows) < min(STILL_FRAMES, count):
            raise HandError(
                f"{markers.source}: frames {self} are {len(rows)} of its {count}, a clip needs {STILL_FRAMES}"
            )
        return rows


def describe_frames(rows: range) -> str:
    """Describe a range of frames: 'frames 12 to 41'."""
    return f"frames {rows.start + 1} to {rows.stop}"


def unknown_per_bone() -> Floats:
    """Return values (5, 3) of NaN, one for each bone."""
    return np.full((len(DIGITS), 3), np.nan)


@dataclass(frozen=True, slots=True)
class MotionClip:
    """A clip of free motion."""

    capture: str | None = None
    """The capture with the clip; None for the recipe's own."""
    frames: FrameRange | None = None
    """None for the recipe's frames of its own capture, and for all frames of another."""

    @classmethod
    def parse(cls, text: str) -> "MotionClip":
        """Parse 'A-B', 'FILE' or 'FILE:A-B'. Raises RecipeError for frames such as 30-1."""
        if re.fullmatch(FRAME_RANGE, text):
            return cls(frames=FrameRange.parse(text))
        file, _, frames = text.rpartition(":")
        return cls(file, FrameRange.parse(frames)) if file and re.fullmatch(FRAME_RANGE, frames) else cls(text)


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationChoices:
    """The clips to use, and facts known about the hand."""

    still: FrameRange | None = None
    """The still clip; None takes the 30 frames with the least movement."""
    motions: tuple[MotionClip, ...] = (MotionClip(),)
    """The clips of free motion, at least one, all with the same markers."""
    fit: bool | None = None
    """Whether bones and marker offsets are fitted together to the free motion; None fits them if the capture has
    markers rather than joints computed by a device."""
    radii: Floats = field(default_factory=unknown_per_bone)
    """(5, 3) m, joint radii measured with a caliper; NaN for those to be estimated."""


def parse_radii(texts: Sequence[str]) -> Floats:
    """Parse joint radii in mm: '11,8,7' for all fingers, 'thumb=10,10,8' for one digit.

    Returns (5, 3) m, NaN for digits that are not named. Raises RecipeError for an invalid text.
    """
    radii = unknown_per_bone()
    for text in texts:
        digit, _, numbers = text.rpartition("=")
        try:
            values = [float(number) for number in numbers.split(",")]
        except ValueError:
            values = []
        rows = [row for row, name in enumerate(DIGITS) if digit == name or (not digit and name != "thumb")]
        if not rows or len(values) != 3 or not all(0 <= value <= MAX_RADIUS_MM for value in values):
            raise RecipeError(
                f"joint radii '{text}', expected three numbers of mm such as 11,8,7, "
                f"for one digit ({', '.join(DIGITS)}) as thumb=10,10,8"
            )
        radii[rows] = np.array(values) / 1000
    return radii
