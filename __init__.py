"""Knuckle animates hands in Blender: from recordings, from live devices, and by hand.

    import knuckle

    take = knuckle.solve("take.c3d", smoothing="whole")
    knuckle.key(take, "take.blend")

The names of `api` are imported on first use, because Blender imports this module at every start.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import KnuckleError, Markers, Recipe, SolvedHand, Take, joints, key, pose, read, solve

__all__ = ["KnuckleError", "Markers", "Recipe", "SolvedHand", "Take", "joints", "key", "pose", "read", "solve"]


def __getattr__(name: str) -> Any:
    """Return a name of the API, or `__version__` as the manifest states it."""
    if name in __all__:
        from . import api

        return getattr(api, name)
    if name == "__version__":
        from .pipeline.versions import knuckle_version

        return knuckle_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the names that completion offers."""
    return sorted([*globals(), *__all__, "__version__"])


def register() -> None:
    """Register the extension; Blender calls this when it is enabled."""
    from . import registration

    registration.register()


def unregister() -> None:
    """Unregister the extension; Blender calls this when it is disabled."""
    from . import registration

    registration.unregister()
