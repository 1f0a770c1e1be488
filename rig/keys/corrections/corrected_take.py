"""A take with corrections: an armature plays a copy of the take to which they are applied.

The take itself, the base, stays as it was solved and keeps the corrections, as JSON. Composing again starts from its
keys, so that a correction that is muted, changed or deleted leaves nothing behind.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import bpy

from ....errors import RigError
from ....hand.generators import Steps, part_of, run_to_end
from ....hand.joints import Side
from ....pipeline.corrections.correction import Correction
from ....pipeline.corrections.correction_json import decode, encode
from ..fcurves import curves_of, curves_on
from ..keyframes import check_changeable
from ..played_action import play, played_action
from ..reduced_take import dense_action, forget_reduction, restore_dense
from .armature_slot import channelbag_of, slot_in
from .composed_keys import copy_keys, keys_id, write_hand
from .composing import Composed, composing, of_hand
from .edited_keys import ComposedAction
from .hand_of_take import HandOfTake, hand_of_take
from .hand_to_correct import hands_to_correct
from .object_motion import PlayedFrames
from .reached_wrist import unreached
from .renamed_bones import renamed_bones, with_new_names
from .take_base import (
    BASE_PROPERTY,
    base_in,
    base_of,
    composed_in,
    composed_of,
    is_alone,
    placed_as_solved,
    play_base,
    played_name,
)
from .take_clock import TakeClock, clock_of, fix_clock
from .waiting import (
    SHORTENED_PROPERTY,
    WAITING_PROPERTY,
    CorrectionNotes,
    shortened_changes,
    unsolved_reasons,
    waiting_notes,
    waiting_of,
    waiting_reasons,
)

if TYPE_CHECKING:
    from bpy.types import Action, Object, Scene

CORRECTIONS_PROPERTY = "knuckle_corrections"
"""Custom property of a take's action, the base: its corrections, as JSON."""
SOLVED_WITH_PROPERTY = "knuckle_solved_with"
"""Custom property of a take's action, the base: the corrections with which it was solved, as JSON."""
COMPOSED_ID_PROPERTY = "knuckle_composed_id"
"""Custom property of a composed action: a short text that identifies its keys when it was composed."""
SUFFIX = " Corrected"


def corrections_in(action: "Action | None") -> tuple[Correction, ...]:
    """Return the corrections that a take keeps. Raises RecipeError if they are damaged."""
    text = None if action is None else action.get(CORRECTIONS_PROPERTY)
    if action is None or text is None:
        return ()
    return decoded(text if isinstance(text, str) else "", f"corrections of the take '{action.name}'")


def corrections_of(armature: "Object | None") -> tuple[Correction, ...]:
    """Return the corrections of the take that an armature plays. Raises RecipeError if they are damaged."""
    return corrections_on(None if armature is None else played_action(armature))


def corrections_on(action: "Action | None") -> tuple[Correction, ...]:
    """Return the corrections of the take in an action, also if it is reduced. Raises RecipeError if they are damaged.

    A corrected action has its own corrections, and so has a copy of a character.
    """
    composed = composed_in(action)
    has_own = composed is not None and composed.get(CORRECTIONS_PROPERTY) is not None
    return corrections_in(composed if has_own else base_in(action))


@lru_cache(maxsize=8)  # panels call it whenever they are drawn
def decoded(text: str, where: str) -> tuple[Correction, ...]:
    """Return `decode` of a text, cached."""
    return decode(text, where)


def check_correctable(armature: "Object") -> "Action":
    """Return the take that an armature plays, as it was solved. Raises RigError if it cannot be corrected."""
    check_changeable(armature)
    base = base_of(armature)
    if base is None:
        played = played_action(armature)
        raise RigError(
            f"armature '{armature.name}' plays {repr(played.name) if played else 'no action'}, which is no take: solve "
            "a capture first"
        )
    if is_alone(base):
        raise RigError(
            f"the take that '{base.name}' was composed from no longer exists: solve the capture again, "
            "which keeps the corrections"
        )
    if not base.is_editable:
        raise RigError(f"the take '{base.name}' of armature '{armature.name}' is linked: make it local to correct it")
    return base


def correct_take(
    armature: "Object",
    corrections: tuple[Correction, ...],
    scene: "Scene",
    *,
    posed_at: float | None = None,
    unsolved: Mapping[str, str] | None = None,
    composed: Mapping[Side, Composed] | None = None,
) -> tuple[str, ...]:
    """Let an armature play its take with these corrections, and keep them with the take.

    posed_at: a scene frame on which the user may have changed keys by posing, which a correction now stores. unsolved:
    id -> why a correction could not take effect in the solve; None if nothing was solved. composed: the result of
    composing_take for these corrections; None to compose them now. Only curves of the hands' rotations are written.
    Return notes, one sentence each. If it raises RigError, nothing has changed.
    """
    base, notes, text = check_correctable(armature), list[str](), encode(corrections)
    # Use the corrections as they will be read back, so that composing again gives the same keys.
    corrections = decoded(text, f"corrections of the take '{base.name}'")
    every, clock = hands_of_take(armature, base), clock_of(base, scene)
    hands = [take_hand.moved_by((*corrections_of(armature), *corrections)) for take_hand in every]
    edited = _is_edited(armature, every, hands, clock, posed_at)
    if composed is None:
        composed = run_to_end(_composing(hands, corrections, clock, played_frames(armature, hands)))
    keys = [(take_hand, composed[take_hand.hand.side]) for take_hand in hands]
    before = composed_of(armature) or base
    known = waiting_of(before) if unsolved is None else unsolved
    shortened_before = shortened_changes(before, corrections_of(armature))
    reasons = {**waiting_reasons(base, corrections, hands, clock), **unsolved_reasons(corrections, known)}
    for _, made in keys:
        reasons |= made.waiting
    shortened = {of_id: sentence for _, made in keys for of_id, sentence in made.shortened.items()}
    stored = CorrectionNotes(json.dumps(reasons), json.dumps(shortened))
    if dense_action(armature) is not None:
        notes.append("the keys are dense again: reduce them again")
        restore_dense(armature)
    keep_corrections(base, text, stored)
    fix_clock(base, clock)
    if not corrections:
        _play_base_alone(armature, is_edited=edited)
        return tuple(notes)
    if not any(made.rows.any() for _, made in keys) and composed_of(armature) is None:
        return (*notes, *waiting_notes(base, corrections, shortened_before))
    if edited:
        notes.append(
            f"the edited keys stay in '{played_name(armature)}', because these are composed again from '{base.name}'"
        )
    action = _action_to_write(armature, base, is_edited=edited)
    bag = channelbag_of(action, armature)
    for take_hand, made in keys:
        copy_keys(bag, take_hand)
        write_hand(bag, take_hand, made)
    play(armature, action, slot_in(action, armature))
    for take_hand, made in keys:
        for correction_id, sentence in unreached(armature, take_hand, made.laid).items():
            shortened[correction_id] = (
                f"{shortened[correction_id]}; {sentence}" if correction_id in shortened else sentence
            )
    stored = CorrectionNotes(json.dumps(reasons), json.dumps(shortened))
    for action_to_mark in (base, action):
        keep_corrections(action_to_mark, text, stored)
    action[COMPOSED_ID_PROPERTY] = keys_id(bag, [take_hand.moved_by(corrections) for take_hand in every])
    return (*notes, *waiting_notes(action, corrections, shortened_before))


def composing_take(
    armature: "Object", corrections: tuple[Correction, ...], scene: "Scene", played: PlayedFrames | None = None
) -> Steps[dict[Side, Composed]]:
    """Compose the corrected hands of the take that an armature plays, without changing anything.

    played: the frames that `played_frames` has evaluated. Raises RigError.
    """
    base = check_correctable(armature)
    corrections = decoded(encode(corrections), f"corrections of the take '{base.name}'")
    known = (*corrections_of(armature), *corrections)
    hands = [take_hand.moved_by(known) for take_hand in hands_of_take(armature, base)]
    played = played or played_frames(armature, hands)
    return (yield from _composing(hands, corrections, clock_of(base, scene), played))


def _composing(
    hands: Sequence[HandOfTake], corrections: Sequence[Correction], clock: TakeClock, played: PlayedFrames
) -> Steps[dict[Side, Composed]]:
    """Return the corrected channels of those hands of a take that are corrected."""
    found = dict[Side, Composed]()
    for number, take_hand in enumerate(hands):
        work = composing(take_hand, of_hand(corrections, take_hand), clock, played=played)
        found[take_hand.hand.side] = yield from part_of(number / len(hands), (number + 1) / len(hands), "", work)
    return found


def played_frames(armature: "Object", hands: Sequence[HandOfTake]) -> PlayedFrames:
    """Return the evaluator of frames for these hands of the take that an armature plays."""
    return PlayedFrames(partial(placed_as_solved, armature, hands))


def keep_corrections(action: "Action", text: str, notes: CorrectionNotes) -> None:
    """Store corrections with an action, as JSON, and the notes about them."""
    action[CORRECTIONS_PROPERTY] = text
    notes.keep(action)


def _is_edited(
    armature: "Object",
    every: Sequence[HandOfTake],
    hands: Sequence[HandOfTake],
    clock: TakeClock,
    posed_at: float | None,
) -> bool:
    """Return whether composed keys were edited in the corrected action.

    every: the hands of the take; hands: the hands as composed now. Other curves are ignored: they stay as they are.
    """
    composed, base = composed_of(armature), base_of(armature)
    if composed is None or base is None or composed != played_action(armature):
        return False
    corrections = corrections_of(armature)
    before = [take_hand.moved_by(corrections) for take_hand in every]
    known = ComposedAction(composed, armature, before, hands)
    if known.is_moved:
        return True
    if composed.get(COMPOSED_ID_PROPERTY) == known.keys_id:
        return False
    if posed_at is None:
        return True
    with placed_as_solved(armature, before):
        return known.is_edited_beside(posed_at, corrections, clock)


def clear_corrections(armature: "Object") -> None:
    """Let an armature play its take as it was solved, and forget its corrections, which may be damaged."""
    base = check_correctable(armature)
    for action in filter(None, (composed_of(armature), base)):
        for name in (CORRECTIONS_PROPERTY, WAITING_PROPERTY, SHORTENED_PROPERTY):
            action.pop(name, None)
    play_base(armature)


def _play_base_alone(armature: "Object", *, is_edited: bool) -> None:
    """Let an armature play its take as it was solved; remove the corrected action unless it is used elsewhere or
    edited."""
    composed = composed_of(armature)
    if composed is None:
        return
    is_played = composed == played_action(armature)
    play_base(armature)
    if is_played and not is_edited and composed.users <= composed.use_fake_user:
        bpy.data.actions.remove(composed)


def hands_of_take(armature: "Object", base: "Action") -> list[HandOfTake]:
    """Return the hands that a take of an armature keys, even if bones were renamed since. Raises RigError."""
    own, played = curves_of(base, slot_in(base, armature)), curves_on(armature)
    before = list(own)
    curves = list(with_new_names(before, renamed_bones(armature, before, played)))
    hands = hands_to_correct(armature, [path for path, _ in curves])
    keyed = [take_hand for hand in hands if (take_hand := hand_of_take(armature, hand, curves)).bones]
    if not keyed:
        raise RigError(f"the take of armature '{armature.name}' keys no rotation of a hand, expected at least one")
    return keyed


def _action_to_write(armature: "Object", base: "Action", *, is_edited: bool) -> "Action":
    """Return the action to write to: the composed one, a copy of it if it was edited, or else a copy of the base."""
    composed = composed_of(armature)
    if composed is not None and not is_edited:
        return composed
    action = (composed or base).copy()
    action.name = base.name + SUFFIX
    # Keep the base even if no armature plays it.
    base.use_fake_user = True
    action.use_fake_user = False
    forget_reduction(action)
    action[BASE_PROPERTY] = base
    return action
