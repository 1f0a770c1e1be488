"""Knuckle's solvers and their peers on the standard hand problem, in one run.

Each round runs every entry once, in another order, each in a separate process, so that a machine that drifts does so
for all alike; a ratio is that of two entries of one round, and what is printed is the median over the rounds. Scored by
the harness of the problem, which knows nothing of Knuckle. Needs ../shared/bench.
"""

import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knuckle.solvers import SOLVERS

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "bench"
WORK = ROOT / "build" / "bench"
BLENDER, MINK = "Blender's IK", "mink + coupling"


Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A runner on a problem."""

    name: str
    runner: str
    problem: str
    options: tuple[str, ...] = ()
    batch: bool = False
    smooth: bool = False

    @property
    def once(self) -> bool:
        """Return whether one round is enough, because its time is not judged."""
        return self.smooth or any(option == f"solver={name}" for name in SLOW for option in self.options)

    @property
    def ours(self) -> bool:
        """Return whether the solver is Knuckle's."""
        return self.runner == "knuckle_runner"


Results = list[dict[Entry, Figures]]
"""Figures of every entry, for each round."""


def ours(problem: str, solvers: tuple[str, ...], smooth: bool = False, batch: bool = False) -> list[Entry]:
    """Knuckle's solvers on a problem; with smoothing as live, or in a batch by the whole take."""
    suffix = {(True, False): ", live smoothing", (True, True): ", whole take smoothed"}.get((smooth, batch), "")
    extra = ("smooth=true",) if smooth else ()
    return [
        Entry(name + suffix, "knuckle_runner", problem, (f"solver={name}", *extra), batch, smooth) for name in solvers
    ]


ALL = tuple(SOLVERS)
SLOW = ("jacobian", "whole-hand", "pair-wise")
"""Iterated in arrays of one hand: they take a hundred times as long as the others, which one round shows as well."""
BY_TURNS = tuple(name for name, kind in SOLVERS.items() if getattr(kind, "takes_rotations", False))
"""The solvers that take orientations."""


def peers(problem: str) -> list[Entry]:
    """Return the other solvers of a problem."""
    blender = Entry(BLENDER, "blender_ik", problem, ("split=1",))
    mink = Entry(MINK, "mink_peer", problem, ("coupling=1",))
    one_step = Entry("mink, one QP", "mink_peer", problem, ("max_it=1",))
    return [one_step] if problem == "C2" else [blender, mink]


ENTRIES = [
    *peers("A"),
    *ours("A", ALL),
    *peers("B"),
    *ours("B", ALL),
    *ours("B", ALL, smooth=True),
    *ours("B", ALL, smooth=True, batch=True),
    *peers("C2"),
    *ours("C2", BY_TURNS),
    *ours("C2", BY_TURNS, smooth=True),
    *ours("C2", BY_TURNS, smooth=True, batch=True),
    *ours("D", tuple(name for name in ALL if name not in SLOW), batch=True),
]


def prepare() -> None:
    """Copy the problem's files to build/bench and generate its problems."""
    if not SHARED.is_dir():
        sys.exit("make bench: the standard hand problem is not beside the checkout (../shared/bench)")
    shutil.copytree(SHARED, WORK, dirs_exist_ok=True, copy_function=shutil.copyfile)
    if not (WORK / "problems" / "D.npz").is_file():
        subprocess.run([sys.executable, "make_problem.py"], cwd=WORK, check=True)


def run(entry: Entry) -> Figures:
    """Return the figures of a run, as measured by the harness."""
    shutil.rmtree(WORK / "results", ignore_errors=True)
    (WORK / "results").mkdir()
    command = [sys.executable, "run.py", entry.runner, entry.problem]
    command += ["--batch"] if entry.batch else []
    command += ["--opt", *entry.options] if entry.options else []
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "benchmarks")}
    process = subprocess.run(command, cwd=WORK, env=environment, check=False, capture_output=True, text=True)
    if process.returncode:
        sys.exit(f"{entry}:\n{process.stdout}{process.stderr}")
    figures: Figures = json.loads(next((WORK / "results").glob("*.json")).read_text())
    return figures


def measure(rounds: int) -> Results:
    """Measure every entry in each round."""
    order, results = list(ENTRIES), []
    for number in range(rounds):
        random.Random(number).shuffle(order)
        results.append({entry: run(entry) for entry in order if not (number and entry.once)})
        print(f"round {number + 1} of {rounds} done", flush=True)
    return results


def median(results: Results, entry: Entry, figure: str) -> float:
    """Return the median of a figure over the rounds."""
    return statistics.median(float(round_results[entry][figure]) for round_results in results if entry in round_results)


def machine() -> str:
    """Return the machine on which the figures were measured."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.machine(),
    )
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def versions(results: Results) -> str:
    """Return the packages that took part."""
    version_of_package: dict[str, str] = {}
    for figures in results[0].values():
        version_of_package.update(figures["env"]["versions"])
    return ", ".join(f"{name} {version}" for name, version in sorted(version_of_package.items()))
