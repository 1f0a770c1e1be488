"""Play a solved capture as if it came from a device."""

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...capture.network.sender import OutgoingFrame
from ...hand.kinematics import joint_frames
from ..take import Take

Floats = NDArray[np.float64]


def frames_of_take(take: Take) -> list[OutgoingFrame]:
    """Convert a take to frames for sending: its markers, solved joints, and forearms whose rotation is known."""
    frames = {solved.side: joint_frames(solved.hand, solved.pose) for solved in take.hands}
    forearms = {
        solved.side: solved.forearm.frames()
        for solved in take.hands
        if solved.forearm is not None and solved.forearm.is_seen and solved.forearm.back is not None
    }
    return [
        OutgoingFrame(
            number=number,
            time=float(time - take.times[0]),
            names=take.markers.names,
            markers=take.markers.positions[number],
            hands={side: joints[number] for side, joints in frames.items()},
            forearms={side: frame[number] for side, frame in forearms.items()},
        )
        for number, time in enumerate(take.times)
    ]


def play(frames: list[OutgoingFrame], speed: float = 1.0, repeat: bool = False) -> Iterator[OutgoingFrame]:
    """Yield each frame when it is due. speed: 2.0 plays twice as fast as recorded.

    With `repeat`, times and frame numbers keep increasing, as with a device.
    """
    start, number, offset = time.perf_counter(), 0, 0.0
    interval = frames[-1].time / (len(frames) - 1) if len(frames) > 1 else 1.0
    while True:
        for frame in frames:
            due = start + (offset + frame.time) / speed
            time.sleep(max(0.0, due - time.perf_counter()))
            yield replace(frame, number=number, time=offset + frame.time)
            number += 1
        if not repeat:
            return
        offset += frames[-1].time + interval
