"""Takes and frames a minute of `knuckle farm`, what scheduling costs, and a farm of a hundred workers by simulation.

    python tools/benchmarks/farm.py [--takes 60] [--frames 60000] [--write]

Runs the command over made-up takes with one worker and with two, counts the processor time of all its processes, kills
ten of them at random in a further run, hands out empty tasks, and simulates larger farms from what was measured.
--write fills docs/reference/farm.md.
"""

import argparse
import csv
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import svg  # noqa: E402
from doc_sections import fill  # noqa: E402
from farm_simulation import Course, resampled, simulate  # noqa: E402
from farm_takes import made_takes, write_all  # noqa: E402

from knuckle.farm import cluster, tasks  # noqa: E402
from knuckle.farm.bundles import Bundle  # noqa: E402
from knuckle.farm.run import FarmRun  # noqa: E402
from knuckle.farm.take_orders import TakeOrder  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "farm.md"
PICTURES = ROOT / "docs" / "pictures"
COMMAND = "import sys; from knuckle.cli.main import main; sys.exit(main())"
KILLS, SEED = 10, 18
GAVE_UP = 1
"""Exit status of a command that could not begin."""
MANY_TAKES = 100_000
WORKERS = (1, 2, 4, 8, 16, 32, 64, 100, 200, 400, 800)
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Run:
    """Measurements of a run of the command."""

    workers: int
    seconds: float
    processor: float
    """s, of the command and all its workers."""
    takes: list[dict[str, str]]
    load: float
    """Load of the machine besides this run."""

    @property
    def frames(self) -> int:
        """Frames that were solved."""
        return sum(int(row["frames"]) for row in self.takes)


def started_farm(captures: Path, out: Path, workers: int) -> "subprocess.Popen[bytes]":
    """Start the command over a folder of captures."""
    arguments = ["farm", str(captures), "--out", str(out), "--workers", str(workers)]
    command = [sys.executable, "-c", COMMAND, *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def solved_rows(out: Path) -> list[dict[str, str]]:
    """Return the rows of the takes that a run has solved."""
    with (out / "takes.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["state"] in ("solved", "unchanged")]


def run_farm(captures: Path, out: Path, workers: int) -> Run:
    """Run the command over a folder of captures."""
    before, started, load = os.times(), time.perf_counter(), os.getloadavg()[0]
    started_farm(captures, out, workers).wait()
    seconds, after = time.perf_counter() - started, os.times()
    spent = (after.children_user + after.children_system) - (before.children_user + before.children_system)
    rows = solved_rows(out)
    print(f"{workers} workers: {len(rows)} takes in {seconds:.0f} s, {spent:.0f} s of processor time", flush=True)
    return Run(workers, seconds, spent, rows, load)


@dataclass(frozen=True, slots=True)
class KilledRun:
    """A run whose processes were ended at random, by kill -9."""

    seconds: float
    workers: int
    """How often a worker was killed."""
    commands: int
    """How often the command was killed with its scheduler; it was started again."""
    given_up: int
    """How often the command gave up because a worker was killed while it started; it was started again."""
    takes: int


def run_with_kills(captures: Path, out: Path, workers: int, expected: float) -> KilledRun:
    """Run the command, and end its processes. expected: s of a run without kills, over which they are spread."""
    rng, started, killed, given_up = random.Random(SEED), time.perf_counter(), list[bool](), 0
    process = started_farm(captures, out, workers)
    for _ in range(KILLS):
        time.sleep(rng.uniform(0.5, 1.5) * expected / KILLS)
        if process.poll() == GAVE_UP:
            process, given_up = started_farm(captures, out, workers), given_up + 1
            continue
        if process.poll() is not None:
            break
        children = psutil.Process(process.pid).children(recursive=True)
        victims = [child.pid for child in children if "spawn_main" in " ".join(child.cmdline())]
        victim = rng.choice([process.pid, *victims])
        os.kill(victim, signal.SIGKILL)
        killed.append(victim == process.pid)
        if killed[-1]:
            process.wait()
            process = started_farm(captures, out, workers)
    while process.wait() == GAVE_UP:
        process, given_up = started_farm(captures, out, workers), given_up + 1
    seconds, commands = time.perf_counter() - started, sum(killed)
    print(f"{len(killed)} kills, {commands} of them of the command: {seconds:.0f} s", flush=True)
    return KilledRun(seconds, len(killed) - commands, commands, given_up, len(solved_rows(out)))


def same_results(first: Path, second: Path) -> tuple[int, int]:
    """Return how many takes of two runs have the same joints, bit by bit, and how many files are no results."""
    same = 0
    for path in sorted(first.glob("takes/**/joints.npz")):
        with np.load(path) as ours, np.load(second / path.relative_to(first)) as theirs:
            same += all(
                np.array_equal(ours[name], theirs[name], equal_nan=ours[name].dtype.kind == "f") for name in ours
            )
    return same, len(list(second.rglob(".knuckle-*")))


def start_cost() -> float:
    """Return s of processor time to start a worker, measured by a run over an unreadable capture."""
    with tempfile.TemporaryDirectory(prefix="knuckle-farm-bench-") as folder:
        bad = Path(folder, "captures", "bad.json")
        bad.parent.mkdir()
        bad.write_text("{")
        return run_farm(bad.parent, Path(folder, "out"), 1).processor


def empty_tasks(count: int) -> tuple[float, float]:
    """Return s of processor time and s of wall time that an empty task costs the command and its scheduler."""
    orders = tuple(TakeOrder(f"t{n}", f"/t{n}", 0, problem="none") for n in range(count))
    settings = tasks.settings_of(Path("/nowhere"), ("report",), pictures=False)
    with cluster.local_cluster(cluster.LocalChoices(2, None, False)) as (workers, _):
        run = FarmRun(orders, settings, workers)
        run.waiting = [Bundle((order,)) for order in orders]
        process, started = psutil.Process(), time.perf_counter()
        before = sum(process.cpu_times()[:2])
        rows = sum(map(len, run.rows()))
        assert rows == count
        spent = sum(process.cpu_times()[:2]) - before
        seconds = time.perf_counter() - started
    print(f"{count} empty tasks: {1000 * spent / count:.2f} ms of processor time each", flush=True)
    return spent / count, seconds / count


def measured_takes(run: Run, start: float, captures: Path) -> list[tuple[int, float]]:
    """Return bytes and s of processor time of each take: the run's, divided in proportion to the takes' own times."""
    walls = [float(row["seconds"]) for row in run.takes]
    scale = (run.processor - start) / sum(walls)
    sizes = [Path(row["capture"]).stat().st_size for row in run.takes]
    return [(size, wall * scale) for size, wall in zip(sizes, walls, strict=True)]


def speed_table(runs: list[Run]) -> str:
    """Return the table of the runs' speed."""
    heads = ("Workers", "Takes", "Frames", "Took, s", "Takes a minute", "Frames a minute", "Processor time, s")
    rows = []
    for run in runs:
        minutes = run.seconds / 60
        figures = (len(run.takes), f"{run.frames:,}", f"{run.seconds:.0f}", f"{len(run.takes) / minutes:.1f}")
        more = (f"{run.frames / minutes:,.0f}", f"{run.processor:.0f}", f"{run.frames / run.processor:.0f}")
        rows.append((run.workers, *figures, *more, f"{run.load:.1f}"))
    return table((*heads, "Frames in 1 s of it", "Load before"), rows)


def kill_table(found: KilledRun, undisturbed: Run, outs: Sequence[Path]) -> str:
    """Return what a run under kills took and left, beside one without them."""
    same, halves = same_results(outs[1], outs[2])
    heads = (
        "Killed",
        "Took, s",
        "Without kills, s",
        "Takes",
        "Without kills",
        "Same joints",
        "Files that are no results",
    )
    killed = f"a worker {found.workers} times, the command with its scheduler {found.commands} times"
    if found.given_up:
        killed += f"; started again {found.given_up} times more, a worker having been killed while it started"
    figures = (f"{found.seconds:.0f}", f"{undisturbed.seconds:.0f}", found.takes, len(undisturbed.takes))
    return table(heads, [(killed, *figures, same, halves)])


def task_table(empty: dict[int, tuple[float, float]], sizes: dict[str, int]) -> str:
    """Return the table of the cost of empty tasks, and of what is sent for a take."""
    rows = [(f"{count:,}", f"{1000 * spent:.2f}", f"{1000 * wall:.2f}") for count, (spent, wall) in empty.items()]
    costs = table(("Empty tasks", "Processor time of command and scheduler for each, ms", "Time for each, ms"), rows)
    sent = table(("What goes over the network for a take", "Bytes"), [(name, f"{n:,}") for name, n in sizes.items()])
    return f"{costs}\n\n{sent}"


def course_table(courses: list[Course], takes: int) -> str:
    """Return the table of simulated runs."""
    heads = ("Workers", f"{takes:,} takes take", "Takes a minute", "Workers busy", "Scheduler busy", "Bundles")
    rows = [
        (
            course.workers,
            f"{course.seconds / 3600:.2f} h",
            f"{60 * takes / course.seconds:,.0f}",
            f"{course.efficiency:.1%}",
            f"{course.scheduler:.1%}",
            f"{course.bundles:,}",
        )
        for course in courses
    ]
    return table(heads, rows)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def draw(courses: list[Course], takes: int) -> None:
    """Draw takes per minute over the number of workers, with the ideal line."""
    small_farms = [course for course in courses if course.workers <= 400]
    workers = [float(course.workers) for course in small_farms]
    rates = [60 * takes / course.seconds for course in small_farms]
    ideal = [rates[0] / small_farms[0].efficiency * count for count in workers]
    drawing = svg.lines(
        "Takes a minute by the number of workers, simulated",
        svg.axis("workers", workers, zero=True),
        svg.axis("takes a minute", ideal, zero=True),
        [svg.Series("simulated", workers, rates), svg.Series("nothing lost", workers, ideal, dashed=True)],
    )
    svg.write(PICTURES / "farm-workers.svg", drawing)


def sizes_of(run: Run) -> dict[str, int]:
    """Return the bytes that a worker receives and returns for a take."""
    from knuckle.farm.take_orders import read_orders
    from knuckle.farm.take_rows import TakeRow

    (order,) = read_orders([run.takes[0]["capture"]], None, None, Path("/nowhere"))
    row: Any = TakeRow(run.takes[0]["name"], order.capture, "solved", worst="x" * 80, heat="0" * 120)
    return {
        "to the worker: the recipe, and where the capture is": len(pickle.dumps(asdict(order))),
        "back: the row": len(pickle.dumps(asdict(row))),
    }


def main() -> None:
    """Measure, and write the page if asked."""
    parser = argparse.ArgumentParser(description="Measure knuckle farm.")
    parser.add_argument("--takes", type=int, default=60)
    parser.add_argument("--frames", type=int, default=60_000)
    parser.add_argument("--empty", type=int, nargs="*", default=[1000, 10_000, 100_000], help="numbers of empty tasks")
    parser.add_argument("--write", action="store_true", help="fill docs/reference/farm.md")
    options = parser.parse_args()
    folder = ROOT / "build" / "farm-bench"
    shutil.rmtree(folder, ignore_errors=True)
    write_all(folder, made_takes(options.takes, options.frames))
    (folder / "captures" / "damaged.csv").unlink()
    empty = {count: empty_tasks(count) for count in options.empty}
    start = start_cost()
    outs = [folder / "out" / name for name in ("one", "two", "killed")]
    runs = [run_farm(folder / "captures", out, workers) for out, workers in zip(outs, (1, 2), strict=False)]
    kills = kill_table(run_with_kills(folder / "captures", outs[2], 2, runs[1].seconds), runs[1], outs)
    takes = measured_takes(runs[0], start, folder)
    overhead = max(spent for spent, _ in empty.values())
    many = resampled(takes, MANY_TAKES)
    courses = [simulate(many, workers, overhead, start) for workers in WORKERS]
    million = simulate(resampled(takes, MILLION), 100, overhead, start)
    parts = {
        "speed": speed_table(runs),
        "kills": kills,
        "tasks": task_table(empty, sizes_of(runs[0])),
        "courses": course_table(courses, MANY_TAKES),
        "million": course_table([million], MILLION),
    }
    for name, text in parts.items():
        print(f"\n## {name}\n{text}")
    if options.write:
        draw(courses, MANY_TAKES)
        fill(PAGE, parts)


if __name__ == "__main__":
    main()
