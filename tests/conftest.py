"""Loads the checkout as the package `knuckle`, whatever its folder is called, and finds what lies beside it."""

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every CI run: a change is judged by what it changes. At a desk each run tries others, and more.
# How long an example takes says how busy the machine is.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("ci" if os.environ.get("CI") else "desk")

ROOT = Path(__file__).parents[1]

if "knuckle" not in sys.modules:
    spec = spec_from_file_location("knuckle", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)])
    assert spec and spec.loader
    sys.modules["knuckle"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["knuckle"])

SHARED = ROOT.parent / "shared"
NEWEST = max((int(env.name[2:]) for env in (ROOT / ".venv").glob("3.*")), default=sys.version_info.minor)
ONCE = ROOT / "tests" / "pure"
"""Of numbers and files alone. tests/blender works with them on every Python."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In CI, which has little time, ONCE is worked out on the newest Python alone; at a desk on each."""
    if os.environ.get("CI") and sys.version_info.minor < NEWEST:
        once = [item for item in items if ONCE in item.path.parents]
        config.hook.pytest_deselected(items=once)
        items[:] = [item for item in items if item not in set(once)]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real captures beside the checkout; a test that asks for it is skipped where there is none."""
    if not (SHARED / "data").is_dir():
        pytest.skip("no real captures beside the checkout (../shared/data)")
    return SHARED
