"""Actions that are linked from another file, and so take no keys."""

from pathlib import Path

import bpy


def link_action(obj: bpy.types.Object, folder: Path) -> bpy.types.Action:
    """Puts an object's action into a file of its own, from which it plays it."""
    animation, library = obj.animation_data, str(folder / "library.blend")
    assert animation is not None and animation.action is not None
    name = animation.action.name
    bpy.data.libraries.write(library, {animation.action})
    bpy.data.actions.remove(animation.action)
    with bpy.data.libraries.load(library, link=True) as (_, into):
        into.actions = [name]
    action: bpy.types.Action = into.actions[0]
    animation.action, animation.action_slot = action, action.slots[0]
    return action
