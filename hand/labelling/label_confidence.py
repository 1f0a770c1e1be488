"""Probability that an assignment is right, from how much the next best costs, calibrated on stripped recordings.

The data are about 3500 pieces of 200 hands, from the four recordings and from synthetic hands,
docs/explanation/labelling.md. A margin is half a sum of squared deviations but no likelihood: people's hands and
markers differ by more than the costs assume.
"""

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS, DIGITS
from ..marker_sets import Spot
from .model_fit import ModelFit

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

OUTER_JOINTS = frozenset(joint for digit in DIGITS[2:] for joint in CHAIN_JOINTS[digit][1:])
"""Moving joints of the middle, ring and little finger."""

MARKER_MARGIN_SCALE = 0.6
"""Margin at which a marker is wrong by 1/e as often as at margin 0."""
SIDE_MARGIN_SCALE = 0.4
"""The same for a side; its margin is per spot."""
MAX_MARKER_CONFIDENCE = 0.985
"""Upper bound of a marker's confidence: some are wrong by a large margin."""
MODEL_MARKER_SCALE, MODEL_SIDE_SCALE = 0.4, 0.12
"""The scales for margins in the cost of an articulated hand; that of a side is not per spot. Estimates that are not
calibrated yet (tools/benchmarks/labelling_reliability.py)."""

LONE_TIP_FACTOR = 0.75
"""Factor for a tip that is the only one beyond the index finger's: of eight recordings stripped like this one was
wrong; with only the ring finger's tip, all four were."""


def lone_tip_factors(spots: tuple[Spot, ...], visible: Bools) -> Floats:
    """Factors (C,) on the confidence for markers at the visible spots (C,): a lone outer tip is ambiguous."""
    outer = [c for c, spot in enumerate(spots) if visible[c] and spot.joint in OUTER_JOINTS]
    factors = np.ones(len(spots))
    if len(outer) == 1:
        factors[outer] = LONE_TIP_FACTOR
    return factors


def marker_confidence(margin: Floats) -> Floats:
    """Confidence 0.5..1 of markers; without a margin, two assignments are equally likely."""
    confidence: Floats = MAX_MARKER_CONFIDENCE * _probability(margin, MARKER_MARGIN_SCALE)
    return confidence


def side_confidence(margin: float) -> float:
    """Confidence 0.5..1 that a hand is where it was found and of this side."""
    return float(_probability(np.array(margin), SIDE_MARGIN_SCALE))


def model_marker_confidence(margin: Floats) -> Floats:
    """Confidence 0.5..1 of markers, by the margin (C,) in the cost of an articulated hand."""
    confidence: Floats = MAX_MARKER_CONFIDENCE * _probability(margin, MODEL_MARKER_SCALE)
    return confidence


def model_side_confidence(best: ModelFit, other: ModelFit) -> float:
    """Confidence 0.5..1 of a side, by how much more the other hand costs, relative to the cost of the best one."""
    return float(_probability(np.array((other.cost - best.cost) / best.cost), MODEL_SIDE_SCALE))


def _probability(margin: Floats, scale: float) -> Floats:
    probability: Floats = 1 - np.exp(-np.maximum(margin, 0.0) / scale) / 2
    return probability
