"""The standard hand problem, whose files are shared between the people of the project and not part of it."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="session")
def standard(shared: Path) -> Iterator[SimpleNamespace]:
    """The standard hand problem: its hand, its motion and its scoring, and our runner for it."""
    paths = [str(shared / "bench"), str(Path(__file__).parents[2] / "tools" / "benchmarks")]
    sys.path[:0] = paths
    yield SimpleNamespace(
        hand=import_module("hand"),
        motion=import_module("make_problem").motion,
        score=import_module("harness").score,
        runner=import_module("knuckle_runner"),
    )
    for path in paths:
        sys.path.remove(path)
