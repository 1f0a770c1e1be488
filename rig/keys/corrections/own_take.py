"""A copy of a character gets a take of its own before that is changed: Blender copies only what is played."""

from typing import TYPE_CHECKING

import bpy

from ...binding import is_armature
from ..played_action import played_action
from ..reduced_take import DENSE_PROPERTY, dense_action
from .take_base import BASE_PROPERTY, base_of, composed_of

if TYPE_CHECKING:
    from bpy.types import Action, Object


def own_take(armature: "Object") -> None:
    """Let the take behind the action that an armature plays be its own, if a copy of the character has it as well.

    Armatures that play one action together share all of it.
    """
    played, behind = played_action(armature), _behind(armature)
    others = [obj for obj in bpy.data.objects if is_armature(obj) and played_action(obj) != played]
    taken = {
        action.name
        for other_armature in others
        for action in (*_behind(other_armature), played_action(other_armature))
        if action
    }
    copies = {action.name: action.copy() for action in behind if action.name in taken and action.is_editable}
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


def _behind(armature: "Object") -> "list[Action]":
    """Return the actions that the one that an armature plays was made of."""
    made_of = [dense_action(armature), composed_of(armature), base_of(armature)]
    return [action for action in dict.fromkeys(made_of) if action is not None and action != played_action(armature)]
