"""Hands of three rigs dragged at random in a real Blender's window for minutes: faults, and what memory does.

    python tools/package.py && python tools/benchmarks/posing_window.py [--minutes 10] [--write]

On a virtual screen, with the built zip installed (tools/real_blender.sh), which one Blender can have at a time.
With --write the result goes to docs/reference/posing-figures.md.
"""

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def load() -> None:
    """Import this checkout as the package `knuckle`."""
    spec = importlib.util.spec_from_file_location(
        "knuckle", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    assert spec and spec.loader
    sys.modules["knuckle"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["knuckle"])


def sentences(result: dict[str, Any], minutes: float) -> str:
    """Return the sentences about the result for the page."""
    counts = result["done"]
    drags = counts["drag"] + counts["drag and undo"]
    of_rig: dict[str, list[float]] = {}
    for _, rig, size in result["files"]:
        of_rig.setdefault(rig, []).append(size)
    words = {"own": "Knuckle's hands", "makehuman": "MakeHuman", "rigify": "Rigify"}
    distances_text = "; ".join(
        f"{words[rig]} {', '.join(f'{size:.0f}' for size in sizes)}" for rig, sizes in of_rig.items()
    )
    minute = ", ".join(f"{size:.0f}" for _, _, size in result["minutes"])
    faults = "without an error" if not result["faults"] else f"with {len(result['faults'])} faults"
    return (
        f"{minutes:g} minutes of random drags by mouse and keys in a window, {drags} with {counts['steps']} moves, "
        f"{counts['slide']} slides and {counts['pin']} pins, on three rigs in turn, {faults}. No bone came further out "
        f"of its limits than {max(result['further'], 0.0):.2f} degrees.\n"
        f"MB at each minute: {minute}; as each rig was left: {distances_text}."
    )


def main() -> None:
    """Drag and print; with --write, also fill docs/reference/posing-figures.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    load()
    from standard_page import fill

    from knuckle.tests.gui.conftest import bring_rigs, play_scenario

    bring_rigs()
    seconds = round(60 * options.minutes)
    result = play_scenario("posing_wander", str(seconds), seconds=seconds + 300)
    print(*result["faults"], result, sentences(result, options.minutes), sep="\n")
    if options.write and not result["faults"]:
        fill(ROOT / "docs" / "reference" / "posing-figures.md", {"wander-window": sentences(result, options.minutes)})


if __name__ == "__main__":
    main()
