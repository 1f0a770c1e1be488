"""Read raw takes, whose packets are parsed in the same way as live ones."""

from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from os import SEEK_END
from typing import BinaryIO

import numpy as np

from ...errors import CaptureError, PacketError
from ..followed_pictures import follow_pictures
from ..frame import Frame
from ..marker_labels import quoted
from ..markers import Floats
from ..protocols.parser import Parser
from ..recording import Recording
from .device_clock import DeviceClock
from .raw_take import Packet, read_header, read_packets
from .stream_stats import StreamStats

CONTEXT_WAIT_S = 30.0
"""s at the start of a take in which the names of its first frames are sought."""
MAX_POINTS = 4096
"""Maximum number of points in a recording, a bound for hostile files."""
MAX_FRAMES = 1 << 21
"""Maximum number of frames in a recording: four hours at 120 Hz."""
MAX_POSITIONS = 1 << 27
"""Maximum number of positions in the frames of a recording, including points that are never seen."""
MAX_SAMPLES = 1 << 26
"""Maximum number of points times frames: two hands for three hours. A hostile file could name other points in each
frame."""


def read(file: BinaryIO, source: str) -> Recording:
    """Read all frames of a raw take, timed as in DeviceClock.

    Raises CaptureError if the device is unknown, no packet holds a frame, or the frames are too many.
    """
    # Imported here because the protocols of some devices import file formats.
    from .device_table import DEVICES

    header, start = read_header(file, source)
    if header.device not in DEVICES:
        raise CaptureError(f"{source}: recorded from {quoted(header.device)}, expected one of {', '.join(DEVICES)}")
    parser, stats, clock = DEVICES[header.device].parser(), StreamStats(), DeviceClock()
    for content in _first_context(DEVICES[header.device].parser(), read_packets(file, start)):
        deque(parser.feed(content), maxlen=0)
    frames, positions, end = list[Frame](), 0, start
    for packet in read_packets(file, start):
        end = packet.end
        stats.packets += 1
        try:
            parsed = list(parser.feed(packet.content))
        except PacketError as error:
            stats.malformed, stats.problem = stats.malformed + 1, str(error)
            continue
        # Late frames are dropped, as in a live stream.
        newer = [frame for frame in parsed if stats.add(frame, packet.time)]
        frames += [replace(frame, time=clock.frame_time(frame.time, packet.time)) for frame in newer]
        positions += sum(len(frame.names) for frame in newer)
        if len(frames) > MAX_FRAMES or positions > MAX_POSITIONS:
            raise CaptureError(
                f"{source}: over {len(frames) - 1} frames, expected {MAX_FRAMES} at most, and {MAX_POSITIONS} positions"
            )
    if not any(frame.names for frame in frames):
        reason = f": the last was rejected because {stats.problem}" if stats.problem else ""
        raise CaptureError(f"{source}: no frame of a hand in {stats.packets} packets{reason}")
    names = _names(frames, source)
    followed = follow_pictures([frame.picture for frame in frames])
    return Recording(
        format=f"raw take of {DEVICES[header.device].name}",
        names=names,
        positions=_stack(frames, names, [frame.positions for frame in frames]),
        rotations=_rotations(frames, names),
        times=np.array([frame.time for frame in frames], float),
        unit="m",
        up="z",
        up_is_defined=True,
        timecode=frames[0].timecode,
        pictures=followed.stretches,
        warnings=_warnings(stats, file.seek(0, SEEK_END) - end) + followed.warnings,
    )


def _first_context(parser: Parser, packets: Iterable[Packet]) -> tuple[bytes, ...]:
    """Return the packets that name the content of frames: they are needed before the first frame, but arrive later."""
    context: tuple[bytes, ...] = ()
    for packet in takewhile(lambda packet: packet.time < CONTEXT_WAIT_S, packets):
        with suppress(PacketError):
            deque(parser.feed(packet.content), maxlen=0)
        # Later packets with as much context may name other models, which the first frames do not have.
        if len(parser.context()) > len(context):
            context = parser.context()
    return context


def _names(frames: list[Frame], source: str) -> tuple[str, ...]:
    """Return names of the points that are seen in any frame, in order of appearance."""
    seen = {frame.names: np.zeros(len(frame.names), bool) for frame in frames}
    for frame in frames:
        seen[frame.names] |= np.isfinite(frame.positions).all(axis=1)
    names = dict.fromkeys(frame_names[row] for frame_names, visible in seen.items() for row in np.flatnonzero(visible))
    if len(names) > MAX_POINTS:
        raise CaptureError(f"{source}: {len(names)} different points, expected {MAX_POINTS} at most")
    if len(names) * len(frames) > MAX_SAMPLES:
        raise CaptureError(
            f"{source}: {len(frames)} frames of {len(names)} points, expected {MAX_SAMPLES} positions at most"
        )
    return tuple(names)


def _rotations(frames: list[Frame], names: tuple[str, ...]) -> Floats | None:
    """Return (F, M, 4) wxyz, NaN where a frame has no rotation; None if no frame has any."""
    if all(frame.rotations is None for frame in frames):
        return None
    missing = {size: np.full((size, 4), np.nan) for size in {len(frame.names) for frame in frames}}
    rotations = [missing[len(frame.names)] if frame.rotations is None else frame.rotations for frame in frames]
    return _stack(frames, names, rotations)


def _stack(frames: list[Frame], names: tuple[str, ...], values: list[Floats]) -> Floats:
    """Return the frames' values as an array (F, M, K) with a column for each of `names`, NaN where one is missing.

    values: (N, K) for each frame, in the order of the frame's N names.
    """
    columns = {name: index for index, name in enumerate(names)}
    rows_of = {
        frame_names: [row for row, name in enumerate(frame_names) if name in columns]
        for frame_names in {frame.names for frame in frames}
    }
    stacked = np.full((len(frames), len(names), values[0].shape[1]), np.nan)
    for index, (frame, frame_values) in enumerate(zip(frames, values, strict=True)):
        rows = rows_of[frame.names]
        stacked[index, [columns[frame.names[row]] for row in rows]] = frame_values[rows]
    return stacked


def _warnings(stats: StreamStats, damaged: int) -> tuple[str, ...]:
    """Return sentences about lost, late and damaged data."""
    counts = {
        f"{stats.malformed} packets were not understood, the last because {stats.problem}": stats.malformed,
        f"{stats.lost} frames were lost between the device and Knuckle": stats.lost,
        f"{stats.late} frames arrived too late and were left out": stats.late,
        f"the last {damaged} bytes belong to an incomplete packet": damaged,
    }
    return tuple(sentence for sentence, count in counts.items() if count)
