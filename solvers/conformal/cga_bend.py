"""FABRIK in a digit's plane with the algebra's nearest place on a sphere: FABRIK-CGA Algorithm 1 with (3.10)-(3.13)."""

from dataclasses import dataclass
from typing import Any

from ...hand.scalar_math import N, NumberFunctions
from ..cga.generated import Vector
from ..cga.nearest_points import nearest_on_sphere
from ..planar.planar_chain import Chain, ChainMarker
from ..planar.planar_fabrik import PlanarFabrik, Stopping, planar_fabrik


@dataclass(frozen=True, slots=True)
class ConformalBend:
    """The step in which a digit bends."""

    stopping: Stopping

    def __call__(self, chain: Chain, end: ChainMarker) -> PlanarFabrik:
        """See Bend."""
        return planar_fabrik(chain, end, self.stopping, nearest_in_plane)


def nearest_in_plane(_m: NumberFunctions[N], centre: tuple[N, N], radius: float, point: tuple[N, N]) -> tuple[N, N]:
    """NearestPointSphere. In the digit's frame its plane at rest has the pole e1, u runs along e2, v against e3.

    The line from a point in the plane through a centre in it stays there, so that the place on the sphere is in it too.
    """
    flat, reach = 0.0 * point[0], _number(radius)
    _, along, up = nearest_on_sphere(Vector(flat, centre[0], -centre[1]), reach, Vector(flat, point[0], -point[1]))
    return along, -up


def _number(length: float) -> Any:
    """A length of the hand serves one frame and many."""
    return length
