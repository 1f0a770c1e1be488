"""The note about a contact that is held in fewer frames than its correction covers."""

from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from ....pipeline.contacts.hold_in_range import HeldRows
from ....pipeline.corrections.correction import TimeRange
from ..fcurves import FRAME_TOLERANCE
from .take_clock import TakeClock

Floats = NDArray[np.float64]


def held_shorter(span: TimeRange, of_take: Floats, frames: Floats, rows: HeldRows, clock: TakeClock) -> str:
    """Return a clause that says in which frames a contact is held, why no more, and which range would hold it in all of
    them.

    Empty if it is held in all frames of the range.

    Args:
        span: the range of its correction.
        of_take: (T,) scene frames of the take.
        frames: (F,) scene frames in the range. rows: the rows of `frames` in which it is held. clock: clock of the
            take.
    """
    continues = bool(of_take[0] < frames[0]), bool(frames[-1] < of_take[-1])
    start, end = clock.frames([span.full_start, span.full_end]).tolist()
    wanted = ceil(start - FRAME_TOLERANCE), floor(end + FRAME_TOLERANCE)
    first, last = float(frames[rows.first]), float(frames[rows.last])
    late, early = first - wanted[0], wanted[1] - last
    if wanted[1] < wanted[0]:
        blends = [round(blend * clock.rate, 2) for blend in (span.blend_in, span.blend_out)]
        where = f"on frame {first:g} alone" if first == last else f"from frame {first:g} to {last:g}"
        return (
            f"its blends of {blends[0]:g} and {blends[1]:g} frames leave no frame between them, so that it is held "
            f"{where}: give it {_enough((floor(first), ceil(last)), of_take, frames, rows, continues)}"
        )
    enough = _enough(wanted, of_take, frames, rows, continues)
    if rows.lacks_frames:
        own = f"{_frames(len(frames))} {'is' if len(frames) == 1 else 'are'}"
        return f"its {own} too few to move there and back: give it {enough}"
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
        f"it is held from frame {first:g} to {last:g}, not {wanted[0]} to {wanted[1]}, because {' and '.join(reasons)}"
    )
    by_blends = any(
        beyond and short >= 1 - FRAME_TOLERANCE for short, beyond in zip((late, early), continues, strict=True)
    )
    return f"{sentence}: for all of them give it {enough}" if by_blends else sentence


def _enough(
    wanted: tuple[int, int], of_take: Floats, frames: Floats, rows: HeldRows, continues: tuple[bool, bool]
) -> str:
    """Return a range within the take, and blends, with which a contact is held from a first to a last scene frame.

    The poses on these two frames decide how long approach and release take, whatever the range around them.
    """
    step = float(np.median(np.diff(of_take))) if len(of_take) > 1 else 1.0
    blend = ceil(max(rows.blends) * step - FRAME_TOLERANCE)
    take_first, take_last = ceil(of_take[0]), floor(of_take[-1])
    first = max(wanted[0] - blend, take_first) if continues[0] else take_first
    last = min(wanted[1] + blend, take_last) if continues[1] else take_last
    # No approach or release is needed at an end of the take: the range stays as it is there.
    before, after = max(wanted[0] - first, 0), max(last - wanted[1], 0)
    blends = _frames(before) if before == after else f"{before} and {_frames(after)}"
    return f"frames {first} to {last} and blends of {blends}"


def _frames(count: int) -> str:
    return f"{count} frame{'' if count == 1 else 's'}"
