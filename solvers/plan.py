"""What a planar solver works out once for a hand and its markers, and keeps from one piece of a take to the next."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..hand.model import HandModel
from ..hand.planes import finger_plane
from ..hand.targets import Targets
from .closest import Turn
from .digits import Digit, digits, rider, turns_of
from .palm import palm_roots
from .planar import Chain, Hint, Rider
from .solver import State

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PlanarBend(Protocol):
    """How one digit bends in its plane to bring one rider to its goal; whatever it needs is prepared once."""

    def many(self, goal: Floats, hints: list[Hint]) -> Floats:
        """(N, 3) flexions within the limits that bring the rider near its goals (N, 2) m, the others near their hints.

        Joints beyond the rider's bone are NaN where nothing tells how far they bend.
        """
        ...


Bend = Callable[[Chain, Rider], PlanarBend]
"""The step in which planar solvers differ: prepares the bending of a chain that brings this rider to its goal."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps that a planar solver is made of."""

    bend: Bend
    palm: Callable[[HandModel, Targets, Floats], Floats] = palm_roots
    """Hand, targets and last root (4, 4) -> (F, 4, 4) T_world_wrist."""
    plane: Callable[[Floats, Floats, int, tuple[Floats, Floats]], tuple[Floats, Floats]] = finger_plane
    """Points (N, S, 3), weights (N, S), which is the end, limits -> abduction and twist (N,) of the digit's planes."""


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """A digit whose outermost marker seen is a certain one."""

    rider: Rider
    bend: PlanarBend
    dofs: list[int]
    turns: tuple[Turn, ...]
    ends: Floats
    """What moves the rider: see turns_of."""


@dataclass(frozen=True, slots=True, eq=False)
class Marked:
    """One digit and the markers that tell about it."""

    digit: Digit
    chain: Chain
    columns: list[int]
    """(S,) which of the targets they are."""
    riders: tuple[Rider, ...]
    """(S,)"""
    aside: Floats
    """(S,) m out of the finger plane."""
    reach: Floats
    """(S,) how far out on the digit each rides: the greatest seen is its end."""
    plane_limits: tuple[Floats, Floats]
    side_limits: Floats
    """(2,) rad of abduction, of twist, and of the second joint's abduction."""
    ends: tuple[End, ...]
    """(S,)"""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A hand and its sites, looked through once."""

    hand: HandModel
    sites: Ints
    steps: Steps
    mirror: Floats
    """(3,) brings a left hand's points to a right one's."""
    digits: tuple[Marked, ...]

    def serves(self, hand: HandModel, targets: Targets, steps: Steps) -> bool:
        """Whether it was made for these."""
        same = self.sites is targets.sites or np.array_equal(self.sites, targets.sites)
        return self.hand is hand and same and self.steps == steps


@dataclass(frozen=True, slots=True, eq=False)
class PlanarState(State):
    """The last pose, and the plan for the next piece."""

    plan: Plan | None = field(default=None)


def make_plan(hand: HandModel, targets: Targets, steps: Steps) -> Plan:
    """Raises HandError for a hand that is not five flexing digits on a rigid palm."""
    mirror = np.array([1.0 if hand.side == "right" else -1.0, 1.0, 1.0])
    marked = tuple(_marked(hand, digit, targets.sites, steps, mirror[0]) for digit in digits(hand))
    return Plan(hand, targets.sites.copy(), steps, mirror, marked)


def _marked(hand: HandModel, digit: Digit, sites: Ints, steps: Steps, mirror: float) -> Marked:
    found = [(column, rider(digit, hand.sites[site])) for column, site in enumerate(sites)]
    own = [(column, *ridden) for column, ridden in found if ridden is not None]
    riders = tuple(mark for _, mark, _ in own)
    chain = Chain(digit.lengths, hand.limits[list(digit.flexions)], digit.ratio, digit.lead)
    return Marked(
        digit=digit,
        chain=chain,
        columns=[column for column, _, _ in own],
        riders=riders,
        aside=np.array([x for _, _, x in own]) * mirror,
        reach=np.array([r.bone + min(r.along / digit.lengths[r.bone], 1.5) / 2 for r in riders]),
        plane_limits=(_limits(hand, digit.abduction), _limits(hand, digit.twist)),
        side_limits=_limits(hand, digit.side_bend),
        ends=tuple(End(r, steps.bend(chain, r), *turns_of(hand, digit, r)) for r in riders),
    )


def _limits(hand: HandModel, dof: int) -> Floats:
    return hand.limits[dof] if dof >= 0 else np.zeros(2)
