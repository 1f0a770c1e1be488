"""The note about a contact that is held in fewer frames than a correction asks for."""

from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from ....pipeline.contacts.hold_in_range import HeldRows
from ....pipeline.corrections.correction import TimeRange
from ..fcurves import SAME_FRAME
from .take_clock import TakeClock

Floats = NDArray[np.float64]


def held_shorter(span: TimeRange, frames: Floats, held: HeldRows, clock: TakeClock, ends: tuple[bool, bool]) -> str:
    """Return a clause that says in which frames a contact is held, and why so few; empty if in all frames asked for.

    Args:
        span: the range of its correction.
        frames: (F,) scene frames of the take in it.
        held: in which of them it is held.
        clock: of the take.
        ends: whether the take has frames before, and after, the range.
    """
    if held.frames_needed:
        own = f"{_frames(len(frames))} {'is' if len(frames) == 1 else 'are'}"
        return f"its {own} too few to come there and go back: give it {held.frames_needed}"
    begin, end = clock.frames([span.full_start, span.full_end]).tolist()
    asked = ceil(begin - SAME_FRAME), floor(end + SAME_FRAME)
    first, last = float(frames[held.first]), float(frames[held.last])
    late, early = first - asked[0], asked[1] - last
    if asked[1] < asked[0] or max(late, early) < 1 - SAME_FRAME:
        return ""
    reasons = [
        f"the motion {way} takes {_frames(round(short))} more than its blend" if beyond else f"the take {limit} there"
        for way, limit, short, beyond in zip(("there", "back"), ("begins", "ends"), (late, early), ends, strict=True)
        if short >= 1 - SAME_FRAME
    ]
    return f"it is held from frame {first:g} to {last:g}, not {asked[0]} to {asked[1]}, because {' and '.join(reasons)}"


def _frames(count: int) -> str:
    return f"{count} frame{'' if count == 1 else 's'}"
