"""The rig that a job drives: its limits and proportions, and solved poses retargeted to its hands."""

from dataclasses import dataclass, field, replace
from typing import Protocol

from ..hand import mirror
from ..hand.generators import Progress, Steps
from ..hand.joints import Side
from ..hand.kinematics import Pose
from ..hand.limits import RigLimits
from ..hand.measured_hand import MeasuredHand
from ..hand.model import HandModel
from ..hand.targets import Targets
from .performer import Performer
from .recipe import Recipe
from .retarget import RestHand, RetargetedHand, RetargetMode, character, keep


class Rig(Protocol):
    """An armature with hands. May raise RigError."""

    def allowed(self, hand: HandModel) -> RigLimits:
        """Return the limits that the rig sets for a hand."""
        ...

    def built(self, hand: HandModel, limited: bool) -> RestHand | None:
        """Return the rig's hand of this side, with or without its own limits; None if it has no such hand."""
        ...


@dataclass(slots=True)
class RigQueries:
    """The limits and rest poses of a rig's hands, read once for a job."""

    recipe: Recipe
    rig: Rig | None
    allowed: dict[Side, RigLimits] = field(default_factory=dict)
    """By the performer's side."""
    built: dict[Side, RestHand] = field(default_factory=dict)

    def ask(self, person: Performer) -> Steps[None]:
        """Read the rig's hands one by one."""
        for side, hand in person.hands.items() if self.rig is not None else ():
            yield Progress(0.0, f"Reading the rig's {self.drives(side)} hand")
            assert self.rig is not None
            model = self._driving(hand)
            if self.recipe.rig_limits:
                self.allowed[side] = self.rig.allowed(model)
            built = self.rig.built(model, self.recipe.rig_limits)
            if built is not None:
                self.built[side] = built

    def drives(self, side: Side) -> Side:
        """Return the side of the rig's hand that the performer's hand of this side drives."""
        return mirror.other_side(side) if self.recipe.mirror else side

    def _driving(self, hand: MeasuredHand) -> HandModel:
        """Return the performer's hand, mirrored if the recipe says so."""
        return mirror.model(hand.model) if self.recipe.mirror else hand.model

    def within(self, person: Performer) -> Performer:
        """Return the performer with the rig's limits added to their own."""
        allowed = self.allowed
        hands = {
            side: hand.with_rig_limits(allowed[side].limits) if side in allowed else hand
            for side, hand in person.hands.items()
        }
        return replace(person, hands=hands)

    def performing(self, person: Performer) -> Performer:
        """Return the performer to solve with.

        If directions are kept, the rig's limits are added, so that markers are followed as well as these allow. If not,
        the performer's hand is solved without them, and retargeting applies them.
        """
        return self.within(person) if self.recipe.keep == "directions" else person

    def driven(self, person: Performer, pose: Pose, targets: Targets) -> RetargetedHand | None:
        """Retarget a pose, solved to targets, to the rig's hand that it drives; None if the rig lacks it.

        Raises HandError for a digit without length.
        """
        side = self.drives(pose.hand.side)
        if side not in self.built:
            return None
        of = character(self._driving(self.within(person).hands[side]), self.built[side])
        return keep(pose, of, RetargetMode(self.recipe.keep, self.recipe.keep_scale), targets)
