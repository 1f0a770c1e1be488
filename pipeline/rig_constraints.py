"""What a job asks of the rig that it drives, and the solved hands on the rig's own hands."""

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..hand import mirror
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
        """What the rig lets a hand do."""
        ...

    def built(self, hand: HandModel, limited: bool) -> RestHand | None:
        """The rig's hand of this side, with its own limits or without; None where it has no such hand."""
        ...


@dataclass(slots=True)
class RigQueries:
    """What a rig has told of its hands."""

    recipe: Recipe
    rig: Rig | None
    allowed: dict[Side, RigLimits] = field(default_factory=dict)
    """By the performer's side."""
    built: dict[Side, RestHand] = field(default_factory=dict)

    def ask(self, person: Performer) -> Generator[str, None, None]:
        """Asks of one hand after the other, and tells before what it asks."""
        for side, hand in person.hands.items() if self.rig is not None else ():
            yield f"Reading the rig's {self.drives(side)} hand"
            assert self.rig is not None
            model = self._driving(hand)
            if self.recipe.rig_limits:
                self.allowed[side] = self.rig.allowed(model)
            built = self.rig.built(model, self.recipe.rig_limits)
            if built is not None:
                self.built[side] = built

    def drives(self, side: Side) -> Side:
        """The rig's hand that one of the performer's hands drives."""
        return mirror.other(side) if self.recipe.mirror else side

    def _driving(self, hand: MeasuredHand) -> HandModel:
        """A hand of the performer as it drives the rig's."""
        return mirror.model(hand.model) if self.recipe.mirror else hand.model

    def within(self, person: Performer) -> Performer:
        """The performer with what the rig lets their hands do."""
        allowed = self.allowed
        hands = {
            side: hand.within(allowed[side].limits) if side in allowed else hand for side, hand in person.hands.items()
        }
        return replace(person, hands=hands)

    def performing(self, person: Performer) -> Performer:
        """The performer as they are solved: where directions are kept the rig's limits are theirs, so that markers are
        followed within them; else they are as they are, and the rig's hand follows them within its own."""
        return self.within(person) if self.recipe.keep == "directions" else person

    def driven(self, person: Performer, pose: Pose, targets: Targets) -> RetargetedHand | None:
        """A pose that drives one of the rig's hands, solved to targets, on that hand; None where there is none.

        Raises HandError for a hand without length.
        """
        side = self.drives(pose.hand.side)
        if side not in self.built:
            return None
        of = character(self._driving(self.within(person).hands[side]), self.built[side])
        return keep(pose, of, RetargetMode(self.recipe.keep, self.recipe.keep_scale), targets)
