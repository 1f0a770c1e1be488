"""Keys of a corrected action that a person has changed since it was composed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
import numpy as np

from ....pipeline.corrections.correction import Correction
from ..fcurves import FRAME_TOLERANCE
from .armature_slot import channelbag_of
from .composed_keys import copy_keys, edited_frames, has_other_keys, keys_id, write_hand
from .composing import compose, of_hand
from .hand_of_take import HandOfTake
from .take_clock import TakeClock

if TYPE_CHECKING:
    from bpy.types import Action, Object


@dataclass(frozen=True, slots=True, eq=False)
class ComposedAction:
    """A corrected action, with its hands as composed before and as to be composed now."""

    action: "Action"
    armature: "Object"
    before: Sequence[HandOfTake]
    """The hands as they were composed before."""
    hands: Sequence[HandOfTake]
    """The hands as they are to be composed now."""

    @property
    def keys_id(self) -> str:
        """See composed_keys."""
        return keys_id(channelbag_of(self.action, self.armature), self.before)

    @property
    def is_moved(self) -> bool:
        """Return whether keys that move whole hands were edited and will now be composed for the first time."""
        bag = channelbag_of(self.action, self.armature)
        both = zip(self.before, self.hands, strict=True)
        return any(has_other_keys(bag, now.wrist) for was, now in both if now.wrist.keyed and not was.wrist.keyed)

    def is_edited_beside(self, posed_at: float, corrections: Sequence[Correction], clock: TakeClock) -> bool:
        """Return whether keys were changed on frames other than `posed_at`.

        corrections: those from which the action was composed.
        """
        expected = self.action.copy()
        try:
            as_composed = channelbag_of(expected, self.armature)
            for take_hand in self.before:
                copy_keys(as_composed, take_hand)
                write_hand(as_composed, take_hand, compose(take_hand, of_hand(corrections, take_hand), clock))
            frames = edited_frames(channelbag_of(self.action, self.armature), as_composed, self.before)
        finally:
            bpy.data.actions.remove(expected)
        return bool((np.abs(frames - posed_at) > FRAME_TOLERANCE).any())
