"""A take of any length, from a recording of two hands: its tracks are tiled with varied motion, noise and gaps.

    python tools/long_take.py take.c3d --frames 1000000
    python tools/long_take.py take.trc --frames 100000

The recording is played forwards and backwards at a changing speed, turned and moved about, so that no two stretches
are the same; markers are lost now and then. The same seed gives the same take; a shorter one is the beginning of
a longer.
"""

import argparse
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from knuckle import capture
from knuckle.capture.markers import Markers
from knuckle.files import written_whole

Floats = NDArray[np.float64]

SOURCE = Path("../shared/data/captures/two_hands_glove.c3d")
FRAMES_AT_ONCE = 5000
"""Number of frames that share a seed."""
NOISE_M = 0.0003
GAP_PROBABILITY = 0.0003
"""Probability that a gap begins, for each marker and frame."""
LONGEST_GAP = 60
"""Maximum length of a gap, frames."""
SPEEDS = (0.5, 1.5)
BLOCK = 512
INTEL = 84


@dataclass(frozen=True, slots=True)
class LongTake:
    """Frames of a tiled recording, made on request."""

    source: Markers
    frames: int
    seed: int = 18

    def chunks(self) -> Iterator[Floats]:
        """Yield positions (F, M, 3) mm, NaN where a marker is lost, until all frames have come."""
        for start in range(0, self.frames, FRAMES_AT_ONCE):
            rows = np.arange(start, min(start + FRAMES_AT_ONCE, self.frames))
            rng = np.random.default_rng((self.seed, start))
            yield 1000 * self._add_noise_and_gaps(rng, self._motion(rows))

    def _motion(self, rows: NDArray[np.int64]) -> Floats:
        """Return positions (F, M, 3) m: where the recording is at changing speed, turned and moved."""
        mean, half = sum(SPEEDS) / 2, (SPEEDS[1] - SPEEDS[0]) / 2
        # The integral of a speed that varies with two periods.
        source_time = mean * rows + half / 2 * (430 * np.sin(rows / 430) + 97 * np.sin(rows / 97))
        last = len(self.source.times) - 1
        source_frame = last - np.abs(source_time % (2 * last) - last)
        before = np.minimum(source_frame.astype(np.int64), last - 1)
        fraction = (source_frame - before)[:, None, None]
        points = (1 - fraction) * self.source.positions[before] + fraction * self.source.positions[before + 1]
        rotation, middle = 0.6 * np.sin(rows / 2111), points.mean(axis=1, keepdims=True)
        cos, sin = np.cos(rotation)[:, None], np.sin(rotation)[:, None]
        x, y, z = np.moveaxis(points - middle, 2, 0)
        rotated = np.stack([cos * x - sin * y, sin * x + cos * y, z], axis=2)
        sway = 0.1 * np.stack([np.sin(rows / 701), np.cos(rows / 997), 0.2 * np.sin(rows / 331)], axis=1)
        result: Floats = rotated + middle + sway[:, None]
        return result

    def _add_noise_and_gaps(self, rng: np.random.Generator, points: Floats) -> Floats:
        """Return positions with noise and gaps."""
        points += rng.normal(0, NOISE_M, points.shape)
        lost = np.zeros(points.shape[:2], bool)
        count = rng.poisson(GAP_PROBABILITY * lost.size)
        first, length = rng.integers(0, len(points), count), rng.integers(1, LONGEST_GAP, count)
        for marker, start, frames in zip(rng.integers(0, lost.shape[1], count), first, length, strict=True):
            lost[start : start + frames, marker] = True
        points[lost] = np.nan
        return points


def write_c3d(file: BinaryIO, take: LongTake) -> None:
    """Write a take as C3D in Intel floats."""
    labels, count = take.source.names, len(take.source.names)
    width = max(map(len, labels))
    group, rate = _record(-1, "POINT"), struct.pack("<f", take.source.rate)
    records = [
        group,
        _record(1, "USED", 2, (), struct.pack("<H", count)),
        _record(1, "RATE", 4, (), rate),
        _record(1, "SCALE", 4, (), struct.pack("<f", -1.0)),
        _record(1, "UNITS", -1, (2,), b"mm"),
        _record(1, "LONG_FRAMES", 4, (), struct.pack("<f", take.frames)),
        _record(1, "LABELS", -1, (width, count), "".join(label.ljust(width) for label in labels).encode()),
    ]
    section = b"".join(records) + bytes(2)
    blocks = -(-(len(section) + 4) // BLOCK)
    last = min(take.frames, 65535)
    words = struct.pack("<BB5HfHHf", 2, 0x50, count, 0, 1, last, 0, -1.0, blocks + 2, 0, take.source.rate)
    file.write(words.ljust(BLOCK, b"\0"))
    file.write((struct.pack("<BBBB", 1, 0x50, blocks, INTEL) + section).ljust(blocks * BLOCK, b"\0"))
    for points in take.chunks():
        values = np.zeros((*points.shape[:2], 4), "<f4")
        lost = np.isnan(points[..., 0])
        values[..., :3], values[..., 3] = np.where(lost[..., None], 0, points), np.where(lost, -1, 0)
        file.write(values.tobytes())


def _record(group: int, name: str, kind: int = 0, shape: tuple[int, ...] = (), raw: bytes = b"") -> bytes:
    """Return a group, or a parameter of a group, as bytes."""
    content = b"\0" if group < 0 else struct.pack("bB", kind, len(shape)) + bytes(shape) + raw + b"\0"
    return struct.pack("bb", len(name), group) + name.encode() + struct.pack("<h", len(content) + 2) + content


def write_trc(file: BinaryIO, take: LongTake) -> None:
    """Write a take as TRC, in mm to a hundredth."""
    labels, rate = take.source.names, take.source.rate
    axes = "\t".join(f"X{number}\tY{number}\tZ{number}" for number in range(1, len(labels) + 1))
    lines = [
        "PathFileType\t4\t(X/Y/Z)\tlong.trc",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames",
        f"{rate:g}\t{rate:g}\t{take.frames}\t{len(labels)}\tmm\t{rate:g}\t1\t{take.frames}",
        "Frame#\tTime\t" + "\t\t\t".join(labels) + "\t\t",
        f"\t\t{axes}",
        "",
    ]
    file.write(("\n".join(lines) + "\n").encode())
    frame = 0
    for points in take.chunks():
        text = "%d\t%.6f" + "\t%.2f" * points[0].size + "\n"
        rows = []
        for row in points.reshape(len(points), -1).tolist():
            rows.append(text % (frame + 1, frame / rate, *row))
            frame += 1
        file.write("".join(rows).replace("nan", "").encode())


WRITERS: dict[str, Callable[[BinaryIO, LongTake], None]] = {".c3d": write_c3d, ".trc": write_trc}


def write_long_take(path: Path, frames: int, source: Path = SOURCE) -> None:
    """Write a take of so many frames as C3D or TRC, by the path's suffix."""
    take = LongTake(capture.read(source), frames)
    with written_whole(path) as temporary, temporary.open("wb") as file:
        WRITERS[path.suffix](file, take)


def main() -> None:
    """Write a take."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("path", type=Path, help="a .c3d or .trc file")
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--source", type=Path, default=SOURCE, help="a recording of two hands")
    options = parser.parse_args()
    if options.path.suffix not in WRITERS:
        parser.error(f"{options.path}: expected .c3d or .trc")
    write_long_take(options.path, options.frames, options.source)


if __name__ == "__main__":
    main()
