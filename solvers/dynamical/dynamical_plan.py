"""The plan of the dynamical solver: made once for a hand and its sites, reused for every piece of a take."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.model import HandModel
from ...hand.targets import Targets
from ..planar.coupled_bend import coupled_bend
from ..planar.planar_plan import PlanarPlan, Steps, make_plan
from ..solver import State
from ..wrist_alignment import PalmTargets, palm_targets
from .bone_headings import LimbDirections, limb_directions
from .limbs import LimbModel, LimbWeights, split_into_limbs

Floats = NDArray[np.float64]

STEPS = Steps(coupled_bend)


@dataclass(frozen=True, slots=True, eq=False)
class DynamicalPlan:
    """The structure of a hand and its target sites, as the solver needs it."""

    planar: PlanarPlan
    limbs: tuple[LimbModel, ...]
    directions: tuple[LimbDirections | None, ...]
    palm: PalmTargets
    weights: LimbWeights

    def serves(self, hand: HandModel, targets: Targets, weights: LimbWeights) -> bool:
        """Return whether the plan was made for this hand, these sites and these weights."""
        return self.weights == weights and self.planar.serves(hand, targets, STEPS)


@dataclass(frozen=True, slots=True, eq=False)
class DynamicalState(State):
    """The state from which the next piece continues, with the last pose."""

    plan: DynamicalPlan | None = None
    time: float | None = None
    """s, of the last frame; None if no frame has been solved yet."""
    palm_root: Floats | None = None
    """(4, 4) T_world_wrist fitted to the palm's targets in the last frame; None if `root` is that pose."""


def plan_of(hand: HandModel, targets: Targets, state: State | None, weights: LimbWeights) -> DynamicalPlan:
    """Return the state's plan if it fits, else a new one. Raises HandError for hands other than five flexing digits."""
    plan = state.plan if isinstance(state, DynamicalState) else None
    if plan is not None and plan.serves(hand, targets, weights):
        return plan
    sites = targets.sites.tolist()
    limbs = split_into_limbs(hand, sites, weights)
    directions = tuple(map(limb_directions, limbs))
    return DynamicalPlan(make_plan(hand, targets, STEPS), limbs, directions, palm_targets(hand, sites), weights)
