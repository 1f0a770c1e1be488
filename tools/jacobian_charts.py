"""Draws docs/pictures/jacobian-*.svg: convergence of each Jacobian method, near singular poses and far from them.

    python tools/jacobian_charts.py

The classic methods run on the index finger without limits and without a largest step, which the solver would impose.
Prints the table of docs/explanation/jacobian.md, too.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
import svg
from numpy.typing import NDArray

from knuckle.hand import jacobians
from knuckle.hand.joints import CHAIN_JOINTS
from knuckle.hand.model import HandModel
from knuckle.hand.proportions import adult, build
from knuckle.hand.targets import Targets
from knuckle.solvers.jacobian import Jacobian, steps
from knuckle.solvers.jacobian.iteration import LEVENBERG_MARQUARDT, solve_parts
from knuckle.solvers.jacobian.jacobian_solver import METHODS
from knuckle.solvers.jacobian.parts import split
from knuckle.solvers.jacobian.relative_targets import RelativePoses, RelativeTargets
from knuckle.solvers.jacobian.residual_rows import PartsProblem

Floats = NDArray[np.float64]

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
FINGER = CHAIN_JOINTS["index-finger"]
COUNT, STEPS = 200, 50
LIMIT = 1e-3, 300.0
"""mm, range of the chart."""


def finger(hand: HandModel, degrees: Floats) -> Floats:
    """Return (F, D) rad, hands whose index finger has the given abduction and three flexions, (F, 4) degrees."""
    rotations = [hand.dof(FINGER[0], "abduction"), *(hand.dof(joint, "flexion") for joint in FINGER[:3])]
    angles = np.tile(hand.neutral, (len(degrees), 1))
    angles[:, rotations] = np.deg2rad(degrees)
    return angles


def far_problem(hand: HandModel, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return (F, D) start angles of neutral fingers, and (F, 3) goals: the tips of bent fingers."""
    pip = rng.uniform(30, 80, COUNT)
    flexions = np.stack([rng.uniform(-10, 10, COUNT), rng.uniform(10, 60, COUNT), pip, 2 / 3 * pip], axis=1)
    return np.tile(hand.neutral, (COUNT, 1)), tips(hand, finger(hand, flexions))


def near_singular_problem(hand: HandModel, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return (F, D) start angles of nearly straight fingers, and (F, 3) goals 2 to 8 mm nearer to the knuckle."""
    start = finger(hand, np.stack([rng.uniform(-10, 10, COUNT), *rng.uniform(0.1, 1.0, (3, COUNT))], axis=1))
    tip_positions, knuckle = tips(hand, start), tips(hand, start, FINGER[0])
    directions = (tip_positions - knuckle) / np.linalg.norm(tip_positions - knuckle, axis=1, keepdims=True)
    return start, tip_positions - directions * rng.uniform(0.002, 0.008, (COUNT, 1))


def tips(hand: HandModel, angles: Floats, site: str = FINGER[3]) -> Floats:
    """Return the positions (F, 3) m of a site in the wrist's frame."""
    root = np.tile(np.eye(4), (len(angles), 1, 1))
    return jacobians.pose_joints(hand, root, angles).site_positions(np.array([hand.site_index(site)]))[:, 0]


def task_of(hand: HandModel, goals: Floats, solver: Jacobian) -> PartsProblem:
    """Return the problem of the index finger with goals (F, 3) m for its tip."""
    sites = np.array([hand.site_index(FINGER[3])])
    targets = Targets(np.arange(float(COUNT)), sites, goals[:, None], np.ones((COUNT, 1)))
    goal_targets = RelativeTargets.of(hand, targets, np.tile(np.eye(4), (COUNT, 1, 1)))
    (parts,) = split(hand, goal_targets.targeted_sites((True,), (False,)), "digits")
    return PartsProblem(hand, parts, goal_targets, solver.weights, floating=False)


def path(hand: HandModel, method: str, start: Floats, goals: Floats) -> list[Floats]:
    """Return the angles (F, D) before the first step and after each."""
    solver, root = Jacobian(method=method), np.tile(np.eye(4), (COUNT, 1, 1))
    task = task_of(hand, goals, solver)
    result = [np.append(start, np.zeros((COUNT, 1)), axis=1)]
    for step in range(1, STEPS + 1):
        if method == LEVENBERG_MARQUARDT:
            limited = Jacobian(method=method, iterations=step).step_method
            result.append(solve_parts(task, limited, RelativePoses(root, result[0]))[0].angles)
            continue
        now = result[-1].copy()
        rows = task.rows(np.arange(COUNT), np.zeros(COUNT, int), RelativePoses(root, now))
        homing = -solver.homing * rows.posture_errors / task.scales[0]
        now[:, task.parts.dofs[0]] += steps.unbounded_step(rows.jacobian_t, rows.errors, method, solver.damping, homing)
        result.append(now)
    return [angles[:, :-1] for angles in result]


def main() -> None:
    """Write both charts and print the table."""
    hand = build(adult("right"))
    low, high = np.log10(LIMIT)
    decades = np.arange(np.ceil(low), high).tolist()
    y = svg.Axis("miss, mm", float(low), float(high), decades, [f"{10.0**power:g}" for power in decades])
    x = svg.Axis("steps", 0, STEPS, list(range(0, STEPS + 1, 10)))
    for case, title in (
        (far_problem, "A finger at ease, targets of bent ones"),
        (near_singular_problem, "A straight finger, targets nearer in"),
    ):
        start, goals = case(hand, np.random.default_rng(1))
        curves = []
        for method in METHODS:
            angles = path(hand, method, start, goals)
            errors = np.array(
                [1000 * np.linalg.norm(tips(hand, step_angles) - goals, axis=1) for step_angles in angles]
            )
            rotations = np.array([np.rad2deg(np.abs(b - a).max(axis=1)) for a, b in pairwise(angles)]).max(axis=0)
            middle = np.log10(np.clip(np.median(errors, axis=1), *LIMIT))
            curves.append(svg.Series(method, range(STEPS + 1), middle.tolist()))
            cells = [f"{np.median(errors[count]):.2g}" for count in (5, 20)]
            cells += [f"{np.median(rotations):.0f}", f"{100 * np.mean(errors[-1] < 0.1):.0f}"]
            print(f"| {case.__name__} | {method} | {' | '.join(cells)} |")
        svg.write(PICTURES / f"jacobian-{case.__name__}.svg", svg.lines(title, x, y, curves))


if __name__ == "__main__":
    main()
