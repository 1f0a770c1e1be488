"""Describe in which frames a contact is held if these are fewer than its correction covers."""

from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from ....pipeline.contacts.hold_in_range import HeldRows
from ....pipeline.corrections.correction import TimeRange
from ..fcurves import FRAME_TOLERANCE
from .take_clock import TakeClock

Floats = NDArray[np.float64]


def held_shorter(span: TimeRange, take_frames: Floats, frames: Floats, rows: HeldRows, clock: TakeClock) -> str:
    """Return a clause that says in which frames a contact is held, why in no others, and which range would hold it in
    all of them.

    Empty if it is held in all frames of the range.

    Args:
        span: the range of its correction.
        take_frames: (T,) scene frames of the take. frames: (F,) scene frames in the range. rows: the rows of `frames`
            in which it is held. clock: clock of the
            take.
    """
    continues = bool(take_frames[0] < frames[0]), bool(frames[-1] < take_frames[-1])
    start, end = clock.frames([span.full_start, span.full_end]).tolist()
    requested = ceil(start - FRAME_TOLERANCE), floor(end + FRAME_TOLERANCE)
    first, last = float(frames[rows.first]), float(frames[rows.last])
    late, early = first - requested[0], requested[1] - last
    if requested[1] < requested[0]:
        blends = [round(blend * clock.rate, 2) for blend in (span.blend_in, span.blend_out)]
        where = f"on frame {first:g} alone" if first == last else f"from frame {first:g} to {last:g}"
        return (
            f"its blends of {blends[0]:g} and {blends[1]:g} frames leave no frame between them, so that it is held "
            f"{where}: give it {_sufficient_range((floor(first), ceil(last)), take_frames, frames, rows, continues)}"
        )
    sufficient = _sufficient_range(requested, take_frames, frames, rows, continues)
    if rows.lacks_frames:
        available = f"{_frames(len(frames))} {'is' if len(frames) == 1 else 'are'}"
        return f"its {available} too few to move there and back: give it {sufficient}"
    if max(late, early) < 1 - FRAME_TOLERANCE:
        return ""
    reasons = [
        f"the motion {way} takes {_frames(round(short))} more than its blend" if beyond else f"the take {limit} there"
        for way, limit, short, beyond in zip(
            ("there", "back"), ("begins", "ends"), (late, early), continues, strict=True
        )
        if short >= 1 - FRAME_TOLERANCE
    ]
    sentence = (
        f"it is held from frame {first:g} to {last:g}, not {requested[0]} to {requested[1]}, "
        f"because {' and '.join(reasons)}"
    )
    by_blends = any(
        beyond and short >= 1 - FRAME_TOLERANCE for short, beyond in zip((late, early), continues, strict=True)
    )
    return f"{sentence}: for all of them give it {sufficient}" if by_blends else sentence


def _sufficient_range(
    requested: tuple[int, int], take_frames: Floats, frames: Floats, rows: HeldRows, continues: tuple[bool, bool]
) -> str:
    """Return a range within the take, and blends, with which a contact is held from a first to a last scene frame.

    The poses on these two frames decide how long approach and release take, whatever the range around them.
    """
    step = float(np.median(np.diff(take_frames))) if len(take_frames) > 1 else 1.0
    blend = ceil(max(rows.blends) * step - FRAME_TOLERANCE)
    take_first, take_last = ceil(take_frames[0]), floor(take_frames[-1])
    first = max(requested[0] - blend, take_first) if continues[0] else take_first
    last = min(requested[1] + blend, take_last) if continues[1] else take_last
    # No approach or release is needed at an end of the take: the range stays as it is there.
    before, after = max(requested[0] - first, 0), max(last - requested[1], 0)
    blends = _frames(before) if before == after else f"{before} and {_frames(after)}"
    return f"frames {first} to {last} and blends of {blends}"


def _frames(count: int) -> str:
    return f"{count} frame{'' if count == 1 else 's'}"
