"""One correction that is changed, as a slider does with each step: only its frames are composed again."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ....pipeline.corrections.correction import ContactChange, Correction
from ....pipeline.corrections.correction_json import encode
from ..played_action import played_action
from .armature_slot import channelbag_of
from .composed_keys import keys_id, write_hand
from .composing import compose, moved_joints, of_hand
from .corrected_take import (
    COMPOSED_ID_PROPERTY,
    check_correctable,
    decoded,
    hands_of_take,
    keep_corrections,
)
from .hand_of_take import HandOfTake
from .take_base import composed_of
from .take_clock import clock_of
from .waiting import CorrectionNotes

if TYPE_CHECKING:
    from bpy.types import Object, Scene


def write_change(armature: "Object", corrections: tuple[Correction, ...], before: Correction, scene: "Scene") -> bool:
    """Replace one correction in the corrected action of an armature; return whether that was possible.

    It is not where more must be composed again: without a corrected action, where that or its take was edited, where
    a correction has no frames, where the take has no key on some frame, and with contacts of the hand, where the
    whole hand decides whether they can be held. Raises RigError.
    """
    base, action = check_correctable(armature), composed_of(armature)
    if before.is_before_solving or (action is not None and action != played_action(armature)):
        return False
    text = encode(corrections)
    corrections = decoded(text, f"corrections of the take '{base.name}'")
    after = next(each for each in corrections if each.id == before.id)
    hands, clock = (
        [take_hand.moved_by(corrections) for take_hand in hands_of_take(armature, base)],
        clock_of(base, scene),
    )
    own = [take_hand for take_hand in hands if take_hand.hand.side == before.hand]
    composed = [before, *(each for take_hand in own for each in of_hand(corrections, take_hand))]
    if own and (action is None or any(isinstance(each.change, ContactChange) for each in composed)):
        return False
    if action is not None:
        bag = channelbag_of(action, armature)
        both = before, after
        if not all(
            _is_dense(take_hand, correction) and take_hand.rows(correction, clock).any()
            for take_hand in own
            for correction in both
        ):
            return False
        if action.get(COMPOSED_ID_PROPERTY) != keys_id(bag, hands):
            return False
        for take_hand in own:
            only = take_hand.rows(before, clock) | take_hand.rows(after, clock)
            # Without an effect, the one before counts its frames among those that are written.
            write_hand(
                bag,
                take_hand,
                compose(take_hand, [*of_hand(corrections, take_hand), replace(before, muted=True)], clock, only),
            )
        action[COMPOSED_ID_PROPERTY] = keys_id(bag, hands)
    for each in filter(None, (base, action)):
        keep_corrections(each, text, CorrectionNotes.of(action or base))
    return True


def _is_dense(take_hand: HandOfTake, correction: Correction) -> bool:
    """Whether a take has, on each of its frames, a key of each curve that a correction changes."""
    curves = [curve for joint in moved_joints(take_hand, correction) for curve in take_hand.bones[joint].curves]
    return all(len(curve.keyframe_points) == len(take_hand.frames) for curve in curves)
