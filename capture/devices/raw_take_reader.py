"""Reading raw takes: the recorded packets are parsed as they were live."""

from dataclasses import replace

import numpy as np

from ...errors import CaptureError, PacketError
from ..frame import Frame
from ..marker_labels import shown
from ..markers import Floats
from ..recording import Recording
from .device_clock import DeviceClock
from .raw_take import MAGIC, read_head, read_packets
from .stream_stats import StreamStats

MOST_NAMES = 4096
"""Most points in a recording, a bound for hostile files."""
MOST_PLACES = 1 << 26
"""Most points times frames: two hands for three hours. A hostile file could name other points in each frame."""


def sniff(head: bytes) -> bool:
    """Whether a file starts as a raw take does."""
    return head.startswith(MAGIC)


def read(data: bytes, source: str) -> Recording:
    """Read all frames of a raw take, timed as in DeviceClock.

    Raises CaptureError if the device is unknown or no packet holds a frame.
    """
    # Imported here because the protocols of some devices import file formats.
    from .device_table import DEVICES

    head, start = read_head(data, source)
    if head.device not in DEVICES:
        raise CaptureError(f"{source}: recorded from {shown(head.device)}, expected one of {', '.join(DEVICES)}")
    parser, tally, clock = DEVICES[head.device].parser(), StreamStats(), DeviceClock()
    frames, end = [], start
    for packet in read_packets(data, start):
        end = packet.end
        tally.packets += 1
        try:
            found = list(parser.feed(packet.content))
        except PacketError as error:
            tally.malformed, tally.problem = tally.malformed + 1, str(error)
            continue
        # Late frames are dropped here as they are live.
        newer = [frame for frame in found if tally.comes(frame, packet.time)]
        frames += [replace(frame, time=clock.moment(frame.time, packet.time)) for frame in newer]
    if not frames:
        why = f", the last because {tally.problem}" if tally.problem else ""
        raise CaptureError(f"{source}: {tally.packets} packets and no frame of a hand in them{why}")
    names = _names(frames, source)
    return Recording(
        format=f"raw take of {DEVICES[head.device].name}",
        names=names,
        positions=_joined(frames, names, [frame.positions for frame in frames]),
        turns=_turns(frames, names),
        times=np.array([frame.time for frame in frames], float),
        unit="m",
        up="z",
        up_is_sure=True,
        timecode=frames[0].timecode,
        warnings=_warnings(tally, len(data) - end),
    )


def _names(frames: list[Frame], source: str) -> tuple[str, ...]:
    """Names of the points that are seen in any frame, in order of appearance."""
    seen = {frame.names: np.zeros(len(frame.names), bool) for frame in frames}
    for frame in frames:
        seen[frame.names] |= np.isfinite(frame.positions).all(axis=1)
    names = dict.fromkeys(own[row] for own, there in seen.items() for row in np.flatnonzero(there))
    if len(names) > MOST_NAMES:
        raise CaptureError(f"{source}: {len(names)} different points, expected {MOST_NAMES} at most")
    if len(names) * len(frames) > MOST_PLACES:
        raise CaptureError(
            f"{source}: {len(frames)} frames of {len(names)} points, expected {MOST_PLACES} places at most"
        )
    return tuple(names)


def _turns(frames: list[Frame], names: tuple[str, ...]) -> Floats | None:
    """(F, M, 4) wxyz, NaN where a frame has no rotation; None if no frame has any."""
    if all(frame.rotations is None for frame in frames):
        return None
    none = {own: np.full((len(own), 4), np.nan) for own in {frame.names for frame in frames}}
    return _joined(
        frames, names, [none[frame.names] if frame.rotations is None else frame.rotations for frame in frames]
    )


def _joined(frames: list[Frame], names: tuple[str, ...], values: list[Floats]) -> Floats:
    """(F, M, K) array of the frames' values (own M, K) in the columns of `names`, NaN where a frame lacks a point."""
    column = {name: index for index, name in enumerate(names)}
    kept = {own: [row for row, name in enumerate(own) if name in column] for own in {frame.names for frame in frames}}
    joined = np.full((len(frames), len(names), values[0].shape[1]), np.nan)
    for number, (frame, own) in enumerate(zip(frames, values, strict=True)):
        rows = kept[frame.names]
        joined[number, [column[frame.names[row]] for row in rows]] = own[rows]
    return joined


def _warnings(tally: StreamStats, damaged: int) -> tuple[str, ...]:
    """Sentences about lost, late and damaged data."""
    said = {
        f"{tally.malformed} packets were not understood, the last because {tally.problem}": tally.malformed,
        f"{tally.lost} frames were lost between the device and Knuckle": tally.lost,
        f"{tally.late} frames came too late and were left out": tally.late,
        f"the last {damaged} bytes are of a packet that was not written whole": damaged,
    }
    return tuple(sentence for sentence, count in said.items() if count)
