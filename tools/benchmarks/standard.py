"""Knuckle's solvers and their peers on the standard hand problem: docs/reference/benchmarks.md and its pictures.

    python tools/benchmarks/standard.py [--rounds N] [--out docs]

Needs bpy, mink and ../shared/bench.
"""

import argparse
from pathlib import Path

from standard_page import write_page
from standard_runs import ROOT, measure, prepare


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    prepare()
    write_page(options.out, measure(options.rounds))


if __name__ == "__main__":
    main()
