"""Which test runs which lines: measured once in a fork for each test, and stored until a file that it runs changes.

A fork has empty caches, so a line that runs once for all tests counts for each test that needs it. The cases of a test
are one test here. Needs Python 3.12.
"""

import hashlib
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import CodeType

import pytest
from _pytest.runner import runtestprotocol

from knuckle.tools.forks import forked
from knuckle.tools.mutants import ROOT

COVERAGE_FILE = ROOT / "build" / "mutants" / "lines.json"
MAX_TEST_SECONDS = 300.0
"""Maximum s of a test."""


@dataclass(frozen=True)
class Coverage:
    """Measurements of one test: processor seconds, and for each file, by its path below ROOT, a bit for each line.

    `digest` is that of the contents of these files.
    """

    seconds: float
    lines: dict[str, int]
    digest: str

    def reaches(self, module: str, lines: tuple[int, int]) -> bool:
        """Return whether the test runs one of these lines of a module."""
        first, last = lines
        return bool(self.lines.get(module, 0) >> first & ~(-1 << last - first + 1))


def families(items: list[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """Return test -> its cases."""
    cases_of_test: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases_of_test[item.nodeid.partition("[")[0]].append(item)
    return cases_of_test


def measure_coverage(tests: dict[str, list[pytest.Item]]) -> dict[str, Coverage]:
    """Return test -> its coverage.

    Raises ValueError if a test fails, because it would fail with or without a mutant.
    """
    stored = {}
    if COVERAGE_FILE.is_file():
        stored = {name: Coverage(**row) for name, row in json.loads(COVERAGE_FILE.read_text()).items()}
    result = {}
    for number, (name, cases) in enumerate(tests.items(), 1):
        coverage = stored.get(name)
        if coverage is None or coverage.digest != digest(coverage.lines):
            print(f"\rmutate: measuring test {number} of {len(tests)}", end="", file=sys.stderr, flush=True)
            row = forked(lambda cases=cases: _measure(cases), MAX_TEST_SECONDS, MAX_TEST_SECONDS * 4)
            if row is None:
                raise ValueError(f"{name} fails with nothing broken")
            coverage = Coverage(**row)
        result[name] = coverage
        if number % 50 == 0 or number == len(tests):
            COVERAGE_FILE.parent.mkdir(parents=True, exist_ok=True)
            COVERAGE_FILE.write_text(json.dumps({name: asdict(row) for name, row in (stored | result).items()}))
    return result


def first_failure(items: list[pytest.Item]) -> int:
    """Return the number of the first test that fails, -1 if none does."""
    for number, item in enumerate(items):
        following = items[number + 1] if number + 1 < len(items) else None
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return number
    return -1


def _measure(cases: list[pytest.Item]) -> dict[str, object]:
    began = time.process_time()
    with record_lines() as lines:
        failed = first_failure(cases)
    if failed >= 0:
        raise ValueError(f"{cases[failed].nodeid} fails")
    seconds = time.process_time() - began
    lines[str(cases[0].path.relative_to(ROOT))] |= 1
    return asdict(Coverage(seconds, lines, digest(lines)))


@contextmanager
def record_lines() -> Iterator[dict[str, int]]:
    """Record which lines of the extension and its tests run: file -> a bit for each line."""
    lines: dict[str, int] = defaultdict(int)
    root, monitoring = f"{ROOT}/", vars(sys)["monitoring"]

    def ran(code: CodeType, line: int) -> object:
        file = code.co_filename.removeprefix(root)
        if file != code.co_filename and not file.startswith((".venv/", "tools/")):
            lines[file] |= 1 << line
        return monitoring.DISABLE

    monitoring.use_tool_id(monitoring.COVERAGE_ID, "mutate")
    monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, ran)
    monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)
    # Restart the monitoring of lines that have already been recorded.
    monitoring.restart_events()
    try:
        yield lines
    finally:
        monitoring.set_events(monitoring.COVERAGE_ID, 0)
        monitoring.free_tool_id(monitoring.COVERAGE_ID)


def digest(files: dict[str, int]) -> str:
    """Return a digest that changes with the content of the files."""
    return hashlib.sha256("".join(_digest(ROOT / file) for file in sorted(files)).encode()).hexdigest()


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
