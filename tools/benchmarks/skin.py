"""Markers worn on the skin: the tables of docs/reference/accuracy.md on how well the hand that wore them is found.

    python tools/benchmarks/skin.py [real made hidden] [--methods WORDS] [--all] [--out docs]

real: the takes of three performers (Han et al. 2018), solved without one marker to see where the hand carries it.
made: hands whose joints are known, with markers painted on their skins. hidden: markers that vanish for a while.
All tables, or those that are named; all methods, or those whose names hold the words: the rows of the others stay as
they were measured last. Needs ../shared/data.
"""

import argparse
import os
import sys
from pathlib import Path

import skin_hidden
import skin_known
import skin_made
import skin_real
import skin_rows
from skin_methods import Calibrated, Default, Method
from skin_momentum import PYTHON, Momentum
from skin_takes import ROOT, SIG18, splits
from skin_worn import Worn
from standard_page import fill, table

from knuckle.capture.cleaning import Cleaning
from knuckle.solvers import SOLVERS

ON_JOINTS = {"markers_on": "joints"}
"""The method used before performers were fitted with the markers that they wear."""
METHODS: list[Method] = [
    Default("`knuckle solve --markers-on joints`", ON_JOINTS),
    Default("the same, whole take smoothed", {**ON_JOINTS, "smoothing": "whole"}),
    Default("`knuckle solve`"),
    Default("`knuckle solve`, whole take smoothed", {"smoothing": "whole"}),
    Calibrated("`knuckle calibrate` on another take"),
    Momentum(),
    Worn("fitted hand, three takes"),
    Worn("the same, without later frames", live=True),
    Worn("fitted hand, the take itself", alone=True),
]
"""Methods that are measured on the real takes."""
SIMULATED_METHODS: list[tuple[Method, tuple[skin_known.Case, ...]]] = [
    *((Default(f"{name}, on joints", {"solver": name, **ON_JOINTS}), skin_known.MAIN) for name in SOLVERS),
    *((Default(name, {"solver": name}), skin_known.MAIN) for name in SOLVERS),
    (Worn("fitted hand"), (*skin_known.MAIN, (13, 0.2), (9, 0.2))),
]
"""Methods that are measured on simulated hands, and their cases."""
HANDS = (0, 3, 5, 6, 9, 11)
"""The simulated hands used without --all: three of each kind, with all motions."""
CAUSAL_CLEANING = Cleaning(gap_limit=0, spikes=False)
"""Cleaning that uses no later frame."""
HIDDEN: list[tuple[str, Method, Method]] = [
    (
        "not smoothed, on joints",
        Default("live", {"cleaning": CAUSAL_CLEANING, **ON_JOINTS}),
        Default("whole", ON_JOINTS),
    ),
    ("not smoothed", Default("live", {"cleaning": CAUSAL_CLEANING}), Default("whole")),
    (
        "smoothed",
        Default("live, smoothed", {"smoothing": "live", "cleaning": CAUSAL_CLEANING}),
        Default("whole, smoothed", {"smoothing": "whole"}),
    ),
    ("fitted hand", Worn("live, fitted", live=True), Worn("whole, fitted")),
]
"""Methods measured with hidden markers: a name, the method live, and the method for a whole take."""


def real(page: Path, words: str, everything: bool) -> str:
    """Return the table of the takes of three performers."""
    methods = [method for method in METHODS if words in method.name]
    if not PYTHON.exists():
        methods = [method for method in methods if not isinstance(method, Momentum)]
    rows = skin_real.rows(methods, splits(4, None) if everything else splits())
    return table(skin_real.HEAD, skin_rows.merged(page, "skin-real", 1, [method.name for method in METHODS], rows))


def made(page: Path, words: str, everything: bool) -> str:
    """Return the table of simulated hands."""
    methods = [
        (method, skin_known.CASES if everything else cases)
        for method, cases in SIMULATED_METHODS
        if words in method.name
    ]
    hands = skin_made.stored()
    rows = skin_known.rows(methods, hands if everything else [hands[number] for number in HANDS])
    merged = skin_rows.merged(page, "skin-made", 1, [method.name for method, _ in SIMULATED_METHODS], rows)
    return table(skin_known.HEAD, [*merged, skin_known.wanted()])


def hidden(page: Path, words: str, everything: bool) -> str:
    """Return the table of markers that vanish."""
    rows = skin_hidden.rows([entry for entry in HIDDEN if words in entry[0]])
    return table(skin_hidden.HEAD, skin_rows.merged(page, "skin-hidden", 3, [name for name, *_ in HIDDEN], rows))


TABLES = {"real": real, "made": made, "hidden": hidden}


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help="real, made, hidden")
    parser.add_argument("--methods", default="", help="only methods whose names hold this")
    parser.add_argument("--all", action="store_true", help="all test takes and their frames, and all cases")
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    if not SIG18.is_dir():
        sys.exit("make bench: the takes are not beside the checkout (../shared/data/sig18)")
    page = options.out / "reference" / "accuracy.md"
    for name in options.tables or TABLES:
        section = TABLES[name](page, options.methods, options.all)
        print(section, flush=True)
        fill(page, {f"skin-{name}": section})
    # The bpy module is known to hang when the interpreter exits.
    os._exit(0)


if __name__ == "__main__":
    main()
