"""Make the take of a copied character single-user before it is changed: Blender copies only the action it plays."""

from typing import TYPE_CHECKING

import bpy

from ...binding import is_armature
from ..played_action import played_action
from ..reduced_take import DENSE_PROPERTY, dense_action
from .take_base import BASE_PROPERTY, base_of, composed_of

if TYPE_CHECKING:
    from bpy.types import Action, Object


def make_take_single_user(armature: "Object") -> None:
    """Copy the source actions of the action that an armature plays, if another action has them too.

    The source actions are the dense action, the composed one and the base. Armatures that play the same action share
    them.
    """
    played, sources = played_action(armature), _source_actions(armature)
    others = [obj for obj in bpy.data.objects if is_armature(obj) and played_action(obj) != played]
    used_elsewhere = {
        action.name
        for other_armature in others
        for action in (*_source_actions(other_armature), played_action(other_armature))
        if action
    }
    copies = {action.name: action.copy() for action in sources if action.name in used_elsewhere and action.is_editable}
    if played is None or not copies:
        return
    base, composed = base_of(armature), composed_of(armature)
    dense = dense_action(armature)
    own_base = None if base is None else copies.get(base.name, base)
    if composed is not None:
        composed = copies.get(composed.name, composed)
        composed[BASE_PROPERTY] = own_base
    if dense is not None:
        played[DENSE_PROPERTY] = composed or own_base


def _source_actions(armature: "Object") -> "list[Action]":
    """Return the actions from which the played action was made."""
    sources = [dense_action(armature), composed_of(armature), base_of(armature)]
    return [action for action in dict.fromkeys(sources) if action is not None and action != played_action(armature)]
