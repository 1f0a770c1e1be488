"""Change one correction, as each step of a slider does: only its frames are composed again."""

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

    It is not possible if more than these frames must be composed again: if there is no corrected action, if it or its
    take was edited, if a correction has no frames, if the take lacks a key on a frame, or if the hand has contacts,
    which depend on the whole hand. Raises RigError.
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
    corrected_hands = [take_hand for take_hand in hands if take_hand.hand.side == before.hand]
    composed = [before, *(each for take_hand in corrected_hands for each in of_hand(corrections, take_hand))]
    if corrected_hands and (action is None or any(isinstance(each.change, ContactChange) for each in composed)):
        return False
    if action is not None:
        bag = channelbag_of(action, armature)
        both = before, after
        if not all(
            _is_dense(take_hand, correction) and take_hand.rows(correction, clock).any()
            for take_hand in corrected_hands
            for correction in both
        ):
            return False
        if action.get(COMPOSED_ID_PROPERTY) != keys_id(bag, hands):
            return False
        for take_hand in corrected_hands:
            changed_rows = take_hand.rows(before, clock) | take_hand.rows(after, clock)
            # The previous correction is muted, so that its frames are written without its effect.
            write_hand(
                bag,
                take_hand,
                compose(
                    take_hand, [*of_hand(corrections, take_hand), replace(before, muted=True)], clock, changed_rows
                ),
            )
        action[COMPOSED_ID_PROPERTY] = keys_id(bag, hands)
    for each in filter(None, (base, action)):
        keep_corrections(each, text, CorrectionNotes.of(action or base))
    return True


def _is_dense(take_hand: HandOfTake, correction: Correction) -> bool:
    """Return whether each curve that a correction changes has a key on every frame of the take."""
    curves = [curve for joint in moved_joints(take_hand, correction) for curve in take_hand.bones[joint].curves]
    return all(len(curve.keyframe_points) == len(take_hand.frames) for curve in curves)
