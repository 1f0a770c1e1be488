"""Which tests are slow: measured, not guessed.

tests/durations.tsv has the processor seconds of every test that takes long, without its folder, so that a file may be
moved. Of each test that is tried on several things, the cheapest one stays in `make test`; so does whatever is new.
`make measure` writes the file.
"""

import os
import resource
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FILE = Path(__file__).with_suffix(".tsv")
QUICK = 0.2
"""s: a test that takes less is never slow; nor is one that is marked `always`."""
CHEAP = 0.4
"""s that the cheapest of a test's cases may take."""
LONG = 0.3
"""s from which on a case is tried on the newest Python only, if the test has a quicker case."""
LONGEST = 0.5
"""s from which on a test is tried on the newest Python only, if its file has a quicker test."""
LANDING = 0.7
"""s that a test's cases may take at each landing, the cheapest first; the dearer ones are left to `make test-all`."""
LANDING_LONGEST = 6.0
"""s from which on a test is left to `make test-all`, if its file has a quicker test."""
NOTED = 0.1
"""s from which on a test is written down."""


def key(nodeid: str) -> str:
    """A test's file without its folders, its name and its case."""
    file, _, name = nodeid.partition("::")
    return f"{Path(file).name}::{name}"


def mark_slow(items: Iterable[pytest.Item]) -> None:
    """Marks what `make test` leaves out, and of that what an older Python and what a landing leave out."""
    seconds = known()
    slowest: dict[str, float] = defaultdict(float)
    for name, taken in seconds.items():
        slowest[name.partition("[")[0]] = max(slowest[name.partition("[")[0]], taken)
    families: dict[str, list[tuple[float, pytest.Item]]] = defaultdict(list)
    cheapest: dict[str, float] = {}
    """File -> seconds of its cheapest test."""
    for item in items:
        name = key(item.nodeid)
        # A case that was not measured is as slow as the slowest that was.
        taken = seconds.get(name, slowest[name.partition("[")[0]])
        families[item.nodeid.partition("[")[0]].append((taken, item))
        file = item.nodeid.partition("::")[0]
        cheapest[file] = min(taken, cheapest.get(file, taken))
    for name, family in families.items():
        longest = max(LONGEST, cheapest[name.partition("::")[0]])
        family.sort(key=lambda case: case[0])
        together = 0.0
        for number, (taken, item) in enumerate(family):
            together += taken
            if taken > QUICK and (number or family[0][0] > CHEAP) and not item.get_closest_marker("always"):
                item.add_marker("slow")
                if taken > (LONG if number else longest):
                    item.add_marker("further")
            if together > LANDING if number else taken > max(LANDING_LONGEST, cheapest[name.partition("::")[0]]):
                item.add_marker("spare")


def known() -> dict[str, float]:
    """Test -> processor seconds, of those that were written down."""
    rows = (line.split("\t") for line in FILE.read_text().splitlines()) if FILE.is_file() else ()
    return {name: float(taken) for taken, name in rows}


@contextmanager
def measured(item: pytest.Item, out: Path | None) -> Iterator[None]:
    """Appends the processor seconds that a test takes, its children's too, to a file for this process."""
    began = _spent()
    yield
    if out is not None:
        with out.with_suffix(f".{os.getpid()}.tsv").open("a") as file:
            file.write(f"{_spent() - began:.3f}\t{key(item.nodeid)}\n")


def _spent() -> float:
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def write(measurements: Iterable[Path]) -> int:
    """Writes tests/durations.tsv from what --measure wrote; how many tests are in it."""
    taken: dict[str, float] = {}
    for path in measurements:
        for line in path.read_text().splitlines():
            seconds, name = line.split("\t")
            taken[name] = max(taken.get(name, 0.0), float(seconds))
    rows = [f"{seconds:.1f}\t{name}\n" for name, seconds in sorted(taken.items()) if seconds >= NOTED]
    FILE.write_text("".join(rows))
    return len(rows)
