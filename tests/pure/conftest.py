"""The standard hand problem: its hand, its motion and its scoring, and our runner for it."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

FOLDER = Path(__file__).parent / "standard_hand"
BENCHMARKS = Path(__file__).parents[2] / "tools" / "benchmarks"


@pytest.fixture(scope="session")
def standard() -> Iterator[SimpleNamespace]:
    """The problem's own modules do not know Knuckle; the runner imports its hand by the name `hand`."""
    paths = [str(FOLDER), str(BENCHMARKS)]
    sys.path[:0] = paths
    hand = import_module("hand")
    yield SimpleNamespace(hand=hand, motion=hand.motion, score=hand.score, runner=import_module("knuckle_runner"))
    for path in paths:
        sys.path.remove(path)
