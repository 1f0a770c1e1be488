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
from ... import rotation_channels
from ..fcurves import SAME_FRAME, curves_of, key_values
from ..keyframes import check_changeable
from ..nla_layers import TAKE_PROPERTY
from ..played_action import play, played_action
from ..reduced_take import dense_action, forget_reduction, keys_id, restore_dense
from ..spliced_keys import KEY_SETTINGS, evaluated_channels, near_channels, replace_keys
from .composing import Composed, HandOfTake, check_has_hand, compose, hand_of_take, runs_with_ends, waiting_reason
from .hand_to_correct import hands_to_correct
from .take_clock import TakeClock, clock_of

if TYPE_CHECKING:
    from bpy.types import Action, FCurve, Object, Scene

CORRECTIONS_PROPERTY = "knuckle_corrections"
"""Custom property of a take's action, the base: its corrections, as JSON."""
WAITING_PROPERTY = "knuckle_waiting"
"""Custom property of a take's action, the base: id -> why a correction has no effect, as JSON."""
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


def correct_take(armature: "Object", corrections: tuple[Correction, ...], scene: "Scene") -> tuple[str, ...]:
    """Let an armature play its take with these corrections, and keep them with the take.

    Return notes, one sentence each. Raises RigError; then nothing has changed.
    """
    base, notes = check_correctable(armature), list[str]()
    _follow_renames(base, composed_of(armature))
    hands = hands_of_take(armature, base)
    clock = clock_of(base, scene)
    keys = [(of, compose(of, _of_hand(corrections, of), clock)) for of in hands]
    base[CORRECTIONS_PROPERTY] = encode(corrections)
    base[WAITING_PROPERTY] = json.dumps(_waiting(corrections, hands, clock))
    slot = armature.animation_data.action_slot
    if not corrections:
        _play_base_alone(armature)
        return ()
    if not any(composed.rows.any() for _, composed in keys) and composed_of(armature) is None:
        return waiting_notes(base, corrections)
    if dense_action(armature) is not None:
        notes.append("the keys are dense again: reduce them again")
        restore_dense(armature)
    action, edited = _action_to_write(armature, base)
    if edited:
        notes.append(f"the edited keys stay in '{edited}', as these are composed of '{base.name}' and its corrections")
    own = next(one for one in action.slots if one.identifier == slot.identifier)
    for of, composed in keys:
        _write_hand(action, own, of, composed)
    play(armature, action, own)
    action[COMPOSED_ID_PROPERTY] = keys_id(armature)
    return (*notes, *waiting_notes(base, corrections))


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


def _play_base_alone(armature: "Object") -> None:
    """Let an armature play its take as it was solved; a corrected one that nobody else uses or edited is removed."""
    composed = composed_of(armature)
    if composed is None:
        return
    is_plain = composed == played_action(armature) and composed.get(COMPOSED_ID_PROPERTY) == keys_id(armature)
    play_base(armature)
    if is_plain and composed.users <= composed.use_fake_user:
        bpy.data.actions.remove(composed)


def hands_of_take(armature: "Object", base: "Action") -> list[HandOfTake]:
    """Return the hands of an armature and what its take keys of them. Raises RigError."""
    slot = armature.animation_data.action_slot
    own = next((one for one in base.slots if slot is not None and one.identifier == slot.identifier), None)
    hands = [hand_of_take(armature, hand, base, own) for hand in hands_to_correct(armature).values()] if own else []
    check_has_hand(hands, armature)
    return hands


def _of_hand(corrections: Sequence[Correction], of: HandOfTake) -> list[Correction]:
    """Return the corrections that change the keys of a hand."""
    return [one for one in corrections if one.hand == of.hand.side and not one.muted and not one.is_before_solving]


def _waiting(corrections: Sequence[Correction], hands: Sequence[HandOfTake], clock: TakeClock) -> dict[str, str]:
    """Return id -> why it has no effect, of the corrections that have none."""
    reasons = {one.id: waiting_reason(one, hands, clock) for one in corrections}
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


def _action_to_write(armature: "Object", base: "Action") -> "tuple[Action, str]":
    """Return the action to compose, with the keys of the base, and the name of one that was edited and is left."""
    composed = composed_of(armature)
    if composed is not None and composed == played_action(armature) and composed.is_editable:
        if composed.get(COMPOSED_ID_PROPERTY) == keys_id(armature):
            _copy_keys(base, composed)
            return composed, ""
        edited = composed.name
    else:
        edited = ""
    action = base.copy()
    action.name = base.name + SUFFIX
    # The base is not only kept by whoever plays it.
    base.use_fake_user = True
    action.use_fake_user = False
    action.pop(CORRECTIONS_PROPERTY, None)
    forget_reduction(action)
    action[BASE_PROPERTY] = base
    return action, edited


def _copy_keys(base: "Action", composed: "Action") -> None:
    """Give the curves of a composed action the keys of the base where they differ."""
    for slot in base.slots:
        own = next((one for one in composed.slots if one.identifier == slot.identifier), None)
        of_composed = {(c.data_path, c.array_index): c for c in curves_of(composed, own)} if own else {}
        for curve in curves_of(base, slot):
            copy = of_composed.get((curve.data_path, curve.array_index))
            if copy is not None and not _same_keys(curve, copy):
                _copy_curve(curve, copy)


def _same_keys(curve: "FCurve", copy: "FCurve") -> bool:
    if not np.array_equal(key_values(curve, "co"), key_values(copy, "co")):
        return False
    return all(np.array_equal(_values(curve, name), _values(copy, name)) for name in KEY_SETTINGS)


def _values(curve: "FCurve", setting: str) -> np.ndarray:
    width, kind = KEY_SETTINGS[setting]
    values = np.empty(width * len(curve.keyframe_points), kind)
    curve.keyframe_points.foreach_get(setting, values)
    return values


def _copy_curve(curve: "FCurve", copy: "FCurve") -> None:
    points = copy.keyframe_points
    points.clear()
    points.add(len(curve.keyframe_points))
    points.foreach_set("co", key_values(curve, "co"))
    for name in KEY_SETTINGS:
        points.foreach_set(name, _values(curve, name))
    copy.update()


def _write_hand(action: "Action", slot: object, of: HandOfTake, composed: Composed) -> None:
    """Write the rotations of a hand into an action that has the keys of the base."""
    curves = {(curve.data_path, curve.array_index): curve for curve in curves_of(action, slot)}
    rows = np.flatnonzero(composed.rows)
    for joint, bone in of.bones.items():
        in_range = np.zeros(len(of.frames), bool)
        in_range[rows[composed.in_range[:, joint]]] = True
        if not in_range.any():
            continue
        own = [curves[bone.path, index] for index in range(len(bone.curves))]
        keyed = np.all([_has_keys(curve, of.frames) for curve in own], axis=0)
        columns: list[list[np.ndarray]] = [[] for _ in own]
        for first, last in runs_with_ends(in_range, keyed):
            frames = of.frames[first : last + 1]
            values = _channels(of, composed, joint, slice(first, last + 1))
            for column, of_curve in enumerate(columns):
                of_curve.append(np.stack([frames, values[:, column]], axis=-1).astype(np.float32))
        for curve, ranges in zip(own, columns, strict=True):
            replace_keys(curve, *ranges)


def _channels(of: HandOfTake, composed: Composed, joint: int, rows: slice) -> np.ndarray:
    """Return the channel values (N, C) of a bone on rows of the take's frames; those of the base where it counts."""
    bone, frames = of.bones[joint], of.frames[rows]
    old = evaluated_channels(bone.curves, frames)
    position = np.cumsum(composed.rows)[rows] - 1
    known = composed.rows[rows]
    changed = known & composed.changed[position, joint]
    rotations = rotation_channels.rotations(old, bone.mode)
    rotations[changed] = composed.rotations[position[changed], joint]
    values: np.ndarray = np.where(changed[:, None], near_channels(rotations, bone.mode, old[0]), old)
    return values


def _has_keys(curve: "FCurve", frames: np.ndarray) -> np.ndarray:
    """Return on which of the frames (F,) a curve has a key."""
    keyed = np.sort(key_values(curve, "co")[::2].astype(float))
    after = np.clip(np.searchsorted(keyed, frames), 1, len(keyed)) - 1
    nearest = np.minimum(np.abs(keyed[after] - frames), np.abs(keyed[np.minimum(after + 1, len(keyed) - 1)] - frames))
    return np.asarray(nearest < SAME_FRAME)


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

