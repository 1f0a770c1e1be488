"""Loads the checkout as the package `knuckle`, whatever its folder is called; says which examples are tried."""

import os
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from hypothesis import Phase, settings

# The same examples in every run and on every machine: a change is judged by what it changes. `make fuzz` tries others.
# How long an example takes says how busy the machine is.
settings.register_profile("same", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("few", deadline=None, derandomize=True, max_examples=8)
# An example that fails is enough; a simpler one is not looked for: tools/mutate.py.
settings.register_profile(
    "mutants", settings.get_profile("same"), phases=[Phase.explicit, Phase.generate], report_multiple_bugs=False
)
settings.register_profile("fuzz", deadline=None, max_examples=200, print_blob=True)
settings.load_profile("same")

ROOT = Path(__file__).parents[1]

# Clifford, an oracle, compiles for seconds at its import what the tests call too seldom to gain by it.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

if "knuckle" not in sys.modules:
    spec = spec_from_file_location("knuckle", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)])
    assert spec and spec.loader
    sys.modules["knuckle"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["knuckle"])

from knuckle.tests import durations  # noqa: E402
from knuckle.tests.resources import Folder  # noqa: E402


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--measure", type=Path, help="append what each test takes to FILE: make measure")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    durations.mark_slow(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with durations.measured(item, item.config.getoption("--measure")):
        return (yield)


@pytest.fixture(scope="session")
def shared() -> Folder:
    """The folder of real captures and rigs beside the checkout; a file that is nowhere skips the test."""
    return Folder()


@pytest.fixture
def glove(shared: Folder) -> Path:
    """The recording of two gloves."""
    return shared.file("data/captures/two_hands_glove.c3d")


@pytest.fixture
def headset(shared: Folder) -> Path:
    """55 poses of a headset's right hand."""
    return shared.file("data/captures/webxr_poses_right.js")
