"""Measure processor time and memory of `knuckle solve TAKE --out JOINTS.npz` for takes of several lengths.

    python tools/benchmarks/long_takes.py --frames 1000 10000 100000 [--markers-on joints] [--suffix .trc]
    python tools/benchmarks/long_takes.py --stages 10000
    python tools/benchmarks/long_takes.py --write

Takes are made of ../shared/data/captures/two_hands_glove.c3d (tools/long_take.py). Each run is kept in
build/long-bench/runs.json; --write fills docs/reference/long-takes.md from there and draws its plot.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import svg  # noqa: E402
from doc_sections import fill  # noqa: E402
from long_take import SOURCE, write_long_take  # noqa: E402

from knuckle.pipeline.job import SolveJob  # noqa: E402
from knuckle.pipeline.pieces.pool import usual_processes  # noqa: E402
from knuckle.pipeline.recipe import Recipe  # noqa: E402

FOLDER = ROOT / "build" / "long-bench"
RUNS, STAGES = FOLDER / "runs.json", FOLDER / "stages.json"
PAGE = ROOT / "docs" / "reference" / "long-takes.md"
PICTURE = ROOT / "docs" / "pictures" / "long-takes.svg"
COMMAND = "import sys; from knuckle.cli.main import main; sys.exit(main())"
TICK = 0.5
"""s between two samples of the memory."""
KINDS = {"skin": "skin: all markers fitted", "joints": "joints: FABRIK alone"}


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the command."""

    frames: int
    markers_on: str
    suffix: str
    processes: int
    seconds: float
    processor: float
    """s, of the command and its worker processes."""
    peak: int
    """Peak memory of all processes together, bytes; shared memory counts once for each process."""
    pieces: int
    difference: float
    load: float
    """Load of the machine before the run."""

    @property
    def row(self) -> tuple[str, ...]:
        """The run in the table."""
        return (
            f"{self.frames:,}",
            self.suffix[1:].upper(),
            self.markers_on,
            str(self.pieces or "at once"),
            f"{self.seconds:.0f}",
            f"{self.processor:.0f}",
            f"{1000 * self.processor / self.frames:.2f}",
            f"{self.peak / 2**30:.2f}",
            f"{self.difference:.1e}" if self.pieces else "–",
            f"{self.load:.1f}",
        )


HEADS = (
    "Frames",
    "File",
    "Markers on",
    "Pieces",
    "Took, s",
    "Processor time, s",
    "of it for a frame, ms",
    "Memory, GiB",
    "Pieces differ by",
    "Load before",
)


def made_take(frames: int, suffix: str) -> Path:
    """Return a take with the given number of frames, made on first use."""
    path = FOLDER / f"take-{frames}{suffix}"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        write_long_take(path, frames, (ROOT / SOURCE).resolve())
    return path


def run_command(frames: int, markers_on: str, suffix: str) -> Run:
    """Solve a take into joints and a report, and measure time and memory."""
    take, out, report = made_take(frames, suffix), FOLDER / "joints.npz", FOLDER / "report.json"
    arguments = ["solve", str(take), "--markers-on", markers_on, "--out", str(out), "--report", str(report), "--force"]
    before, started, load, peak = os.times(), time.perf_counter(), os.getloadavg()[0], 0
    with subprocess.Popen([sys.executable, "-c", COMMAND, *arguments], stdout=subprocess.DEVNULL) as process:
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            peak = max(peak, memory_of(watched))
            time.sleep(TICK)
    if process.returncode:
        raise SystemExit(f"{take}: the command ended with {process.returncode}")
    seconds, after = time.perf_counter() - started, os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    pieces = json.loads(report.read_text()).get("pieces", {})
    count, difference = pieces.get("count", 0), pieces.get("greatest_difference", 0.0)
    out.unlink()
    return Run(frames, markers_on, suffix, usual_processes(), seconds, processor, peak, count, difference, load)


def memory_of(process: psutil.Process) -> int:
    """Return the bytes of memory used by a process and its children."""
    total = 0
    try:
        for member in [process, *process.children(recursive=True)]:
            total += member.memory_info().rss
    except psutil.NoSuchProcess:
        return total
    return total


def stages_of(frames: int, markers_on: str) -> dict[str, float]:
    """Return ms of processor time for a frame of each stage of a solve at once."""
    job = SolveJob(Recipe(str(made_take(frames, ".c3d")), markers_on=markers_on))
    ms_of_stage: dict[str, float] = {}
    description, previous_time = "", time.process_time()
    for progress in job.steps():
        time_now = time.process_time()
        ms_of_stage[description] = ms_of_stage.get(description, 0.0) + time_now - previous_time
        description, previous_time = progress.description or description, time_now
    ms_of_stage[description] = ms_of_stage.get(description, 0.0) + time.process_time() - previous_time
    return {name: 1000 * spent / frames for name, spent in ms_of_stage.items() if name}


def kept(path: Path) -> list[dict[str, float | str]]:
    """Return the stored results of earlier runs."""
    return list(json.loads(path.read_text())) if path.exists() else []


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [heads, ["---"] * len(heads), *rows])


def write() -> None:
    """Fill the page and draw its plot."""
    runs = [Run(**stored_run) for stored_run in kept(RUNS)]  # type: ignore[arg-type]
    runs.sort(key=lambda run: (run.markers_on, run.suffix, run.frames))
    stages = [(str(row["markers_on"]), str(row["stage"]), f"{float(row['ms']):.3f}") for row in kept(STAGES)]
    fill(
        PAGE, {"runs": table(HEADS, [run.row for run in runs]), "stages": table(("Markers on", "Stage", "ms"), stages)}
    )
    curves = []
    for markers_on, name in KINDS.items():
        series_runs = [run for run in runs if (run.markers_on, run.suffix) == (markers_on, ".c3d")]
        if series_runs:
            curves.append(
                svg.Series(
                    name,
                    [float(run.frames) for run in series_runs],
                    [1e3 * run.processor / run.frames for run in series_runs],
                )
            )
    every = [x for curve in curves for x in curve.x]
    high = [y for curve in curves for y in curve.y]
    drawing = svg.lines(
        "Processor time for a frame by the length of the take",
        svg.axis("frames", every, zero=True),
        svg.axis("ms a frame of two hands", high, zero=True),
        curves,
    )
    svg.write(PICTURE, drawing)


def main() -> None:
    """Measure, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--frames", type=int, nargs="*", default=(), help="lengths to measure")
    parser.add_argument("--stages", type=int, help="frames on which the stages are measured")
    parser.add_argument("--markers-on", choices=tuple(KINDS), default="skin")
    parser.add_argument("--suffix", choices=(".c3d", ".trc"), default=".c3d")
    parser.add_argument("--write", action="store_true", help="fill docs/reference/long-takes.md")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for frames in options.frames:
        run = run_command(frames, options.markers_on, options.suffix)
        print(*run.row, flush=True)
        same = (run.frames, run.markers_on, run.suffix)
        other_rows = [
            stored for stored in kept(RUNS) if (stored["frames"], stored["markers_on"], stored["suffix"]) != same
        ]
        RUNS.write_text(json.dumps([*other_rows, asdict(run)], indent=1))
    if options.stages:
        ms_of_stage = stages_of(options.stages, options.markers_on)
        rows = [{"markers_on": options.markers_on, "stage": name, "ms": spent} for name, spent in ms_of_stage.items()]
        other_rows = [stored for stored in kept(STAGES) if stored["markers_on"] != options.markers_on]
        STAGES.write_text(json.dumps([*other_rows, *rows], indent=1))
        print(*(f"{stage['stage']}: {stage['ms']:.3f} ms" for stage in rows), sep="\n", flush=True)
    if options.write:
        write()


if __name__ == "__main__":
    main()
