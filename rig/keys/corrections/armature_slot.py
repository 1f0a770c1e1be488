"""The slot and the curves of an armature in the actions of a take and of its corrections."""

from typing import TYPE_CHECKING, Any

from ....errors import RigError

if TYPE_CHECKING:
    from bpy.types import Action, Object


def slot_in(action: "Action", armature: "Object") -> Any:
    """Return the slot of an armature in an action that is a copy of the played one, or of which the played one is a
    copy.

    Raises RigError if the slot is gone, or if the armature has no slot in the action that it plays.
    """
    slot = armature.animation_data.action_slot
    if slot is None:
        played = armature.animation_data.action
        raise RigError(f"armature '{armature.name}' has no slot in action '{played.name}': choose the action's slot")
    found = next((candidate for candidate in action.slots if candidate.identifier == slot.identifier), None)
    if found is None:
        raise RigError(f"action '{action.name}' no longer has a slot for armature '{armature.name}': solve again")
    return found


def channelbag_of(action: "Action", armature: "Object") -> Any:
    """Return the channelbag of an armature's curves."""
    return action.layers[0].strips[0].channelbag(slot_in(action, armature), ensure=True)
