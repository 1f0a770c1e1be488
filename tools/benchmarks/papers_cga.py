"""FABRIK-CGA's own experiment (section 3.5) on our data: milliseconds a frame from eight markers to 25 joints.

    python tools/benchmarks/papers_cga.py

A hand that moves as people do, wrist and all, with the paper's markers: five fingertips, p and q on knuckles, r on the
wrist. Timed from the markers to the places of all joints, frame by frame as live and all frames at once. The paper has
1.43 ms in MATLAB on a machine of 2010; `fabrik` finds the same plane and bend without the algebra.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from standard_page import fill, table

from knuckle.hand import kinematics, rotations
from knuckle.hand.joints import JOINTS, KNUCKLES, TIPS
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import HandModel
from knuckle.hand.proportions import adult, build
from knuckle.hand.targets import Targets
from knuckle.solvers import SOLVERS
from knuckle.solvers.solver import State

Floats = NDArray[np.float64]

PAPER_MS = 1.43
MARKERS = (KNUCKLES[0], KNUCKLES[3], "wrist", *TIPS)
ROUNDS = 7
LIVE, BATCH = 300, 20_000
"""Frames."""
RATE = 100.0
"""Frame rate of the paper's experiment, Hz."""
HEAD = (
    "what",
    "ms to the angles, median (spread)",
    "ms to the joints' places",
    "frames a second",
    "x the paper's ms",
    "tips mean / max mm",
)


FOLLOWED_FRAMES = 1000
"""Frames solved one after another."""
FOLLOWING: dict[str, dict[str, Any]] = {
    "settle": {},
    "follow, passes alone": {"mode": "follow", "sweeps": 0},
    "follow, with the finish": {"mode": "follow"},
}
FOLLOWING_HEAD = (
    "fabrik",
    "passes of a digit in a frame, mean / most",
    "tips mean / max mm",
    "tips over 1 mm off, %",
    "other joints mean mm",
    "largest step of an angle °",
)


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """The true motion of a hand, and its markers."""

    hand: HandModel
    truth: Pose
    targets: Targets


class Timed(NamedTuple):
    """Measurements of a run."""

    solving: float
    """s per frame, from the markers to the angles and the wrist."""
    placing: float
    """s per frame, from the angles to the positions of all joints."""
    joints: Floats
    """(F, 25, 3) m."""


def experiment(frames: int, seed: int = 0) -> Experiment:
    """Return a motion in which every angle oscillates around the middle of its limits at up to 1 Hz, and the wrist
    moves."""
    hand, random = build(adult("right")), np.random.default_rng(seed)
    times = np.arange(frames) / RATE
    low, high = hand.limits.T
    fractions = 0.5 + 0.4 * _swing(times, hand.dofs, random)
    angles = low + (high - low) * fractions
    for index, movement in enumerate(hand.movements):
        if movement == "twist":
            angles[:, index] = 0.0
    for row in hand.couplings:
        middle, last = np.flatnonzero(row.coefficients)
        angles[:, last] = np.clip(-row.coefficients[middle] * angles[:, middle], low[last], high[last])
    root = np.tile(np.eye(4), (frames, 1, 1))
    rotation = _swing(times, 4, random) + [2.0, 0.0, 0.0, 0.0]
    root[:, :3, :3] = rotations.to_matrix(rotation / np.linalg.norm(rotation, axis=1, keepdims=True))
    root[:, :3, 3] = 0.3 * _swing(times, 3, random)
    truth = Pose(hand, root, angles)
    sites = np.array([hand.site_index(name) for name in MARKERS])
    positions = kinematics.site_positions(hand, kinematics.joint_frames(hand, truth))[:, sites]
    return Experiment(hand, truth, Targets(times, sites, positions, np.ones(positions.shape[:2])))


def _swing(times: Floats, count: int, random: np.random.Generator) -> Floats:
    """Return (F, count) within -1..1."""
    speed, phase = random.uniform(0.2, 1.0, count), random.uniform(0, 2 * np.pi, count)
    swing: Floats = np.sin(2 * np.pi * speed * times[:, None] + phase)
    return swing


def live(solver: str, case: Experiment) -> Timed:
    """Time frame by frame; return the median of each."""
    method, state = SOLVERS[solver](), State(np.eye(4), case.hand.neutral)
    seconds, joints = [], []
    for frame in range(len(case.targets)):
        targets = case.targets.select(slice(frame, frame + 1))
        start = time.perf_counter()
        pose, state = method.solve(case.hand, targets, state)
        solved = time.perf_counter()
        joints.append(kinematics.joint_frames(case.hand, pose)[:, :, :3, 3])
        seconds.append((solved - start, time.perf_counter() - start))
    solving, placing = np.median(seconds, axis=0).tolist()
    return Timed(solving, placing, np.concatenate(joints))


def batch(solver: str, case: Experiment) -> Timed:
    """Solve all frames at once."""
    method, frames = SOLVERS[solver](), len(case.targets)
    start = time.perf_counter()
    pose, _ = method.solve(case.hand, case.targets, State(np.eye(4), case.hand.neutral))
    solved = time.perf_counter()
    joints = kinematics.joint_frames(case.hand, pose)[:, :, :3, 3]
    return Timed((solved - start) / frames, (time.perf_counter() - start) / frames, joints)


def rows(rounds: int = ROUNDS) -> list[list[str]]:
    """Return the table's rows, under HEAD: measured in interleaved rounds."""
    runs: dict[str, tuple[str, Callable[[str, Experiment], Timed], Experiment]] = {}
    for name, how, frames in (("live", live, LIVE), ("all at once", batch, BATCH)):
        case = experiment(frames)
        runs |= {f"{solver}, {name}": (solver, how, case) for solver in ("cga", "fabrik")}
    timed: dict[str, list[Timed]] = {what: [] for what in runs}
    for _ in range(rounds):
        for what, (solver, how, case) in runs.items():
            timed[what].append(how(solver, case))
    table_rows = [[f"the paper, {len(JOINTS)} joints", "", f"{PAPER_MS}", "70", "1", ""]]
    return table_rows + [row(what, timed[what], case) for what, (_, _, case) in runs.items()]


def row(what: str, timed: list[Timed], case: Experiment) -> list[str]:
    """Return the row of a method: its times, and the remaining distances of fingertips from their markers."""
    solving, placing = (
        [1000 * seconds for seconds in samples] for samples in zip(*(t[:2] for t in timed), strict=True)
    )
    middle = statistics.median(placing)
    errors = 1000 * np.linalg.norm(timed[-1].joints[:, _tips(case.hand)] - case.targets.positions[:, 3:], axis=-1)
    return [
        what,
        f"{statistics.median(solving):.4f} ({min(solving):.4f}-{max(solving):.4f})",
        f"{middle:.4f} ({min(placing):.4f}-{max(placing):.4f})",
        f"{1000 / middle:,.0f}",
        f"{middle / PAPER_MS:.3f}",
        f"{errors.mean():.4f} / {errors.max():.3f}",
    ]


def following_rows() -> list[list[str]]:
    """Return the rows under FOLLOWING_HEAD: the same motion solved from each frame's targets, and from the frame
    before."""
    case = experiment(FOLLOWED_FRAMES)
    true = kinematics.joint_frames(case.hand, case.truth)[:, :, :3, 3]
    table_rows = []
    for what, settings in FOLLOWING.items():
        pose, state = SOLVERS["fabrik"](**settings).solve(case.hand, case.targets)
        errors = 1000 * np.linalg.norm(kinematics.joint_frames(case.hand, pose)[:, :, :3, 3] - true, axis=-1)
        tips, others = errors[:, _tips(case.hand)], np.delete(errors, _tips(case.hand), axis=1)
        passes = getattr(state, "passes", None)
        table_rows.append(
            [
                what,
                "" if passes is None else f"{passes.mean():.1f} / {passes.max()}",
                f"{tips.mean():.2f} / {tips.max():.1f}",
                f"{100 * (tips > 1).mean():.1f}",
                f"{others.mean():.2f}",
                f"{np.degrees(np.abs(np.diff(pose.angles, axis=0)).max()):.0f}",
            ]
        )
    return table_rows


def _tips(hand: HandModel) -> list[int]:
    return [hand.joints.index(tip) for tip in TIPS]


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[2] / "docs")
    fill(
        parser.parse_args().out / "explanation" / "cga.md",
        {"papers": table(HEAD, rows()), "follow": table(FOLLOWING_HEAD, following_rows())},
    )


if __name__ == "__main__":
    main()
