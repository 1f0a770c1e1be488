"""FABRIK in a digit's plane with the nearest point on a sphere in CGA: FABRIK-CGA Algorithm 1 with (3.10)-(3.13)."""

from dataclasses import dataclass
from typing import Any, cast

from ...hand.scalar_math import N, NumberFunctions
from ..cga.generated import Vector
from ..cga.nearest_points import nearest_on_sphere
from ..planar.planar_chain import Chain, ChainMarker
from ..planar.planar_fabrik import PlanarFabrik, Stopping, planar_fabrik


@dataclass(frozen=True, slots=True)
class ConformalBendFactory:
    """Prepares planar FABRIK in CGA for a digit: a planar_plan.BendFactory."""

    stopping: Stopping

    def __call__(self, chain: Chain, end: ChainMarker) -> PlanarFabrik:
        """See BendFactory."""
        return planar_fabrik(chain, end, self.stopping, nearest_in_plane)


def nearest_in_plane(_m: NumberFunctions[N], centre: tuple[N, N], radius: float, point: tuple[N, N]) -> tuple[N, N]:
    """NearestPointSphere in the digit's plane. At rest its normal is e1, u runs along e2 and v against e3.

    Point and centre are in the plane, and so is the line through them and the nearest point on the sphere.
    """
    zero, length = 0.0 * point[0], cast(Any, radius)
    _, u_coordinate, minus_v = nearest_on_sphere(
        Vector(zero, centre[0], -centre[1]), length, Vector(zero, point[0], -point[1])
    )
    return u_coordinate, -minus_v
