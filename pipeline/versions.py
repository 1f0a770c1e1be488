"""Versions of the software with which a take was made, for its report."""

import sys
import tomllib
from functools import cache
from pathlib import Path

import numpy as np

MANIFEST = Path(__file__).parents[1] / "blender_manifest.toml"


@cache
def knuckle_version() -> str:
    """Return Knuckle's version, as its manifest states it."""
    return str(tomllib.loads(MANIFEST.read_text(encoding="utf-8"))["version"])


def versions() -> dict[str, str]:
    """Return the versions of Knuckle, NumPy and Python, and of Blender where it runs."""
    blender = sys.modules.get("bpy")
    names = {"Knuckle": knuckle_version(), "NumPy": np.__version__, "Python": ".".join(map(str, sys.version_info[:3]))}
    return names | ({"Blender": str(blender.app.version_string)} if blender is not None else {})
