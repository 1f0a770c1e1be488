"""Tries mutants in forks of a process that has collected the tests; each runs the tests that reach its lines.

A mutant that takes effect only while modules are imported needs a process that imports them again. Blender's module is
imported with the tests, too: nothing is computed by it before the forks, which have none of its threads.
"""

import gc
import importlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType
from typing import Any
from unittest.mock import patch

import pytest

from knuckle.tools.forks import forked
from knuckle.tools.line_coverage import Coverage, families, first_failure, measure_coverage, record_lines
from knuckle.tools.mutants import Mutant

EXTRA_SECONDS, TIMEOUT_FACTOR = 20.0, 5.0
"""A mutant counts as endless after this many processor seconds more than this multiple of the tests' normal time."""
SILENT = 900.0
"""s without use of the processor after which a mutant counts as hanging."""
OPTIONS = (
    *("-q", "-s", "--no-header", "--no-summary", "-p", "no:xdist", "-p", "no:cacheprovider"),
    *("--tb=native", "--assert=plain", "--hypothesis-profile", "mutants"),
)
ENDLESS = "does not end"
PASSED = 0, 5
"""pytest's exit statuses where no test failed: all passed, or all are slow.

Any other status means that a test or an import failed."""


@dataclass(frozen=True)
class Tests:
    """The tests that may notice mutants."""

    folders: tuple[str, ...]
    chosen: str
    """Selection of tests, as an expression for pytest's -m."""


@dataclass(frozen=True)
class Verdict:
    """The test that noticed a mutant, if any."""

    noticed: str | None
    """The test that failed, ENDLESS, or None."""
    tests: int
    """Number of mutants chosen."""
    early: bool
    """Whether the mutated code runs while modules are imported."""


Report = Callable[[Mutant, Verdict], None]


@dataclass
class Trials:
    """A pytest plugin that tries mutants instead of running the tests.

    It stops at `end`, by time.monotonic(). `each`: s that the tests of one mutant may take; the cheapest are tried.
    """

    mutants: list[Mutant]
    end: float
    each: float
    report: Report
    verdicts: list[Verdict] = field(default_factory=list)
    kills: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Module -> how many of its mutants each test noticed."""
    tests: dict[str, list[pytest.Item]] = field(default_factory=dict)
    """Test -> its cases."""
    runs: dict[str, Coverage] = field(default_factory=dict)
    imports: ExitStack = field(default_factory=ExitStack)
    imported: dict[str, int] = field(default_factory=dict)
    """File -> a bit for each line that runs while modules are imported."""

    def pytest_sessionstart(self) -> None:
        """Record what runs while tests are collected."""
        self.imported = self.imports.enter_context(record_lines())

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Measure the tests, after everything is imported."""
        for mutant in self.mutants:
            importlib.import_module("knuckle." + mutant.module.removesuffix(".py").replace("/", "."))
        self.imports.close()
        self.tests = families(session.items)
        self.runs = measure_coverage(self.tests)

    def pytest_runtestloop(self) -> bool:
        """Try the mutants."""
        functions = _functions()
        gc.freeze()
        for mutant in self.mutants:
            if time.monotonic() > self.end:
                break
            self._try(mutant, functions[str(mutant.path)])
        return True

    def _try(self, mutant: Mutant, functions: list[FunctionType]) -> None:
        names, seconds = self._reaching(mutant)
        cases = [case for name in names for case in self.tests[name]]
        changes = _changes(mutant, functions)

        def work() -> int:
            for function, code in changes:
                function.__code__ = code
            return first_failure(cases)

        failed = forked(work, EXTRA_SECONDS + TIMEOUT_FACTOR * seconds, SILENT) if cases else -1
        noticed = ENDLESS if failed is None else cases[failed].nodeid if failed >= 0 else None
        if failed is not None and failed >= 0:
            self.kills[mutant.module][noticed.partition("[")[0]] += 1
        first, last = mutant.lines
        early = any(self.imported.get(mutant.module, 0) >> line & 1 for line in range(first, last + 1))
        self.verdicts.append(Verdict(noticed, len(cases), early))
        self.report(mutant, self.verdicts[-1])

    def _reaching(self, mutant: Mutant) -> tuple[list[str], float]:
        """Return the tests that reach a mutant, first those that noticed others of its module, then the cheapest; their
        s."""
        kills = self.kills[mutant.module]
        reaching = [name for name, run in self.runs.items() if run.reaches(mutant.module, mutant.lines)]
        reaching.sort(key=lambda name: (-kills[name], self.runs[name].seconds))
        seconds = 0.0
        for number, name in enumerate(reaching):
            if number and seconds + self.runs[name].seconds > self.each:
                return reaching[:number], seconds
            seconds += self.runs[name].seconds
        return reaching, seconds


def try_warm(mutants: list[Mutant], tests: Tests, end: float, each: float, report: Report) -> list[Verdict]:
    """Try mutants by the tests that reach them; return the verdicts of those that were tried before the end."""
    if not mutants:
        return []

    def work() -> list[list[object]]:
        trials = Trials(mutants, end, each, report)
        pytest.main([*OPTIONS, "-m", tests.chosen, *tests.folders], plugins=[trials])
        return [[verdict.noticed, verdict.tests, verdict.early] for verdict in trials.verdicts]

    return [Verdict(*row) for row in forked(work, 1e6, 1e6, quiet=False) or []]


def try_cold(mutant: Mutant, stages: Iterable[str], chosen: str, seconds: float) -> str | None:
    """Return the first stage of tests that fails where all is imported with the break: files and folders with blanks
    between.

    chosen: see Tests; seconds: of the processor, for each stage; ENDLESS where they are used up.
    """
    for stage in stages:
        status = forked(lambda stage=stage: _run_broken(mutant, ["-m", chosen, *stage.split()]), seconds, SILENT)
        if status is None:
            return ENDLESS
        if status not in PASSED:
            return stage
    return None


def _run_broken(mutant: Mutant, tests: list[str]) -> int:
    original, path, broken = SourceFileLoader.get_code, str(mutant.path), mutant.code()

    def get_code(loader: Any, fullname: str) -> CodeType | None:
        return broken if loader.path == path else original(loader, fullname)

    with patch.object(SourceFileLoader, "get_code", get_code):
        return int(pytest.main([*OPTIONS, "-x", *tests]))


def _functions() -> dict[str, list[FunctionType]]:
    """Return file -> all functions defined in it."""
    functions_of_file: dict[str, list[FunctionType]] = defaultdict(list)
    for obj in gc.get_objects():
        if isinstance(obj, FunctionType):
            functions_of_file[obj.__code__.co_filename].append(obj)
    return functions_of_file


def _changes(mutant: Mutant, functions: list[FunctionType]) -> list[tuple[FunctionType, CodeType]]:
    """Return the functions of a module that a mutant changes, and their mutated code.

    Raises ValueError if there are none.
    """
    broken = {(code.co_qualname, code.co_firstlineno): code for code in _codes(mutant.code())}
    codes = [
        (function, broken.get((function.__code__.co_qualname, function.__code__.co_firstlineno)))
        for function in functions
    ]
    changes = [(function, code) for function, code in codes if code is not None and code != function.__code__]
    if not changes:
        raise ValueError(f"{mutant}: no function has it")
    return changes


def _codes(code: CodeType) -> Iterable[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
