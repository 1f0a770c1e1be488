"""Knuckle's own hand dragged by each solver, without Blender: how near, how fast, how smoothly, whether pins hold.

python tools/benchmarks/posing_solvers.py [--drags 20] [--write]
"""

import argparse
import time
from typing import Any

from posing import ROOT, both, load

HEAD = [
    "solver",
    "ms of CPU a step, median / p99",
    "mm a tip is off, most",
    "degrees beyond limits",
    "degrees for a mm, median / p99 / most",
    "degrees off when back from 60 mm, most",
    "mm a pinned tip is off, most",
    "ms, with pins",
]
STEPS = 40


def measured(name: str, drags: int) -> list[str]:
    """Return the row of a solver."""
    import numpy as np

    from knuckle.hand.joints import DIGITS, KNUCKLES
    from knuckle.hand.kinematics import joint_position
    from knuckle.posing.dragging import DRAG_SOLVERS, WRIST, Pin, start_drag
    from knuckle.tests.pure.posing.test_dragging import HANDS, TIPS, as_bent, some_pose

    times: list[float] = []
    pinned_times: list[float] = []
    errors, limit_excess, rotation_gains, return_errors, pin_errors = [], [0.0], [], [], []

    def run_drag(drag: Any, goal_offsets: Any, seconds: list[float]) -> list[Any]:
        drag_steps: list[Any] = []
        low, high = drag.hand.limits.T
        for goal_offset in goal_offsets:
            start = time.thread_time()
            drag_steps.append(drag.step(drag.position + goal_offset, drag_steps[-1] if drag_steps else None))
            seconds.append(time.thread_time() - start)
            angles = drag_steps[-1].pose.angles
            limit_excess.append(float(np.rad2deg(np.maximum(low - angles, angles - high).max())))
        return [drag_step.pose for drag_step in drag_steps]

    fractions = np.linspace(0.0, 1.0, STEPS + 1)[1:, None]
    for seed in range(drags):
        hand, digit, rng = HANDS[("left", "right")[seed % 2]], DIGITS[seed % 5], np.random.default_rng(seed)
        start, solver = some_pose(hand, seed), DRAG_SOLVERS[name](hand)
        goal = joint_position(as_bent(start, some_pose(hand, seed + 1), digit), TIPS[digit])[0]
        drag = start_drag(start, TIPS[digit], solver=solver)
        poses = run_drag(drag, fractions * (goal - drag.position), times)
        errors.append(1000 * float(np.linalg.norm(joint_position(poses[-1], TIPS[digit])[0] - goal)))
        rotations_deg = np.rad2deg(np.abs(np.diff([pose.angles[0] for pose in poses], axis=0)).max(axis=1))
        rotation_gains += (rotations_deg / (1000 * np.linalg.norm(goal - drag.position) / STEPS)).tolist()
        excursion = 0.06 * rng.normal(size=3) / np.sqrt(3) * fractions
        final_pose = run_drag(drag, np.concatenate([excursion, excursion[::-1], np.zeros((1, 3))]), [])[-1]
        return_errors.append(float(np.rad2deg(np.abs(final_pose.angles - start.angles).max())))
        start = some_pose(hand, seed, 0.5)
        pins = [
            Pin(pinned_digit, joint_position(start, TIPS[pinned_digit])[0]) for pinned_digit in DIGITS[: 1 + seed % 3]
        ]
        drag = start_drag(start, WRIST if seed % 2 else KNUCKLES[seed % 4], pins, solver=solver)
        direction = rng.normal(size=3)
        for pose in run_drag(drag, 0.03 * direction / np.linalg.norm(direction) * fractions, pinned_times):
            pin_errors += [
                1000 * float(np.linalg.norm(joint_position(pose, TIPS[pin.digit])[0] - pin.position)) for pin in pins
            ]
    paces = " / ".join(f"{value:.1f}" for value in np.quantile(rotation_gains, [0.5, 0.99, 1.0]))
    maxima = [f"{max(values):.2f}" for values in (errors, limit_excess)]
    return [
        name,
        both(times),
        *maxima,
        paces,
        f"{max(return_errors):.3f}",
        f"{max(pin_errors):.2f}",
        both(pinned_times),
    ]


def main() -> None:
    """Measure and print; with --write, also fill docs/reference/posing-figures.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--drags", type=int, default=20)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    load()
    from standard_page import fill, table
    from standard_runs import machine

    from knuckle.posing.dragging import DRAG_SOLVERS

    text = table(HEAD, [measured(name, options.drags) for name in DRAG_SOLVERS]) + f"\n\nOn {machine()}."
    print(text)
    if options.write:
        fill(ROOT / "docs" / "reference" / "posing-figures.md", {"drag solvers": text})


if __name__ == "__main__":
    main()
