"""Probability that an assignment is right, by the margin in cost to the next best one.

It is calibrated on recordings and synthetic hands without their labels, about 3500 pieces of 200 hands
(docs/explanation/labelling.md). A margin, half a sum of squared deviations, is not used as a likelihood: people's hands
and markers differ by more than the costs assume.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS, DIGITS
from ..marker_sets import Spot

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

OUTER_JOINTS = frozenset(joint for digit in DIGITS[2:] for joint in CHAIN_JOINTS[digit][1:])
"""Moving joints of the middle, ring and little finger."""

MARKER_MARGIN_SCALE = 0.6
"""Margin at which a marker is wrong by 1/e as often as at margin 0."""
SIDE_MARGIN_SCALE = 0.4
"""Margin per spot at which a side is wrong by 1/e as often as at margin 0."""
MAX_MARKER_CONFIDENCE = 0.985
"""Upper bound of a marker's confidence: some are wrong by a large margin."""
MIN_MARGIN, MAX_MARGIN = 0.01, 20.0
"""Bounds of a margin before LogisticCurve takes its logarithm."""

LONE_TIP_FACTOR = 0.75
"""Factor for a tip that is the only one of the outer three fingers: of eight recordings with such a tip, one was
labelled wrong; of four with the ring finger's tip alone, all were."""


def lone_tip_factors(spots: tuple[Spot, ...], visible: Bools) -> Floats:
    """Return factors (C,) on the confidence of markers: a single one on the outer three fingers is ambiguous.

    visible: (C,) whether each spot has a marker.
    """
    outer_spots = [c for c, spot in enumerate(spots) if visible[c] and spot.joint in OUTER_JOINTS]
    factors = np.ones(len(spots))
    if len(outer_spots) == 1:
        factors[outer_spots] = LONE_TIP_FACTOR
    return factors


def marker_confidence(margin: Floats) -> Floats:
    """Return the confidence 0.5..1 of markers; without a margin, two assignments are equally likely."""
    confidence: Floats = MAX_MARKER_CONFIDENCE * _probability(margin, MARKER_MARGIN_SCALE)
    return confidence


def side_confidence(margin: float) -> float:
    """Return the confidence 0.5..1 that a hand's position and side are right."""
    return float(_probability(np.array(margin), SIDE_MARGIN_SCALE))


@dataclass(frozen=True, slots=True)
class LogisticCurve:
    """Probability that an assignment is right: a logistic function of its margin's logarithm."""

    intercept: float
    slope: float

    def probability(self, margin: Floats) -> Floats:
        """Return the probability (...) at margins (...)."""
        logit = self.intercept + self.slope * np.log(np.clip(margin, MIN_MARGIN, MAX_MARGIN))
        probability: Floats = 1 / (1 + np.exp(-logit))
        return probability


@dataclass(frozen=True, slots=True)
class SideCurve:
    """Probability of a side: a logistic function of its margin, 0.5 if both hands cost the same."""

    slope: float

    def probability(self, margin: float) -> float:
        """Return the probability 0.5..1 at a margin."""
        return float(1 / (1 + np.exp(-self.slope * max(margin, 0.0))))


_TABLE = json.loads(Path(__file__).with_name("label_confidence.json").read_text("utf-8"))
SIDE_CURVE = SideCurve(**_TABLE.pop("side"))
CURVES = {name: LogisticCurve(**parameters) for name, parameters in _TABLE.items()}
"""Curves for the markers by which an articulated hand was found, and for fragments assigned by its poses.
`tools/benchmarks/labelling_confidence.py` fits these and SIDE_CURVE to takes."""


def side_margin(cost: float, other_cost: float) -> float:
    """Return the additional cost of the other hand, relative to a hand's cost."""
    return (other_cost - cost) / cost


def articulated_marker_confidence(cost: float, margins: Floats) -> Floats:
    """Return the confidence 0..1 of markers, by SearchedFit's margins (C,) relative to the hand's cost."""
    return CURVES["marker"].probability(margins / cost)


def fragment_confidence(margin: float) -> float:
    """Return the confidence 0..1 of a fragment assigned by an articulated hand's poses, by its margin in cost."""
    return float(CURVES["fragment"].probability(np.array(margin)))


def _probability(margin: Floats, scale: float) -> Floats:
    probability: Floats = 1 - np.exp(-np.maximum(margin, 0.0) / scale) / 2
    return probability
