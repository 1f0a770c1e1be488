"""Takes of markers on the skin: Han et al. 2018, read and written here so that truth does not pass through Knuckle.

The split is fixed: of each performer's takes of one hand, in the natural order of their names, [2::10][:3] calibrate
and [7::8][:4] test (the first 200 frames of the first two, unless all are asked for). Nothing is tuned on test takes.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[2]
SIG18 = ROOT.parent / "shared" / "data" / "sig18"
PERFORMERS = ("user1", "user2", "user3")
SIDES = ("left", "right")
LEFT_OUT = {
    "PIPs": ("IndexPIP", "MiddlePIP", "RingPIP", "PinkyPIP"),
    "thumb IP": ("ThumbIP",),
    "tips": ("IndexTip", "PinkyTip"),
}
"""Markers that are left out one at a time, by kind."""
TEST_FRAMES = 200
"""Number of frames used from the start of each test take."""
HEADER = 5
"""Lines of a TRC file before its first frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """Markers of one hand over F frames."""

    name: str
    side: str
    rate: float
    labels: tuple[str, ...]
    """(M,)"""
    positions: Floats
    """(F, M, 3) m, Z up, NaN where not seen."""

    def __len__(self) -> int:
        return len(self.positions)

    def column(self, label: str) -> int:
        """Return the index of a label."""
        return self.labels.index(label)

    def without(self, *labels: str) -> "Clip":
        """Return the clip without some markers."""
        labels_left = [label for label in self.labels if label not in labels]
        columns = [self.column(label) for label in labels_left]
        return replace(self, labels=tuple(labels_left), positions=self.positions[:, columns])

    def frames(self, rows: slice) -> "Clip":
        """Return the clip with some of its frames."""
        return replace(self, positions=self.positions[rows])


@dataclass(frozen=True, slots=True)
class Split:
    """One hand of a performer: the takes that calibrate and those that test."""

    performer: str
    side: str
    calibration: tuple[Clip, ...]
    test: tuple[Clip, ...]


def read_trc(path: Path) -> Clip:
    """Return a take of the set: its header may count more frames than there are."""
    lines = path.read_text().splitlines()
    rate = float(lines[2].split()[0])
    labels = tuple(lines[3].split()[2:])
    rows = [[float(cell) if cell.strip() else np.nan for cell in line.split("\t")] for line in lines[HEADER:] if line]
    table = np.array([(row + [np.nan] * 3 * len(labels))[2 : 2 + 3 * len(labels)] for row in rows])
    x, y, z = np.moveaxis(table.reshape(len(rows), len(labels), 3) / 1000, -1, 0)
    side = "left" if path.stem.endswith("left") else "right"
    return Clip(f"{path.parent.name} {path.stem}", side, rate, labels, np.stack([x, -z, y], axis=-1))


def write_trc(clip: Clip, path: Path) -> None:
    """Write a clip as a TRC file in mm, Y up; unseen markers are blank."""
    x, y, z = np.moveaxis(1000 * clip.positions, -1, 0)
    table = np.stack([x, z, -y], axis=-1).reshape(len(clip), -1)
    counts = f"{clip.rate:g}\t{clip.rate:g}\t{len(clip)}\t{len(clip.labels)}\tmm\t{clip.rate:g}\t1\t{len(clip)}"
    axes = "\t".join(f"X{i}\tY{i}\tZ{i}" for i in range(1, len(clip.labels) + 1))
    head = [
        f"PathFileType\t4\t(X/Y/Z)\t{path.name}",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames",
        counts,
        "Frame#\tTime\t" + "\t\t\t".join(clip.labels),
        "\t\t" + axes,
    ]
    body = [
        f"{number + 1}\t{number / clip.rate:.6f}\t" + "\t".join("" if np.isnan(cell) else f"{cell:.5f}" for cell in row)
        for number, row in enumerate(table)
    ]
    path.write_text("\n".join([*head, *body]) + "\n")


def splits(test_takes: int = 2, frames: int | None = TEST_FRAMES) -> list[Split]:
    """Return every performer's hands, with at most the given numbers of test takes and of frames of each."""
    result = []
    for performer in PERFORMERS:
        for side in SIDES:
            paths = sorted((SIG18 / performer).glob(f"*_{side}.trc"), key=_natural)
            calibration = tuple(read_trc(path) for path in paths[2::10][:3])
            test = tuple(read_trc(path).frames(slice(frames)) for path in paths[7::8][:test_takes])
            result.append(Split(performer, side, calibration, test))
    return result


def _natural(path: Path) -> list[object]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.stem)]
