"""Markers: the common representation of captures of all formats."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import CaptureError
from ..hand.camera.picture_landmarks import PictureStretch
from ..hand.finite_points import finite_points

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def _placeholder() -> Bools:
    """Return a placeholder for `predicted`, which __post_init__ replaces by (F, M) False."""
    return np.zeros((0, 0), bool)


@dataclass(frozen=True, eq=False)
class Markers:
    """M named points over F frames: metres, seconds, right-handed, Z up.

    The arrays are made read-only. Raises CaptureError if shapes disagree, times do not increase or a name occurs twice.
    """

    names: tuple[str, ...]
    """(M,) labels as the source spells them, unique."""
    times: Floats
    """(F,) in s, strictly increasing."""
    positions: Floats
    """(F, M, 3) in m, NaN in all three where the marker has no position."""
    source: str
    """The name of the file or device."""
    rate: float
    """Hz, measured from the timestamps if the source has any; 1 for a single frame without a rate."""
    unit: str
    """The unit of length in the source: m, dm, cm, mm or inch."""
    format: str = ""
    """The format of the source: 'C3D', 'TRC', ..."""
    predicted: Bools = field(default_factory=_placeholder)
    """(F, M) True where a position was filled in rather than measured; all False by default."""
    rotations: Floats | None = None
    """(F, M, 4) unit quaternions wxyz, world rotation of each point's joint; NaN where unknown, None without any."""
    timecode: str = ""
    """SMPTE timecode of the source's first frame, hh:mm:ss:ff; empty if there is none."""
    on_skin: bool = False
    """Whether shape and motion show that the markers are on the skin, not at the joints that their labels name."""
    pictures: tuple[PictureStretch, ...] = ()
    """Image landmarks of the hands, one entry for each unbroken stretch of tracking; empty if the source has none."""
    warnings: tuple[str, ...] = ()
    """Sentences about irregularities in the source and how they were handled."""

    def __post_init__(self) -> None:
        frames, count = len(self.times), len(self.names)
        if self.positions.shape != (frames, count, 3):
            raise CaptureError(
                f"{self.source}: positions of shape {self.positions.shape}, "
                f"{frames} frames of {count} markers need ({frames}, {count}, 3)"
            )
        if len(set(self.names)) != count:
            duplicate = next(name for name in self.names if self.names.count(name) > 1)
            raise CaptureError(f"{self.source}: the label '{duplicate}' occurs twice, expected unique labels")
        if frames > 1 and not (np.diff(self.times) > 0).all():
            frame = int(np.argmin(np.diff(self.times) > 0)) + 1
            raise CaptureError(
                f"{self.source}: frame {frame + 1} is at {self.times[frame]:.4f} s, "
                f"not after the previous frame at {self.times[frame - 1]:.4f} s"
            )
        if not self.predicted.size:
            object.__setattr__(self, "predicted", np.zeros((frames, count), bool))
        if self.predicted.shape != (frames, count):
            raise CaptureError(
                f"{self.source}: predicted flags of shape {self.predicted.shape}, "
                f"{frames} frames of {count} markers need ({frames}, {count})"
            )
        if self.rotations is not None and self.rotations.shape != (frames, count, 4):
            raise CaptureError(
                f"{self.source}: rotations of shape {self.rotations.shape}, "
                f"{frames} frames of {count} markers need ({frames}, {count}, 4)"
            )
        for array in (self.times, self.positions, self.predicted, self.rotations):
            if array is not None:
                array.setflags(write=False)

    @cached_property
    def seen(self) -> Bools:
        """(F, M) whether the marker has a position, measured or predicted."""
        seen = finite_points(self.positions)
        seen.setflags(write=False)
        return seen

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return float(self.times[-1] - self.times[0]) if len(self.times) else 0.0

    def select(self, frames: NDArray[np.intp] | slice) -> "Markers":
        """Return the markers in some of the frames."""
        return replace(
            self,
            times=self.times[frames],
            positions=self.positions[frames],
            predicted=self.predicted[frames],
            rotations=None if self.rotations is None else self.rotations[frames],
            pictures=tuple(hand.select(frames) for hand in self.pictures),
        )
