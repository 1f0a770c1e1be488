"""What the dynamical solver works out once for a hand and its targets, and keeps from piece to piece of a take."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.model import HandModel
from ...hand.targets import Targets
from ..planar.coupled_bend import coupled_bend
from ..planar.planar_plan import PlanarPlan, Steps, make_plan
from ..solver import State
from ..wrist_alignment import PalmTargets, base_of
from .bone_directions import LimbDirections, headings_of
from .limbs import LimbModel, LimbWeights, limbs_of

Floats = NDArray[np.float64]

STEPS = Steps(coupled_bend)


@dataclass(frozen=True, slots=True, eq=False)
class DynamicalPlan:
    """A hand and its sites, looked through once."""

    planar: PlanarPlan
    limbs: tuple[LimbModel, ...]
    headings: tuple[LimbDirections | None, ...]
    base: PalmTargets
    worth: LimbWeights

    def serves(self, hand: HandModel, targets: Targets, worth: LimbWeights) -> bool:
        """Whether it was made for these."""
        return self.worth == worth and self.planar.serves(hand, targets, STEPS)


@dataclass(frozen=True, slots=True, eq=False)
class DynamicalState(State):
    """The last pose, and what the next piece goes on from."""

    plan: DynamicalPlan | None = None
    time: float | None = None
    """s, of the last frame; None where none has been solved yet."""
    laid: Floats | None = None
    """(4, 4) where the palm's targets had the wrist last; None where it was there."""


def plan_of(hand: HandModel, targets: Targets, state: State | None, worth: LimbWeights) -> DynamicalPlan:
    """The state's plan where it serves, else a new one. Raises HandError for a hand that is not five flexing digits."""
    plan = state.plan if isinstance(state, DynamicalState) else None
    if plan is not None and plan.serves(hand, targets, worth):
        return plan
    sites = targets.sites.tolist()
    limbs = limbs_of(hand, sites, worth)
    headings = tuple(map(headings_of, limbs))
    return DynamicalPlan(make_plan(hand, targets, STEPS), limbs, headings, base_of(hand, sites), worth)
