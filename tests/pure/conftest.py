"""Where the recordings are that are shared between the people of the project and not part of it."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[3] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real captures beside the checkout; a test that asks for it is skipped where there is none."""
    if not (SHARED / "data").is_dir():
        pytest.skip("no real captures beside the checkout (../shared/data)")
    return SHARED
