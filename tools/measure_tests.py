"""Writes tests/durations.tsv from the files of `pytest --measure`: make measure."""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Collect all files named on the command line."""
    spec = importlib.util.spec_from_file_location("durations", ROOT / "tests" / "durations.py")
    assert spec and spec.loader
    durations = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(durations)
    print(durations.write(map(Path, sys.argv[1:])), "tests written down")


if __name__ == "__main__":
    main()
