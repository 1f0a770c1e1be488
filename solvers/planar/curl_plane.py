"""The interface of the step that finds a digit's curl plane."""

from collections.abc import Callable
from typing import Protocol

from ...hand.digit_plane import Bounds, fit_plane
from ...hand.model import HandModel
from ...hand.scalar_math import N, NumberFunctions, Point
from .planar_hand import PlanarDigit


class CurlPlane(Protocol):
    """Finds abduction and twist of a digit's plane from the visible points on it.

    points: in the frame of the digit's base, the end first. weights: of the points, above zero for the end; the other
    points may be missing.
    """

    def __call__(
        self, m: NumberFunctions[N], points: list[Point[N]], weights: list[N], limits: tuple[Bounds, Bounds]
    ) -> tuple[N, N]:
        """Return abduction and twist, rad, within their limits."""
        ...


PlaneFactory = Callable[[HandModel, PlanarDigit], CurlPlane]
"""Prepares the plane step for a digit of a hand."""


def digit_planes(_hand: HandModel, _digit: PlanarDigit) -> CurlPlane:
    """Return the default plane step, the same for every digit."""
    return fit_plane
