"""The step that finds the plane in which a digit curls."""

from typing import Protocol

from ..hand.digit_plane import Bounds, points_plane, tip_plane
from ..hand.numbers import N, Numbers, Pick, Point


class Plane(Protocol):
    """Abduction and twist of a digit's plane from the points seen on it, in its base's frame, the end first.

    weights: of the points, above zero in the first. Where no other point is seen the end's alone must do.
    """

    def __call__(
        self, m: Numbers[N], points: list[Point[N]], weights: list[N], limits: tuple[Bounds, Bounds]
    ) -> tuple[N, N]:
        """Rad, within the limits of abduction and twist."""
        ...


def plane_of(m: Numbers[N], points: list[Point[N]], weights: list[N], limits: tuple[Bounds, Bounds]) -> tuple[N, N]:
    """The plane nearest to all points seen; through the end where it is the only one. See Plane."""
    alone = tip_plane(m, points[0], limits)
    if len(points) == 1:
        return alone
    others = weights[1]
    for weight in weights[2:]:
        others = others + weight

    def nearest(pick: Pick) -> tuple[N, N]:
        picked = [(pick(x), pick(y), pick(z)) for x, y, z in points]
        return points_plane(m, picked, [pick(weight) for weight in weights], limits)

    found: tuple[N, N] = m.mend(others > 0, alone, nearest)
    return found
