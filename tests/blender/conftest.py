"""An empty file for each test, and the extension switched on where a test asks for it."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

# Blender's user folder is an empty one: what a person has saved changes no test, and no test writes there.
os.environ["BLENDER_USER_RESOURCES"] = tempfile.mkdtemp(prefix="knuckle-user-")
atexit.register(shutil.rmtree, os.environ["BLENDER_USER_RESOURCES"], ignore_errors=True)

bpy = pytest.importorskip("bpy")


@pytest.fixture(autouse=True)
def empty_file() -> None:
    """A test begins with nothing in the file."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


@pytest.fixture
def extension() -> Iterator[None]:
    """The extension, switched on: Blender 4.5 hangs at its end with operators that are still registered."""
    import knuckle

    knuckle.register()
    yield
    knuckle.unregister()


@pytest.fixture
def plain_keying() -> Iterator[Any]:
    """A person's settings of keys, all off, as what is changed is then keyed: preferences outlive a file."""
    edit = bpy.context.preferences.edit
    names = ("use_auto_keyframe_insert_needed", "use_keyframe_insert_available", "use_visual_keying")
    before = [getattr(edit, name) for name in names]
    for name in names:
        setattr(edit, name, False)
    yield edit
    for name, value in zip(names, before, strict=True):
        setattr(edit, name, value)
