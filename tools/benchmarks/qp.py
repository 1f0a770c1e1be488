"""How long the quadratic programs of a hand take, against daqp on the same programs in the same run.

    python tools/benchmarks/qp.py

Live: one program after the other along a motion, each begun at the working set of the one before (daqp begins anew).
Batch: many at once, cold and from their own working sets. Medians of interleaved runs, microseconds a program.
"""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import daqp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "pure" / "solvers"))
from quadratics import Kind, programs

from knuckle.solvers.qp.quadratic_program import QpSolution, QuadraticProgram, solve, solve_all

FRAMES = 200
RUNS = 15
HANDS = {
    "hand, 50 coordinates seen, 5 couplings": Kind(digits=5, joints=4, wrist=6, seen=50, damping=1e-3, rows=5),
    "hand, fingertips seen, 5 couplings": Kind(digits=5, joints=4, wrist=6, seen=24, damping=1e-3, rows=5),
    "hand, fingertips seen": Kind(digits=5, joints=4, wrist=6, seen=24, damping=1e-3, rows=0),
    "five digits, wrist known": Kind(digits=5, joints=5, wrist=0, seen=15, damping=1e-3, rows=0),
}
DIGITS = {
    "digit": Kind(digits=1, joints=5, wrist=0, seen=3, damping=1e-3, rows=0),
    "digit, 1 coupling": Kind(digits=1, joints=5, wrist=0, seen=3, damping=1e-3, rows=1),
}


def arrays(record: QuadraticProgram | QpSolution) -> list[np.ndarray]:
    """Return the arrays of a record."""
    return [getattr(record, field.name) for field in fields(record)]


def each(program: QuadraticProgram) -> list[QuadraticProgram]:
    """Return the programs of a batch."""
    return [QuadraticProgram(*values) for values in zip(*arrays(program), strict=True)]


def motion(kind: Kind) -> QuadraticProgram:
    """Return a sequence of programs, one for each frame, whose forces oscillate."""
    first, second = each(programs(kind, 2, np.random.default_rng(0)))
    angles = np.linspace(0, 2 * np.pi, FRAMES)[:, None]
    repeated = QuadraticProgram(*(np.repeat(values[None], FRAMES, axis=0) for values in arrays(first)))
    return replace(repeated, gradient=np.cos(angles) * first.gradient + np.sin(angles) * second.gradient)


def by_daqp(frames: list[QuadraticProgram]) -> None:
    """Solve all by daqp."""
    for frame in frames:
        daqp.solve(frame.hessian, frame.gradient, frame.rows, frame.high, frame.low)


def followed(frames: list[QuadraticProgram]) -> None:
    """Solve each, starting from the previous working set."""
    working = None
    for frame in frames:
        working = solve(frame, working).working


def alone(frames: list[QuadraticProgram]) -> None:
    """Solve each, starting from an empty working set."""
    for frame in frames:
        solve(frame)


def compare(name: str, count: int, ways: dict[str, Callable[[], object]]) -> None:
    """Print each method's median in microseconds per program, and its ratio to the last method's."""
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(RUNS):
        for way, run in ways.items():
            start = time.perf_counter()
            run()
            times[way].append((time.perf_counter() - start) / count * 1e6)
    medians = {way: statistics.median(values) for way, values in times.items()}
    peer = list(medians.values())[-1]
    print(f"{name}: " + ", ".join(f"{way} {value:.1f} us ({value / peer:.2f})" for way, value in medians.items()))


def main() -> None:
    """Measure live, then batches."""
    print(f"numpy {np.__version__}, medians of {RUNS} interleaved runs, in brackets the ratio to daqp")
    for name, kind in HANDS.items():
        frames = each(motion(kind))
        compare(
            f"live, {name}",
            FRAMES,
            {
                "warm": lambda frames=frames: followed(frames),
                "cold": lambda frames=frames: alone(frames),
                "daqp": lambda frames=frames: by_daqp(frames),
            },
        )
    for name, kind in {**DIGITS, **HANDS}.items():
        count = 5000 if kind.digits == 1 else 500
        batch = programs(kind, count, np.random.default_rng(0))
        frames, working = each(batch), solve_all(batch).working
        compare(
            f"batch of {count}, {name}",
            count,
            {
                "warm": lambda batch=batch, working=working: solve_all(batch, working),
                "cold": lambda batch=batch: solve_all(batch),
                "daqp": lambda frames=frames: by_daqp(frames),
            },
        )


if __name__ == "__main__":
    main()
