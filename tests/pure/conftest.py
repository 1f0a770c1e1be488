"""Where the recordings are that are shared between the people of the project and not part of it."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

SHARED = Path(__file__).parents[3] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real captures beside the checkout; a test that asks for it is skipped where there is none."""
    if not (SHARED / "data").is_dir():
        pytest.skip("no real captures beside the checkout (../shared/data)")
    return SHARED


@pytest.fixture(scope="session")
def standard(shared: Path) -> Iterator[SimpleNamespace]:
    """The standard hand problem: its hand, its motion and its scoring, and our runner for it."""
    paths = [str(shared / "bench"), str(Path(__file__).parents[2] / "benchmarks")]
    sys.path[:0] = paths
    yield SimpleNamespace(
        hand=import_module("hand"),
        motion=import_module("make_problem").motion,
        score=import_module("harness").score,
        runner=import_module("knuckle_runner"),
    )
    for path in paths:
        sys.path.remove(path)
