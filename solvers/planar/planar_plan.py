"""What a planar solver works out once for a hand and its markers, and keeps from one piece of a take to the next."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...hand.digit_plane import Bounds
from ...hand.model import HandModel
from ...hand.scalar_math import Point
from ...hand.targets import Targets
from ..solver import State
from .closest_pose import DigitDof
from .curl_plane import CurlPlane, Planes, digit_planes
from .palm_pose import palm_of
from .planar_chain import Bent, Chain, ChainMarker, MarkerHint
from .planar_hand import PlanarDigit, digits, rider, turns_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PlanarBend(Protocol):
    """How one digit bends in its plane to bring one rider to its goal; whatever it needs is prepared once.

    Goals and hints are in the plane: u m along the straight digit, v m towards the palm. What comes back are three
    flexions within the limits and how many m they leave the rider off its goal, or more (not less). Flexions of joints
    beyond the rider's bone are NaN where nothing tells them. One frame and many must be the same to 1e-9.
    """

    def one(self, u: float, v: float, hints: list[MarkerHint[float]]) -> Bent[float]:
        """Of one frame, in plain floats. Hints that were not seen are left out."""
        ...

    def many(self, u: Floats, v: Floats, hints: list[MarkerHint[Floats]]) -> Bent[Floats]:
        """Of N frames, each number (N,). Hints that were not seen have no weight."""
        ...


Bend = Callable[[Chain, ChainMarker], PlanarBend]
"""The step in which planar solvers differ: prepares the bending of a chain that brings this rider to its goal."""


class PalmStep(Protocol):
    """Where the palm is in each frame."""

    def roots(self, targets: Targets, last: Floats) -> Floats:
        """(F, 4, 4) T_world_wrist, or (1, 4, 4) for all frames alike; `last` (4, 4) is that of the frame before."""
        ...


Palms = Callable[[HandModel, list[int]], PalmStep]
"""Prepares the palm's step for a hand and the sites that are its targets."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps that a planar solver is made of."""

    bend: Bend
    palm: Palms = palm_of
    """Where the palm is, from the markers that ride on it."""
    plane: Planes = digit_planes
    """The plane of a digit, from the markers seen on it."""


@dataclass(frozen=True, slots=True, eq=False)
class OutermostMarker:
    """A digit whose outermost marker seen is a certain one."""

    rider: ChainMarker
    bend: PlanarBend
    turns: tuple[DigitDof, ...]
    """The degrees of freedom that move it."""
    sideways: bool
    """Whether the second joint's abduction moves it."""


@dataclass(frozen=True, slots=True, eq=False)
class MarkedDigit:
    """One digit and the markers that tell about it."""

    digit: PlanarDigit
    plane: CurlPlane
    dofs: list[int]
    """Of abduction, twist, the second joint's abduction and the three flexions, without those it does not have."""
    own: tuple[int, ...]
    """Which of the six these are."""
    has: tuple[bool, bool, bool]
    """Which of the first three it has."""
    first: float
    """m, the length of its first bone."""
    rows: tuple[Point[float], Point[float], Point[float]]
    origin: Point[float]
    """Base frame from wrist frame: rows · (p − origin), mirrored in X for a left hand."""
    columns: list[int]
    """(S,) which of the targets they are, the outermost first."""
    asides: tuple[float, ...]
    """(S,) m out of the finger plane."""
    beside: bool
    """Whether any of them is."""
    abduction_limits: Bounds
    twist_limits: Bounds
    side_limits: Bounds
    """rad; 0, 0 for what the digit does not have."""
    ends: tuple[OutermostMarker, ...]
    """(S,)"""


@dataclass(frozen=True, slots=True, eq=False)
class PlanarPlan:
    """A hand and its sites, looked through once."""

    hand: HandModel
    sites: list[int]
    steps: Steps
    palm: PalmStep
    digits: tuple[MarkedDigit, ...]

    def serves(self, hand: HandModel, targets: Targets, steps: Steps) -> bool:
        """Whether it was made for these."""
        return self.hand is hand and self.sites == targets.sites.tolist() and self.steps == steps


@dataclass(frozen=True, slots=True, eq=False)
class PlanarState(State):
    """The last pose, and the plan for the next piece."""

    plan: PlanarPlan | None = None


def make_plan(hand: HandModel, targets: Targets, steps: Steps) -> PlanarPlan:
    """Raises HandError for a hand that is not five flexing digits on a rigid palm."""
    sites = targets.sites.tolist()
    marked = tuple(_marked(hand, digit, sites, steps) for digit in digits(hand))
    return PlanarPlan(hand, sites, steps, steps.palm(hand, sites), marked)


def _marked(hand: HandModel, digit: PlanarDigit, sites: list[int], steps: Steps) -> MarkedDigit:
    mirror = 1.0 if hand.side == "right" else -1.0
    found = [(column, rider(digit, hand.sites[site])) for column, site in enumerate(sites)]
    own = [(column, *ridden) for column, ridden in found if ridden is not None]
    own.sort(key=lambda mark: -_reach(digit, mark[1]))
    chain = Chain(digit.lengths, hand.limits[list(digit.flexions)], digit.ratio, digit.lead)
    rows = (digit.T_wrist_base[:3, :3] * [mirror, 1.0, 1.0]).T.tolist()
    planes = (digit.abduction, digit.twist, digit.side_bend)
    return MarkedDigit(
        digit=digit,
        plane=steps.plane(hand, digit),
        dofs=[dof for dof in (*planes, *digit.flexions) if dof >= 0],
        own=tuple(each for each, dof in enumerate((*planes, *digit.flexions)) if dof >= 0),
        has=(digit.abduction >= 0, digit.twist >= 0, digit.side_bend >= 0),
        first=float(digit.lengths[0]),
        rows=(tuple(rows[0]), tuple(rows[1]), tuple(rows[2])),
        origin=tuple(digit.T_wrist_base[:3, 3].tolist()),
        columns=[column for column, _, _ in own],
        asides=tuple(x * mirror for _, _, x in own),
        beside=any(x for _, _, x in own),
        abduction_limits=_limits(hand, digit.abduction),
        twist_limits=_limits(hand, digit.twist),
        side_limits=_limits(hand, digit.side_bend),
        ends=tuple(_end(hand, digit, r, x * mirror, steps.bend(chain, r)) for _, r, x in own),
    )


def _reach(digit: PlanarDigit, mark: ChainMarker) -> float:
    """How far out on the digit a marker rides."""
    return mark.bone + min(mark.along / float(digit.lengths[mark.bone]), 1.5) / 2


def _end(hand: HandModel, digit: PlanarDigit, mark: ChainMarker, aside: float, bend: PlanarBend) -> OutermostMarker:
    return OutermostMarker(mark, bend, turns_of(hand, digit, mark, aside), digit.side_bend >= 0 and mark.bone > 0)


def _limits(hand: HandModel, dof: int) -> Bounds:
    low, high = hand.limits[dof].tolist() if dof >= 0 else (0.0, 0.0)
    return low, high
