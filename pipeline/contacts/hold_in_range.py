"""Hold a contact in a range of frames, with blends inside the range that are as long as the motion needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.generators import Steps, part_of
from ...hand.kinematics import Pose
from .flesh_problem import FleshProblem, Hold
from .held_motion import blend_frames, held_motion
from .settling import settle

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MAX_EXTENSIONS = 3
"""Maximum number of times that blends are extended to the number of frames that the last motion needs."""


@dataclass(frozen=True, slots=True)
class HeldRows:
    """The frames of a range in which something is held."""

    first: int
    last: int
    """First and last row of the hold."""
    blends: tuple[int, int]
    """Frames that the motion to the first row and from the last row takes; 0 at an end of the take."""
    lacks_frames: bool
    """Whether the range has too few frames for both motions."""

    def mask(self, count: int) -> Bools:
        """Return (F,) whether each row belongs to the hold."""
        row = np.arange(count)
        return np.asarray((row >= self.first) & (row <= self.last))

    @property
    def bounds(self) -> tuple[int, int]:
        """First and last row of the hold."""
        return self.first, self.last

    @property
    def slice(self) -> slice:
        """The rows of the hold."""
        return slice(self.first, self.last + 1)

    def within(self, other_rows: "HeldRows") -> "HeldRows":
        """Return the rows in which both are held, with the longer motions of the two."""
        blends = max(self.blends[0], other_rows.blends[0]), max(self.blends[1], other_rows.blends[1])
        lacks = self.lacks_frames or other_rows.lacks_frames
        return HeldRows(max(self.first, other_rows.first), min(self.last, other_rows.last), blends, lacks)


@dataclass(frozen=True, slots=True, eq=False)
class HeldRange:
    """A hand that approaches, holds and releases a contact in a range of frames."""

    pose: Pose
    """F frames."""
    rows: HeldRows


def hold_in_range(
    pose: Pose,
    times: Floats,
    problem: FleshProblem,
    hold_in: Callable[[int, int], Hold | None],
    *,
    full: Bools,
    continues: tuple[bool, bool],
) -> Steps[HeldRange | None]:
    """Return how a hand holds something in a range of frames; None if it cannot.

    Blends are extended into the range if the motion needs more frames.

    Args:
        pose: the F frames of the range. times: (F,) s. problem: pose problem of the hand. hold_in: returns the hold
            from a first row to a last one; None if that is impossible. full: (F,) whether a frame is between the
            blends. continues: whether the take has frames before and after the range.
    """
    rows, count = np.flatnonzero(full), len(pose)
    first, last = (int(rows[0]), int(rows[-1])) if len(rows) else (count // 2, count // 2)
    blends = (0, 0)
    for remaining in reversed(range(MAX_EXTENSIONS + 1)):
        hold = hold_in(first, last)
        if hold is None:
            return None
        start = (MAX_EXTENSIONS - remaining) / (MAX_EXTENSIONS + 3)
        motion = yield from part_of(
            start, start + 1 / (MAX_EXTENSIONS + 3), "", held_motion(pose, times, replace(problem, hold=hold), hold)
        )
        changes = motion.angles[[first, last]] - pose.angles[[first, last]]
        frames_in, frames_out = (
            blend_frames(pose.hand, moved_angles) if is_continued else 0
            for moved_angles, is_continued in zip(changes, continues, strict=True)
        )
        required_frames = frames_in, frames_out
        blends = required_frames if remaining == MAX_EXTENSIONS else blends
        wider = shorten_hold(first, last, required_frames, count, continues)
        if wider is None or not remaining:
            break
        first, last = wider
    settling = settle(pose, times, problem.flesh, problem.free, hold, everywhere=False, motion=motion)
    settled = yield from part_of((MAX_EXTENSIONS + 1) / (MAX_EXTENSIONS + 3), 1.0, "", settling)
    return HeldRange(settled, HeldRows(first, last, blends, lacks_frames(first, last, required_frames, count)))


def lacks_frames(first: int, last: int, required_frames: tuple[int, int], count: int) -> bool:
    """Return whether a range has too few frames to approach and leave a hold from its first to its last row."""
    return sum(required_frames) >= count or (
        first == last and (required_frames[0] > first or required_frames[1] > count - 1 - last)
    )


def shorten_hold(
    first: int, last: int, required_frames: Sequence[int], count: int, continues: tuple[bool, bool]
) -> tuple[int, int] | None:
    """Return the first and last row of a contact that is shortened to give its blends enough frames; None if they have.

    If there are too few frames, the contact is held only in the middle of the range.
    """
    middle = (first + last) // 2
    later_first = min(max(first, required_frames[0]), middle) if continues[0] else first
    earlier_last = max(min(last, count - 1 - required_frames[1]), middle) if continues[1] else last
    return None if (later_first, earlier_last) == (first, last) else (later_first, earlier_last)
