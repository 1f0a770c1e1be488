"""A take with corrections: an armature plays a copy of it that is composed of the take and of what they change.

The take itself, the base, stays as it was solved and keeps the corrections, as JSON. Composing anew begins with its
keys, so that a correction that is muted, changed or deleted leaves nothing behind.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

import bpy
import numpy as np

from ....errors import RigError
from ....pipeline.corrections.correction import Correction
from ....pipeline.corrections.correction_json import decode, encode
from ..fcurves import SAME_FRAME, curves_of
from ..keyframes import check_changeable
from ..nla_layers import TAKE_PROPERTY
from ..played_action import play, played_action
from ..reduced_take import dense_action, forget_reduction, keys_id, restore_dense
from ..take_report import report_in
from .composed_keys import copy_keys, edited_frames, write_hand
from .composing import HandOfTake, compose, hand_of_take, waiting_reason
from .hand_to_correct import hands_to_correct
from .take_clock import TakeClock, clock_of

if TYPE_CHECKING:
    from bpy.types import Action, Object, Scene

CORRECTIONS_PROPERTY = "knuckle_corrections"
"""Custom property of a take's action, the base: its corrections, as JSON."""
WAITING_PROPERTY = "knuckle_waiting"
"""Custom property of a take's action, the base: id -> why a correction has no effect, as JSON."""
SOLVED_WITH_PROPERTY = "knuckle_solved_with"
"""Custom property of a take's action, the base: the corrections that its solve had, as JSON."""
BASE_PROPERTY = "knuckle_base"
"""Custom property of a composed action: the take that it was composed of."""
COMPOSED_ID_PROPERTY = "knuckle_composed_id"
"""Custom property of a composed action: a short text that differs where its keys do, as it was composed."""
SUFFIX = " Corrected"


def base_of(armature: "Object | None") -> "Action | None":
    """Return the take that an armature plays, as it was solved: neither corrected nor reduced. None without one."""
    composed = composed_of(armature)
    if composed is None:
        action = None if armature is None else dense_action(armature) or played_action(armature)
        return action if action is not None and action.get(TAKE_PROPERTY) else None
    base = composed.get(BASE_PROPERTY)
    return base if isinstance(base, bpy.types.Action) else None


def composed_of(armature: "Object | None") -> "Action | None":
    """Return the corrected action that an armature plays, or of which the one that it plays was reduced, else None."""
    action = None if armature is None else dense_action(armature) or played_action(armature)
    return action if action is not None and isinstance(action.get(BASE_PROPERTY), bpy.types.Action) else None


def corrections_in(action: "Action | None") -> tuple[Correction, ...]:
    """Return the corrections that a take keeps. Raises RecipeError if they are damaged."""
    text = None if action is None else action.get(CORRECTIONS_PROPERTY)
    if action is None or text is None:
        return ()
    return _decoded(text if isinstance(text, str) else "", f"corrections of the take '{action.name}'")


@lru_cache(maxsize=8)  # panels ask whenever they are drawn
def _decoded(text: str, where: str) -> tuple[Correction, ...]:
    return decode(text, where)


def check_correctable(armature: "Object") -> "Action":
    """Return the take that an armature plays, as it was solved. Raises RigError unless it can be corrected."""
    check_changeable(armature)
    base = base_of(armature)
    if base is None:
        played = played_action(armature)
        raise RigError(
            f"armature '{armature.name}' plays {repr(played.name) if played else 'no action'}, which is no take: solve "
            "a capture first"
        )
    if not base.is_editable:
        raise RigError(f"the take '{base.name}' of armature '{armature.name}' is linked: make it local to correct it")
    return base


def correct_take(
    armature: "Object", corrections: tuple[Correction, ...], scene: "Scene", *, posed_at: float | None = None
) -> tuple[str, ...]:
    """Let an armature play its take with these corrections, and keep them with the take.

    posed_at: the scene frame whose keys a person's pose may have changed, which a correction keeps now. Return notes,
    one sentence each. Raises RigError; then nothing has changed.
    """
    base, notes, kept = check_correctable(armature), list[str](), encode(corrections)
    # As they are read back: composed anew they give the same keys.
    corrections = _decoded(kept, f"corrections of the take '{base.name}'")
    hands, clock = hands_of_take(armature, base), clock_of(base, scene)
    edited = _is_edited(armature, hands, clock, posed_at)
    keys = [(of, compose(of, _of_hand(corrections, of), clock)) for of in hands]
    base[CORRECTIONS_PROPERTY] = kept
    base[WAITING_PROPERTY] = json.dumps(_waiting(base, corrections, hands, clock))
    if not corrections:
        _play_base_alone(armature, is_edited=edited)
        return ()
    if not any(composed.rows.any() for _, composed in keys) and composed_of(armature) is None:
        return waiting_notes(base, corrections)
    if dense_action(armature) is not None:
        notes.append("the keys are dense again: reduce them again")
        restore_dense(armature)
    slot, played = armature.animation_data.action_slot, armature.animation_data.action
    if edited:
        notes.append(f"the edited keys stay in '{played.name}', as these are composed anew of '{base.name}'")
    action = _action_to_write(armature, base, is_edited=edited)
    own = next(one for one in action.slots if one.identifier == slot.identifier)
    for of, composed in keys:
        write_hand(action, own, of, composed)
    play(armature, action, own)
    action[COMPOSED_ID_PROPERTY] = keys_id(armature)
    return (*notes, *waiting_notes(base, corrections))


def _is_edited(armature: "Object", hands: Sequence[HandOfTake], clock: TakeClock, posed_at: float | None) -> bool:
    """Whether keys of the corrected action were changed since it was composed, but for those on one frame."""
    composed = composed_of(armature)
    if composed is None or composed != played_action(armature):
        return False
    if composed.get(COMPOSED_ID_PROPERTY) == keys_id(armature):
        return False
    if posed_at is None:
        return True
    base, identifier = base_of(armature), armature.animation_data.action_slot.identifier
    assert base is not None, "check_correctable"
    expected = base.copy()
    try:
        slot = next(one for one in expected.slots if one.identifier == identifier)
        for of in hands:
            write_hand(expected, slot, of, compose(of, _of_hand(corrections_in(base), of), clock))
        frames = edited_frames(composed, expected, identifier)
    finally:
        bpy.data.actions.remove(expected)
    return bool((np.abs(frames - posed_at) > SAME_FRAME).any())


def play_base(armature: "Object") -> None:
    """Let an armature play its take as it was solved; the corrected one is kept."""
    base, slot = base_of(armature), armature.animation_data.action_slot
    if base is not None and base != played_action(armature):
        play(armature, base, next(one for one in base.slots if one.identifier == slot.identifier))


@contextmanager
def playing_base(armature: "Object") -> Iterator[None]:
    """Let an armature whose take is corrected play it as it was solved in the body."""
    if composed_of(armature) is None:
        yield
        return
    animation = armature.animation_data
    action, slot = animation.action, animation.action_slot
    play_base(armature)
    try:
        yield
    finally:
        play(armature, action, slot)


def _play_base_alone(armature: "Object", *, is_edited: bool) -> None:
    """Let an armature play its take as it was solved; a corrected one that nobody else uses or edited is removed."""
    composed = composed_of(armature)
    if composed is None:
        return
    is_played = composed == played_action(armature)
    play_base(armature)
    if is_played and not is_edited and composed.users <= composed.use_fake_user:
        bpy.data.actions.remove(composed)


def hands_of_take(armature: "Object", base: "Action") -> list[HandOfTake]:
    """Return the hands that a take of an armature keys, whatever its bones are called now. Raises RigError."""
    _follow_renames(base, composed_of(armature))
    slot = armature.animation_data.action_slot
    own = next((one for one in base.slots if slot is not None and one.identifier == slot.identifier), None)
    hands = hands_to_correct(armature, curves_of(base, own) if own else ())
    keyed = [of for hand in hands if (of := hand_of_take(armature, hand, base, own)).bones]
    if not keyed:
        raise RigError(f"the take of armature '{armature.name}' keys no rotation of a hand, expected one to correct")
    return keyed


def _of_hand(corrections: Sequence[Correction], of: HandOfTake) -> list[Correction]:
    """Return the corrections that change the keys of a hand."""
    return [one for one in corrections if one.hand == of.hand.side and not one.muted and not one.is_before_solving]


def _waiting(
    base: "Action", corrections: Sequence[Correction], hands: Sequence[HandOfTake], clock: TakeClock
) -> dict[str, str]:
    """Return id -> why it has no effect, of the corrections that have none; another armature may have their hand."""
    own, told = {of.hand.side for of in hands}, (report_in(base) or {}).get("hands", {})
    reasons = {
        one.id: waiting_reason(one, hands, clock) for one in corrections if one.hand in own or one.hand not in told
    }
    return {of_id: reason for of_id, reason in reasons.items() if reason}


def waiting_of(base: "Action | None") -> dict[str, str]:
    """Return id -> why it has no effect, of the corrections of a take that have none."""
    text = None if base is None else base.get(WAITING_PROPERTY)
    try:
        told = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        told = None
    return {str(of_id): str(reason) for of_id, reason in told.items()} if isinstance(told, dict) else {}


def waiting_notes(base: "Action", corrections: Sequence[Correction]) -> tuple[str, ...]:
    """Return a sentence about each correction of a take that has no effect."""
    waiting = waiting_of(base)
    return tuple(f"correction '{one.name}' waits: {waiting[one.id]}" for one in corrections if one.id in waiting)


def _action_to_write(armature: "Object", base: "Action", *, is_edited: bool) -> "Action":
    """Return the action to compose, with the keys of the base: the one that is played, unless it was edited."""
    composed = composed_of(armature)
    if composed is not None and not is_edited:
        copy_keys(base, composed)
        return composed
    action = base.copy()
    action.name = base.name + SUFFIX
    # The base is not only kept by whoever plays it.
    base.use_fake_user = True
    action.use_fake_user = False
    action.pop(CORRECTIONS_PROPERTY, None)
    forget_reduction(action)
    action[BASE_PROPERTY] = base
    return action


def _follow_renames(base: "Action", composed: "Action | None") -> None:
    """Rename the bones in a base that plays nowhere as Blender has renamed them in the action composed of it."""
    if composed is None:
        return
    for slot in base.slots:
        own = next((one for one in composed.slots if one.identifier == slot.identifier), None)
        pairs = list(zip(curves_of(base, slot), curves_of(composed, own) if own else (), strict=False))
        for curve, renamed in pairs:
            if curve.data_path != renamed.data_path and curve.array_index == renamed.array_index:
                curve.data_path = renamed.data_path
