"""The rig that a job drives: its limits and proportions, and retargeting to its hands."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..hand import mirror
from ..hand.generators import Progress, Steps
from ..hand.joints import Side
from ..hand.kinematics import Pose
from ..hand.limits import RigLimits
from ..hand.measured_hand import MeasuredHand
from ..hand.model import HandModel
from ..hand.targets import Targets
from .performer import Performer
from .recipe import AlignChoice, Recipe
from .retarget import RestHand, RetargetedHand, RetargetMode, build_character, retarget
from .take import SolvedHand

Frames = dict[Side, NDArray[np.float64]]
"""Side -> a frame (4, 4) of a hand in the scene."""


class Rig(Protocol):
    """The interface of an armature with hands. All methods may raise RigError."""

    def limits_of(self, hand: HandModel) -> RigLimits:
        """Return the limits that the rig sets for a hand."""
        ...

    def rest_hand(self, hand: HandModel, limited: bool) -> RestHand | None:
        """Return the rig's hand of this side, with or without its own limits; None if it has no such hand."""
        ...

    def sides_to_align(self, align: AlignChoice, points: Sequence[str] | None, sides: Sequence[Side]) -> set[Side]:
        """Return those of `sides` for which frames_to_align has a frame. Raises the same errors."""
        ...

    def frames_to_align(self, align: AlignChoice, points: Sequence[str] | None, hands: Sequence[SolvedHand]) -> Frames:
        """Return the frames of the rig's hands or forearms to align solved hands to. points: names of two objects."""
        ...


@dataclass(slots=True)
class RigHands:
    """The limits and rest poses of a rig's hands, read once for a job."""

    recipe: Recipe
    rig: Rig | None
    limits: dict[Side, RigLimits] = field(default_factory=dict)
    """Performer's side -> limits of the rig's hand that it drives."""
    rest_hands: dict[Side, RestHand] = field(default_factory=dict)

    def read(self, performer: Performer) -> Steps[None]:
        """Read the rig's hands one by one."""
        if self.rig is None:
            return
        for side, hand in performer.hands.items():
            yield Progress(0.0, f"Reading the rig's {self.driven_side(side)} hand")
            model = self._driving_model(hand)
            if self.recipe.rig_limits:
                self.limits[side] = self.rig.limits_of(model)
            rest_hand = self.rig.rest_hand(model, self.recipe.rig_limits)
            if rest_hand is not None:
                self.rest_hands[side] = rest_hand

    def driven_side(self, side: Side) -> Side:
        """Return the side of the rig's hand that the performer's hand of this side drives."""
        return mirror.other_side(side) if self.recipe.mirror else side

    def _driving_model(self, hand: MeasuredHand) -> HandModel:
        """Return the performer's hand, mirrored if the recipe says so."""
        return mirror.model(hand.model) if self.recipe.mirror else hand.model

    def with_rig_limits(self, performer: Performer) -> Performer:
        """Return the performer with the rig's limits added to their own."""
        hands = {
            side: hand.with_rig_limits(self.limits[side].limits) if side in self.limits else hand
            for side, hand in performer.hands.items()
        }
        return replace(performer, hands=hands)

    def performer_to_solve(self, performer: Performer) -> Performer:
        """Return the performer to solve with.

        If directions are kept, the rig's limits already apply in the solve, for the best fit to the markers within
        them. Otherwise retargeting applies them.
        """
        return self.with_rig_limits(performer) if self.recipe.keep == "directions" else performer

    def retarget(self, performer: Performer, pose: Pose, targets: Targets) -> RetargetedHand | None:
        """Retarget a pose, solved to targets, to the rig's hand that it drives; None if the rig lacks it.

        Raises HandError for a digit without length.
        """
        side = self.driven_side(pose.hand.side)
        if side not in self.rest_hands:
            return None
        hand = self.with_rig_limits(performer).hands[side]
        character = build_character(self._driving_model(hand), self.rest_hands[side])
        return retarget(pose, character, RetargetMode(self.recipe.keep, self.recipe.keep_scale), targets)
