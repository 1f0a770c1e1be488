"""Replace the action that an object plays, permanently or temporarily."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from bpy.types import Action, Object


def played_action(obj: "Object") -> "Action | None":
    """Return the action that an object plays besides its NLA strips, or None."""
    return obj.animation_data.action if obj.animation_data else None


def empty_action(name: str, slot_name: str) -> "tuple[Action, Any, Any]":
    """Return a new action, its slot, and the channelbag of its curves."""
    action = bpy.data.actions.new(name)
    slot = action.slots.new(id_type="OBJECT", name=slot_name)
    strip = action.layers.new("Take").strips.new(type="KEYFRAME")
    return action, slot, strip.channelbag(slot, ensure=True)


def play(obj: "Object", action: "Action", slot: Any) -> None:
    """Let an object play an action.

    The previous action gets a fake user if nothing else uses it, so that it is saved.
    """
    animation = obj.animation_data or obj.animation_data_create()
    before = animation.action
    animation.action = action
    animation.action_slot = slot
    if before and before.users == 0 and before.is_editable:
        before.use_fake_user = True


@contextmanager
def playing_no_action(obj: "Object") -> Iterator[None]:
    """Within the context, let the object play only its NLA strips."""
    animation = obj.animation_data
    if animation is None or animation.action is None:
        yield
        return
    action, slot = animation.action, animation.action_slot
    animation.action = None
    try:
        yield
    finally:
        animation.action, animation.action_slot = action, slot
