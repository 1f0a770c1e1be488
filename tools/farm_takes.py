"""Simulated takes for testing a farm: performers of several sizes move from pose to pose, with noise, gaps and faults.

    python tools/farm_takes.py build/farm-demo --takes 60

writes captures as tables and takes.csv, the list for `knuckle farm`. The same seed gives the same takes.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knuckle.files import make_folder, written_whole
from knuckle.hand import proportions
from knuckle.hand.joints import Side
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.hand.model import HandModel
from knuckle.hand.poses import POSES, angles

Floats = NDArray[np.float64]

RATE = 120.0
"""Hz"""
PERFORMERS = {"Ada": 0.172, "Ben": 0.186, "Chi": 0.199}
"""Name -> length of the hand, m."""
POSE_SECONDS = 0.8
"""Time from pose to pose, s."""
NOISE_M = (0.0002, 0.0012)
FAULTS = ("none", "none", "gap", "leap", "swap", "many")
FAULTS_OF_MANY = 12
MIN_FRAMES, MAX_FRAMES = 150, 3000
"""Minimum and maximum frames of a take."""


@dataclass(frozen=True, slots=True)
class MadeTake:
    """Parameters of a simulated take."""

    name: str
    performer: str
    frames: int
    sides: tuple[Side, ...]
    noise: float
    """m"""
    fault: str
    seed: int


def made_takes(count: int, frames: int | None, seed: int = 18) -> list[MadeTake]:
    """Return takes of varied lengths. frames: approximate total, None for no particular total."""
    rng = np.random.default_rng(seed)
    lengths = np.exp(rng.uniform(np.log(MIN_FRAMES), np.log(MAX_FRAMES), count))
    if frames is not None:
        lengths *= frames / lengths.sum()
    takes = []
    for number, length in enumerate(lengths):
        performer = [*PERFORMERS][number % len(PERFORMERS)]
        sides: tuple[Side, ...] = ("left", "right") if number % 4 == 0 else ("right",)
        fault = FAULTS[int(rng.integers(len(FAULTS)))]
        name = f"day{1 + number % 5}/{performer.lower()}-{number + 1:04}"
        takes.append(
            MadeTake(name, performer, max(int(length), 30), sides, float(rng.uniform(*NOISE_M)), fault, number)
        )
    return takes


def write_take(folder: Path, take: MadeTake) -> Path:
    """Write a take as a table and return its path."""
    rng = np.random.default_rng(take.seed)
    names: list[str] = []
    columns = []
    for side in take.sides:
        hand = proportions.build(proportions.adult(side, PERFORMERS[take.performer]))
        points = joint_frames(hand, Pose(hand, _path(rng, take.frames, side), _motion(rng, hand, take.frames)))
        names += [f"{side}:{joint}" for joint in hand.joints]
        columns.append(points[..., :3, 3])
    positions = np.concatenate(columns, axis=1)
    positions += rng.normal(0, take.noise, positions.shape)
    for _ in range(FAULTS_OF_MANY if take.fault == "many" else 1):
        _add_fault(rng, positions, take.fault)
    path = folder / f"{take.name}.csv"
    make_folder(path.parent)
    head = ",".join(["time", *(f"{name}.{axis}" for name in names for axis in "xyz")])
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write(head + "\n")
        for time, row in zip(np.arange(take.frames) / RATE, positions.reshape(take.frames, -1), strict=True):
            cells = ("" if np.isnan(value) else f"{value:.5f}" for value in row)
            file.write(f"{time:.5f},{','.join(cells)}\n")
    return path


def _motion(rng: np.random.Generator, hand: HandModel, frames: int) -> Floats:
    """Return angles (F, D) that go from pose to pose, and wait a little in each."""
    step = int(POSE_SECONDS * RATE)
    stops = frames // step + 2
    pose_angles = [angles(hand, str(name)) for name in rng.choice([*POSES], stops)]
    pose_times = np.arange(frames) / step
    fraction = np.clip(1.4 * (pose_times % 1.0) - 0.2, 0.0, 1.0)
    fraction = (fraction * fraction * (3 - 2 * fraction))[:, None]
    pose_index = pose_times.astype(int)
    poses = np.array(pose_angles)
    angles_of_frames: Floats = (1 - fraction) * poses[pose_index] + fraction * poses[pose_index + 1]
    return angles_of_frames


def _path(rng: np.random.Generator, frames: int, side: Side) -> Floats:
    """Return poses (F, 4, 4) of a wrist that sways in front of the body."""
    root = np.broadcast_to(np.eye(4), (frames, 4, 4)).copy()
    time = np.arange(frames)[:, None] / RATE
    sway = 0.05 * np.sin(time * rng.uniform(0.5, 2.0, 3) + rng.uniform(0, 6, 3))
    root[:, :3, 3] = np.array([-0.2 if side == "left" else 0.2, 0.3, 1.1]) + sway
    return root


def _add_fault(rng: np.random.Generator, positions: Floats, fault: str) -> None:
    """Add a fault to positions (F, M, 3), in place."""
    kind = str(rng.choice(["gap", "leap", "swap"])) if fault == "many" else fault
    length = int(rng.integers(2, 20))
    first = int(rng.integers(1, max(len(positions) - length, 2)))
    rows = slice(first, first + length)
    first_marker, second_marker = rng.choice(positions.shape[1], 2, replace=False)
    if kind == "gap":
        positions[rows, first_marker] = np.nan
    elif kind == "leap":
        positions[rows, first_marker] += rng.normal(0, 0.03, 3)
    elif kind == "swap":
        positions[rows, [first_marker, second_marker]] = positions[rows, [second_marker, first_marker]]


def write_all(folder: Path, takes: list[MadeTake]) -> Path:
    """Write takes, one of them truncated, and their list; return the list's path."""
    lines = ["capture,name,performer"]
    for take in takes:
        path = write_take(folder / "captures", take)
        lines.append(f"{path.relative_to(folder).as_posix()},{take.name},{take.performer}")
    damaged = folder / "captures" / "damaged.csv"
    damaged.write_bytes(path.read_bytes()[:400])
    lines.append("captures/damaged.csv,damaged,Ada")
    listed = folder / "takes.csv"
    with written_whole(listed) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return listed


def main() -> None:
    """Write takes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--takes", type=int, default=60)
    parser.add_argument("--frames", type=int, help="of all takes together, about")
    options = parser.parse_args()
    takes = made_takes(options.takes, options.frames)
    listed = write_all(options.folder, takes)
    print(f"{listed}: {len(takes)} takes of {sum(take.frames for take in takes):,} frames, and one that is cut short")


if __name__ == "__main__":
    main()
