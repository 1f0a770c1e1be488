"""FABRIK, CCD, damped least squares and dynamical IK on the same chains: error, solved share, iterations and time.

    python tools/benchmarks/chains.py

Chains of ten bones with each kind of limit, and goals that they reach within their limits. Every frame begins at rest.
Each method alone, without the refinement and the other starting poses; then FABRIK with them.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from standard_page import fill, table

from knuckle.solvers.tree import Skeleton, TreeSettings, chain, cone, frames, goals_by_name, hinge, solve
from knuckle.solvers.tree.tree_solver import METHODS

Floats = NDArray[np.float64]

BONES, FRAMES = 10, 80
SOLVED = 1e-3
"""Fraction of the reach within which a goal counts as reached."""
ITERATIONS = 200
UPWARDS = np.stack([np.zeros(BONES + 1), 0.1 * np.arange(BONES + 1), np.zeros(BONES + 1)], -1)
"""(11, 3) m"""
TWIST = (-0.4, 0.4)
CONE = cone(0.6, 0.6, 0.6, 0.6)
"""rad"""
BENDS = [hinge(-0.2, 1.2), hinge(-0.2, 1.2, (0.0, 0.0, 1.0))]
"""Hinges with alternating, perpendicular axes."""
CHAINS: dict[str, Skeleton] = {
    "hinges": chain("hinges", UPWARDS, [BENDS[k % 2] for k in range(BONES)]),
    "cones": chain("cones", UPWARDS, CONE),
    "mixed": chain("mixed", UPWARDS, [BENDS[0] if k % 2 else CONE for k in range(BONES)]),
    "mixed, with twist": chain(
        "twisted", UPWARDS, [BENDS[0] if k % 2 else cone(0.6, 0.6, 0.6, 0.6, TWIST) for k in range(BONES)]
    ),
}
HEAD = ("chain", "method", "reached, %", "error mean / max mm", "iterations, mean / most", "ms a frame")


def goals_within(skeleton: Skeleton, seed: int = 1) -> Floats:
    """Return the ends (F, 3) m of poses inside the limits."""
    unit = np.random.default_rng(seed).uniform(-1, 1, (FRAMES, len(skeleton.joints), 3))
    disc = unit[..., ::2] / np.maximum(np.linalg.norm(unit[..., ::2], axis=-1, keepdims=True), 1.0)
    angles = np.zeros_like(unit)
    angles[..., ::2] = disc * np.where(disc >= 0, skeleton.cone[:, :2], skeleton.cone[:, 2:])
    low, high = skeleton.twist.T
    angles[..., 1] = (low + high) / 2 + unit[..., 1] * (high - low) / 2
    root = np.tile(np.eye(4), (FRAMES, 1, 1))
    ends: Floats = frames(skeleton, root, skeleton.rotations(angles))[:, -1, :3, 3]
    return ends


def row(name: str, method: str, *, alone: bool) -> list[str]:
    """Return a row under HEAD. The time is CPU time, all frames at once."""
    skeleton = CHAINS[name]
    goals = goals_by_name(skeleton, {skeleton.joints[-1]: goals_within(skeleton)})
    settings = TreeSettings(method=method, follow=False)
    if alone:
        settings = TreeSettings(
            method=method, follow=False, near=0.0, stall=0.001, passes=ITERATIONS, steps=0, restarts=0, tolerance=1e-4
        )
    started = time.process_time()
    pose, _ = solve(skeleton, goals, settings=settings)
    seconds = time.process_time() - started
    errors = np.linalg.norm(pose.positions[:, -1] - goals.positions[:, 0], axis=-1)
    iterations = np.zeros(1) if pose.iterations is None else pose.iterations
    return [
        name,
        method + ("" if alone else ", with the finish"),
        f"{100 * (errors < SOLVED * skeleton.reach).mean():.0f}",
        f"{1000 * errors.mean():.1f} / {1000 * errors.max():.0f}",
        f"{iterations.mean():.1f} / {iterations.max()}",
        f"{1000 * seconds / FRAMES:.2f}",
    ]


def rows() -> list[list[str]]:
    """Return all rows: for each chain, every method alone, and FABRIK with the finish."""
    return [row_cells for name in CHAINS for row_cells in rows_of(name)]


def rows_of(name: str) -> list[list[str]]:
    """Return the rows of a chain."""
    return [*(row(name, method, alone=True) for method in METHODS), row(name, "fabrik", alone=False)]


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[2] / "docs")
    fill(parser.parse_args().out / "explanation" / "chains.md", {"methods": table(HEAD, rows())})


if __name__ == "__main__":
    main()
