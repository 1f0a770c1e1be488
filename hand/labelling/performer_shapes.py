"""Shapes of a performer's measured hand, with all of its markers and with those of each known layout."""

from dataclasses import replace

import numpy as np

from ..marker_sets import Spot, on_palm
from ..measured_hand import MeasuredHand
from ..proportions import site_positions
from .labelling_result import PERFORMER_LAYOUT
from .shape_model import LAYOUTS, HandShape, MarkerLayout, shape_of

PERFORMER_MARKER_SD_M = 0.008
"""m, standard deviation of a performer's markers in the palm, in addition to that of sampled poses."""
MAX_SPOT_DISTANCE_M = 0.02
"""Maximum distance in m between a performer's marker and the corresponding marker of a layout."""


def performer_shapes(hand: MeasuredHand) -> list[tuple[MarkerLayout, HandShape]]:
    """Return the shapes of a performer's hand with all of its markers, and with those of each known layout.

    A take may have fewer markers than the capture in which the hand was measured.
    """
    shapes = (
        [(MarkerLayout(PERFORMER_LAYOUT, hand.spots), _performer_shape(hand, hand.spots))]
        if len(hand.spots) >= 4
        else []
    )
    for layout in LAYOUTS:
        spots = _performer_spots(hand, layout)
        if spots is not None and spots.keys() != hand.spots.keys():
            shapes.append((MarkerLayout(f"{PERFORMER_LAYOUT} {layout.name}", spots), _performer_shape(hand, spots)))
    return shapes


def _performer_spots(hand: MeasuredHand, layout: MarkerLayout) -> dict[str, Spot] | None:
    """Return the performer's markers that correspond to those of a layout, or None if one is missing.

    A measured marker may be a centimetre from its nominal position. Palm markers are compared by position alone, since
    measured ones are fixed to the wrist.
    """
    if not hand.spots:
        return None
    performer_spots, layout_spots = tuple(hand.spots.values()), tuple(layout.spots.values())
    distances = np.linalg.norm(
        site_positions(hand.proportions, layout_spots)[:, None] - site_positions(hand.proportions, performer_spots),
        axis=-1,
    )
    palm = np.array([on_palm(spot) for spot in performer_spots])
    for row, spot in enumerate(layout_spots):
        comparable = (
            palm
            if on_palm(spot)
            else np.array([performer_spot.joint == spot.joint for performer_spot in performer_spots])
        )
        distances[row, ~comparable] = np.inf
    nearest = distances.argmin(1)
    labels = list(hand.spots)
    if len(set(nearest.tolist())) < len(layout_spots) or distances.min(1).max() > MAX_SPOT_DISTANCE_M:
        return None
    return {labels[index]: performer_spots[index] for index in nearest}


def _performer_shape(hand: MeasuredHand, spots: dict[str, Spot]) -> HandShape:
    """Return the shape of a performer's hand: its bones are known, its poses are sampled as for an unknown hand."""
    shape = shape_of(hand.model, tuple(spots.values()), is_measured=True)
    return replace(shape, covariances=shape.covariances + PERFORMER_MARKER_SD_M**2 * np.eye(3))
