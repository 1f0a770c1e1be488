"""The dynamical paper's own experiments (Rapetti et al. 2020) on a recorded hand, for docs/explanation/dynamical.md.

    python tools/benchmarks/papers_dynamical.py [--out docs]

Figure 7 compares whole-hand and pair-wise optimisation of each frame with the dynamical one at three speeds: how far
off orientations and angular velocities are, and the time of a frame. Figure 8 shows how fast the error falls from a
hand at zero for several gains. As there, all links tell their orientations and angular velocities, and the wrist
floats. The recorded motion is what the right hand of the optical glove was solved to; sensors are modelled as gloves
have them, with errors of 2 degrees and 2 degrees a second. Needs ../shared/data.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import takes
from numpy.typing import NDArray
from standard_page import fill, table

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import svg

from knuckle.hand import kinematics, poses
from knuckle.hand import rotations as rot
from knuckle.hand.jacobians import rotation_errors
from knuckle.hand.joints import CHAIN_JOINTS
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import HandModel
from knuckle.hand.targets import Targets
from knuckle.pipeline import job
from knuckle.pipeline.recipe import Recipe
from knuckle.solvers import SOLVERS, State
from knuckle.solvers.dynamical import Dynamical

Floats = NDArray[np.float64]

CAPTURE = takes.CAPTURES / "two_hands_glove.c3d"
LINKS = ("wrist", *(joint for chain in CHAIN_JOINTS.values() for joint in chain[:3]))
"""The joints with orientation sensors: the palm and 15 phalanges."""
NOISE, NOISE_RATE = np.deg2rad(2.0), np.deg2rad(2.0)
"""rad and rad/s of one axis, standard deviation."""
FRAMES = 200
SPEEDS = {"still": 0, "as recorded": 1, "three times as fast": 3}
"""Recorded frames from one frame to the next."""
METHODS: dict[str, Any] = {
    "whole-hand": SOLVERS["whole-hand"](floating=True),
    "pair-wise": SOLVERS["pair-wise"](),
    "dynamical": Dynamical(mode="follow", floating=True),
}
GAINS = (1.0, 3.0, 10.0, 30.0, 100.0)
SECONDS = 3.0
GOAL = "pinch"
"""A pose in which every link is rotated by less than 180 degrees from zero."""


@dataclass(frozen=True)
class Motion:
    """The true motion of a hand, and its sensors' measurements."""

    hand: HandModel
    pose: Pose
    targets: Targets
    rates: Floats
    """(F, T, 3) rad/s, true angular velocities."""


@dataclass(frozen=True)
class Row:
    """A box of figure 7: one method at one speed, with medians and quartiles over the frames."""

    speed: str
    method: str
    trace: Floats
    """(3,) log10 of the mean normalised trace error of a frame: quartiles."""
    rate: Floats
    """(3,) log10 of the root mean square error of angular velocities, rad/s."""
    milliseconds: Floats
    """(3,) ms for a frame, quartiles; frames are solved one after another."""


def turns_of(hand: HandModel, pose: Pose) -> Floats:
    """Return the orientations (F, T, 3, 3) of the links."""
    joints = [hand.joints.index(link) for link in LINKS]
    return kinematics.joint_frames(hand, pose)[:, joints, :3, :3]


def rates_of(turns: Floats, span: float) -> Floats:
    """Return (F, T, 3) rad/s from each frame to the one before; the first frame's are the second's."""
    rates = rotation_errors(turns[1:], turns[:-1]) / span
    return np.concatenate([rates[:1], rates])


def motion(hand: HandModel, pose: Pose, span: float, seed: int = 0) -> Motion:
    """Return the motion that sensors on all links measure for a pose."""
    rng = np.random.default_rng(seed)
    turns = turns_of(hand, pose)
    rates = rates_of(turns, span)
    axis_errors = rng.normal(0, NOISE, rates.shape)
    angle = np.linalg.norm(axis_errors, axis=-1)
    measured = rot.multiply(
        rot.from_axis_angle(axis_errors / np.maximum(angle, 1e-12)[..., None], angle), rot.from_matrix(turns)
    )
    no_positions = np.zeros(rates.shape[:2])
    sites = np.array([hand.site_index(link) for link in LINKS])
    targets = Targets(
        times=np.arange(len(pose)) * span,
        sites=sites,
        positions=np.zeros(rates.shape),
        weights=no_positions,
        rotations=measured,
        rotation_weights=no_positions + 1,
        angular_velocities=rates + rng.normal(0, NOISE_RATE, rates.shape),
    )
    return Motion(hand, pose, targets, rates)


def recorded() -> tuple[HandModel, Pose, float]:
    """Return the recorded right hand, as FABRIK solves it, and the seconds between its frames."""
    take = job.run(Recipe(str(CAPTURE), markers_on="joints"))
    solved = next(hand for hand in take.hands if hand.side == "right")
    return solved.hand, solved.pose, float(np.median(np.diff(take.times)))


def at_speed(hand: HandModel, pose: Pose, span: float, every: int) -> Motion:
    """Return the middle of the recording played at a speed, 0 for a hand that stays as it is there."""
    middle = len(pose) // 2
    frames = middle + every * (np.arange(FRAMES) - FRAMES // 2)
    return motion(hand, Pose(hand, pose.root[frames], pose.angles[frames]), span)


def figure_7() -> list[Row]:
    """Measure every method at every speed."""
    hand, pose, span = recorded()
    rows = []
    for speed, every in SPEEDS.items():
        motion_at_speed = at_speed(hand, pose, span, every)
        for method, solver in METHODS.items():
            rows.append(row(speed, method, motion_at_speed, solver))
            print(f"{speed}, {method}: done", flush=True)
    return rows


def row(speed: str, method: str, played: Motion, solver: Any) -> Row:
    """Return the row of a method that solves a motion frame by frame; the first frames are left out."""
    targets, roots, angles, seconds, state = played.targets, [], [], [], None
    for frame in range(len(targets)):
        frame_targets = targets.select(slice(frame, frame + 1))
        start = time.perf_counter()
        pose, state = solver.solve(played.hand, frame_targets, state)
        seconds.append(time.perf_counter() - start)
        roots.append(pose.root)
        angles.append(pose.angles)
    solved_rotations = turns_of(played.hand, Pose(played.hand, np.concatenate(roots), np.concatenate(angles)))
    span = float(targets.times[1])
    rate_errors = rates_of(solved_rotations, span) - played.rates
    counted_frames = slice(20, None)
    trace = trace_errors(rot.to_matrix(targets.rotations), solved_rotations)[counted_frames]
    rate = np.sqrt((rate_errors**2).sum(-1).mean(-1))[counted_frames]
    return Row(
        speed,
        method,
        quartiles(np.log10(trace)),
        quartiles(np.log10(rate)),
        quartiles(1000 * np.array(seconds)[counted_frames]),
    )


def trace_errors(desired: Floats, found: Floats) -> Floats:
    """Return the mean (F,) over the links of tr(I − R R̂ᵀ) / 4, which is 0 where they agree and 1 for half a turn."""
    return np.mean((3 - np.einsum("ftij,ftij->ft", desired, found)) / 4, axis=1)


def quartiles(values: Floats) -> Floats:
    """Return the quartiles (3,)."""
    return np.quantile(values, [0.25, 0.5, 0.75])


def figure_8() -> dict[float, tuple[Floats, Floats]]:
    """Return for each gain the times in s, and log10 of the trace error, of a hand that moves from zero to a goal."""
    hand, _, span = recorded()
    frames = round(SECONDS / span)
    still = Pose(hand, np.tile(np.eye(4), (frames, 1, 1)), np.tile(poses.angles(hand, GOAL), (frames, 1)))
    rotated = still.root.copy()
    rotated[:, :3, :3] = rot.to_matrix(rot.from_axis_angle(np.array([0.0, 0.6, 0.8]), np.array(2.0)))
    goal = turns_of(hand, Pose(hand, rotated, still.angles))
    targets = motion(hand, Pose(hand, rotated, still.angles), span).targets
    targets = replace(targets, rotations=rot.from_matrix(goal), angular_velocities=None)
    zero = np.clip(np.zeros(hand.dofs), hand.limits[:, 0], hand.limits[:, 1])
    curves = {}
    for gain in GAINS:
        solver = Dynamical(mode="follow", floating=True, gain=gain)
        pose, _ = solver.solve(hand, targets, State(np.eye(4), zero))
        error = trace_errors(goal, turns_of(hand, pose))
        curves[gain] = (targets.times + span, np.log10(np.maximum(error, 1e-16)))
    return curves


def page_rows(rows: list[Row]) -> Iterator[list[str]]:
    """Yield the table of figure 7."""
    for row in rows:
        figures = (row.trace, row.rate, row.milliseconds)
        yield [row.speed, row.method, *(f"{middle:.2f} ({low:.2f} to {high:.2f})" for low, middle, high in figures)]


def pictures(out: Path, rows: list[Row], curves: dict[float, tuple[Floats, Floats]]) -> None:
    """Bars of the medians of figure 7, and the curves of figure 8."""
    medians_of_panel = {
        "trace": ("log10 of the mean trace error", "Orientations missed"),
        "rate": ("log10 of the error, rad/s", "Angular velocities missed"),
        "milliseconds": ("log10 of ms a frame", "Time of a frame"),
    }
    for name, (label, title) in medians_of_panel.items():
        medians = {
            method: [float(getattr(entry, name)[1]) for entry in rows if entry.method == method] for method in METHODS
        }
        if name == "milliseconds":
            medians = {method: [float(np.log10(value)) for value in values] for method, values in medians.items()}
        axis = svg.axis(label, [value for values in medians.values() for value in values])
        low = axis.low - 0.3 * (axis.high - axis.low)
        axis = svg.Axis(label, low, axis.high, svg.ticks(low, axis.high))
        svg.write(out / "pictures" / f"dynamical-{name}.svg", svg.bars(title, axis, list(SPEEDS), medians))
    lines = [svg.Series(f"K = {gain:g}", times, error) for gain, (times, error) in curves.items()]
    across = svg.axis("seconds", [0.0, SECONDS], zero=True)
    up = svg.Axis("log10 of the mean trace error", -12.0, 0.0, svg.ticks(-12.0, 0.0))
    lines = [replace(entry, y=np.maximum(entry.y, up.low)) for entry in lines]
    svg.write(
        out / "pictures" / "dynamical-gains.svg", svg.lines(f"From zero to a {GOAL}, by the gain", across, up, lines)
    )


def main() -> None:
    """Measure and write the tables and pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[2] / "docs")
    out = parser.parse_args().out
    rows, curves = figure_7(), figure_8()
    head = ["speed", "method", "log10 trace error", "log10 rate error (rad/s)", "ms a frame"]
    fill(out / "explanation" / "dynamical.md", {"figure 7": table(head, page_rows(rows))})
    pictures(out, rows, curves)
    print(f"median of the dynamical: {statistics.median(float(each.milliseconds[1]) for each in rows[2::3]):.2f} ms")


if __name__ == "__main__":
    main()
