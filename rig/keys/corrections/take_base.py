"""The base: the take of an armature as it was solved, from which a corrected action is composed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import bpy

from ..nla_layers import TAKE_PROPERTY
from ..played_action import play, played_action
from ..reduced_take import dense_of
from .armature_slot import slot_in
from .hand_of_take import HandOfTake

if TYPE_CHECKING:
    from bpy.types import Action, Object

BASE_PROPERTY = "knuckle_base"
"""Custom property of a composed action: the take from which it was composed."""


def base_of(armature: "Object | None") -> "Action | None":
    """Return the take that an armature plays, as it was solved: neither corrected nor reduced. None without one."""
    return base_in(None if armature is None else played_action(armature))


def base_in(action: "Action | None") -> "Action | None":
    """Return the take in an action as it was solved: neither corrected nor reduced. None if there is no take in it."""
    composed = composed_in(action)
    if composed is None:
        dense = dense_of(action) or action
        return dense if dense is not None and dense.get(TAKE_PROPERTY) else None
    base = composed.get(BASE_PROPERTY)
    return base if isinstance(base, bpy.types.Action) else None


def composed_of(armature: "Object | None") -> "Action | None":
    """Return the corrected action that an armature plays, also if it is reduced; None if it plays another action."""
    return composed_in(None if armature is None else played_action(armature))


def composed_in(action: "Action | None") -> "Action | None":
    """Return a corrected action, or its dense version if it is reduced; None for any other action."""
    dense = dense_of(action) or action
    return dense if dense is not None and isinstance(dense.get(BASE_PROPERTY), bpy.types.Action) else None


def is_alone(action: "Action | None") -> bool:
    """Return whether the take from which an action was composed is gone, so that it cannot be corrected again."""
    holder: Any = action
    return (
        holder is not None and BASE_PROPERTY in holder and not isinstance(holder.get(BASE_PROPERTY), bpy.types.Action)
    )


def played_name(armature: "Object") -> str:
    """Return the name of the action that an armature plays."""
    action = played_action(armature)
    return action.name if action is not None else ""


def play_base(armature: "Object") -> None:
    """Let an armature play its take as it was solved; the corrected one is kept."""
    base = base_of(armature)
    if base is not None and base != played_action(armature):
        play(armature, base, slot_in(base, armature))


@contextmanager
def playing_base(armature: "Object") -> Iterator[None]:
    """Within the context, let an armature that plays a corrected or reduced take play it as it was solved."""
    if base_of(armature) in (None, played_action(armature)):
        yield
        return
    animation = armature.animation_data
    action, slot = animation.action, animation.action_slot
    play_base(armature)
    try:
        yield
    finally:
        play(armature, action, slot)


@contextmanager
def placed_as_solved(armature: "Object", hands: Sequence[HandOfTake]) -> Iterator[None]:
    """Within the context, let an armature play its take as it was solved if corrections change the channels that move
    its hands.

    Composing again then gives the same values bit by bit.
    """
    composed = composed_of(armature)
    if composed is None or not any(take_hand.wrist.keyed for take_hand in hands):
        yield
        return
    is_kept = composed.use_fake_user
    try:
        with playing_base(armature):
            yield
    finally:
        composed.use_fake_user = is_kept
