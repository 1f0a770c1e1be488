"""FABRIK and cyclic coordinate descent on the same hand: iterations, error, time, and at its limits.

    python tools/benchmarks/coordinate_descent.py

The motion of FABRIK-CGA's experiment (papers_cga.py), with its eight markers; then the same with each fingertip's
marker centimetres off, so that limits keep most digits from their targets.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from papers_cga import FOLLOWED_FRAMES, Experiment, experiment
from standard_page import fill, table

from knuckle.hand import kinematics
from knuckle.hand.joints import TIPS
from knuckle.solvers import SOLVERS

DISPLACEMENT = 0.02
"""m, standard deviation along each axis of the displaced markers."""
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "fabrik": ("fabrik", {}),
    "ccd": ("ccd", {}),
    "ccd, 20 sweeps at most": ("ccd", {"plane_sweeps": 20, "sweeps": 0}),
    "fabrik, follow, passes alone": ("fabrik", {"mode": "follow", "sweeps": 0}),
    "ccd, follow, sweeps alone": ("ccd", {"mode": "follow", "sweeps": 0}),
    "fabrik, follow, with the finish": ("fabrik", {"mode": "follow"}),
    "ccd, follow, with the finish": ("ccd", {"mode": "follow"}),
}
HEAD = (
    "solver",
    "iterations of a digit in a frame, mean / most",
    "tips mean / max mm",
    "tips over 1 mm off, %",
    "other joints mean mm",
    "markers 2 cm off: tips mean mm",
    "ms a frame",
)


def off_targets(case: Experiment) -> Experiment:
    """Return the same motion, with the fingertips' markers displaced."""
    positions = case.targets.positions.copy()
    positions[:, 3:] += np.random.default_rng(5).normal(0.0, DISPLACEMENT, positions[:, 3:].shape)
    return replace(case, targets=replace(case.targets, positions=positions))


def row(what: str, case: Experiment, displaced: Experiment) -> list[str]:
    """Return a row under HEAD.

    A frame's time is that of many at once, or of one after another where frames are followed.
    """
    name, settings = METHODS[what]
    tips = [case.hand.joints.index(tip) for tip in TIPS]
    started = time.process_time()
    pose, state = SOLVERS[name](**settings).solve(case.hand, case.targets)
    seconds = time.process_time() - started
    true_positions, positions = (
        kinematics.joint_frames(case.hand, angles_or_pose)[:, :, :3, 3] for angles_or_pose in (case.truth, pose)
    )
    distances = 1000 * np.linalg.norm(positions - true_positions, axis=-1)
    ends, others = distances[:, tips], np.delete(distances, tips, axis=1)
    tip_errors, _ = SOLVERS[name](**settings).solve(displaced.hand, displaced.targets)
    reached = kinematics.joint_frames(displaced.hand, tip_errors)[:, :, :3, 3][:, tips]
    iterations = getattr(state, "passes", None)
    return [
        what,
        "" if iterations is None else f"{iterations.mean():.1f} / {iterations.max()}",
        f"{ends.mean():.2f} / {ends.max():.1f}",
        f"{100 * (ends > 1).mean():.1f}",
        f"{others.mean():.2f}",
        f"{1000 * np.linalg.norm(reached - displaced.targets.positions[:, 3:], axis=-1).mean():.2f}",
        f"{1000 * seconds / len(case.targets):.2f}",
    ]


def rows(methods: tuple[str, ...] = tuple(METHODS)) -> list[list[str]]:
    """Return the rows of some of the methods."""
    case = experiment(FOLLOWED_FRAMES)
    displaced = off_targets(case)
    return [row(what, case, displaced) for what in methods]


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[2] / "docs")
    fill(parser.parse_args().out / "explanation" / "solving.md", {"ccd": table(HEAD, rows())})


if __name__ == "__main__":
    main()
