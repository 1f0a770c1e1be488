"""Knuckle puts a recorded human hand into a Blender rig.

Nothing is imported here at module level, so that captures, hand and solvers import without Blender.
"""


def register() -> None:
    """Called by Blender when the extension is enabled."""
    from . import registration

    registration.register()


def unregister() -> None:
    """Called by Blender when the extension is disabled."""
    from . import registration

    registration.unregister()
