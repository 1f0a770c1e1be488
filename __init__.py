"""Knuckle puts hands into Blender: recorded, live, or posed.

    import knuckle

    take = knuckle.solve("take.c3d", smoothing="whole")
    knuckle.key(take, "take.blend")

What `api` exports is imported when it is first used: Blender imports this module each time it starts.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import KnuckleError, Markers, Recipe, SolvedHand, Take, joints, key, pose, read, solve

__all__ = ["KnuckleError", "Markers", "Recipe", "SolvedHand", "Take", "joints", "key", "pose", "read", "solve"]


def __getattr__(name: str) -> Any:
    """What the API exports, and `__version__` as the manifest states it."""
    if name in __all__:
        from . import api

        return getattr(api, name)
    if name == "__version__":
        import tomllib
        from pathlib import Path

        manifest = Path(__file__).with_name("blender_manifest.toml")
        return tomllib.loads(manifest.read_text(encoding="utf-8"))["version"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Names for completion."""
    return sorted([*globals(), *__all__, "__version__"])


def register() -> None:
    """Called by Blender when the extension is enabled."""
    from . import registration

    registration.register()


def unregister() -> None:
    """Called by Blender when the extension is disabled."""
    from . import registration

    registration.unregister()
