"""The standard hand problem's figures as docs/reference/benchmarks.md, between two marks, and its pictures."""

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
"""Live on A, each solver's median frame may take this many times the peer's."""
BATCH = {"fabrik": 1e5, "cga": 1e5, "table": 1e6, "dynamical": 2e4}
"""Frames a second on D."""
LONG = 1000.0
"""µs from which on a solver is left out of the picture of live frames."""
WORST = {
    ("A", False): {"tip_max_mm": 0.5, "mid_mean_mm": 0.7, "ang_rmse_fingers_deg": 0.9, "viol": 0.0},
    ("B", False): {"tip_max_mm": 2.5, "viol": 0.0},
    ("B", True): {"tip_true_mean_mm": 1.0, "jitter_ratio": 3.0, "viol": 0.0},
    ("C2", True): {"ang_rmse_deg": 1.2, "jitter_ratio": 3.0, "viol": 0.0},
}
"""How far off each solver of Knuckle may be on a problem, without and with smoothing."""
WORDS = {
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
"""How the figures of accuracy are printed."""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def of(problem: str) -> list[Entry]:
    """The entries of a problem."""
    return [entry for entry in ENTRIES if entry.problem == problem]


def ratio(results: Results, entry: Entry, peer_name: str) -> float:
    """The median over the rounds of how many times a peer's time the entry took."""
    peer = next(other for other in of(entry.problem) if other.name == peer_name)
    return statistics.median(each[entry]["ms_median"] / each[peer]["ms_median"] for each in results if entry in each)


def live(results: Results) -> str:
    """Problem A: one frame after another."""
    rows = []
    for entry in of("A"):
        spread = [each[entry]["ms_median"] for each in results if entry in each]
        target = TARGETS.get(entry.name)
        wanted = f"{target[0]:g}x {target[1]}: {_met(ratio(results, entry, target[1]) <= target[0])}" if target else ""
        rows.append(
            [
                entry.name,
                f"{1000 * statistics.median(spread):.0f} ({1000 * min(spread):.0f}-{1000 * max(spread):.0f})",
                f"{1000 * median(results, entry, 'ms_p99'):.0f}",
                f"{ratio(results, entry, BLENDER):.2f}",
                f"{ratio(results, entry, MINK):.2f}",
                wanted,
            ]
        )
    head = ["solver", "µs a hand, median (spread)", "p99", f"x {BLENDER}", f"x {MINK}", "target"]
    return table(head, rows)


def exact(results: Results, problem: str) -> str:
    """How far from the truth."""
    rows = [
        [
            entry.name,
            *(pattern.format_map(results[0][entry]) for pattern in COLUMNS.values()),
            judged(results, entry),
        ]
        for entry in of(problem)
    ]
    return table(["solver", *COLUMNS, "target"], rows)


def judged(results: Results, entry: Entry) -> str:
    """Whether a solver of ours is as exact as it must be, and else by how much it is not."""
    worst = WORST.get((entry.problem, entry.smooth), {}) if entry.ours else {}
    figures = results[0][entry]
    over = [f"{WORDS[key]} {figures[key]:.3g} > {most:g}" for key, most in worst.items() if figures[key] > most]
    return "missed: " + ", ".join(over) if over else "met" if worst else ""


def batch(results: Results) -> str:
    """Problem D: 100 000 frames at once."""
    rows = []
    for entry in of("D"):
        fps = median(results, entry, "fps")
        rows.append(
            [
                entry.name,
                f"{fps:,.0f}",
                f"{results[0][entry]['tip_mean_mm']:.3f} / {results[0][entry]['tip_max_mm']:.2f}",
                f"{results[0][entry]['viol']}",
                f"{BATCH[entry.name]:,.0f}: {_met(fps >= BATCH[entry.name])}" if entry.name in BATCH else "",
            ]
        )
    return table(["solver", "frames a second", "tip mean/max mm", "limits violated", "target"], rows)


def turns(results: Results) -> str:
    """Problem C2's time."""
    peer = next(entry for entry in of("C2") if entry.runner == "mink_peer")
    rows = [
        [
            entry.name,
            f"{1000 * median(results, entry, 'ms_median'):.0f}",
            f"{ratio(results, entry, peer.name):.2f}",
            f"1x: {_met(ratio(results, entry, peer.name) <= 1)}" if entry.name == "dynamical" else "",
        ]
        for entry in of("C2")
        if not entry.batch
    ]
    return table(["solver", "µs a hand", f"x {peer.name}", "target"], rows)


def _met(yes: bool) -> str:
    return "met" if yes else "missed"


def pictures(folder: Path, results: Results) -> None:
    """What the tables say at a glance."""
    times = {entry.name: 1000 * median(results, entry, "ms_median") for entry in of("A")}
    quick = {name: micros for name, micros in times.items() if micros < LONG}
    up = svg.axis("µs a hand, median", list(quick.values()), zero=True)
    drawn = svg.bars("One live frame of five fingers", up, list(quick), {"median": list(quick.values())})
    svg.write(folder / "benchmark-live.svg", drawn)
    plain = [entry for entry in of("B") if not entry.smooth]
    ways = {"as it came": (False, False), "smoothed live": (True, False), "smoothed as a whole": (True, True)}
    found = {
        (entry.runner, entry.options[:1], entry.smooth, entry.batch): results[0][entry]["jitter_ratio"]
        for entry in of("B")
    }
    rows = {
        way: [found.get((entry.runner, entry.options[:1], *kind), math.nan) for entry in plain]
        for way, kind in ways.items()
    }
    up = svg.axis("times the truth's", list(found.values()), zero=True)
    drawn = svg.bars("Jitter at 1 mm of noise", up, [entry.name for entry in plain], rows)
    svg.write(folder / "benchmark-noise.svg", drawn)


def write_page(docs: Path, results: Results) -> None:
    """Replaces what stands between the marks in docs/reference/benchmarks.md."""
    sections = {
        "live": live(results),
        "exact": exact(results, "A"),
        "noise": exact(results, "B"),
        "turns": turns(results) + "\n\n" + exact(results, "C2"),
        "batch": batch(results),
        "machine": f"Measured on {machine()}; {versions(results)}; {len(results)} interleaved rounds.",
    }
    fill(docs / "reference" / "benchmarks.md", sections)
    pictures(docs / "pictures", results)
