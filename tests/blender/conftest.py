"""An empty file for each test, and the extension switched on where a test asks for it."""

from collections.abc import Iterator

import pytest

bpy = pytest.importorskip("bpy")


@pytest.fixture(autouse=True)
def empty_file() -> None:
    """A test begins with nothing in the file."""
    bpy.ops.wm.read_factory_settings(use_empty=True)


@pytest.fixture
def extension() -> Iterator[None]:
    """The extension, switched on: Blender 4.5 hangs at its end with operators that are still registered."""
    import knuckle

    knuckle.register()
    yield
    knuckle.unregister()
