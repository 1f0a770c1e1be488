"""The step that finds the plane in which a digit curls."""

from typing import Protocol

from ..hand.digit_plane import Bounds
from ..hand.numbers import N, Numbers, Point


class Plane(Protocol):
    """Abduction and twist of a digit's plane from the points seen on it, in its base's frame, the end first.

    weights: of the points, above zero in the first. Where no other point is seen the end's alone must do.
    """

    def __call__(
        self, m: Numbers[N], points: list[Point[N]], weights: list[N], limits: tuple[Bounds, Bounds]
    ) -> tuple[N, N]:
        """Rad, within the limits of abduction and twist."""
        ...
