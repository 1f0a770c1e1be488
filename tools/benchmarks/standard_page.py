"""Write the results of the standard hand problem to docs/reference/benchmarks.md, and its charts."""

import math
import statistics
import sys
from collections.abc import Iterable
from pathlib import Path

from standard_runs import BLENDER, ENTRIES, MINK, Entry, Results, machine, median, versions

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import svg
from doc_sections import fill

TARGETS = {"fabrik": (1.0, BLENDER), "cga": (1.0, BLENDER), "table": (0.3, BLENDER), "dynamical": (1.0, MINK)}
"""Solver -> maximum ratio of its median time for a live frame of problem A to that of a peer, and the peer."""
MIN_BATCH_FPS = {"fabrik": 1e5, "cga": 1e5, "table": 1e6, "dynamical": 2e4}
"""Solver -> minimum frames per second on problem D."""
MAX_CHART_MICROSECONDS = 1000.0
"""Slower solvers are left out of the chart of live frames."""
MAX_ERRORS = {
    ("A", False): {"tip_max_mm": 0.5, "mid_mean_mm": 0.7, "ang_rmse_fingers_deg": 0.9, "viol": 0.0},
    ("B", False): {"tip_max_mm": 2.5, "viol": 0.0},
    ("B", True): {"tip_true_mean_mm": 1.0, "jitter_ratio": 3.0, "viol": 0.0},
    ("C2", True): {"ang_rmse_deg": 1.2, "jitter_ratio": 3.0, "viol": 0.0},
}
"""(Problem, smoothed) -> maximum of each figure for the solvers of Knuckle."""
FIGURE_NAMES = {
    "tip_max_mm": "tip",
    "mid_mean_mm": "middle joints",
    "tip_true_mean_mm": "tip to truth",
    "ang_rmse_fingers_deg": "four fingers",
    "ang_rmse_deg": "all angles",
    "jitter_ratio": "jitter",
    "viol": "limits",
}

COLUMNS = {
    "tip to target mean/max mm": "{tip_mean_mm:.3f} / {tip_max_mm:.2f}",
    "tip to truth mm": "{tip_true_mean_mm:.2f}",
    "middle joints mm": "{mid_mean_mm:.2f}",
    "RMSE all/four fingers °": "{ang_rmse_deg:.2f} / {ang_rmse_fingers_deg:.2f}",
    "limits violated": "{viol}",
    "jitter x truth": "{jitter_ratio:.1f}",
}
"""Heading of each column of the accuracy tables, and its format."""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def entries_of(problem: str) -> list[Entry]:
    """Return the entries of a problem."""
    return [entry for entry in ENTRIES if entry.problem == problem]


def ratio(results: Results, entry: Entry, peer_name: str) -> float:
    """Return the ratio of an entry's median time to a peer's, as a median over the rounds."""
    peer = next(other for other in entries_of(entry.problem) if other.name == peer_name)
    return statistics.median(
        round_results[entry]["ms_median"] / round_results[peer]["ms_median"]
        for round_results in results
        if entry in round_results
    )


def live_table(results: Results) -> str:
    """Return the table of times for problem A: one frame after another."""
    rows = []
    for entry in entries_of("A"):
        medians = [round_results[entry]["ms_median"] for round_results in results if entry in round_results]
        target = TARGETS.get(entry.name)
        verdict = f"{target[0]:g}x {target[1]}: {_met(ratio(results, entry, target[1]) <= target[0])}" if target else ""
        rows.append(
            [
                entry.name,
                f"{1000 * statistics.median(medians):.0f} ({1000 * min(medians):.0f}-{1000 * max(medians):.0f})",
                f"{1000 * median(results, entry, 'ms_p99'):.0f}",
                f"{ratio(results, entry, BLENDER):.2f}",
                f"{ratio(results, entry, MINK):.2f}",
                verdict,
            ]
        )
    head = ["solver", "µs a hand, median (spread)", "p99", f"x {BLENDER}", f"x {MINK}", "target"]
    return table(head, rows)


def accuracy_table(results: Results, problem: str) -> str:
    """Return the table of a problem's accuracy."""
    rows = [
        [
            entry.name,
            *(pattern.format_map(results[0][entry]) for pattern in COLUMNS.values()),
            accuracy_verdict(results, entry),
        ]
        for entry in entries_of(problem)
    ]
    return table(["solver", *COLUMNS, "target"], rows)


def accuracy_verdict(results: Results, entry: Entry) -> str:
    """Return whether a solver of Knuckle meets MAX_ERRORS, and the figures that do not; empty without a target."""
    limits = MAX_ERRORS.get((entry.problem, entry.smooth), {}) if entry.ours else {}
    figures = results[0][entry]
    missed = [
        f"{FIGURE_NAMES[key]} {figures[key]:.3g} > {limit:g}" for key, limit in limits.items() if figures[key] > limit
    ]
    return "missed: " + ", ".join(missed) if missed else "met" if limits else ""


def batch_table(results: Results) -> str:
    """Return the table of problem D: 100 000 frames at once."""
    rows = []
    for entry in entries_of("D"):
        fps = median(results, entry, "fps")
        rows.append(
            [
                entry.name,
                f"{fps:,.0f}",
                f"{results[0][entry]['tip_mean_mm']:.3f} / {results[0][entry]['tip_max_mm']:.2f}",
                f"{results[0][entry]['viol']}",
                f"{wanted:,.0f}: {_met(fps >= wanted)}" if (wanted := MIN_BATCH_FPS.get(entry.name)) else "",
            ]
        )
    return table(["solver", "frames a second", "tip mean/max mm", "limits violated", "target"], rows)


def rotation_table(results: Results) -> str:
    """Return the table of times for problem C2: rotations of joints as targets."""
    peer = next(entry for entry in entries_of("C2") if entry.runner == "mink_peer")
    rows = [
        [
            entry.name,
            f"{1000 * median(results, entry, 'ms_median'):.0f}",
            f"{ratio(results, entry, peer.name):.2f}",
            f"1x: {_met(ratio(results, entry, peer.name) <= 1)}" if entry.name == "dynamical" else "",
        ]
        for entry in entries_of("C2")
        if not entry.batch
    ]
    return table(["solver", "µs a hand", f"x {peer.name}", "target"], rows)


def _met(yes: bool) -> str:
    return "met" if yes else "missed"


def draw_charts(folder: Path, results: Results) -> None:
    """Draw the bar charts of live frames and of noise into a folder."""
    times = {entry.name: 1000 * median(results, entry, "ms_median") for entry in entries_of("A")}
    fast_solvers = {name: micros for name, micros in times.items() if micros < MAX_CHART_MICROSECONDS}
    up = svg.axis("µs a hand, median", list(fast_solvers.values()), zero=True)
    chart = svg.bars("One live frame of five fingers", up, list(fast_solvers), {"median": list(fast_solvers.values())})
    svg.write(folder / "benchmark-live.svg", chart)
    unsmoothed = [entry for entry in entries_of("B") if not entry.smooth]
    modes = {"as it came": (False, False), "smoothed live": (True, False), "smoothed as a whole": (True, True)}
    ratios = {
        (entry.runner, entry.options[:1], entry.smooth, entry.batch): results[0][entry]["jitter_ratio"]
        for entry in entries_of("B")
    }
    rows = {
        name: [ratios.get((entry.runner, entry.options[:1], *mode), math.nan) for entry in unsmoothed]
        for name, mode in modes.items()
    }
    up = svg.axis("times the truth's", list(ratios.values()), zero=True)
    chart = svg.bars("Jitter at 1 mm of noise", up, [entry.name for entry in unsmoothed], rows)
    svg.write(folder / "benchmark-noise.svg", chart)


def write_page(docs: Path, results: Results) -> None:
    """Replace the generated sections of docs/reference/benchmarks.md, and the charts."""
    sections = {
        "live": live_table(results),
        "exact": accuracy_table(results, "A"),
        "noise": accuracy_table(results, "B"),
        "turns": rotation_table(results) + "\n\n" + accuracy_table(results, "C2"),
        "batch": batch_table(results),
        "machine": f"Measured on {machine()}; {versions(results)}; {len(results)} interleaved rounds.",
    }
    fill(docs / "reference" / "benchmarks.md", sections)
    draw_charts(docs / "pictures", results)
