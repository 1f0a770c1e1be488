"""The step that finds the plane in which a digit curls."""

from collections.abc import Callable
from typing import Protocol

from ...hand.digit_plane import Bounds, plane_of
from ...hand.model import HandModel
from ...hand.scalar_math import N, NumberFunctions, Point
from .planar_hand import PlanarDigit


class CurlPlane(Protocol):
    """Abduction and twist of a digit's plane from the points seen on it, in its base's frame, the end first.

    weights: of the points, above zero in the first. Where no other point is seen the end's alone must do.
    """

    def __call__(
        self, m: NumberFunctions[N], points: list[Point[N]], weights: list[N], limits: tuple[Bounds, Bounds]
    ) -> tuple[N, N]:
        """Rad, within the limits of abduction and twist."""
        ...


Planes = Callable[[HandModel, PlanarDigit], CurlPlane]
"""Prepares the plane of a digit of a hand."""


def digit_planes(_hand: HandModel, _digit: PlanarDigit) -> CurlPlane:
    """One way for every digit."""
    return plane_of
