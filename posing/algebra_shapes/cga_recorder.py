"""The solver `cga`, with its planes and nearest points recorded while it works. It is the same solver."""

import math
from dataclasses import dataclass, field
from typing import Any

from ...hand.digit_plane import Bounds
from ...hand.model import HandModel
from ...hand.scalar_math import N, NumberFunctions, Point
from ...solvers.conformal import Cga
from ...solvers.conformal.cga_bend import nearest_in_plane
from ...solvers.conformal.cga_digit_plane import ConformalPlaneFactory
from ...solvers.planar.curl_plane import CurlPlane
from ...solvers.planar.planar_chain import Chain, ChainMarker
from ...solvers.planar.planar_fabrik import PlanarFabrik, Stopping, planar_fabrik
from ...solvers.planar.planar_hand import PlanarDigit
from ...solvers.planar.planar_plan import Steps

SOLVER = Cga()
UNLIMITED: Bounds = (-math.pi, math.pi)


@dataclass(frozen=True, slots=True)
class PlaneStep:
    """A plane found by the solver, in the digit's base frame, mirrored in X for a left hand."""

    end: Point[float]
    """(3,) m, the target of the digit's end."""
    found: tuple[float, float]
    """rad, abduction and twist."""
    unlimited: tuple[float, float]
    """rad, abduction and twist without the limits of abduction."""


@dataclass(frozen=True, slots=True)
class NearestStep:
    """A nearest point on a sphere, in the digit's plane: m along the straight digit and towards the palm."""

    centre: tuple[float, float]
    radius: float
    point: tuple[float, float]
    found: tuple[float, float]


@dataclass(slots=True)
class Log:
    """The inputs and outputs of the steps since it was emptied."""

    planes: list[PlaneStep] = field(default_factory=list)
    nearest: list[NearestStep] = field(default_factory=list)

    def empty(self) -> None:
        """Forget all steps, before the next digit."""
        self.planes.clear()
        self.nearest.clear()


@dataclass(frozen=True, eq=False)
class _Plane:
    plane: CurlPlane
    log: Log

    def __call__(
        self, m: NumberFunctions[N], points: list[Point[N]], weights: list[N], limits: tuple[Bounds, Bounds]
    ) -> tuple[N, N]:
        found = self.plane(m, points, weights, limits)
        unlimited = self.plane(m, points, weights, (UNLIMITED, limits[1]))
        x, y, z = (float(number) for number in points[0])
        angles = [(float(abduction), float(twist)) for abduction, twist in (found, unlimited)]
        self.log.planes.append(PlaneStep((x, y, z), *angles))
        return found


@dataclass(frozen=True, eq=False)
class _Planes:
    planes: ConformalPlaneFactory
    log: Log

    def __call__(self, hand: HandModel, digit: PlanarDigit) -> CurlPlane:
        return _Plane(self.planes(hand, digit), self.log)


@dataclass(frozen=True, eq=False)
class _Bend:
    stopping: Stopping
    log: Log

    def __call__(self, chain: Chain, end: ChainMarker) -> PlanarFabrik:
        return planar_fabrik(chain, end, self.stopping, self._nearest)

    def _nearest(self, m: NumberFunctions[N], centre: tuple[N, N], radius: float, point: tuple[N, N]) -> tuple[N, N]:
        found = nearest_in_plane(m, centre, radius, point)
        points = [(float(u), float(v)) for u, v in (centre, point, found)]
        self.log.nearest.append(NearestStep(points[0], float(radius), points[1], points[2]))
        return found


def recording_steps(log: Log) -> Steps:
    """Return the solver's steps, one frame at a time, recorded in the log."""
    stopping = Stopping(SOLVER.tolerance, SOLVER.tolerance / 100, SOLVER.passes)
    bend: Any = _Bend(stopping, log)
    planes: Any = _Planes(ConformalPlaneFactory(SOLVER.thumb), log)
    return Steps(bend, plane=planes)
