"""The slot and the curves of an armature in an action, of those that a take and its corrections are in."""

from typing import TYPE_CHECKING, Any

from ....errors import RigError

if TYPE_CHECKING:
    from bpy.types import Action, Object


def slot_in(action: "Action", armature: "Object") -> Any:
    """Return the slot of an armature in another action than it plays, which was copied from it, or it from that.

    Raises RigError if it is gone.
    """
    slot = armature.animation_data.action_slot
    found = next((one for one in action.slots if slot is not None and one.identifier == slot.identifier), None)
    if found is None:
        raise RigError(f"action '{action.name}' has no slot any more for armature '{armature.name}': solve again")
    return found


def channelbag_of(action: "Action", armature: "Object") -> Any:
    """Return the channelbag of an armature's curves."""
    return action.layers[0].strips[0].channelbag(slot_in(action, armature), ensure=True)
