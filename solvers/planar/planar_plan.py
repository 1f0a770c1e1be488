"""The plan of a planar solver: made once for a hand and its markers, reused for every piece of a take."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...hand.digit_plane import Bounds
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.scalar_math import Point
from ...hand.targets import Targets
from ..solver import State
from .closest_pose import DigitDof
from .curl_plane import CurlPlane, PlaneFactory, digit_planes
from .palm_pose import palm_markers
from .planar_chain import BendResult, Chain, ChainMarker, MarkerHint
from .planar_hand import PlanarDigit, chain_marker, digits, dofs_moving

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PlanarBend(Protocol):
    """Bends one digit in its plane to bring one marker to its goal.

    Goals and hints are in the plane: u m along the straight digit, v m towards the palm. The result is three flexions
    within the limits and an upper bound of the marker's distance from its goal, m. Flexions of joints beyond the
    marker's bone are NaN if nothing determines them. `bend_frame` and `bend_frames` must agree to 1e-9.
    """

    def bend_frame(self, u: float, v: float, hints: list[MarkerHint[float]]) -> BendResult[float]:
        """Bend in one frame, in plain floats. Hints that were not seen are left out."""
        ...

    def bend_frames(self, u: Floats, v: Floats, hints: list[MarkerHint[Floats]]) -> BendResult[Floats]:
        """Bend in N frames, each number (N,). Hints that were not seen have zero weight."""
        ...


BendFactory = Callable[[Chain, ChainMarker], PlanarBend]
"""Prepares the bend of a chain that brings a marker to its goal. Planar solvers differ in this step."""


class PalmStep(Protocol):
    """Finds the palm's pose."""

    def roots(self, targets: Targets, last: Floats) -> Floats:
        """Return T_world_wrist (F, 4, 4), or (1, 4, 4) if it is constant. last: (4, 4) of the previous frame."""
        ...


PalmFactory = Callable[[HandModel, list[int]], PalmStep]
"""Prepares the palm's step for a hand and the sites that are its targets."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a planar solver."""

    bend: BendFactory
    palm: PalmFactory = palm_markers
    """Finds the palm's pose from the markers on it."""
    plane: PlaneFactory = digit_planes
    """Finds the plane of a digit from the markers seen on it."""


@dataclass(frozen=True, slots=True, eq=False)
class OutermostMarker:
    """The bend of a digit for one outermost visible marker."""

    marker: ChainMarker
    bend: PlanarBend
    dofs: tuple[DigitDof, ...]
    """The degrees of freedom that move the marker."""
    sideways: bool
    """Whether the second joint's abduction moves the marker."""


@dataclass(frozen=True, slots=True, eq=False)
class MarkedDigit:
    """One digit and its markers."""

    digit: PlanarDigit
    plane: CurlPlane
    dofs: list[int]
    """Indices of abduction, twist, the second joint's abduction and three flexions, without those that the digit
    lacks."""
    present: tuple[int, ...]
    """Positions of `dofs` among the six movements."""
    has: tuple[bool, bool, bool]
    """Whether the digit has abduction, twist, and abduction of the second joint."""
    first_length: float
    """m, length of the first bone."""
    base_rows: tuple[Point[float], Point[float], Point[float]]
    origin: Point[float]
    """m, origin of the base frame: a point p of the wrist frame is base_rows · (p − origin) there, mirrored in X for a
    left hand."""
    columns: list[int]
    """(S,) indices of the digit's targets, the outermost first."""
    offsets: tuple[float, ...]
    """(S,) m, offsets of the markers from the finger plane."""
    has_offsets: bool
    """Whether any marker has such an offset."""
    abduction_limits: Bounds
    twist_limits: Bounds
    side_limits: Bounds
    """rad, limits of the second joint's abduction; (0, 0) if the digit lacks it."""
    ends: tuple[OutermostMarker, ...]
    """(S,) the bend for each marker as the outermost visible one."""


@dataclass(frozen=True, slots=True, eq=False)
class PlanarPlan:
    """A planar solver's plan for a hand and its sites."""

    hand: HandModel
    sites: list[int]
    steps: Steps
    palm: PalmStep
    digits: tuple[MarkedDigit, ...]

    def serves(self, hand: HandModel, targets: Targets, steps: Steps) -> bool:
        """Return whether the plan was made for this hand, these sites and these steps."""
        return self.hand is hand and self.sites == targets.sites.tolist() and self.steps == steps


@dataclass(frozen=True, slots=True, eq=False)
class PlanarState(State):
    """The last pose, and the plan for the next piece."""

    plan: PlanarPlan | None = None
    passes: Ints | None = None
    """(F, 5) passes or sweeps of each digit in the frames of this piece; None unless frames are followed."""

    def before(self, frame: int, pose: Pose) -> "PlanarState":
        """See StateOfPose."""
        last, passes = frame - 1, None if self.passes is None else self.passes[:frame]
        return replace(self, root=pose.root[last].copy(), angles=pose.angles[last].copy(), passes=passes)


def make_plan(hand: HandModel, targets: Targets, steps: Steps) -> PlanarPlan:
    """Prepare a plan. Raises HandError unless the hand has five flexing digits on a rigid palm."""
    sites = targets.sites.tolist()
    marked = tuple(_marked_digit(hand, digit, sites, steps) for digit in digits(hand))
    return PlanarPlan(hand, sites, steps, steps.palm(hand, sites), marked)


def _marked_digit(hand: HandModel, digit: PlanarDigit, sites: list[int], steps: Steps) -> MarkedDigit:
    mirror = 1.0 if hand.side == "right" else -1.0
    candidates = [(column, chain_marker(digit, hand.sites[site])) for column, site in enumerate(sites)]
    markers = [(column, *candidate) for column, candidate in candidates if candidate is not None]
    markers.sort(key=lambda marker: -_distance_along(digit, marker[1]))
    chain = Chain(digit.lengths, hand.limits[list(digit.flexions)], digit.ratio, digit.coupling_offset)
    base_rows = (digit.T_wrist_base[:3, :3] * [mirror, 1.0, 1.0]).T.tolist()
    planes = (digit.abduction, digit.twist, digit.side_bend)
    return MarkedDigit(
        digit=digit,
        plane=steps.plane(hand, digit),
        dofs=[dof for dof in (*planes, *digit.flexions) if dof >= 0],
        present=tuple(angle for angle, dof in enumerate((*planes, *digit.flexions)) if dof >= 0),
        has=(digit.abduction >= 0, digit.twist >= 0, digit.side_bend >= 0),
        first_length=float(digit.lengths[0]),
        base_rows=(tuple(base_rows[0]), tuple(base_rows[1]), tuple(base_rows[2])),
        origin=tuple(digit.T_wrist_base[:3, 3].tolist()),
        columns=[column for column, _, _ in markers],
        offsets=tuple(x * mirror for _, _, x in markers),
        has_offsets=any(x for _, _, x in markers),
        abduction_limits=_limits(hand, digit.abduction),
        twist_limits=_limits(hand, digit.twist),
        side_limits=_limits(hand, digit.side_bend),
        ends=tuple(
            OutermostMarker(
                marker=marker,
                bend=steps.bend(chain, marker),
                dofs=dofs_moving(hand, digit, marker, x * mirror),
                sideways=digit.side_bend >= 0 and marker.bone > 0,
            )
            for _, marker, x in markers
        ),
    )


def _distance_along(digit: PlanarDigit, marker: ChainMarker) -> float:
    """Return a marker's position along the digit, in bones."""
    return marker.bone + min(marker.along / float(digit.lengths[marker.bone]), 1.5) / 2


def _limits(hand: HandModel, dof: int) -> Bounds:
    low, high = hand.limits[dof].tolist() if dof >= 0 else (0.0, 0.0)
    return low, high
